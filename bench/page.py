"""The history page of sixty moves: made, asked for again, and served by gunicorn's workers.

In process it stands beside Jinja, which renders the same templates from the same contexts and
does nothing else. A reader who has the page of a finished game is told so; that stands beside
the whole page. By HTTP it stands beside the same server's empty route.
"""

from __future__ import annotations

import os
import selectors
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any, Final, TypeAlias

from flask import Flask, template_rendered
from flask_migrate import upgrade
from jinja2 import Template
from sqlalchemy import select
from werkzeug.test import EnvironBuilder, run_wsgi_app
from werkzeug.wrappers import Response

from bench.measure import Asked, Bar, compare, judge, pairs
from pbem import create_app, lobby, play
from pbem.config import Settings
from pbem.ext import db, writing
from pbem.lobby import Chair
from pbem.models import Match, Player, Turn
from torture.relay import free_port

MOVES: Final = 60
TARGET: Final = 200  # points: a game of several hands
LEAST: Final = 0.45  # of the pages that Jinja renders alone
GOAL: Final = 0.6
UNCHANGED: Final = 3  # times as many as whole pages, at least
UNCHANGED_GOAL: Final = 4
WORKERS: Final = 2
CONNECTIONS: Final = 8
SERVED: Final = 0.3  # of the empty route's answers, at least
SERVED_GOAL: Final = 0.4
TAIL: Final = 2.5  # times the median, at most, for the slowest of a hundred
PATIENCE: Final = 60  # seconds
KEYS: Final = "ab" * 32
NAMES: Final = ("Ann", "Bob", "Cleo")
NOW: Final = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
ROOT: Final = Path(__file__).parents[1]

Rendered: TypeAlias = list[tuple[Template, Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class _Round:
    """The answers of a second, and the seconds that each took."""

    rate: float
    seconds: tuple[float, ...]

    def tail(self) -> float:
        """Return how many times the median the slowest of a hundred take, or more."""
        spent = sorted(self.seconds)
        return spent[len(spent) * 99 // 100] / median(spent)


def run(asked: Asked) -> Iterator[Bar]:
    """Measure the page in process, asked for again, and by HTTP."""
    with tempfile.TemporaryDirectory() as folder:
        app = create_app(Settings(instance=Path(folder), secret_keys=(KEYS,)))
        with app.app_context():
            upgrade()
            running, over = _matches()
            db.session.remove()
        yield _made(app, running, asked)
        yield _unchanged(app, running, over, asked)
        with app.app_context():
            db.engine.dispose()
        app.extensions["pbem.parser"].close()
        yield from _served(folder, running, asked)


def site() -> Flask:
    """Return the application with one more route, which answers nothing: gunicorn calls it."""
    app = create_app()
    app.add_url_rule("/empty", "empty", lambda: "")
    return app


def _made(app: Flask, page: str, asked: Asked) -> Bar:
    rendered, body = rendering(app, page)
    with app.test_request_context(page):
        assert rendered[-1][0].render(rendered[-1][1]).encode() == body
        found = compare(
            lambda: _whole(app, page),
            lambda: [template.render(context) for template, context in rendered],
            asked,
        )
    return judge(
        f"page of {MOVES} moves, {len(body) / 1000:.0f} kB, in process",
        "a second",
        found,
        peer="Jinja's rendering alone",
        least=LEAST,
        goal=GOAL,
    )


def rendering(app: Flask, page: str) -> tuple[Rendered, bytes]:
    """Return all templates of a page with what they were given, and the page."""
    seen: Rendered = []

    def note(_app: Flask, template: Template, context: dict[str, Any], **_more: object) -> None:
        seen.append((template, context))

    with template_rendered.connected_to(note, app):
        body = _whole(app, page)
    return seen, body


def _unchanged(app: Flask, running: str, over: str, asked: Asked) -> Bar:
    has_it = {"If-None-Match": answer(app, over).headers["ETag"]}

    def again() -> None:
        told = answer(app, over, has_it)
        assert (told.status_code, told.data) == (304, b"")

    return judge(
        "page that the reader has, in process",
        "a second",
        compare(again, lambda: _whole(app, running), asked),
        peer="made whole",
        least=UNCHANGED,
        goal=UNCHANGED_GOAL,
    )


def _whole(app: Flask, page: str) -> bytes:
    told = answer(app, page)
    assert told.status_code == 200, told.status
    body: bytes = told.data
    return body


def answer(app: Flask, page: str, headers: dict[str, str] | None = None) -> Response:
    """Return what the application answers, called as a server calls it."""
    asking = EnvironBuilder(path=page, headers=(headers or {}).items()).get_environ()
    told, status, sent = run_wsgi_app(app, asking, buffered=True)
    return Response(told, status, sent)


def _served(folder: str, page: str, asked: Asked) -> Iterator[Bar]:
    rounds: list[_Round] = []
    with _serving(folder) as port:

        def ours() -> float:
            rounds.append(ask(port, page, asked.seconds))
            return rounds[-1].rate

        found = pairs(ours, lambda: ask(port, "/empty", asked.seconds).rate, asked)
    yield judge(
        f"page of {MOVES} moves by HTTP, {WORKERS} workers, {CONNECTIONS} connections",
        "a second",
        found,
        peer="the empty route",
        least=SERVED,
        goal=SERVED_GOAL,
    )
    tails = sorted(one.tail() for one in rounds[1:])
    yield Bar(
        f"page by HTTP: the slowest of a hundred take {median(tails):.2f} times the median"
        f" ({tails[0]:.2f} to {tails[-1]:.2f}; at most {TAIL:g})",
        median(tails) <= TAIL,
    )


def ask(port: int, page: str, seconds: float) -> _Round:
    """Keep as many connections as are wanted busy; each answer closes its own, as workers do."""
    spent: list[float] = []
    started = time.perf_counter()
    until = started + seconds
    with selectors.DefaultSelector() as waiting:
        for _ in range(CONNECTIONS):
            _ask_once(waiting, port, page)
        while waiting.get_map():
            for key, _ in waiting.select(PATIENCE):
                begun, parts = key.data
                assert isinstance(key.fileobj, socket.socket)
                part = key.fileobj.recv(1 << 18)
                parts.append(part)
                if part:
                    continue
                spent.append(time.perf_counter() - begun)
                _check(b"".join(parts))
                waiting.unregister(key.fileobj)
                key.fileobj.close()
                if time.perf_counter() < until:
                    _ask_once(waiting, port, page)
    return _Round(len(spent) / (time.perf_counter() - started), tuple(spent))


def _ask_once(waiting: selectors.BaseSelector, port: int, page: str) -> None:
    begun = time.perf_counter()
    line = socket.create_connection(("127.0.0.1", port), PATIENCE)
    line.sendall(f"GET {page} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
    waiting.register(line, selectors.EVENT_READ, (begun, []))


def _check(told: bytes) -> None:
    head, _, body = told.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 "), head
    assert f"Content-Length: {len(body)}\r\n".encode() in head + b"\r\n", "it came whole"


@contextmanager
def _serving(folder: str) -> Iterator[int]:
    """Run gunicorn until the end of the block; gives its port."""
    port = free_port()
    command = [sys.executable, "-m", "gunicorn", "--workers", str(WORKERS)]
    command += ["--bind", f"127.0.0.1:{port}", "bench.page:site()"]
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "PBEM_INSTANCE": folder,
        "PBEM_SECRET_KEYS": KEYS,
    }
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.DEVNULL)
    try:
        _wait_for(lambda: _answers(port), process)
        yield port
    finally:
        process.terminate()
        process.wait()


def _wait_for(happens: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + PATIENCE
    while not happens():
        assert process.poll() is None, f"{process.args!r} has ended"
        assert time.monotonic() < end, f"waited in vain for {process.args!r}"
        time.sleep(0.1)


def _answers(port: int) -> bool:
    try:
        ask(port, "/empty", 0)
    except OSError:
        return False
    return True


def _matches() -> tuple[str, str]:
    """Return the pages of two games of as many moves, of which the second is over."""
    with writing():
        players = [
            lobby.new_player(
                f"{name.lower()}@players.example", name=name, language="en", zone="UTC", now=NOW
            )
            for name in NAMES
        ]
        for player in players:
            player.plays_forced = False  # each move is made by the one loop below
    running, over = (_match(*players) for _ in range(2))
    with writing():
        match = db.session.scalars(select(Match).where(Match.code == over)).one()
        play.stop(match, "stopped", now=NOW)
    return f"/g/{running}", f"/g/{over}"


def _match(opener: Player, *others: Player) -> str:
    chairs = [Chair()] * len(others)
    match = lobby.open_table(opener, "biscuit", chairs, {"target": TARGET}, now=NOW)
    match_id, code = match.id, match.code
    for other in others:
        lobby.join(match_id, other, phrase="", now=NOW)
    open_turn = select(Turn.id).where(Turn.match_id == match_id, Turn.closed_at.is_(None))
    for _ in range(MOVES):
        turn_id = db.session.scalars(open_turn).one()
        text = play.choose_for(turn_id, "random")
        assert text is not None, "the turn is open"
        play.make_move(turn_id, text, by="link", now=NOW)
    assert db.session.get_one(Match, match_id).ply == MOVES
    return code
