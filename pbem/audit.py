"""Checks the promises against the database: replays every match and compares the rows."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

from sqlalchemy import exists, select

from engine.errors import RulesError
from engine.record import verify
from pbem import suppression
from pbem.ext import db
from pbem.models import Letter, LetterState, Match, Status, Turn
from pbem.table import Table, load, record

# Mail that waits may hold the clock for a while after the grace, but not for so long.
LONG_PAST: Final = timedelta(days=1)


def wrongs(*, now: datetime | None = None) -> Iterator[str]:
    """Yield a line for each thing that is not as promised; nothing is changed."""
    now = now or datetime.now(UTC)
    started = select(Match.id).where(Match.status.in_((Status.RUNNING, Status.OVER)))
    for match_id in db.session.scalars(started.order_by(Match.id)).all():
        match = db.session.get_one(Match, match_id)
        for wrong in _wrongs_of(match, now=now):
            yield f"{match.game} {match.code}: {wrong}"
        db.session.expunge_all()


def _wrongs_of(match: Match, *, now: datetime) -> Iterator[str]:
    try:
        table = load(match)
    except RulesError as error:
        yield f"it cannot be replayed: {error}"
        return
    if match.ply != table.ply:
        yield f"it counts {match.ply} moves and has {table.ply}"
    for move, ply in zip(match.moves, table.plies, strict=True):
        if tuple(move.scores) != ply.scores:
            yield f"ply {ply.number}: the scores are {ply.scores}, not {tuple(move.scores)}"
    if match.status == Status.OVER:
        yield from _wrongs_at_end(match)
    else:
        yield from _wrongs_of_turns(match, table, now=now)


def _wrongs_at_end(match: Match) -> Iterator[str]:
    try:
        verify(record(match))
    except RulesError as error:
        yield f"its record is wrong: {error}"
    if _open_turns(match):
        yield "it is over and still asks somebody"


def _wrongs_of_turns(match: Match, table: Table, *, now: datetime) -> Iterator[str]:
    asked = {turn.seat for turn in _open_turns(match)}
    wanted = set(table.game.to_move(table.state))
    if asked != wanted:
        yield f"it asks the seats {sorted(asked)}, and {sorted(wanted)} are to move"
    for turn in _open_turns(match):
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


def _open_turns(match: Match) -> list[Turn]:
    return list(
        db.session.scalars(select(Turn).where(Turn.match_id == match.id, Turn.closed_at.is_(None)))
    )
