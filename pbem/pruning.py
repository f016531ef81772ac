"""Throwing old mail away: raw mails that were read, and letters of games that are over.

It goes in small transactions, so that a server that runs meanwhile never waits long.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from sqlalchemy import (
    ColumnElement,
    LargeBinary,
    delete,
    exists,
    func,
    literal,
    or_,
    select,
    update,
)

from pbem.ext import db, writing
from pbem.models import Heard, Letter, LetterState, Match, Note, Status

BATCH: Final = 500  # rows of one transaction
# What will not leave again by itself. A reply that cites one, or a bounce of it, is long past.
_DONE: Final = (LetterState.SENT, LetterState.STALE, LetterState.FAILED, LetterState.TOLD)


def old_notes(before: datetime) -> ColumnElement[bool]:
    """Return the condition for mails read before a moment that are still kept as they came."""
    is_kept = Note.raw != literal(b"", LargeBinary)
    return (Note.read_at < before) & or_(is_kept, Note.return_path != "")


def old_letters(before: datetime) -> ColumnElement[bool]:
    """Return the condition for letters made before a moment that nothing needs any more.

    Those of games that wait or run stay, as do those that told what was said at a table:
    else it would be told again.
    """
    closed = select(Match.id).where(Match.status.in_((Status.OVER, Status.CANCELLED)))
    return (
        (Letter.created_at < before)
        & Letter.state.in_(_DONE)
        & or_(Letter.match_id.is_(None), Letter.match_id.in_(closed))
        & ~exists().where(Heard.letter_id == Letter.id)
    )


def count_notes(before: datetime) -> int:
    """Return how many mails would be emptied."""
    return db.session.scalar(select(func.count(Note.id)).where(old_notes(before))) or 0


def count_letters(before: datetime) -> int:
    """Return how many letters would be deleted."""
    return db.session.scalar(select(func.count(Letter.id)).where(old_letters(before))) or 0


def empty_notes(before: datetime) -> int:
    """Empty old mails and return how many. Their digests stay: no mail ever counts twice."""
    emptied = 0
    while True:
        some = select(Note.id).where(old_notes(before)).order_by(Note.id).limit(BATCH)
        with writing():
            ids = db.session.scalars(some).all()
            db.session.execute(
                update(Note)
                .where(Note.id.in_(ids))
                .values(raw=b"", return_path="", reason=None)
                .execution_options(synchronize_session=False)
            )
        emptied += len(ids)
        if len(ids) < BATCH:
            return emptied


def delete_letters(before: datetime) -> int:
    """Delete old letters and return how many."""
    deleted = 0
    while True:
        some = select(Letter.id).where(old_letters(before)).order_by(Letter.id).limit(BATCH)
        with writing():
            ids = db.session.scalars(some).all()
            db.session.execute(
                delete(Letter)
                .where(Letter.id.in_(ids))
                .execution_options(synchronize_session=False)
            )
        deleted += len(ids)
        if len(ids) < BATCH:
            return deleted
