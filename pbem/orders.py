"""Use cases of standing orders: a player leaves some for the coming turns, or cancels them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from pbem import play, post, standing
from pbem.ext import db, writing
from pbem.models import Seat, StandingOrder, Status, Turn
from pbem.table import load


def follow(
    seat_id: int,
    texts: Sequence[str],
    *,
    now: datetime,
    note_id: int | None = None,
    turn_id: int | None = None,
) -> None:
    """Add orders, or cancel all (`cancel orders`), in the order in which they are written.

    A mail, which is about a turn, is answered with the orders that wait then. All is done or
    nothing: raises MatchOver, TooManyOrders, Unreadable, IllegalMove or Ambiguous.
    """
    with writing():
        seat = _locked(seat_id)
        table = load(seat.match)
        standing.follow(table, seat, texts, now=now)
        if note_id is not None and turn_id is not None:
            turn = db.session.get_one(Turn, turn_id)
            post.orders(seat, turn, standing.kept(table, seat), now=now)
            play.close_note(note_id, "orders", turn_id=turn_id, now=now)


def cancel(seat_id: int, order_id: int, *, now: datetime) -> None:
    """Cancel one order of a seat, if it still waits."""
    with writing():
        seat = _locked(seat_id)
        standing.cancel([one for one in waiting(seat) if one.id == order_id], now=now)


def waiting(seat: Seat) -> Sequence[StandingOrder]:
    """Return the orders of a seat that wait now."""
    match = seat.match
    if match.status != Status.RUNNING or seat.number is None:
        return ()
    return standing.waiting(seat, load(match).view(None).hand_number)


def _locked(seat_id: int) -> Seat:
    seat = db.session.get_one(Seat, seat_id)
    play.lock(seat.match)
    db.session.refresh(seat)
    return seat
