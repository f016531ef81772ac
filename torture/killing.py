"""Writers, readers of mail and senders killed at any moment: what was acknowledged stands."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import select

from pbem import failpoints, play
from pbem.ext import db
from pbem.mail import inbox, note, outbox
from pbem.models import Letter, LetterState, Move, Note, Turn
from torture import world
from torture.mortal import Death, Life, Mortal
from torture.relay import Mailbox, running_mailbox
from torture.report import Run
from torture.world import NOW

A_WORLD: Final = 20  # lives on one database
TABLES: Final = 3  # that run at the same time
APART: Final = timedelta(minutes=6)  # between two lives: longer than any lease

Check = Callable[[Death, datetime], Iterator[str]]


def kill_writers(run: Run) -> None:
    """Kill processes that make moves."""

    def checks() -> Check:
        known: dict[int, str] = {}
        return lambda death, now: _wrong_moves(run, death, known, now=now)

    _kill(run, "move_on", failpoints.MOVE, 0.15, checks)


def kill_inboxes(run: Run) -> None:
    """Kill processes that take and read mail."""
    points = (*failpoints.MOVE, *failpoints.MAIL)
    # The process that reads mail takes most of the time before the first mail is read.
    _kill(run, "take_mails", points, 1.0, lambda: lambda death, now: _wrong_mails(run, death, now))


def kill_senders(run: Run) -> None:
    """Kill processes that send letters to a real SMTP server."""
    with running_mailbox() as mailbox:

        def checks() -> Check:
            mailbox.arrived.clear()
            seen: dict[str, int] = {}
            return lambda _death, now: _wrong_letters(run, mailbox, seen, now=now)

        _kill(run, "send", failpoints.LETTER, 0.3, checks, smtp_port=mailbox.port)


def _kill(
    run: Run,
    does: str,
    points: tuple[str, ...],
    longest: float,
    checks: Callable[[], Check],
    *,
    smtp_port: int = 1,
) -> None:
    """Live and die so often, on both databases by turns; half of the times at a failpoint."""
    chance = random.Random(run.seed)
    for first in range(0, run.count, A_WORLD):
        kind = world.KINDS[first // A_WORLD % 2]
        with world.world(kind, smtp_port=smtp_port):
            people = world.people(3)
            world.keep_tables(people, TABLES)
            check = checks()
            with Mortal() as mortal:
                for nth in range(first, min(run.count, first + A_WORLD)):
                    now = NOW + (nth - first + 1) * APART
                    world.keep_tables(people, TABLES, now=now)
                    life = _life(does, points, longest, nth, chance, now=now)
                    death = mortal.live(life)
                    _count(run, death, kind)
                    run.tried(_wrong_death(death, check(death, now), f"try {nth} on {kind}"))


def _life(
    does: str,
    points: tuple[str, ...],
    longest: float,
    nth: int,
    chance: random.Random,
    *,
    now: datetime,
) -> Life:
    begin = Life(does, chance.randrange(10**9), now.isoformat())
    if nth % 2:
        return Life(does, begin.seed, begin.now, after=chance.uniform(0, longest))
    # The last comes first, so that a short run visits each; later lives come deeper in.
    point = points[-1 - nth // 2 % len(points)]
    times = 1 if nth // 2 < len(points) else chance.randint(1, 5)
    return Life(does, begin.seed, begin.now, at=point, nth=times)


def _count(run: Run, death: Death, kind: str) -> None:
    run.visited.update(death.visited)
    run.counts["acknowledged"] += len(death.acknowledged)
    ends = {0: "came to its end", -signal.SIGKILL: f"killed ({kind})"}
    run.counts[ends.get(death.code, "failed")] += 1


def _wrong_death(death: Death, wrongs: Iterator[str], where: str) -> Iterator[str]:
    if death.code not in (0, -signal.SIGKILL):
        yield f"{where}: the process ended with {death.code}: {death.error}"
    for wrong in wrongs:
        yield f"{where}: {wrong}"


def _wrong_moves(run: Run, death: Death, known: dict[int, str], *, now: datetime) -> Iterator[str]:
    """Yield what is wrong with the moves after a death; do again what was not acknowledged."""
    for made in death.begun:
        turn_id, _, text = made.partition(" ")
        known[int(turn_id)] = text
        if made in death.acknowledged:
            continue
        again = play.make_move(int(turn_id), text, by="link", now=now)
        run.counts["stored, not acknowledged" if again.repeated else "made again"] += 1
    db.session.rollback()
    stored = {move.turn_id: move.text for move in db.session.query(Move)}
    if stored != known:
        differ = {
            turn_id for turn_id in stored | known if stored.get(turn_id) != known.get(turn_id)
        }
        yield f"what stands is not what was asked for: turns {sorted(differ)}"
    yield from world.disagreements(now=now)


def _wrong_mails(run: Run, death: Death, now: datetime) -> Iterator[str]:
    """Yield what is wrong after a death; mails that were not acknowledged come again."""
    for taken in death.begun:
        turn_id, _, number = taken.partition(" ")
        turn = db.session.get_one(Turn, int(turn_id))
        raw, envelope = world.reply(turn, number)
        text = world.choices(turn)[int(number) - 1]
        if taken not in death.acknowledged:
            is_new = inbox.take(raw, envelope, now=now)
            run.counts["taken again" if is_new else "stored, not acknowledged"] += 1
        kept = db.session.query(Note).filter_by(digest=note.digest(raw, envelope.recipient))
        if kept.count() != 1:
            yield f"the mail about turn {turn_id} is kept {kept.count()} times"
        inbox.read_all(now=world.late(now))
        made = db.session.scalars(select(Move.text).where(Move.turn_id == int(turn_id))).all()
        if made != [text]:
            yield f"turn {turn_id}: a reply asked for {text}, and {made} stands"
    unread = db.session.query(Note).where(Note.read_at.is_(None)).count()
    if unread:
        yield f"{unread} mails stay unread"
    yield from world.disagreements(now=now)


def _wrong_letters(
    run: Run, mailbox: Mailbox, seen: dict[str, int], *, now: datetime
) -> Iterator[str]:
    """Send what a dead sender has left, and yield what is wrong with what arrived.

    ``seen`` are the letters that had come before, and how often each came again.
    """
    outbox.send_due(now=world.late(now) - timedelta(seconds=1))
    db.session.rollback()
    ready = (LetterState.SENT, LetterState.STALE)
    left = db.session.query(Letter).where(Letter.state.not_in(ready)).count()
    if left:
        yield f"{left} letters are left"
    copies = mailbox.copies()
    sent = db.session.query(Letter).where(Letter.state == LetterState.SENT)
    missing = {letter.message_id("play.example") for letter in sent} - copies.keys()
    if missing:
        yield f"{len(missing)} letters are marked as sent and never came"
    for message_id, found in copies.items():
        if len(set(found)) > 1 or len(found) > seen.get(message_id, 0) + 2:
            yield f"{message_id} came {len(found)} times, with {len(set(found))} contents"
    run.counts["letters"] += len(copies.keys() - seen.keys())
    twice = {name: len(found) - 1 for name, found in copies.items()}
    run.counts["came twice under one name"] += sum(twice.values()) - sum(seen.values())
    seen |= twice
    # Letters wait for the next sender.
    world.let_all_move(now=now)
