"""Use cases of play: making moves, running out of time, ending; nothing else writes moves.

Each takes the moment it happens and is one transaction.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import bindparam, func, select, update
from sqlalchemy.orm import selectinload
from sqlalchemy.orm.attributes import set_committed_value

from engine import deal
from engine.bots import BOTS
from engine.errors import RulesError
from engine.game import Scores
from engine.record import best
from pbem import clocks, deadlines, post, standing
from pbem.errors import MatchOver, StaleMove, TurnOver
from pbem.ext import db, run, writing
from pbem.failpoints import reached
from pbem.models import Match, Move, Note, Player, Policy, Seat, Status, Turn
from pbem.table import Table, in_joining_order, load

_log = logging.getLogger(__name__)

# Plays for whoever lets their time run out.
HOUSE: Final = "greedy"
# After so many turns in a row whose time ran out the house keeps the seat.
MOST_MISSES: Final = 2


# What every move asks and does, made once.
_HOLD: Final = (
    select(Match)
    .where(Match.id == select(Turn.match_id).where(Turn.id == bindparam("asks")).scalar_subquery())
    .options(
        selectinload(Match.seats).joinedload(Seat.player).selectinload(Player.absences),
        selectinload(Match.moves),
    )
    .with_for_update(key_share=True)  # as in `lock`
    .execution_options(populate_existing=True)
)
_CLOSE: Final = (
    update(Turn)
    .where(Turn.id == bindparam("closes"), Turn.closed_at.is_(None))
    .values(closed_at=bindparam("at"))
)
_COUNT_TURNS: Final = (
    select(
        Turn.seat,
        func.count().label("had"),
        (func.count() - func.count(Turn.closed_at)).label("still_open"),
    )
    .where(Turn.match_id == bindparam("of_match"))
    .group_by(Turn.seat)
)


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
        joined[joiner].bank_left = int(match.bank.total_seconds())
    match.status = Status.RUNNING
    match.started_at = now
    table = load(match)
    match.scores = list(table.scores)
    table, asked = _settle(table, now=now)
    for seat in _not_asked(table, asked):
        post.started(seat, now=now)
    for turn in asked:
        post.your_turn(table.seat(turn.seat), turn, now=now)


def resume(match: Match, *, now: datetime) -> None:
    """Ask whom a running match waits for that was taken in from another server.

    The caller holds the transaction.
    """
    table, asked = _settle(load(match), now=now)
    if table.outcome is not None:
        _end(table, table.outcome.scores, table.outcome.reason, now=now)
    for turn in asked:
        post.your_turn(table.seat(turn.seat), turn, now=now)


def make_move(
    turn_id: int,
    text: str,
    *,
    by: str,
    now: datetime,
    note_id: int | None = None,
    orders: Sequence[str] = (),
) -> Receipt:
    """Make the move that the text means for the seat that this turn asks.

    ``orders`` for later turns are taken with it: both are done, or neither.

    A move that was made already is answered with what stands. Raises StaleMove, TurnOver
    or MatchOver where it cannot be made any more, RulesError where the text is not a
    legal move; nothing is changed then.
    """
    with writing():
        # 1. The turn, with its match locked: moves of one match come one by one.
        turn = _locked(turn_id)
        reached("move: held")
        played = next((move for move in turn.match.moves if move.turn_id == turn.id), None)
        if played is not None:
            if orders:
                table = load(turn.match)
                standing.follow(table, turn.asked, orders, now=now)
                post.orders(turn.asked, turn, standing.kept(table, turn.asked), now=now)
            return _repeated(turn.match, played, text, note_id=note_id, now=now)
        if turn.closed_at is not None:
            raise MatchOver if turn.match.status == Status.OVER else TurnOver
        # 2. Record to state, text to move.
        table = load(turn.match)
        move = table.game.parse(table.view(turn.seat), text)
        reached("move: read")
        if orders:
            standing.follow(table, turn.asked, orders, now=now)
        # 3. The move, what follows from it, and what it tells whom: one commit.
        receipt = _play(table, turn, move, by=by, now=now)
        if note_id is not None:
            close_note(note_id, "move", turn_id=turn.id, now=now)
            reached("mail: closed")
    reached("move: committed")
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
    """Do what the table's opener chose for a seat whose time and grace are over.

    Returns False, with nothing changed, if the move came first, the deadline moved, or
    somebody else is at the match just now.
    """
    text = choose_for(turn_id, HOUSE)
    if text is None:
        return False
    with writing():
        if _is_held_elsewhere(turn_id):
            return False
        turn = _locked(turn_id)
        is_out = deadlines.is_out_of_time(turn.deadline, now)
        if turn.closed_at is not None or turn.match.paused_at is not None or not is_out:
            return False
        seat = turn.asked
        if turn.match.policy == Policy.STOP:
            stop(turn.match, "stopped", now=now)
            return True
        table = load(turn.match)
        _miss(seat, now=now)
        move = table.game.canonical(table.view(turn.seat), text)
        receipt = _play(table, turn, move, by="timeout", now=now)
        post.house_played(turn, seat, receipt.move, now=now)
        return True


def house_plays(turn_id: int, *, now: datetime) -> bool:
    """Let the house move at once for a seat that it keeps.

    Returns False, with nothing changed, if that is not so any more, or as for `time_out`.
    """
    text = choose_for(turn_id, HOUSE)
    if text is None:
        return False
    with writing():
        if _is_held_elsewhere(turn_id):
            return False
        turn = _locked(turn_id)
        seat = turn.asked
        if turn.closed_at is not None or not (seat.is_kept or seat.resigned):
            return False
        table = load(turn.match)
        move = table.game.canonical(table.view(turn.seat), text)
        _play(table, turn, move, by="timeout", now=now)
        return True


def stop(match: Match, ended: str, *, now: datetime) -> None:
    """End a running match as it stands. The caller holds the transaction and the lock."""
    table = load(match)
    for turn in clocks.open_turns(match=match):
        turn.closed_at = now
        post.drop_notices(turn)
    _end(table, table.scores, ended, now=now)


def come_back(seat: Seat, *, now: datetime) -> None:
    """Give a seat that the house keeps back to its player. The caller holds the transaction."""
    if not seat.is_kept or seat.resigned or seat.match.status != Status.RUNNING:
        return
    seat.is_kept = seat.is_free = False
    seat.misses = 0
    post.notice(seat.match, "back", {"name": seat.name}, but=seat, now=now)
    _ask_anew(seat, now=now)


def take_over(seat: Seat, player: Player, name: str, *, now: datetime) -> None:
    """Seat somebody else at a free seat of a running match. The caller holds the transaction."""
    seat.player, seat.name = player, name
    seat.taken_over, seat.is_kept, seat.is_free, seat.misses = True, False, False, 0
    seat.bank_left = int(seat.match.bank.total_seconds())
    seat.held_at = None
    post.notice(seat.match, "taken_over", {"name": name}, but=seat, now=now)
    _ask_anew(seat, now=now)


def lock(match: Match) -> None:
    """Hold a match's row, so that nothing else changes it until the transaction ends.

    Letters about it may still be queued: a full lock would meet those of an absence, which
    holds a turn's row meanwhile.
    """
    held = select(Match.id).where(Match.id == match.id)
    db.session.execute(held.with_for_update(key_share=True))
    db.session.refresh(match)


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


def _is_held_elsewhere(turn_id: int) -> bool:
    """Return whether a turn's match is held, as by another worker; if not, hold it.

    Who only keeps time does not wait then, and looks again later.
    """
    held = select(Match.id).join(Turn).where(Turn.id == turn_id)
    held = held.with_for_update(of=Match, key_share=True, skip_locked=True)
    return db.session.scalar(held) is None


def _locked(turn_id: int) -> Turn:
    """Hold a turn's match, and read all that a move needs behind the lock, each row once."""
    match = db.session.scalars(_HOLD, {"asks": turn_id}).one()
    turn = db.session.get_one(Turn, turn_id, populate_existing=True)
    # The session forgets rows that nobody holds, and would read them again.
    set_committed_value(turn, "match", match)
    set_committed_value(turn, "asked", next(s for s in match.seats if s.number == turn.seat))
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
    reached("move: stored")
    settled, asked = _settle(moved, now=now)
    reached("move: followed")
    again = next((other for other in asked if other.seat == turn.seat), None)
    has_receipt = False
    if by == "reply":
        kept = standing.kept(settled, table.seat(turn.seat))
        has_receipt = post.receipt(settled, turn, row, again, kept=kept, now=now)
    outcome = settled.outcome
    if outcome is not None:
        _end(settled, outcome.scores, outcome.reason, now=now)
    elif _deals_anew(settled, row):
        for seat in _not_asked(settled, asked):
            post.hand_over(seat, row.ply - 1, now=now)
    for other in asked:
        seat = settled.seat(other.seat)
        if other is again and by == "link":
            # The page shows them the next moves; the letter is for who went away from it.
            post.your_turn(seat, other, now=now, due_at=now + deadlines.LEAD_ON)
        elif other is not again or not has_receipt:
            post.your_turn(seat, other, now=now)
    reached("move: told")
    return Receipt(table.match, row, repeated=False, again=again)


def _store(table: Table, turn: Turn, move: Any, *, by: str, now: datetime) -> tuple[Table, Move]:
    """Close a turn with its move; raises StaleMove if another was first."""
    if run(_CLOSE, closes=turn.id, at=now).rowcount != 1:
        raise StaleMove
    set_committed_value(turn, "closed_at", now)
    after = table.after(turn.seat, move)
    match, seat = table.match, table.seat(turn.seat)
    bank_before = seat.bank_left
    if by in ("link", "reply"):
        seat.bank_left = clocks.bank_after_move(turn, seat, now=now)
        seat.misses = 0
        come_back(seat, now=now)
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
        bank_taken=bank_before - seat.bank_left,
    )
    db.session.add(row)
    post.drop_notices(turn)
    _log.info("match %s turn %s: seat %s moved, by %s", match.id, turn.id, turn.seat, by)
    return after, row


def _settle(table: Table, *, now: datetime) -> tuple[Table, list[Turn]]:
    """Open the turns of the seats that are to move.

    Who has left an order for it, or has no choice and wants it so, is not asked. Returns
    the table after such moves and the new turns whose players are still to be told.
    """
    asked: list[Turn] = []
    while True:
        turns = _turns(table.match)
        for number in sorted(table.game.to_move(table.state)):
            had, still_open = turns.get(number, (0, 0))
            if not still_open:
                asked.append(_ask(table, number, had + 1, now=now))
        ready = next(((turn, *own) for turn in asked if (own := _unasked(table, turn, now))), None)
        if ready is None:
            return table, asked
        turn, move, by = ready
        asked.remove(turn)
        table, _row = _store(table, turn, move, by=by, now=now)


def _unasked(table: Table, turn: Turn, now: datetime) -> tuple[Any, str] | None:
    """Return the move that a turn's player need not be asked for, and why: order or forced."""
    seat = table.seat(turn.seat)
    move = standing.fire(table, seat, now=now)
    if move is not None:
        return move, "order"
    if seat.player is None or not seat.player.plays_forced:
        return None
    legal = table.game.legal_moves(table.state, turn.seat)
    return (legal[0], "forced") if len(legal) == 1 else None


def _not_asked(table: Table, asked: Sequence[Turn]) -> list[Seat]:
    """Return the seats of persons whom no letter about a turn tells what has happened."""
    numbers = {turn.seat for turn in asked}
    return [seat for seat in table.seats if seat.is_asked_by_mail and seat.number not in numbers]


def _deals_anew(table: Table, since: Move) -> bool:
    """Return whether a hand has ended with a move or what followed, and the next was dealt."""
    followed = table.plies[since.ply - 1 :]
    return any(event.kind == "deal" for ply in followed for event in ply.events)


def _turns(match: Match) -> dict[int, tuple[int, int]]:
    """Return how many turns each seat has had, and how many of these are open, by its number."""
    counted = run(_COUNT_TURNS, of_match=match.id)
    return {row.seat: (row.had, row.still_open) for row in counted}


def _ask(table: Table, number: int, nth: int, *, now: datetime) -> Turn:
    match, seat = table.match, table.seat(number)
    turn = Turn(
        match=match,
        seat=number,
        nth=nth,
        ply=match.ply,
        opened_at=now,
        deadline=now,
        extra=0,
        stops=[],
        is_house=not seat.is_asked_by_mail,
    )
    turn.deadline = clocks.due(turn, seat)
    db.session.add(turn)
    db.session.flush()
    clocks.hold_if_unreachable(turn, seat, now=now)
    return turn


def _ask_anew(seat: Seat, *, now: datetime) -> None:
    """Let an open turn begin again for whoever sits there from now on."""
    turn = open_turn(seat.match, seat.number or 0)
    if turn is not None:
        clocks.restart(turn, now=now)
        post.your_turn(seat, turn, now=now)


def _miss(seat: Seat, *, now: datetime) -> None:
    """Count a turn whose time ran out; after the second in a row the house keeps the seat."""
    seat.bank_left = 0
    seat.misses += 1
    if seat.misses < MOST_MISSES:
        return
    seat.is_kept = True
    what = "kept"
    if seat.match.policy == Policy.OPEN:
        seat.is_free, seat.invited = True, None
        what = "free"
    post.notice(seat.match, what, {"name": seat.name}, but=seat, now=now)


def _end(table: Table, scores: Scores, ended: str, *, now: datetime) -> None:
    match = table.match
    unplaced = frozenset(seat.number or 0 for seat in table.seats if seat.is_unplaced)
    match.status = Status.OVER
    match.ended_at = now
    match.ended = ended
    match.winners = list(best(scores, unplaced))
    match.paused_at = None
    post.game_over(table, now=now)
