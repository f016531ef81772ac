"""What is wrong with games: their deals, moves, scores, seats, turns and orders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import exists, or_, select

from engine import GAMES, deal
from engine.errors import RulesError
from engine.record import verify
from pbem import suppression
from pbem.ext import db
from pbem.models import (
    Letter,
    LetterState,
    Match,
    Move,
    Seat,
    StandingOrder,
    Status,
    Turn,
    WithdrawnMove,
)
from pbem.table import Table, load, record

# Mail that waits may hold the clock for a while after the grace, but not for so long.
LONG_PAST: Final = timedelta(days=1)
_BEGUN: Final = (Status.RUNNING, Status.OVER)


def wrongs(*, now: datetime) -> Iterator[str]:
    """Yield a line for each thing about a game that is not as promised."""
    for match_id in db.session.scalars(select(Match.id).order_by(Match.id)).all():
        match = db.session.get_one(Match, match_id)
        for wrong in _wrongs_of(match, now=now):
            yield f"{match.game} {match.code}: {wrong}"
        db.session.expunge_all()


def _wrongs_of(match: Match, *, now: datetime) -> Iterator[str]:
    if deal.commitment(match.server_key) != match.commitment:
        yield "the commitment that was published is not that of its key"
    if match.status not in _BEGUN:
        if _open_turns(match):
            yield f"it is {match.status} and asks somebody"
        return
    if match.game not in GAMES:
        yield "there is no such game in this release"
        return
    yield from _wrongs_of_seats(match)
    try:
        table = load(match)
    except RulesError as error:
        yield f"it cannot be replayed: {error}"
        return
    yield from _wrongs_of_moves(match, table)
    yield from _wrongs_of_orders(match)
    if match.status == Status.OVER:
        yield from _wrongs_at_end(match)
    else:
        yield from _wrongs_of_turns(match, table, now=now)


def _wrongs_of_seats(match: Match) -> Iterator[str]:
    numbers = sorted(seat.number or 0 for seat in match.seats)
    if numbers != list(range(1, len(numbers) + 1)):
        yield f"its seats are numbered {numbers}"
    for seat in match.seats:
        is_played = seat.is_filled or seat.is_kept or seat.resigned
        if match.status == Status.RUNNING and not is_played:
            yield f"seat {seat.number} is empty and nobody plays it"
        if not 0 <= seat.bank_left <= match.bank.total_seconds():
            yield f"seat {seat.number} has {seat.bank_left} seconds left in a bank of {match.bank}"


def _wrongs_of_moves(match: Match, table: Table) -> Iterator[str]:
    if match.ply != table.ply:
        yield f"it counts {match.ply} moves and has {table.ply}"
    for move, ply in zip(match.moves, table.plies, strict=True):
        if move.ply != ply.number:
            yield f"ply {ply.number}: it is stored as {move.ply}"
        if tuple(move.scores) != ply.scores:
            yield f"ply {ply.number}: the scores are {ply.scores}, not {tuple(move.scores)}"
    if tuple(match.scores or ()) != tuple(table.scores):
        yield f"the scores are {tuple(table.scores)}, not {tuple(match.scores or ())}"
    made = select(Move.ply, Turn).join(Turn, Turn.id == Move.turn_id)
    for number, turn in db.session.execute(made.where(Move.match_id == match.id)):
        if turn.closed_at is None:
            yield f"ply {number}: its turn is still open"
        if turn.match_id != match.id or turn.seat != match.moves[number - 1].seat:
            yield f"ply {number}: it was made in the turn of another seat"


def _wrongs_of_orders(match: Match) -> Iterator[str]:
    given = select(StandingOrder).join(Seat, Seat.id == StandingOrder.seat_id)
    for order in db.session.scalars(given.where(Seat.match_id == match.id)):
        if match.started_at is None or order.given_at < match.started_at:
            yield f"order {order.id} was given before it began"
        if match.ended_at is not None and order.given_at > match.ended_at:
            yield f"order {order.id} was given when it was over"
        if order.ply is not None and not _was_by_order(match, order.ply):
            yield f"order {order.id} has made ply {order.ply}, and that move is not by an order"


def _was_by_order(match: Match, ply: int) -> bool:
    made = exists().where(Move.match_id == match.id, Move.ply == ply, Move.by == "order")
    # One that was made and taken back since is kept aside.
    undone = exists().where(WithdrawnMove.match_id == match.id, WithdrawnMove.ply <= ply)
    return bool(db.session.scalar(select(or_(made, undone))))


def _wrongs_at_end(match: Match) -> Iterator[str]:
    try:
        verify(record(match))
    except RulesError as error:
        yield f"its record is wrong: {error}"
    if match.ended_at is None:
        yield "it is over and does not know since when"
    if match.paused_at is not None:
        yield "it is over and paused"
    if _open_turns(match):
        yield "it is over and still asks somebody"


def _wrongs_of_turns(match: Match, table: Table, *, now: datetime) -> Iterator[str]:
    turns = _open_turns(match)
    asked = sorted(turn.seat for turn in turns)
    wanted = sorted(table.game.to_move(table.state))
    if asked != wanted:
        yield f"it asks the seats {asked}, and {wanted} are to move"
    for turn in turns:
        seat = table.seat(turn.seat)
        if seat.player is None or not seat.is_asked_by_mail:
            continue
        is_mailed = not suppression.is_suppressed(seat.player.address)
        if is_mailed and seat.player.digest_at is None and not _is_told(turn):
            yield f"seat {turn.seat} is to move and has no letter"
        if turn.deadline <= turn.opened_at:
            yield f"seat {turn.seat} is to move and has no deadline"
        if turn.deadline + LONG_PAST < now and match.paused_at is None:
            since = f"{turn.deadline:%Y-%m-%d %H:%MZ}"
            yield f"seat {turn.seat} is late since {since} and nothing is done"


def _is_told(turn: Turn) -> bool:
    told = exists().where(
        Letter.turn_id == turn.id,
        # A receipt that shows the next moves is their notice.
        Letter.kind.in_(("your_turn", "receipt")),
        Letter.state.not_in((LetterState.STALE, LetterState.FAILED)),
    )
    return bool(db.session.scalar(select(told)))


def _open_turns(match: Match) -> Sequence[Turn]:
    return db.session.scalars(
        select(Turn).where(Turn.match_id == match.id, Turn.closed_at.is_(None))
    ).all()
