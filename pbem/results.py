"""What a player's finished games came to, and how quickly they move: counted by the database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import ColumnElement, String, case, cast, extract, func, select

from pbem.ext import db
from pbem.models import Match, Move, Player, Seat, Status, Turn

OWN_MOVES: Final = ("link", "reply")  # made by the player, not by the house


@dataclass(frozen=True, slots=True)
class Results:
    """A player's finished games of one game; those won with others are among the won ones."""

    game: str
    played: int
    won: int
    shared: int


def results(player: Player) -> Sequence[Results]:
    """Return a player's results by game, in the order of the games' names."""
    found = db.session.execute(
        select(Match.game, func.count(), _sum(_has_won()), _sum(_has_won() & _is_shared()))
        .join(Seat, Seat.match_id == Match.id)
        .where(Seat.player_id == player.id, Match.status == Status.OVER)
        .group_by(Match.game)
        .order_by(Match.game)
    )
    return [Results(*row) for row in found]


def usual_seconds(player: Player) -> int | None:
    """Return the median time from being asked to the player's own move; None without a move."""
    seconds = extract("epoch", Move.at) - extract("epoch", Turn.opened_at)
    timed = (
        select(
            seconds.label("seconds"),
            func.row_number().over(order_by=seconds).label("nth"),
            func.count().over().label("many"),
        )
        .join(Turn, Turn.id == Move.turn_id)
        .join(Seat, (Seat.match_id == Move.match_id) & (Seat.number == Move.seat))
        # Of a seat that was taken over nobody knows which moves were whose.
        .where(Seat.player_id == player.id, ~Seat.taken_over, Move.by.in_(OWN_MOVES))
        .subquery()
    )
    # One row is in the middle of an odd number, two of an even one.
    middle = (timed.c.nth * 2 >= timed.c.many) & (timed.c.nth * 2 <= timed.c.many + 2)
    found = db.session.scalar(select(func.avg(timed.c.seconds)).where(middle))
    return None if found is None else round(found)


def _has_won() -> ColumnElement[bool]:
    """Return whether the seat's number is in the match's list of winners, a JSON column."""
    written = func.replace(cast(Match.winners, String), " ", "")
    numbers = func.replace(func.replace(written, "[", ","), "]", ",")
    return numbers.contains("," + cast(Seat.number, String) + ",")


def _is_shared() -> ColumnElement[bool]:
    return cast(Match.winners, String).contains(",")


def _sum(what: ColumnElement[bool]) -> ColumnElement[int]:
    return func.sum(case((what, 1), else_=0))
