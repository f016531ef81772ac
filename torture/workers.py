"""Workers side by side, in a crash loop, or asleep for too long: all is done once, and is done."""

from __future__ import annotations

import random
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from flask import current_app

from pbem import worker
from pbem.ext import db, writing
from pbem.mail import inbox, outbox
from pbem.models import Beat, Letter, LetterState, Move, Note, Reminder, Turn
from torture import world
from torture.mortal import Life, Mortal
from torture.processes import start_worker, wait_for, working
from torture.relay import Mailbox, running_mailbox
from torture.report import Run
from torture.world import NOW

HOUR: Final = timedelta(hours=1)
MOST_WAIT: Final = 300.0  # seconds for workers to come to an end
A_WORLD: Final = 24  # pauses on one database
# Not where a transaction is open: there it holds the others, and dies of its time limit.
PAUSES: Final = (
    ("send", "letter: handed over"),
    ("take_mails", "mail: named"),
    ("send", "letter: claimed"),
    ("take_mails", "move: committed"),
    ("send", "letter: connected"),
    ("take_mails", "mail: claimed"),
    ("send", "letter: true"),
    ("take_mails", "mail: kept"),
    ("send", "letter: written"),
    ("take_mails", "mail: parsed"),
    ("send", "letter: marked"),
    ("take_mails", "mail: answered"),
)
# Behind these the letter may still go out: no lease can call a mail back.
_ON_ITS_WAY: Final = ("letter: true", "letter: written", "letter: handed over")


@dataclass(frozen=True, slots=True)
class Due:
    """Games in which something is to be done: a timeout, a reminder, a reply that waits."""

    late: tuple[int, ...]
    soon: tuple[int, ...]
    answered: tuple[int, ...]


def side_by_side(run: Run) -> None:
    """Let two and four workers share the work, on both databases."""
    chosen = (("sqlite", 2), ("postgresql", 4), ("sqlite", 4), ("postgresql", 2))
    # A short run has the two that people run.
    for kind, number in chosen if run.count > 8 else chosen[:2]:
        with running_mailbox() as mailbox, world.world(kind, smtp_port=mailbox.port):
            now = datetime.now(UTC)
            due = _due(max(4, run.count // 12), now)
            with working(_database(), mailbox, number=number):
                wait_for(lambda due=due: _is_quiet(due), seconds=MOST_WAIT)  # type: ignore[misc]
            wrongs = [*_wrong_work(due), *_wrong_mails(mailbox, most=1)]
            wrongs += world.disagreements(now=now)
            run.counts[f"games with {number} workers on {kind}"] = 3 * len(due.late)
            where = f"{number} workers on {kind}"
            run.tried((f"{where}: {wrong}" for wrong in wrongs), tries=3 * len(due.late))


def crash_loop(run: Run) -> None:
    """Kill a worker again and again for so many seconds, at any moment of its work."""
    chance = random.Random(run.seed)
    with running_mailbox() as mailbox, world.world(smtp_port=mailbox.port):
        now = datetime.now(UTC)
        due = _due(max(4, run.count // 4), now)
        end = time.monotonic() + run.count
        while time.monotonic() < end:
            process = start_worker(_database(), mailbox)
            try:
                process.wait(timeout=chance.uniform(0.5, 4))
            except subprocess.TimeoutExpired:
                run.counts["workers killed"] += 1
            process.kill()
            process.communicate()
        # What the dead have leased is free again by then.
        for _ in range(3):
            worker.run_once(world.late(datetime.now(UTC)))
        copies = 1 + run.counts["workers killed"]
        wrongs = [*_wrong_work(due), *_wrong_mails(mailbox, most=copies, dying=True)]
        run.counts["letters"] = len({raw for _sender, _to, raw in mailbox.arrived})
        run.counts["came twice under one name"] = len(mailbox.arrived) - run.counts["letters"]
        if not _is_quiet(due):
            wrongs.append("something is left to do")
        run.tried([*wrongs, *world.disagreements(now=now)], tries=run.counts["workers killed"])


def stale_lease(run: Run) -> None:
    """Stop a process in the middle of its work, let another do it, and wake the first."""
    chance = random.Random(run.seed)
    for first in range(0, run.count, A_WORLD):
        kind = world.KINDS[first // A_WORLD % 2]
        with running_mailbox() as mailbox, world.world(kind, smtp_port=mailbox.port):
            people = world.people(3)
            world.keep_tables(people, 1)
            with Mortal() as mortal:
                for nth in range(first, min(run.count, first + A_WORLD)):
                    does, point = PAUSES[nth % len(PAUSES)]
                    now = NOW + (nth - first) * 2 * outbox.LEASE
                    # Who is asked again at once has no letter yet.
                    while not _is_letter_due(now):
                        world.let_all_move(now=now)
                        world.keep_tables(people, 1, now=now)
                    life = Life(does, chance.randrange(10**9), now.isoformat(), at=point, nth=1)
                    wrongs = _slept(run, mortal, life, mailbox, now=now)
                    run.tried(f"asleep at {point} on {kind}: {wrong}" for wrong in wrongs)


def _is_letter_due(now: datetime) -> bool:
    db.session.rollback()
    due = db.session.query(Letter).filter_by(state=LetterState.QUEUED).filter(Letter.due_at <= now)
    return due.first() is not None


def _slept(
    run: Run, mortal: Mortal, life: Life, mailbox: Mailbox, *, now: datetime
) -> Iterator[str]:
    """Let a life sleep while its work is done by us, and wake it; yield what is wrong then."""
    before = len(mailbox.arrived)
    death = mortal.live(life, asleep=lambda: _do_its_work(now + outbox.LEASE + HOUR / 60))
    db.session.rollback()
    run.visited.update(death.visited)
    run.counts[f"slept at {life.at}"] += 1
    if life.at not in death.visited:
        yield "it never came there"
    if death.code:
        yield f"it ended with {death.code}: {death.error}"
    inbox.read_all(now=now + 2 * outbox.LEASE)
    outbox.send_due(now=now + 2 * outbox.LEASE)
    came = [raw for _sender, _to, raw in mailbox.arrived[before:]]
    twice = len(came) - len(set(came))
    run.counts["came twice under one name"] += twice
    if twice > (life.at in _ON_ITS_WAY):
        yield f"{twice} letters came twice"
    yield from _wrong_mails(mailbox, most=2)
    moved = Counter(turn_id for (turn_id,) in db.session.query(Move.turn_id))
    for taken in death.begun:
        if moved[int(taken.partition(" ")[0])] != 1:
            yield f"the reply {taken} counts {moved[int(taken.partition(' ')[0])]} times"
    yield from world.disagreements(now=now)


def _do_its_work(now: datetime) -> None:
    """Do what a sleeping process has leased, as another worker does once the lease is over."""
    inbox.read_all(now=now)
    outbox.send_due(now=now)
    db.session.remove()


def _database() -> str:
    url: str = current_app.config["SQLALCHEMY_DATABASE_URI"]
    return url


def _due(number: int, now: datetime) -> Due:
    """Make so many games of each kind in which something is to be done."""
    people = world.people(2, now=now)
    made = [tuple(world.table(people, now=now).id for _ in range(number)) for _ in range(3)]
    due = Due(*made)
    with writing():
        for match_id in due.late:
            _move_back(match_id, 74 * HOUR)
        for match_id in due.soon:
            _move_back(match_id, 50 * HOUR)
        db.session.merge(Beat(id=1, at=now))
    for match_id in due.answered:
        raw, envelope = world.reply(_open_turn(match_id), "1")
        inbox.take(raw, envelope, now=now)
    return due


def _move_back(match_id: int, by: timedelta) -> None:
    """Let the open turn have been asked so much earlier."""
    turn = _open_turn(match_id)
    turn.opened_at -= by
    turn.deadline -= by


def _open_turn(match_id: int) -> Turn:
    return db.session.query(Turn).filter_by(match_id=match_id, closed_at=None).one()


def _is_quiet(due: Due) -> bool:
    """Return whether no mail waits, in either direction, and all that was due is done."""
    db.session.rollback()
    waiting = db.session.query(Letter).filter(
        Letter.state.in_((LetterState.QUEUED, LetterState.SENDING, LetterState.RETRY))
    )
    unread = db.session.query(Note).filter(Note.read_at.is_(None))
    is_done = db.session.query(Reminder).count() >= len(due.soon) and db.session.query(
        Move
    ).count() >= len(due.late) + len(due.answered)
    return is_done and not waiting.count() and not unread.count()


def _wrong_work(due: Due) -> Iterator[str]:
    """Look that each game was moved on, reminded or left alone, as was due."""
    db.session.rollback()
    made = {move.match_id: move.by for move in db.session.query(Move)}
    wanted = dict.fromkeys(due.late, "timeout") | dict.fromkeys(due.answered, "reply")
    if made != wanted or db.session.query(Move).count() != len(wanted):
        yield f"moves are {Counter(made.values())}, wanted {Counter(wanted.values())}"
    reminded = Counter(one.turn_id for one in db.session.query(Reminder))
    if reminded != Counter(_open_turn(match_id).id for match_id in due.soon):
        yield f"reminders are {reminded}"
    kinds = Counter(letter.kind for letter in db.session.query(Letter))
    # All games that are due together share one letter.
    waited_for = {_open_turn(match_id).seat for match_id in due.soon}
    if kinds["reminder"] + kinds["reminders"] < len(waited_for):
        yield f"{len(waited_for)} are to be reminded, and letters are {kinds}"


def _wrong_mails(mailbox: Mailbox, *, most: int, dying: bool = False) -> Iterator[str]:
    """Look that each letter came, as itself and not more often than it may.

    Where workers are ``dying``, one may have come and be stale before anybody could mark it.
    """
    db.session.rollback()
    copies = mailbox.copies()
    names: dict[str, set[str]] = {state: set() for state in LetterState}
    for letter in db.session.query(Letter):
        names[letter.state].add(letter.message_id("play.example"))
    if missing := names[LetterState.SENT] - copies.keys():
        yield f"{len(missing)} letters are marked as sent and never came"
    may = names[LetterState.SENT] | (names[LetterState.STALE] if dying else set())
    if others := copies.keys() - may:
        yield f"{len(others)} letters came and are not marked as sent"
    for name, found in copies.items():
        if len(found) > most or len(set(found)) > 1:
            yield f"{name} came {len(found)} times, with {len(set(found))} contents"
