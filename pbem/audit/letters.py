"""What is wrong with mail: letters that tell what is not so or do not leave, notes not read."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import or_, select
from sqlalchemy.orm import defer

from pbem.ext import db
from pbem.models import Heard, Letter, LetterState, Note, Player, Talk, Turn

# A relay that is away holds letters, but a host should know of it by then.
STUCK_AFTER: Final = timedelta(days=1)
_WAITING: Final = (LetterState.QUEUED, LetterState.RETRY)


def wrongs(*, now: datetime) -> Iterator[str]:
    """Yield a line for each letter or note that is not as promised."""
    yield from _unknown_states()
    yield from _stuck(now=now)
    yield from _untrue()
    yield from _to_former_players()
    yield from _sent_without_time()
    yield from _unread(now=now)
    yield from _overheard()


def _unknown_states() -> Iterator[str]:
    for letter in db.session.scalars(
        select(Letter).where(Letter.state.not_in(list(LetterState))).order_by(Letter.id)
    ):
        yield f"{_named(letter)} is in no known state: {letter.state!r}"


def _stuck(*, now: datetime) -> Iterator[str]:
    limit = now - STUCK_AFTER
    waits = Letter.state.in_((*_WAITING, LetterState.UNKNOWN)) & (Letter.due_at < limit)
    is_held = (Letter.state == LetterState.SENDING) & (Letter.leased_until < limit)
    for letter in db.session.scalars(select(Letter).where(or_(waits, is_held)).order_by(Letter.id)):
        yield f"{_named(letter)} should have left at {letter.due_at:%Y-%m-%d %H:%MZ}"


def _untrue() -> Iterator[str]:
    about_the_past = (
        select(Letter)
        .join(Turn, Turn.id == Letter.turn_id)
        .where(Letter.kind.in_(("your_turn", "reminder")), Letter.state.in_(_WAITING))
        .where(Turn.closed_at.is_not(None))
    )
    for letter in db.session.scalars(about_the_past.order_by(Letter.id)):
        yield f"{_named(letter)} waits to tell of turn {letter.turn_id}, which is over"


def _to_former_players() -> Iterator[str]:
    theirs = select(Letter).join(Player, Player.id == Letter.player_id)
    gone = theirs.where(Player.deleted_at.is_not(None), Letter.state.in_(_WAITING))
    for letter in db.session.scalars(gone.order_by(Letter.id)):
        yield f"{_named(letter)} waits for player {letter.player_id}, who has left"


def _sent_without_time() -> Iterator[str]:
    sent = select(Letter).where(Letter.state == LetterState.SENT, Letter.sent_at.is_(None))
    for letter in db.session.scalars(sent.order_by(Letter.id)):
        yield f"{_named(letter)} was sent, and nobody knows when"


def _unread(*, now: datetime) -> Iterator[str]:
    notes = select(Note).options(defer(Note.raw)).order_by(Note.id)
    waiting = notes.where(Note.read_at.is_(None), Note.received_at < now - STUCK_AFTER)
    for note in db.session.scalars(waiting):
        yield f"mail {note.id} came at {note.received_at:%Y-%m-%d %H:%MZ} and is not read yet"
    lost = notes.where(Note.read_at.is_not(None), Note.verdict.is_(None))
    for note in db.session.scalars(lost):
        yield f"mail {note.id} was read, and nothing says what became of it"


def _overheard() -> Iterator[str]:
    told = (select(Talk, Letter).join(Heard, Heard.talk_id == Talk.id).join(Heard.letter)).order_by(
        Talk.id
    )
    elsewhere = told.where(Letter.match_id != Talk.match_id)
    for talk, letter in db.session.execute(elsewhere):
        yield f"line {talk.id} was told to another table, by {_named(letter)}"
    whispers = told.where(
        Talk.to_id.is_not(None),
        Letter.player_id != Talk.to_id,
        Letter.player_id != Talk.player_id,
    )
    for talk, letter in db.session.execute(whispers):
        yield f"line {talk.id} was whispered to somebody else than {_named(letter)} went to"


def _named(letter: Letter) -> str:
    return f"letter {letter.id} ({letter.kind})"
