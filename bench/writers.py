"""Processes that write to one database at once: each makes the moves of its own matches."""

from __future__ import annotations

import multiprocessing
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle
from multiprocessing.connection import Connection
from time import perf_counter
from typing import Any

from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from bench import bare, site
from pbem import play
from pbem.ext import db
from torture.world import NOW


class Writer:
    """Makes the moves of its matches, and may let a bare driver play their statements again."""

    def __init__(self, match_ids: Sequence[int], bare_url: str | None) -> None:
        """Take the matches, and the copy of the database for the bare driver."""
        self._next = cycle(match_ids)
        self._chance = random.Random(match_ids[0])
        self._chosen: list[site.Chosen] = []
        self._recorder = None if bare_url is None else bare.Recorder(db.engine)
        self._line = None if bare_url is None else bare.connect(bare_url)

    def reserve(self) -> None:
        """Take the next ids of all tables, of which each session has many for itself."""
        assert self._line is not None, "there is a copy"
        names = db.session.scalars(text("SELECT sequencename FROM pg_sequences ORDER BY 1")).all()
        for name in names:
            db.session.execute(text(f"SELECT nextval('{name}')"))
            self._line.execute(f"SELECT nextval('{name}')")
        self._line.commit()
        db.session.remove()

    def choose(self, number: int) -> float:
        """Choose a move for each of the next matches; return the seconds that are the rules'."""
        asked = [next(self._next) for _ in range(number)]
        self._chosen = site.choose(asked, self._chance)
        if self._recorder is not None:
            self._recorder.take()
        return sum(one.rules for one in self._chosen)

    def play(self) -> list[float]:
        """Make the chosen moves; return when each was done. What fails is left out."""
        return [end for one in self._chosen if (end := _play(one)) is not None]

    def play_again(self) -> list[float]:
        """Let the bare driver do on the copy what was done; return when each was done."""
        assert self._recorder is not None, "there is a copy"
        return bare.play_again(self._line, self._recorder.take())

    def play_in_time(self, rate: float) -> list[float]:
        """Make the moves at random moments, so many a second; return how long each took.

        One that comes while the one before is still made waits, and that counts.
        """
        took = []
        comes = perf_counter()
        for one in self._chosen:
            comes += self._chance.expovariate(rate)
            time.sleep(max(0.0, comes - perf_counter()))
            end = _play(one)
            if end is not None:
                took.append(end - comes)
        return took


def _play(one: site.Chosen) -> float | None:
    # Each request of a server begins with a session that knows nothing.
    db.session.remove()
    try:
        play.make_move(one.turn_id, one.text, by="link", now=NOW)
    except SQLAlchemyError:
        return None
    return perf_counter()


class Crew:
    """Writers, each in a process of its own."""

    def __init__(self, lines: Sequence[Connection]) -> None:
        """Take a pipe to each."""
        self._lines = lines

    @property
    def number(self) -> int:
        """Return how many they are."""
        return len(self._lines)

    def each(self, what: str, *given: Any) -> list[Any]:
        """Let all writers do something at once; return what each returned."""
        for line in self._lines:
            line.send((what, given))
        return [_answer(line) for line in self._lines]

    def in_turn(self, what: str) -> None:
        """Let one writer after the other do something."""
        for line in self._lines:
            line.send((what, ()))
            _answer(line)


@contextmanager
def crew(shares: Sequence[Sequence[int]], *, bare_url: str | None = None) -> Iterator[Crew]:
    """Run a process for each share of the matches, on the running application's database."""
    db.session.remove()
    # A connection may not be shared by two processes.
    db.engine.dispose()
    forks = multiprocessing.get_context("fork")
    lines, processes = [], []
    for share in shares:
        here, there = forks.Pipe()
        process = forks.Process(target=_serve, args=(there, share, bare_url), daemon=True)
        process.start()
        there.close()
        lines.append(here)
        processes.append(process)
    try:
        yield Crew(lines)
    finally:
        for line in lines:
            line.send(None)
        for process in processes:
            process.join()


def _serve(line: Connection, match_ids: Sequence[int], bare_url: str | None) -> None:
    """Do what comes over the pipe, until nothing comes any more."""
    writer = Writer(match_ids, bare_url)
    while (asked := line.recv()) is not None:
        what, given = asked
        work: Callable[..., Any] = getattr(writer, what)
        try:
            line.send(work(*given))
        except Exception as error:  # noqa: BLE001 - the benchmark's process tells it
            line.send(error)
    db.session.remove()


def _answer(line: Connection) -> Any:
    answer = line.recv()
    if isinstance(answer, Exception):
        raise answer
    return answer
