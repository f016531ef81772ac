"""Taking a move back, as long as nobody has moved since or seen more than its card."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import delete, select

from engine.game import N_
from pbem import deadlines, play, post
from pbem.errors import CannotTakeBack, MatchOver
from pbem.ext import db, writing
from pbem.models import Match, Move, Seat, Status, Turn, WithdrawnMove
from pbem.table import Table, load

_log = logging.getLogger(__name__)

# How long a move may be taken back.
LONGEST: Final = timedelta(minutes=10)
# What may follow from a move and shows nobody more than the card that was played. Any other
# kind of event may: a card that was drawn, a hand that ended, a new one.
_SHOWS_NO_MORE: Final = frozenset({"trick", "eleven", "free"})


def can_take_back(seat: Seat, table: Table, *, now: datetime) -> Move | None:
    """Return the move that a seat's player may take back now, if there is one."""
    try:
        return _withdrawable(seat, table, table.ply, now=now)
    except (CannotTakeBack, MatchOver):
        return None


def take_back(seat_id: int, ply: int, *, now: datetime, note_id: int | None = None) -> Turn:
    """Take a seat's move back, the last of its match and the ``ply``-th; its turn opens again.

    Raises CannotTakeBack, or MatchOver; nothing is changed then.
    """
    with writing():
        seat = db.session.get_one(Seat, seat_id)
        play.lock(seat.match)
        db.session.refresh(seat)
        move = _withdrawable(seat, load(seat.match), ply, now=now)
        turn = db.session.get_one(Turn, move.turn_id)
        # 1. Who was asked since is not any more.
        after = _turns_after(seat.match, move)
        for other in after:
            other.closed_at = now
            post.drop_notices(other)
        # 2. The move's row goes away, and its turn is as it was.
        _withdraw(seat, turn, move, now=now)
        # 3. All are told: the mover what they may do, the others that nobody asks them.
        post.note_down(seat.match, "taken_back", {"name": seat.stored_name}, now=now)
        for other in after:
            post.taken_back(other.asked, seat, now=now)
        post.drop_receipts(turn, ply)
        if note_id is None:
            # The page shows it already; the letter is for who goes away from it.
            post.your_turn(seat, turn, now=now, due_at=now + deadlines.LEAD_ON)
        else:
            post.once_more(seat, turn, now=now)
            play.close_note(note_id, "taken back", turn_id=turn.id, now=now)
        _log.info("match %s turn %s: seat %s took back", turn.match_id, turn.id, turn.seat)
        return turn


def last_ply(seat: Seat) -> int:
    """Return the ply of a seat's last move, or 0."""
    own = [move.ply for move in seat.match.moves if move.seat == seat.number]
    return own[-1] if own else 0


def is_void(turn: Turn) -> bool:
    """Return whether a turn is over because the move before it was taken back."""
    found = select(WithdrawnMove.id).where(
        WithdrawnMove.match_id == turn.match_id,
        WithdrawnMove.ply <= turn.ply,
        WithdrawnMove.withdrawn_at == turn.closed_at,
    )
    return db.session.scalar(found.limit(1)) is not None


def _withdrawable(seat: Seat, table: Table, ply: int, *, now: datetime) -> Move:
    """Return a seat's move if it may be taken back; raises CannotTakeBack or MatchOver."""
    match = seat.match
    if match.status == Status.OVER:
        raise MatchOver
    move = match.moves[ply - 1] if 0 < ply <= table.ply else None
    if seat.number is None or move is None or move.seat != seat.number:
        raise CannotTakeBack
    if not seat.is_asked_by_mail or move.by not in ("link", "reply"):
        raise CannotTakeBack(N_("that move was not made by you, so it can't be taken back"))
    if ply != table.ply:
        raise CannotTakeBack(N_("there was another move since, so it can't be taken back"))
    if now > move.at + LONGEST:
        raise CannotTakeBack(N_("ten minutes are over, so it can't be taken back"))
    _own, *followed = table.plies[-1].events
    if any(event.secret or event.kind not in _SHOWS_NO_MORE for event in followed):
        raise CannotTakeBack(
            N_("somebody has seen more than your card through it, so it can't be taken back")
        )
    return move


def _turns_after(match: Match, move: Move) -> list[Turn]:
    """Return the open turns in which others were asked because of a move."""
    asked = select(Turn).where(
        Turn.match_id == match.id, Turn.ply >= move.ply, Turn.closed_at.is_(None)
    )
    return list(db.session.scalars(asked.order_by(Turn.id)))


def _withdraw(seat: Seat, turn: Turn, move: Move, *, now: datetime) -> None:
    """Keep a move's row aside, and set its match and its turn to where they were before."""
    match = seat.match
    db.session.add(
        WithdrawnMove(
            match_id=match.id,
            ply=move.ply,
            turn_id=turn.id,
            seat=move.seat,
            text=move.text,
            by=move.by,
            at=move.at,
            withdrawn_at=now,
        )
    )
    seat.bank_left += move.bank_taken
    turn.closed_at = None
    match.ply = move.ply - 1
    db.session.execute(
        delete(Move).where(Move.id == move.id).execution_options(synchronize_session=False)
    )
    db.session.flush()
    db.session.expunge(move)
    db.session.expire(match, ["moves"])
    match.scores = list(load(match).scores)
