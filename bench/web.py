"""Pages by waitress, as `pbem serve` runs it, beside gunicorn's threads on the same database."""

from __future__ import annotations

import http.client
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median, quantiles
from typing import Final

from flask_migrate import upgrade

from bench.measure import Asked, Bar
from pbem import create_app, lobby, play
from pbem.config import Settings
from pbem.ext import db, writing
from pbem.lobby import Chair
from pbem.models import Match, Turn

CLIENTS: Final = 4  # at once, each on a connection of its own that stays open
REQUESTS: Final = 25  # of each client in a round
ROUNDS: Final = 11
MOVES: Final = 8  # of the game whose page is asked for
PORT: Final = 8836  # and the next one
RATE: Final = 0.85  # of gunicorn's, at least
TAIL: Final = 1.5  # times gunicorn's slowest twentieth, at most
KEYS: Final = "ab" * 32
NOW: Final = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
ROOT: Final = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class _Round:
    """The pages of a second, and the milliseconds that the slowest twentieth took or more."""

    rate: float
    tail: float


def run(_asked: Asked) -> Iterator[Bar]:
    """Ask both servers for the same page by turns, so that what disturbs one disturbs both."""
    with tempfile.TemporaryDirectory() as folder:
        page = _page(Path(folder))
        ours = [sys.executable, "-m", "pbem", "serve"]
        theirs = [sys.executable, "-m", "gunicorn", "--worker-class", "gthread"]
        theirs += ["--workers", "1", "--threads", "8", "--keep-alive", "60"]
        theirs += ["--bind", f"127.0.0.1:{PORT + 1}", "wsgi:app"]
        with _serving(folder, ours, PORT), _serving(folder, theirs, PORT + 1):
            _round(PORT, page), _round(PORT + 1, page)
            rounds = [(_round(PORT, page), _round(PORT + 1, page)) for _ in range(ROUNDS)]
    rate = median(mine.rate / peer.rate for mine, peer in rounds)
    tail = median(mine.tail / peer.tail for mine, peer in rounds)
    mine, peer = ([pair[nth] for pair in rounds] for nth in (0, 1))
    yield Bar(
        f"web: {median(one.rate for one in mine):.0f} pages a second for {CLIENTS} clients,"
        f" gunicorn {median(one.rate for one in peer):.0f}: {rate:.2f} of it (at least {RATE:g})",
        rate >= RATE,
    )
    yield Bar(
        f"web: the slowest twentieth from {median(one.tail for one in mine):.0f} ms on, gunicorn's"
        f" from {median(one.tail for one in peer):.0f} ms: {tail:.2f} times (at most {TAIL:g})",
        tail <= TAIL,
    )


def _page(folder: Path) -> str:
    """Make a database with one game and return the address of its page."""
    app = create_app(Settings(instance=folder, secret_keys=(KEYS,)))
    with app.app_context():
        upgrade()
        with writing():
            ann = lobby.new_player(
                "ann@players.example", name="Ann", language="en", zone="Europe/Paris", now=NOW
            )
        table = lobby.open_table(ann, "biscuit", [Chair(bot="greedy")], {}, pace_hours=72, now=NOW)
        match_id, code = table.id, table.code
        for _ in range(MOVES):
            asked = db.session.query(Turn).filter_by(match_id=match_id, closed_at=None).first()
            text = None if asked is None else play.choose_for(asked.id, "greedy")
            if asked is not None and text is not None:
                play.make_move(asked.id, text, by="link", now=NOW)
        assert db.session.get_one(Match, match_id).ply >= MOVES
        db.session.remove()
        db.engine.dispose()
    app.extensions["pbem.parser"].close()
    return f"/g/{code}"


@contextmanager
def _serving(folder: str, command: list[str], port: int) -> Iterator[None]:
    """Run a server until the end of the block."""
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "PBEM_DATABASE_URL": f"sqlite:///{folder}/pbem.sqlite3",
        "PBEM_SECRET_KEYS": KEYS,
        "PBEM_BIND_PORT": str(port),
    }
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.DEVNULL)
    try:
        while not _answers(port):
            assert process.poll() is None, f"{command} has ended"
            time.sleep(0.1)
        yield
    finally:
        process.terminate()
        process.wait()


def _answers(port: int) -> bool:
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        line.request("GET", "/healthz")
        line.getresponse()
    except OSError:
        return False
    finally:
        line.close()
    return True


def _round(port: int, page: str) -> _Round:
    start = time.perf_counter()
    with ThreadPoolExecutor(CLIENTS) as clients:
        asked = clients.map(lambda _nth: _client(port, page), range(CLIENTS))
        spent = [one for times in asked for one in times]
    rate = CLIENTS * REQUESTS / (time.perf_counter() - start)
    return _Round(rate, quantiles(spent, n=20)[-1])


def _client(port: int, page: str) -> list[float]:
    """Ask again and again over one connection; return how many milliseconds each took."""
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    spent = []
    for _ in range(REQUESTS):
        start = time.perf_counter()
        line.request("GET", page)
        answer = line.getresponse()
        assert answer.status == 200, answer.status
        answer.read()
        spent.append((time.perf_counter() - start) * 1000)
    line.close()
    return spent
