"""Moves by their links' pages, as gunicorn's workers take them, beside bare durable transactions.

gunicorn with two workers is what a big site runs the application by, and leaves all else out:
`pbem serve` would also keep time and take mail meanwhile.
"""

from __future__ import annotations

import http.client
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from math import ceil
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter
from typing import Final
from urllib.parse import urlencode, urlsplit

from flask import Flask, current_app
from sqlalchemy import func, select

from bench import bare, site
from bench.measure import Asked, Bar, judge, pairs, rate
from pbem import telling
from pbem.ext import db
from pbem.links import Links
from pbem.models import Move
from pbem.table import load
from torture.relay import free_port

WORKERS: Final = 2
CONNECTIONS: Final = 8
TABLES: Final = 96  # for the usual ten seconds; each makes a move before the next is chosen
MOVES: Final = 400  # at most, in each second asked for: a game has 144
STORED: Final = (0.18, 0.23)  # of the bare transactions: at least, and the goal
TAIL: Final = 25  # times the median, at most
PATIENCE: Final = 60  # seconds
ROOT: Final = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class _Post:
    """What the button of a move's page sends, from a browser that is not known yet."""

    path: str
    body: str

    def request(self, port: int) -> bytes:
        """Return the whole of what the browser sends."""
        return (
            f"POST {self.path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n"
            f"Content-Type: application/x-www-form-urlencoded\r\n"
            f"Content-Length: {len(self.body)}\r\nConnection: close\r\n\r\n{self.body}"
        ).encode()


def run(asked: Asked) -> Iterator[Bar]:
    """Post moves and store bare ones by turns."""
    tables = ceil(TABLES * max(1, asked.rounds * asked.seconds / 10))
    # Pages read the clock themselves.
    with site.running("sqlite", tables, now=datetime.now(UTC)) as app, _serving(app) as port:
        moves = _Moves(port, asked)
        least = _Bare(Path(current_app.extensions["pbem.settings"].instance) / "bare.sqlite3")
        found = pairs(
            moves.ours, lambda: rate(least.store, asked.seconds, clock=perf_counter), asked
        )
        assert least.is_whole(), "each bare transaction was stored"
        ratio, goal = STORED
        yield judge(
            f"moves by HTTP, {WORKERS} workers, {CONNECTIONS} connections",
            "a second",
            found,
            peer="bare durable transactions of SQLite",
            least=ratio,
            goal=goal,
        )
        yield moves.tail()
        stored = db.session.scalar(select(func.count(Move.id)).where(Move.by == "link"))
        yield Bar(f"moves by HTTP: {stored} stored of {moves.posted}", stored == moves.posted)
        wrongs = site.wrongs(now=datetime.now(UTC))
        yield Bar(f"moves by HTTP, what does not fit together: {wrongs or 'nothing'}", not wrongs)


class _Moves:
    """Moves that are posted to a server, and how long each took."""

    def __init__(self, port: int, asked: Asked) -> None:
        """Begin with none."""
        self._port = port
        self._asked = asked
        self._chance = random.Random(1)
        self._matches = site.matches()
        self._rounds: list[list[float]] = []
        self.posted = 0

    def ours(self) -> float:
        """Return how many moves a second are answered."""
        took: list[float] = []
        spent = 0.0
        while spent < self._asked.seconds and len(took) < MOVES * self._asked.seconds:
            posts = [_post(one, self._chance).request(self._port) for one in self._matches]
            db.session.remove()
            start = perf_counter()
            with ThreadPoolExecutor(CONNECTIONS) as clients:
                took += clients.map(self._send, posts)
            spent += perf_counter() - start
        self.posted += len(took)
        self._rounds.append(took)
        return len(took) / spent

    def tail(self) -> Bar:
        """Return how long the slowest take, the warm-up aside."""
        took = [one for own in self._rounds[1:] for one in own]
        middle, late = 1000 * median(took), 1000 * quantiles(took, n=100)[-1]
        return Bar(
            f"moves by HTTP: half of {len(took)} within {middle:.0f} ms, 99 in 100 within"
            f" {late:.0f} ms: {late / middle:.1f} times (at most {TAIL})",
            late <= TAIL * middle,
        )

    def _send(self, request: bytes) -> float:
        """Post a move on a connection of its own, as gunicorn's workers keep none open."""
        start = perf_counter()
        with socket.create_connection(("127.0.0.1", self._port), PATIENCE) as line:
            line.sendall(request)
            answer = b"".join(iter(lambda: line.recv(1 << 16), b""))
        took = perf_counter() - start
        head, _, body = answer.partition(b"\r\n\r\n")
        # The page, or where it is.
        assert head.split()[1] in (b"200", b"303"), head
        assert f"\r\nContent-Length: {len(body)}\r\n".encode() in head + b"\r\n", head
        return took


class _Bare:
    """What a move must store at least, by the bare driver: section 2 of the anchors has it.

    A game is read, its move added, its state replaced if nobody was first, and three letters
    are queued; then all is on the disk.
    """

    GAMES: Final = 1000
    TABLES: Final = (
        "CREATE TABLE game (id INTEGER PRIMARY KEY, version INTEGER NOT NULL, state BLOB NOT NULL)",
        "CREATE TABLE move (id INTEGER PRIMARY KEY, game_id INTEGER NOT NULL,"
        " nth INTEGER NOT NULL, text TEXT NOT NULL, UNIQUE (game_id, nth))",
        "CREATE TABLE letter (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,"
        " state TEXT NOT NULL, body BLOB NOT NULL)",
    )

    def __init__(self, file: Path) -> None:
        """Make the database."""
        self._line = bare.connect(f"sqlite:///{file}")
        self._chance = random.Random(1)
        self._stored = 0
        for words in self.TABLES:
            self._line.execute(words)
        self._line.execute("BEGIN IMMEDIATE")
        self._line.executemany(
            "INSERT INTO game VALUES (?, 0, ?)",
            [(nth, self._chance.randbytes(900)) for nth in range(1, self.GAMES + 1)],
        )
        self._line.commit()

    def store(self) -> None:
        """Store one move."""
        line, game = self._line, self._chance.randint(1, self.GAMES)
        line.execute("BEGIN IMMEDIATE")
        [(version, state)] = line.execute(
            "SELECT version, state FROM game WHERE id = ?", (game,)
        ).fetchall()
        line.execute(
            "INSERT INTO move (game_id, nth, text) VALUES (?, ?, ?)",
            (game, version + 1, "9MS left"),
        )
        changed = line.execute(
            "UPDATE game SET version = ?, state = ? WHERE id = ? AND version = ?",
            (version + 1, state[1:] + state[:1], game, version),
        )
        assert changed.rowcount == 1, "nobody else writes"
        for seat in range(3):
            line.execute(
                "INSERT INTO letter (name, state, body) VALUES (?, 'queued', ?)",
                (f"{game}-{version + 1}-{seat}", state[:300]),
            )
        line.commit()
        self._stored += 1

    def is_whole(self) -> bool:
        """Return whether all is there that was stored."""
        [(moves, letters)] = self._line.execute(
            "SELECT (SELECT count(*) FROM move), (SELECT count(*) FROM letter)"
        ).fetchall()
        return bool((moves, letters) == (self._stored, 3 * self._stored))


def _post(match_id: int, chance: random.Random) -> _Post:
    """Return a move of a match by chance, as the button of its page sends it."""
    turn = site.open_turn(match_id)
    choice = chance.choice(telling.tell(load(turn.match), turn.seat).choices)
    path = urlsplit(Links().move(turn, choice.n)).path
    return _Post(path, urlencode({"move": choice.text, "me": "1"}))


@contextmanager
def _serving(app: Flask) -> Iterator[int]:
    """Run gunicorn on an application's database until the end of the block; gives its port."""
    settings, port = app.extensions["pbem.settings"], free_port()
    command: Sequence[str] = (
        sys.executable, "-m", "gunicorn", "--workers", str(WORKERS),
        "--bind", f"127.0.0.1:{port}", "wsgi:app",
    )  # fmt: skip
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "PBEM_INSTANCE": str(settings.instance),
        "PBEM_DATABASE_URL": settings.database,
        "PBEM_BASE_URL": settings.base_url,
        "PBEM_MAIL_DOMAIN": settings.mail_domain,
        "PBEM_SECRET_KEYS": " ".join(settings.secret_keys),
    }
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + PATIENCE
        while not _answers(port):
            assert process.poll() is None, "gunicorn has ended"
            assert time.monotonic() < until, "gunicorn does not answer"
            time.sleep(0.1)
        yield port
    finally:
        process.terminate()
        process.wait()


def _answers(port: int) -> bool:
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    with suppress(OSError):
        line.request("GET", "/healthz")
        line.getresponse().read()
        return True
    return False
