"""The rows of standing orders: which of a seat still count, and the one that fires.

Callers hold the transaction and the match's lock.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import bindparam, select

from engine import orders
from engine.errors import RulesError
from pbem.errors import MatchOver, TooManyOrders
from pbem.ext import db
from pbem.models import Seat, StandingOrder, Status
from pbem.table import Table

MOST: Final = 20  # orders of a seat that wait
CANCEL: Final = "cancel orders"
LIST: Final = "orders"
_WAITING: Final = (
    select(StandingOrder)
    .where(
        StandingOrder.seat_id == bindparam("of_seat"),
        StandingOrder.player_id == bindparam("of_player"),
        StandingOrder.hand == bindparam("of_hand"),
        StandingOrder.ended_at.is_(None),
    )
    .order_by(StandingOrder.id)
)


def waiting(seat: Seat, hand: int) -> Sequence[StandingOrder]:
    """Return the orders of a seat's player for a hand that have not fired, first one first.

    Those of a hand that is over, of who sat there before, or of who resigned count no more.
    """
    if seat.resigned or seat.player_id is None:
        return ()
    of = {"of_seat": seat.id, "of_player": seat.player_id, "of_hand": hand}
    return db.session.scalars(_WAITING, of).all()


def kept(table: Table, seat: Seat) -> list[str]:
    """Return the orders of a seat that wait at a table, as they are written."""
    return [order.text for order in waiting(seat, table.view(None).hand_number)]


def follow(table: Table, seat: Seat, texts: Sequence[str], *, now: datetime) -> None:
    """Do what a player writes about orders, line by line: add one, or cancel all.

    Raises MatchOver, TooManyOrders, Unreadable, IllegalMove or Ambiguous.
    """
    if table.match.status != Status.RUNNING or seat.resigned or seat.number is None:
        raise MatchOver
    view = table.view(seat.number)
    for text in texts:
        left = waiting(seat, view.hand_number)
        if text == CANCEL:
            cancel(left, now=now)
        elif text != LIST:
            order = orders.read(table.game, text)
            orders.check(table.game, view, order)
            if len(left) >= MOST:
                raise TooManyOrders
            _add(seat, order.text, view.hand_number, now=now)


def cancel(left: Sequence[StandingOrder], *, now: datetime) -> None:
    """Take orders away before they fire."""
    for order in left:
        order.ended_at = now


def fire(table: Table, seat: Seat, *, now: datetime) -> Any | None:
    """Return the move of the first order that means a legal one now, and end that order.

    None if there is no such order, or if the house keeps the seat.
    """
    if seat.is_kept or seat.number is None:
        return None
    view = table.view(seat.number)
    for row in waiting(seat, view.hand_number):
        try:
            move = orders.choose(table.game, view, orders.read(table.game, row.text))
        except RulesError:
            continue  # an older release read it
        if move is not None:
            row.ended_at, row.ply = now, table.ply + 1
            return move
    return None


def _add(seat: Seat, text: str, hand: int, *, now: datetime) -> None:
    db.session.add(
        StandingOrder(seat_id=seat.id, player_id=seat.player_id, hand=hand, text=text, given_at=now)
    )
    db.session.flush()
