"""Use cases of play: the only writer of running matches.

Each takes the moment it happens and is one transaction.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, select, update

from engine import deal
from engine.bots import BOTS
from engine.errors import RulesError
from engine.game import Outcome
from pbem import deadlines, post
from pbem.errors import MatchOver, StaleMove, TurnOver
from pbem.ext import db, writing
from pbem.models import Match, Move, Note, Seat, Status, Turn
from pbem.table import Table, in_joining_order, load

_log = logging.getLogger(__name__)

# Plays for whoever lets their time run out.
HOUSE = "greedy"


@dataclass(frozen=True, slots=True)
class Receipt:
    """What stands after a move was asked for.

    ``repeated`` means that this very move was made before; ``again`` is the mover's next
    open turn, if they are asked once more at once.
    """

    match: Match
    move: Move
    repeated: bool
    again: Turn | None


def start(match: Match, *, now: datetime) -> None:
    """Seat everybody, deal, and ask the first seat. The caller holds the transaction."""
    joined = in_joining_order(match)
    order = list(range(len(joined)))
    if match.draws_seats:
        phrases = [seat.phrase for seat in joined]
        order = deal.draw_seats(match.server_key, match.code, phrases)
    for number, joiner in enumerate(order, 1):
        joined[joiner].number = number
    match.status = Status.RUNNING
    match.started_at = now
    table = load(match)
    match.scores = list(table.scores)
    table, asked = _settle(table, now=now)
    for turn in asked:
        post.your_turn(table, turn, now=now)


def make_move(
    turn_id: int, text: str, *, by: str, now: datetime, note_id: int | None = None
) -> Receipt:
    """Make the move that the text means for the seat that this turn asks.

    A move that was made already is answered with what stands. Raises StaleMove, TurnOver
    or MatchOver where it cannot be made any more, RulesError where the text is not a
    legal move; nothing is changed then.
    """
    with writing():
        # 1. The turn, with its match locked: moves of one match come one by one.
        turn = _locked(turn_id)
        played = db.session.scalar(select(Move).where(Move.turn_id == turn.id))
        if played is not None:
            return _repeated(turn.match, played, text, note_id=note_id, now=now)
        if turn.closed_at is not None:
            raise MatchOver if turn.match.status == Status.OVER else TurnOver
        # 2. Record to state, text to move.
        table = load(turn.match)
        move = table.game.parse(table.view(turn.seat), text)
        # 3. The move, what follows from it, and what it tells whom: one commit.
        receipt = _play(table, turn, move, by=by, now=now)
        if note_id is not None:
            close_note(note_id, "move", turn_id=turn.id, now=now)
        return receipt


def choose_for(turn_id: int, bot: str) -> str | None:
    """Return the move a bot would make, in canonical text; None if the turn is over.

    It is chosen outside of any transaction that writes.
    """
    turn = db.session.get_one(Turn, turn_id)
    if turn.closed_at is not None:
        return None
    table = load(turn.match)
    player = BOTS[bot](f"{turn.match.code}/{turn.seat}/{turn.nth}")
    text: str = table.game.format(player.choose(table.game, table.view(turn.seat)))
    return text


def time_out(turn_id: int, *, now: datetime) -> bool:
    """Let the house move for a seat whose time and grace are over.

    Returns False, with nothing changed, if the move came first or the deadline moved.
    """
    text = choose_for(turn_id, HOUSE)
    if text is None:
        return False
    with writing():
        turn = _locked(turn_id)
        if turn.closed_at is not None or not deadlines.is_out_of_time(turn.deadline, now):
            return False
        table = load(turn.match)
        move = table.game.canonical(table.view(turn.seat), text)
        _play(table, turn, move, by="timeout", now=now)
        return True


def seat_of(turn: Turn) -> Seat:
    """Return the seat that a turn asks."""
    return db.session.scalars(
        select(Seat).where(Seat.match_id == turn.match_id, Seat.number == turn.seat)
    ).one()


def open_turn(match: Match, number: int) -> Turn | None:
    """Return the turn that asks a seat now, if there is one."""
    return db.session.scalar(
        select(Turn).where(Turn.match_id == match.id, Turn.seat == number, Turn.closed_at.is_(None))
    )


def close_note(
    note_id: int,
    verdict: str,
    *,
    reason: str | None = None,
    turn_id: int | None = None,
    now: datetime,
) -> None:
    """Say what became of a note. The caller holds the transaction of what it did."""
    db.session.execute(
        update(Note)
        .where(Note.id == note_id)
        .values(read_at=now, verdict=verdict, reason=reason, turn_id=turn_id)
    )


def _locked(turn_id: int) -> Turn:
    turn = db.session.get_one(Turn, turn_id)
    db.session.execute(select(Match.id).where(Match.id == turn.match_id).with_for_update())
    db.session.refresh(turn)
    db.session.refresh(turn.match)
    return turn


def _repeated(
    match: Match, played: Move, text: str, *, note_id: int | None, now: datetime
) -> Receipt:
    """Return the receipt of a move that stands, if the text asks for the same one."""
    before = load(match, ply=played.ply - 1)
    try:
        asked = before.game.format(before.game.parse(before.view(played.seat), text))
    except RulesError:
        raise StaleMove from None
    if asked != played.text:
        raise StaleMove
    if note_id is not None:
        close_note(note_id, "repeated", turn_id=played.turn_id, now=now)
    return Receipt(match, played, repeated=True, again=open_turn(match, played.seat))


def _play(table: Table, turn: Turn, move: Any, *, by: str, now: datetime) -> Receipt:
    """Make a move with all that follows from it, and queue what it tells whom."""
    moved, row = _store(table, turn, move, by=by, now=now)
    settled, asked = _settle(moved, now=now)
    again = next((other for other in asked if other.seat == turn.seat), None)
    if by == "reply":
        post.receipt(settled, turn, row, again, now=now)
    if by == "timeout":
        post.house_played(moved, turn, now=now)
    if settled.outcome is not None:
        _end(settled, settled.outcome, now=now)
    for other in asked:
        if other is not again or by not in ("link", "reply"):
            post.your_turn(settled, other, now=now)
        elif by == "link":
            # The page shows them the next moves; the letter is for who went away from it.
            post.your_turn(settled, other, now=now, due_at=now + deadlines.LEAD_ON)
    return Receipt(table.match, row, repeated=False, again=again)


def _store(table: Table, turn: Turn, move: Any, *, by: str, now: datetime) -> tuple[Table, Move]:
    """Close a turn with its move; raises StaleMove if another was first."""
    closed = db.session.scalars(
        update(Turn)
        .where(Turn.id == turn.id, Turn.closed_at.is_(None))
        .values(closed_at=now)
        .returning(Turn.id)
    ).all()
    if len(closed) != 1:
        raise StaleMove
    after = table.after(turn.seat, move)
    match = table.match
    match.ply = after.ply
    match.scores = list(after.scores)
    row = Move(
        match_id=match.id,
        ply=after.ply,
        turn_id=turn.id,
        seat=turn.seat,
        text=table.game.format(move),
        scores=match.scores,
        by=by,
        at=now,
    )
    db.session.add(row)
    post.drop_notices(turn)
    _log.info("match %s turn %s: seat %s moved, by %s", match.id, turn.id, turn.seat, by)
    return after, row


def _settle(table: Table, *, now: datetime) -> tuple[Table, list[Turn]]:
    """Open the turns of the seats that are to move.

    Who has no choice and wants it so is not asked. Returns the table after such moves and
    the new turns whose players are still to be told.
    """
    asked: list[Turn] = []
    while True:
        asked += [
            _ask(table.match, number, now=now)
            for number in sorted(table.game.to_move(table.state))
            if open_turn(table.match, number) is None
        ]
        forced = next((turn for turn in asked if _is_forced(table, turn)), None)
        if forced is None:
            return table, asked
        asked.remove(forced)
        (move,) = table.game.legal_moves(table.state, forced.seat)
        table, _row = _store(table, forced, move, by="forced", now=now)


def _is_forced(table: Table, turn: Turn) -> bool:
    player = table.seat(turn.seat).player
    if player is None or not player.plays_forced:
        return False
    return len(table.game.legal_moves(table.state, turn.seat)) == 1


def _ask(match: Match, number: int, *, now: datetime) -> Turn:
    asked = select(func.count()).where(Turn.match_id == match.id, Turn.seat == number)
    turn = Turn(
        match=match,
        seat=number,
        nth=(db.session.scalar(asked) or 0) + 1,
        ply=match.ply,
        opened_at=now,
        deadline=deadlines.deadline(now, match.pace),
    )
    db.session.add(turn)
    db.session.flush()
    return turn


def _end(table: Table, outcome: Outcome, *, now: datetime) -> None:
    match = table.match
    match.status = Status.OVER
    match.ended_at = now
    match.ended = outcome.reason
    match.winners = list(outcome.winners)
    post.game_over(table, now=now)
