"""What of the table talk a seat's player may read, and what letters have told them of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sqlalchemy import Select, bindparam, exists, or_, select

from pbem.ext import db, run
from pbem.models import Heard, Letter, LetterState, Match, Mute, Player, Seat, Talk

_IS_TALK: Final = select(exists().where(Talk.match_id == bindparam("at_match")))


def audible(seat: Seat) -> Sequence[Talk]:
    """Return all that a seat's player may read of their table's talk, oldest first."""
    return db.session.scalars(_audible(seat)).all()


def open_talk(match: Match) -> Sequence[Talk]:
    """Return what was said to the whole of a table and is not hidden, oldest first."""
    to_all = select(Talk).where(
        Talk.match_id == match.id, Talk.to_id.is_(None), Talk.hidden_at.is_(None)
    )
    return db.session.scalars(to_all.order_by(Talk.id)).all()


def told(letter: Letter, seat: Seat) -> Sequence[Talk]:
    """Return what a letter tells a seat of the talk, but for what was hidden since."""
    heard = select(Heard.talk_id).where(Heard.letter_id == letter.id, Heard.seat_id == seat.id)
    shown = select(Talk).where(Talk.id.in_(heard), Talk.hidden_at.is_(None))
    return db.session.scalars(shown.order_by(Talk.id)).all()


def tell_untold(letter: Letter, seat: Seat) -> None:
    """Let a new letter tell a seat what no letter has told it yet.

    The caller holds the transaction.
    """
    untold: Sequence[Talk] = ()
    if run(_IS_TALK, at_match=seat.match_id).scalar():
        untold = db.session.scalars(_untold(seat)).all()
    if untold:
        db.session.flush()
        db.session.add_all(
            Heard(talk_id=talk.id, letter_id=letter.id, seat_id=seat.id) for talk in untold
        )


def has_untold(seat: Seat) -> bool:
    """Return whether something was said that no letter has told a seat yet."""
    return db.session.scalars(_untold(seat).limit(1)).first() is not None


def muted(player: Player) -> frozenset[int]:
    """Return the players, by their id, of whom a player does not want to read."""
    return frozenset(db.session.scalars(select(Mute.muted_id).where(Mute.player_id == player.id)))


def _audible(seat: Seat) -> Select[Talk]:
    muted = select(Mute.muted_id).where(Mute.player_id == seat.player_id)
    return (
        select(Talk)
        .where(
            Talk.match_id == seat.match_id,
            Talk.hidden_at.is_(None),
            Talk.player_id.not_in(muted),
            or_(
                Talk.to_id.is_(None),
                Talk.to_id == seat.player_id,
                Talk.player_id == seat.player_id,
            ),
        )
        .order_by(Talk.id)
    )


def _untold(seat: Seat) -> Select[Talk]:
    told = (
        select(Heard.talk_id)
        .join(Letter)
        .where(
            Heard.seat_id == seat.id,
            Letter.player_id == seat.player_id,
            Letter.state != LetterState.STALE,
        )
    )
    return _audible(seat).where(Talk.player_id != seat.player_id, Talk.id.not_in(told))
