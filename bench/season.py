"""A season: games of all kinds by real mail, with a made-up clock, people's habits, and faults.

Letters leave over SMTP and are read from their bytes; players press the links that they find
there, or reply through the server's own listener. Workers are processes. Every game is to end,
with no promise broken, at a share of the rate of moves that are made with no mail at all.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from time import perf_counter
from typing import Any, Final

from flask import Flask
from sqlalchemy import exists, func, or_, select

from bench.measure import Asked, Bar, Pair, judge
from bench.season_players import FAULTS, People
from bench.season_tables import Bare, new_people, new_table
from pbem import audit, deadlines
from pbem.ext import db, writing
from pbem.mail import listener
from pbem.mail.listener import Listener
from pbem.models import (
    Beat,
    Letter,
    LetterState,
    Match,
    Move,
    Note,
    Player,
    Reminder,
    Seat,
    Status,
    Turn,
)
from pbem.web import seat as seat_pages
from torture import promises, world
from torture.crew import Crew, Errors, Shift
from torture.habits import BEGIN
from torture.relay import Mailbox, free_port, running_mailbox

COUNT: Final = 1000  # games
AT_ONCE: Final = 250  # games that run at the same time, at most
NEW: Final = 20  # tables opened at one moment, at most
TICK: Final = timedelta(hours=1)  # as long as the last reminder can come, before the grace is over
KINDS: Final = {"sqlite": "sqlite", "postgres": "postgresql"}
WORKERS: Final = {"sqlite": 1, "postgres": 4}
LEAST: Final = 0.15  # of the rate of bare moves
GOAL: Final = 0.3
SLICE: Final = 30.0  # seconds of the season between two looks at bare moves
MOST_DAYS: Final = 700  # a game that has not ended by then never does
DIES_AFTER: Final = 40  # statements of a worker that dies, at most
SHOWN: Final = 20  # wrongs
_MESSAGE_ID: Final = re.compile(rb"^Message-ID:\s*(<[^>]+>)", re.MULTILINE)
_WAITING: Final = (LetterState.QUEUED, LetterState.RETRY, LetterState.UNKNOWN)


class Season:
    """One run on the application's database: its people, its workers, and what was counted."""

    def __init__(
        self, app: Flask, mailbox: Mailbox, crew: Crew, port: int, *, games: int, days: int
    ) -> None:
        """Sign everybody up; the server takes mail at the port, and all is over after the days."""
        self.now = BEGIN
        self.left: list[str] = []
        self.counts: Counter[str] = Counter()
        self.wrongs: list[str] = []
        self._chance = random.Random(f"season {games}")
        self._games, self._opened, self._is_audited = games, 0, False
        self._until = BEGIN + timedelta(days=days)
        self._mailbox, self._crew = mailbox, crew
        self._errors = Errors()
        known = new_people(games, self._chance)
        self.people = People(app, known, self._chance, port)
        self._ids = list(known)
        _misbehave(mailbox, self._chance.randbytes(8), self.counts)

    def go_on(self) -> bool:
        """Let all be done that is due, and go to the next moment; False if nothing is left."""
        self._open_tables()
        with writing():
            # The worker has been at work until now.
            db.session.merge(Beat(id=1, at=self.now))
        self._crew.begin([self._shift() for _ in range(self._crew.number)])
        self.people.act(self.now)
        self._note_ends()
        if self._has_mail():
            self._crew.begin([Shift(self.now, only_often=True)] * self._crew.number)
            self._note_ends()
        mails, self._mailbox.arrived = self._mailbox.arrived, []
        db.session.rollback()  # what others have written is to be seen
        self.people.read(mails, self.now)
        then = self._next()
        if then is None or then > self._until:
            return False
        self.now = then
        return True

    def look(self) -> None:
        """Look at all rows once, in the middle of the season."""
        over = select(func.count(Match.id)).where(Match.status == Status.OVER)
        if not self._is_audited and (db.session.scalar(over) or 0) * 2 >= self._games:
            self._is_audited = True
            self.wrongs += [f"half-way: {wrong}" for wrong in audit.wrongs(now=self.now)]

    def end(self) -> None:
        """Look at all that has become of it."""
        self.wrongs += self._errors.taken()
        self._errors.close()
        self.wrongs += self.people.wrongs
        self.left += promises.unfinished()
        self.wrongs += promises.broken()
        self.wrongs += self.people.deeds.broken()
        self.wrongs += audit.wrongs(now=self.now)
        self.wrongs += audit.wrongs_of_tables()
        self._count()

    def moves(self) -> int:
        """Return how many moves people have made themselves."""
        own = select(func.count(Move.id)).where(Move.by.in_(("link", "reply")))
        return db.session.scalar(own) or 0

    def _open_tables(self) -> None:
        running = select(func.count(Match.id)).where(Match.status == Status.RUNNING)
        free = AT_ONCE - (db.session.scalar(running) or 0)
        for _ in range(min(free, NEW, self._games - self._opened)):
            new_table(self._opened, self._ids, self._chance, now=self.now)
            self._opened += 1

    def _shift(self) -> Shift:
        dies = self._chance.random() < FAULTS
        return Shift(self.now, dies_after=self._chance.randrange(DIES_AFTER) if dies else None)

    def _note_ends(self) -> None:
        for done in self._crew.end():
            self.counts["fault: workers that died"] += done.died
            self.wrongs += done.errors

    def _has_mail(self) -> bool:
        """Return whether mail waits, in either direction, that the jobs have not seen."""
        db.session.rollback()
        unread = exists().where(Note.read_at.is_(None))
        unsent = exists().where(Letter.state.in_(_WAITING), Letter.due_at <= self.now)
        return bool(db.session.scalar(select(or_(unread, unsent))))

    def _next(self) -> datetime | None:
        """Return the next moment at which anything is due; None if nothing is."""
        soon, acts = self.now + TICK, self.people.next_act
        if self._opened < self._games or (acts is not None and acts <= soon):
            return soon
        due = [acts, *self._of_mail(), *self._of_turns()]
        found = [moment for moment in due if moment is not None]
        return max(soon, min(found)) if found else None

    def _of_mail(self) -> Iterator[datetime | None]:
        """Yield when mail is to be sent or read, None where none is; leases are of the dead."""
        for column, waits in (
            (Letter.due_at, Letter.state.in_(_WAITING)),
            (Letter.leased_until, Letter.state == LetterState.SENDING),
            (func.coalesce(Note.leased_until, Note.received_at), Note.read_at.is_(None)),
        ):
            yield db.session.scalar(select(func.min(column)).where(waits))

    def _of_turns(self) -> Iterator[datetime]:
        """Yield when clocks want something: reminders, ends of time, daily mails, the house."""
        asked = (
            select(Turn, Seat, Player)
            .join(Turn.asked)
            .outerjoin(Player, Player.id == Seat.player_id)
            .where(Turn.closed_at.is_(None))
        )
        for turn, seat, player in db.session.execute(asked):
            if player is None or not seat.is_asked_by_mail:
                yield self.now  # the house moves at once
                continue
            yield turn.deadline + deadlines.GRACE + timedelta(seconds=1)
            for step in player.reminder_steps:
                when = deadlines.reminder(step, turn.opened_at, turn.deadline)
                if when is not None and when > self.now:
                    yield when
            if player.digest_due_at is not None:
                yield player.digest_due_at

    def _count(self) -> None:
        """Count what the rows tell of."""
        db.session.rollback()
        self.counts.update(self.people.counts)
        for by, number in db.session.execute(select(Move.by, func.count()).group_by(Move.by)):
            self.counts[f"moves by {by}"] = number
        for kind, state, number in db.session.execute(
            select(Letter.kind, Letter.state, func.count()).group_by(Letter.kind, Letter.state)
        ):
            self.counts[f"letter {kind}, {state}"] = number
        over = select(Match.ended, func.count()).where(Match.status == Status.OVER)
        for ended, number in db.session.execute(over.group_by(Match.ended)):
            self.counts[f"games ended: {ended}"] = number
        self.counts["reminders"] = db.session.query(Reminder).count()
        self.counts["days"] = (self.now - BEGIN).days


def run(asked: Asked) -> Iterator[Bar]:
    """Play a season to its end, and bare moves by turns."""
    try:
        season, found = play_season(asked)
    finally:
        world.clean_up()
    for what, figure in sorted(season.counts.items()):
        print(f"  {what}: {figure:,}")
    for wrong in (*season.wrongs, *season.left)[:SHOWN]:
        print(f"  wrong: {wrong}")
    over = sum(number for what, number in season.counts.items() if what.startswith("games ended"))
    yield Bar(f"season: {over} games ended of {_games(asked)}", over == _games(asked))
    yield Bar(f"season: {len(season.left)} things left undone (at most 0)", not season.left)
    yield Bar(f"season: {len(season.wrongs)} promises broken (at most 0)", not season.wrongs)
    yield judge(
        f"season on {asked.db}", "moves a second", found,
        peer="play.make_move alone", least=LEAST, goal=GOAL,
    )  # fmt: skip


def play_season(asked: Asked, *, days: int = MOST_DAYS) -> tuple[Season, list[Pair]]:
    """Return a season that was played, and its rates beside those of bare moves."""
    kind = KINDS[asked.db]
    with running_mailbox() as mailbox, world.world(kind) as other:
        bare = Bare(other, _games(asked))
        with world.world(kind, smtp_port=mailbox.port) as app:
            port = _listen_at_free_port(app)
            site = app.extensions["pbem.settings"]
            with Crew(site, WORKERS[asked.db]) as crew:
                season = Season(app, mailbox, crew, port, games=_games(asked), days=days)
                with _at_made_up_time(lambda: season.now), _listening(app):
                    found = list(_pairs(season, bare, asked.seconds))
                    season.end()
            return season, found


def _pairs(season: Season, bare: Bare, seconds: float) -> Iterator[Pair]:
    """Play to the end; yield the rates of each slice and of bare moves after it."""
    goes_on, before = True, 0
    while goes_on:
        start = perf_counter()
        while goes_on and perf_counter() - start < SLICE:
            goes_on = season.go_on()
        spent, moves = perf_counter() - start, season.moves()
        if moves > before:
            yield (moves - before) / spent, bare.rate(seconds)
        before = moves
        season.look()


def _games(asked: Asked) -> int:
    return COUNT if asked.count is None else asked.count


def _listen_at_free_port(app: Flask) -> int:
    port = free_port()
    app.extensions["pbem.settings"] = replace(
        app.extensions["pbem.settings"], listen_protocol="lmtp", listen_port=port
    )
    return port


@contextmanager
def _listening(app: Flask) -> Iterator[None]:
    found = Listener(app)
    found.start()
    try:
        yield
    finally:
        found.stop()


@contextmanager
def _at_made_up_time(read: Callable[[], datetime]) -> Iterator[None]:
    """Let the pages of moves and the way in for mail read another clock than the machine's."""

    class Clock(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:  # type: ignore[override]
            return read().astimezone(tz)

    modules: tuple[Any, ...] = (seat_pages, listener)
    for module in modules:
        module.datetime = Clock
    try:
        yield
    finally:
        for module in modules:
            module.datetime = datetime


def _misbehave(mailbox: Mailbox, seed: bytes, counts: Counter[str]) -> None:
    """Let a relay refuse for now, or hang up once on a letter that it has taken."""
    chance = random.Random(seed)
    hung_up: set[bytes] = set()

    def happens(what: str) -> bool:
        hit = chance.random() < FAULTS / 3
        counts[f"fault: {what}"] += hit
        return hit

    def hangs_up(raw: bytes) -> bool:
        name = _MESSAGE_ID.search(raw)
        assert name is not None, "each letter has one"
        # A letter that is cut off twice is given up, as it should be.
        if name[1] in hung_up or not happens("hung up behind the dot"):
            return False
        hung_up.add(name[1])
        return True

    mailbox.on_rcpt = lambda _to: "450 4.2.0 greylisted" if happens("refused RCPT") else None
    mailbox.on_data = lambda _raw: "451 4.3.0 not now" if happens("refused DATA") else None
    mailbox.hangs_up = hangs_up
