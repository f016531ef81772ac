"""Claims of letters by four workers at once, beside one worker alone; none is claimed twice."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from sqlalchemy import insert, update

from bench.measure import Asked, Bar, judge, pairs
from pbem import create_app
from pbem.ext import db, writing
from pbem.mail import outbox
from pbem.models import Letter, LetterState
from torture import world

JOBS: Final = 20_000
WORKERS: Final = 4
BATCH: Final = 10
RATE: Final = 0.8  # of one worker's, at least
SHARE: Final = 0.15  # of all, for each worker on PostgreSQL, at least


def run(asked: Asked) -> Iterator[Bar]:
    """Let one worker and four claim from as many letters, by turns."""
    kind = "postgresql" if asked.db == "postgres" else asked.db
    with world.world(kind) as app, ExitStack() as stack:
        url = app.extensions["pbem.settings"].database_url
        workers = [stack.enter_context(_Worker(url)) for _ in range(WORKERS)]
        _fill()
        for worker in workers:
            worker.wait_until_ready()
        runs: list[list[Sequence[int]]] = []

        def claim(some: Sequence[_Worker]) -> float:
            _let_wait()
            runs.append(_claim(some, asked.seconds))
            return sum(map(len, runs[-1])) / asked.seconds

        found = pairs(lambda: claim(workers), lambda: claim(workers[:1]), asked)
        name = f"claim, {WORKERS} workers, {BATCH} of {JOBS:,} letters at once"
        yield judge(name, "a second", found, peer="1 worker", least=RATE, goal=1.0)
        twice = sum(sum(map(len, run)) - len(set().union(*run)) for run in runs)
        yield Bar(f"claim: {twice} letters claimed twice in {len(runs)} runs", twice == 0)
        if kind == "postgresql":
            yield _shares([run for run in runs if len(run) == WORKERS])
    world.clean_up()


def _shares(runs: Sequence[Sequence[Sequence[int]]]) -> Bar:
    each = [sum(len(run[nth]) for run in runs) for nth in range(WORKERS)]
    least = min(each) / sum(each)
    return Bar(
        f"claim: the idlest worker got {least:.0%} of all (at least {SHARE:.0%})", least >= SHARE
    )


def _fill() -> None:
    """Add so many letters that nobody sits and waits for."""
    now = datetime.now(UTC)
    row = {
        "kind": "for_host", "tail": "0" * 16, "address": "p0@players.example", "language": "en",
        "zone": "UTC", "about": {"what": "standstill", "hours": 1}, "state": LetterState.QUEUED,
        "due_at": now, "wanted_at": now, "created_at": now, "attempts": 0,
    }  # fmt: skip
    with writing():
        db.session.execute(insert(Letter), [row] * JOBS)


def _let_wait() -> None:
    """Let all letters wait again."""
    again = update(Letter).values(state=LetterState.QUEUED, leased_until=None, sent_at=None)
    with writing():
        db.session.execute(again.execution_options(synchronize_session=False))


def _claim(workers: Sequence[_Worker], seconds: float) -> list[Sequence[int]]:
    for worker in workers:
        worker.begin(seconds)
    return [worker.claimed() for worker in workers]


class _Worker:
    """A process that claims letters when it is told to."""

    def __init__(self, url: str) -> None:
        """Prepare, but start nothing."""
        # A connection may not be shared by two processes, so that none is forked.
        context = get_context("spawn")
        self._line, other = context.Pipe()
        self._process = context.Process(target=_live, args=(url, other))

    def __enter__(self) -> _Worker:
        self._process.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._line.send(0.0)
        self._process.join()

    def wait_until_ready(self) -> None:
        """Wait for its application."""
        assert self._line.recv() == "ready"

    def begin(self, seconds: float) -> None:
        """Let it claim for a time."""
        self._line.send(seconds)

    def claimed(self) -> Sequence[int]:
        """Return the letters that it claimed."""
        found: Sequence[int] = self._line.recv()
        return found


def _live(url: str, line: Connection[Any, Any]) -> None:
    """Claim whenever the line says for how long, until it says nought."""
    with TemporaryDirectory() as folder:
        app = create_app(world.site(Path(folder), url, 1))
        with app.app_context():
            line.send("ready")
            while seconds := line.recv():
                line.send(_claimed_within(seconds))
            db.session.remove()
            db.engine.dispose()
        app.extensions["pbem.parser"].close()


def _claimed_within(seconds: float) -> list[int]:
    """Claim for so long, with two durable commits for each batch; return the letters."""
    until = time.monotonic() + seconds
    found: list[int] = []
    while time.monotonic() < until:
        now = datetime.now(UTC)
        _number, ids = outbox.claim(most=BATCH, now=now)
        found += ids
        with writing():
            sent = update(Letter).where(Letter.id.in_(ids), Letter.state == LetterState.SENDING)
            sent = sent.values(state=LetterState.SENT, sent_at=now, leased_until=None)
            db.session.execute(sent.execution_options(synchronize_session=False))
    return found
