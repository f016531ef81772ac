"""The transaction of a move, durable: beside its statements by the bare driver, and by many."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter
from typing import Final

from flask import Flask
from sqlalchemy import text

from bench import site
from bench.measure import Asked, Bar, judge, pairs
from bench.writers import Crew, crew
from pbem.ext import db

WRITERS: Final = 8
TABLES: Final = 136  # for the usual ten seconds of a side: a game has 144 moves
ALONE: Final = 0.3  # of them, for the writer that is measured with no other beside it
MOVES: Final = 150  # of one side at most, in each second asked for
AT_ONCE: Final = 12  # moves that a writer makes before the next ones are chosen
STORED: Final = (0.40, 0.55)  # of the bare driver's rate, with one writer: at least, and the goal
SIDE_BY_SIDE: Final = (0.85, 0.95)  # of one writer's rate, with many of them on SQLite
ON_POSTGRES: Final = (0.55, 0.70)  # of the bare driver's rate, with many writers
SHARE: Final = 0.1  # of the peak, in which moves come at random moments
TAIL: Final = (10, 5)  # times the median, at most, and the goal
FULL: Final = 2  # SQLite's number for it
IDS: Final = 100_000  # that a session of PostgreSQL takes at once


def run(asked: Asked) -> Iterator[Bar]:
    """Measure on the database that was asked for."""
    yield from (on_postgres if asked.db == "postgres" else on_sqlite)(asked)


def on_sqlite(asked: Asked) -> Iterator[Bar]:
    """Measure one writer beside a bare one, many beside one, and many that are seldom asked."""
    with site.running("sqlite", _tables(asked)) as app:
        assert _set("PRAGMA synchronous") == FULL, "what is committed is on the disk"
        with tempfile.TemporaryDirectory() as folder, site.copied(app, Path(folder)) as copy:
            with crew([site.matches()], bare_url=_url(copy)) as one:
                sides = _Sides(one, asked)
                yield sides.bar()
            yield _alike(app, copy)
        alone, *shares = _shared(site.matches())
        with crew([alone]) as one, crew(shares) as many:
            yield _side_by_side(one, many, asked)
            yield _now_and_then(many, SHARE * sides.whole, asked)
        yield _sound()


def on_postgres(asked: Asked) -> Iterator[Bar]:
    """Measure many writers beside as many bare ones."""
    with site.running("postgres", _tables(asked)) as app:
        for name in ("fsync", "synchronous_commit"):
            assert _set(f"SHOW {name}") == "on", "what is committed is on the disk"
        _keep_ids_apart()
        with tempfile.TemporaryDirectory() as folder, site.copied(app, Path(folder)) as copy:
            found = site.matches()
            shares = [found[nth::WRITERS] for nth in range(WRITERS)]
            with crew(shares, bare_url=_url(copy)) as many:
                many.in_turn("reserve")
                yield _Sides(many, asked).bar()
            yield _alike(app, copy)
        yield _sound()


@dataclass(slots=True)
class _Run:
    """What was done in a time in which all writers had something to do."""

    done: int = 0
    seconds: float = 0.0

    def add(self, start: float, ends: Sequence[Sequence[float]]) -> None:
        """Count what was done until the first of the writers had done all it had to."""
        first = min(own[-1] for own in ends if own)
        self.done += sum(end <= first for own in ends for end in own)
        self.seconds += first - start

    def is_enough(self, asked: Asked) -> bool:
        """Return whether it was as long as asked for, or took all moves that there are for it."""
        return self.seconds >= asked.seconds or self.done >= MOVES * asked.seconds

    @property
    def rate(self) -> float:
        """Return how much was done in a second."""
        return self.done / self.seconds


@dataclass(slots=True)
class _Sides:
    """Writers on a database, and bare ones on its copy, who do the same by turns."""

    writers: Crew
    asked: Asked
    # Of each round: our rate, the bare driver's, and a move's seconds that are the rules' alone.
    rates: list[tuple[float, float, float]] = field(default_factory=list)

    def bar(self) -> Bar:
        """Return the bar for what the storage of a move takes."""
        found = pairs(self.ours, lambda: self.rates[-1][1], self.asked)
        # The warm-up counts here no more than there.
        del self.rates[0]
        is_alone = self.writers.number == 1
        least, goal = STORED if is_alone else ON_POSTGRES
        of_them = "one writer" if is_alone else f"{self.writers.number} writers"
        bar = judge(
            f"commit, moves stored by {of_them}",
            "a second",
            found,
            peer="their statements by the bare driver",
            least=least,
            goal=goal,
        )
        rules = 1000 * median(rules for _, _, rules in self.rates)
        told = f"; the rules take {rules:.2f} ms of a move"
        if is_alone:
            ratio = median(ours / bare for ours, bare, _ in self.rates)
            told += f", with them {self.whole:.0f} a second, {ratio:.2f}"
        return replace(bar, words=bar.words + told)

    @property
    def whole(self) -> float:
        """Return our rate with all that a move takes."""
        return median(ours for ours, _, _ in self.rates)

    def ours(self) -> float:
        """Make moves, and let the bare driver do the same on the copy; return our rate."""
        ours, bare, rules, made = _Run(), _Run(), 0.0, 0
        while not ours.is_enough(self.asked):
            rules += sum(self.writers.each("choose", AT_ONCE))
            start = perf_counter()
            ends = self.writers.each("play")
            ours.add(start, ends)
            start = perf_counter()
            again = self.writers.each("play_again")
            bare.add(start, again)
            assert [len(own) for own in ends] == [len(own) for own in again], "all was done"
            made += sum(len(own) for own in ends)
        self.rates.append((ours.rate, bare.rate, rules / made))
        return self._stored(ours, rules / made)

    def _stored(self, ours: _Run, rules: float) -> float:
        """Return the rate without the rules; many writers' share of that is not known."""
        if self.writers.number > 1:
            return ours.rate
        return 1 / (1 / ours.rate - rules)


def _side_by_side(one: Crew, many: Crew, asked: Asked) -> Bar:
    """Let many writers move, and one alone, by turns."""
    errors = 0

    def rate(of: Crew) -> float:
        nonlocal errors
        found = _Run()
        while not found.is_enough(asked):
            of.each("choose", AT_ONCE)
            start = perf_counter()
            ends = of.each("play")
            found.add(start, ends)
            errors += AT_ONCE * of.number - sum(len(own) for own in ends)
        return found.rate

    least, goal = SIDE_BY_SIDE
    bar = judge(
        f"commit, moves by {many.number} writers",
        "a second",
        pairs(lambda: rate(many), lambda: rate(one), asked),
        peer="by one",
        least=least,
        goal=goal,
    )
    return replace(bar, words=f"{bar.words}; {errors} errors", is_met=bar.is_met and not errors)


def _now_and_then(many: Crew, rate: float, asked: Asked) -> Bar:
    """Let moves come at random moments, far fewer than could be made."""
    took: list[float] = []
    rounds = ceil(asked.rounds * asked.seconds * rate / (AT_ONCE * many.number))
    for _ in range(rounds):
        many.each("choose", AT_ONCE)
        took += [one for own in many.each("play_in_time", rate / many.number) for one in own]
    assert len(took) == rounds * AT_ONCE * many.number, "each move is made"
    middle, late = 1000 * median(took), 1000 * quantiles(took, n=100)[-1]
    most, goal = TAIL
    return Bar(
        f"commit, {len(took)} moves at random moments, {rate:.0f} a second by {many.number}"
        f" writers: half of them within {middle:.1f} ms, 99 in 100 within {late:.1f} ms:"
        f" {late / middle:.1f} times (at most {most}, goal {goal})",
        late <= most * middle,
    )


def _tables(asked: Asked) -> int:
    return ceil(TABLES * max(1, asked.rounds * asked.seconds / 10))


def _shared(found: Sequence[int]) -> list[Sequence[int]]:
    """Return the matches of the writer that is measured alone, and those of each of the many."""
    alone = int(ALONE * len(found))
    return [found[:alone], *(found[alone:][nth::WRITERS] for nth in range(WRITERS))]


def _set(words: str) -> object:
    """Return a setting of the running application's database."""
    found: object = db.session.scalar(text(words))
    return found


def _url(app: Flask) -> str:
    url: str = app.extensions["pbem.settings"].database
    return url


def _keep_ids_apart() -> None:
    """Let each session take many ids at once: so the same rows have the same ids on the copy."""
    for name in db.session.scalars(text("SELECT sequencename FROM pg_sequences")).all():
        db.session.execute(text(f'ALTER SEQUENCE "{name}" CACHE {IDS}'))
    db.session.commit()


def _alike(app: Flask, copy: Flask) -> Bar:
    """Look that the bare driver has stored what we have stored."""
    ours, theirs = site.rows(app), site.rows(copy)
    wrong = [name for name in ours if ours[name] != theirs[name]]
    return Bar(
        f"commit, both stored the same {sum(len(own) for own in ours.values())} rows,"
        f" {len(ours['move'])} of them moves; other rows in: {', '.join(wrong) or 'no table'}",
        not wrong,
    )


def _sound() -> Bar:
    """Look that moves, turns and letters fit together, and that all games can be replayed."""
    wrongs = site.wrongs()
    return Bar(f"commit, what does not fit together: {wrongs or 'nothing'}", not wrongs)
