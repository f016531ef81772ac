"""Whether a long run has kept what is promised, told by its rows alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from sqlalchemy import select

from pbem import clocks, deadlines, post
from pbem.deadlines import Calendar
from pbem.ext import db
from pbem.mail import outbox
from pbem.models import Letter, LetterState, Match, Move, Note, Player, Reminder, Status, Turn


def broken() -> Iterator[str]:
    """Yield a line for each promise that is broken, beside those that the audit knows."""
    db.session.rollback()
    yield from _wrong_moves()
    yield from _early()
    yield from _wrong_receipts()
    yield from _wrong_reminders()
    yield from _untrue_when_they_left()
    yield from _in_quiet_hours()
    yield from _failed()
    db.session.rollback()


def unfinished() -> Iterator[str]:
    """Yield a line for each game that is not over, and for what still waits."""
    db.session.rollback()
    for code, status in db.session.execute(
        select(Match.code, Match.status).where(Match.status != Status.OVER)
    ):
        yield f"game {code} is {status}"
    waiting = (LetterState.QUEUED, LetterState.SENDING, LetterState.RETRY, LetterState.UNKNOWN)
    for letter_id, state in db.session.execute(
        select(Letter.id, Letter.state).where(Letter.state.in_(waiting))
    ):
        yield f"letter {letter_id} is {state}"
    for note_id in db.session.scalars(select(Note.id).where(Note.read_at.is_(None))):
        yield f"mail {note_id} is not read"


def _wrong_moves() -> Iterator[str]:
    """Look that each turn is closed by one move, and each move counted once."""
    moved = Counter(db.session.scalars(select(Move.turn_id)))
    turns = select(Turn.id, Turn.closed_at, Match.ended).join(Match, Match.id == Turn.match_id)
    for turn_id, closed_at, ended in db.session.execute(turns):
        # Where a table stops at once, turns end without a move.
        if moved[turn_id] != (closed_at is not None) and not (ended == "stopped" and closed_at):
            yield f"turn {turn_id}: {moved[turn_id]} moves, closed at {closed_at}"
    made = Counter(db.session.scalars(select(Move.match_id)))
    for match_id, code, ply in db.session.execute(select(Match.id, Match.code, Match.ply)):
        if made[match_id] != ply:
            yield f"{code}: {ply} is not its number of moves, {made[match_id]}"


def _early() -> Iterator[str]:
    """Look that nobody's time ran out before their deadline and its grace."""
    ran_out = (
        select(Move.at, Turn.id, Turn.deadline)
        .join(Turn, Turn.id == Move.turn_id)
        .join(Letter, (Letter.turn_id == Turn.id) & (Letter.kind == "house_played"))
    )
    for at, turn_id, deadline in db.session.execute(ran_out):
        if not deadlines.is_out_of_time(deadline, at):
            yield f"turn {turn_id}: its time ran out at {at}, and it had until {deadline}"
    stopped = select(Match).where(Match.ended == "stopped")
    for match in db.session.scalars(stopped):
        asked = select(Turn.deadline).where(
            Turn.match_id == match.id, Turn.closed_at == match.ended_at
        )
        assert match.ended_at is not None, "it has ended"
        if not deadlines.is_out_of_time(min(db.session.scalars(asked)), match.ended_at):
            yield f"{match.code} was stopped before a deadline and its grace"


def _wrong_receipts() -> Iterator[str]:
    """Look that each move by mail has the one receipt that its maker is owed."""
    told: Counter[tuple[int | None, int]] = Counter()
    for letter in db.session.scalars(select(Letter).where(Letter.kind == "receipt")):
        told[letter.match_id, letter.about["moved"]] += 1
    for match_id, ply, by in db.session.execute(select(Move.match_id, Move.ply, Move.by)):
        if told[match_id, ply] != (by == "reply"):
            yield f"match {match_id} ply {ply}: {told[match_id, ply]} receipts, made by {by}"


def _wrong_reminders() -> Iterator[str]:
    """Look that a turn has no more letters that remind of it than steps were due, and one then."""
    told: Counter[int] = Counter()
    for letter in db.session.scalars(
        select(Letter).where(Letter.kind.in_(("reminder", "reminders")))
    ):
        told.update(letter.about.get("turns", [letter.turn_id]))
    due = Counter(db.session.scalars(select(Reminder.turn_id)))
    for turn_id in told | due:
        if not min(due[turn_id], 1) <= told[turn_id] <= due[turn_id]:
            yield f"turn {turn_id}: {told[turn_id]} letters remind of it, {due[turn_id]} were due"


def _untrue_when_they_left() -> Iterator[str]:
    late = (
        select(Letter.id, Letter.kind, Letter.turn_id)
        .join(Turn, Turn.id == Letter.turn_id)
        .where(Letter.kind.in_(("your_turn", "reminder")), Letter.sent_at > Turn.closed_at)
    )
    for letter_id, kind, turn_id in db.session.execute(late):
        yield f"letter {letter_id} ({kind}) left when turn {turn_id} was over"


def _in_quiet_hours() -> Iterator[str]:
    sent = select(Letter, Player).join(Player, Player.id == Letter.player_id)
    sent = sent.where(Letter.sent_at.is_not(None), Player.quiet_from.is_not(None))
    for letter, player in db.session.execute(sent):
        assert letter.sent_at is not None, "the query wants it"
        calendar = Calendar(clocks.zone_of(player), clocks.quiet_of(player))
        is_quiet = deadlines.out_of_quiet(letter.sent_at, calendar) != letter.sent_at
        if is_quiet and letter.kind not in outbox.ASKED_FOR and not post.is_answer(letter):
            yield f"letter {letter.id} ({letter.kind}) left in quiet hours"


def _failed() -> Iterator[str]:
    """Look for what the server itself has failed at."""
    notes = select(Note.id, Note.verdict, Note.reason)
    for note_id, verdict, reason in db.session.execute(
        notes.where(Note.verdict.in_(("failed", "unparseable")))
    ):
        yield f"mail {note_id} is {verdict}: {reason}"
    letters = select(Letter.id, Letter.kind, Letter.error)
    for letter_id, kind, error in db.session.execute(
        letters.where(Letter.state == LetterState.FAILED)
    ):
        yield f"letter {letter_id} ({kind}) was given up: {error}"
