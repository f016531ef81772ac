"""The clocks of turns: what deadlines.py computes, from rows and back into them.

Callers hold the transaction, and lock the match where a move could come in between.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from sqlalchemy import select

from pbem import deadlines
from pbem.deadlines import Calendar, Quiet, Span
from pbem.ext import db
from pbem.models import Match, Player, Seat, Status, Turn

_UTC: Final = ZoneInfo("UTC")


@dataclass(frozen=True, slots=True)
class Standstill:
    """Why and until when a running turn's clock stands still; None: until it is resumed."""

    kind: str  # paused, absent, unreachable
    until: datetime | None


def zone_of(player: Player | None) -> ZoneInfo:
    """Return a player's zone; bots live in UTC."""
    return _UTC if player is None else ZoneInfo(player.zone)


def quiet_of(player: Player | None) -> Quiet | None:
    """Return a player's quiet hours."""
    if player is None or player.quiet_from is None or player.quiet_until is None:
        return None
    return Quiet(player.quiet_from, player.quiet_until)


def absences_of(player: Player | None) -> tuple[Span, ...]:
    """Return a player's absences, those that overlap as one."""
    found = [] if player is None else player.absences
    return deadlines.merged([Span(one.starts_at, one.ends_at) for one in found])


def calendar(turn: Turn, player: Player | None) -> Calendar:
    """Return what a turn's deadline depends on beside its allowance."""
    stops = [
        Span(datetime.fromisoformat(stop["start"]), datetime.fromisoformat(stop["until"]))
        for stop in turn.stops
    ]
    return Calendar(
        zone_of(player),
        quiet_of(player),
        turn.match.weekends,
        deadlines.merged([*stops, *absences_of(player)]),
    )


def due(turn: Turn, seat: Seat) -> datetime:
    """Return the deadline that follows from a turn's allowance and stops."""
    allowance = turn.match.pace + timedelta(seconds=seat.bank_left + turn.extra)
    return deadlines.deadline(turn.opened_at, allowance, calendar(turn, seat.player))


def refresh(turn: Turn, *, now: datetime, may_come_forward: bool = False) -> None:
    """Move an open turn's deadline to where it belongs after something changed."""
    new = deadlines.moved_deadline(
        turn.deadline, due(turn, turn.asked), now=now, may_come_forward=may_come_forward
    )
    if new != turn.deadline:
        # Steps that it has jumped over are looked for once more.
        turn.came_forward = turn.came_forward or new < turn.deadline
        turn.deadline = new
        turn.sequence += 1


def stop(turn: Turn, kind: str, start: datetime, until: datetime, *, now: datetime) -> None:
    """Let a turn's clock stand still for a time; the same kind and start again replaces it."""
    _hold(turn)
    key = start.astimezone(UTC).isoformat()
    kept = [one for one in turn.stops if (one["kind"], one["start"]) != (kind, key)]
    span = {"kind": kind, "start": key, "until": until.astimezone(UTC).isoformat()}
    turn.stops = [*kept, span]
    refresh(turn, now=now)


def cut_stop(turn: Turn, kind: str, *, now: datetime) -> None:
    """End a stop that was to last longer; the deadline comes forward, to no less than a day."""
    _hold(turn)
    cut = now.astimezone(UTC).isoformat()
    turn.stops = [
        one | {"until": max(one["start"], cut)}
        if one["kind"] == kind and one["until"] > cut
        else one
        for one in turn.stops
    ]
    refresh(turn, now=now, may_come_forward=True)


def restart(turn: Turn, *, now: datetime) -> None:
    """Let a turn's clock begin anew, for a player who has come back to it."""
    stop(turn, "kept", turn.opened_at, now, now=now)


def hold_if_unreachable(turn: Turn, seat: Seat, *, now: datetime) -> bool:
    """Stop a turn's clock for a player whom no mail reaches, once in a match."""
    if seat.player is None or seat.player.unreachable_at is None or seat.held_at is not None:
        return False
    seat.held_at = now
    stop(turn, "unreachable", now, now + deadlines.UNREACHABLE, now=now)
    return True


def bank_after_move(turn: Turn, seat: Seat, *, now: datetime) -> int:
    """Return the seconds of a seat's bank that are left if it moves now."""
    left = deadlines.bank_after(
        timedelta(seconds=seat.bank_left),
        turn.match.pace + timedelta(seconds=turn.extra),
        turn.opened_at,
        now,
        calendar(turn, seat.player),
    )
    return int(left.total_seconds())


def standstill(turn: Turn, seat: Seat, *, now: datetime) -> Standstill | None:
    """Return the dated reason why a turn's clock stands still now; weekends aside."""
    if turn.match.paused_at is not None:
        return Standstill("paused", None)
    for span in absences_of(seat.player):
        if span.holds(now):
            return Standstill("absent", span.until)
    for one in turn.stops:
        until = datetime.fromisoformat(one["until"])
        if one["kind"] == "unreachable" and datetime.fromisoformat(one["start"]) <= now < until:
            return Standstill("unreachable", until)
    return None


def open_turns(*, player: Player | None = None, match: Match | None = None) -> Iterable[Turn]:
    """Return the open turns of running matches, of one player or of one match."""
    wanted = (
        select(Turn)
        .join(Match)
        .join(Turn.asked)
        .where(Turn.closed_at.is_(None), Match.status == Status.RUNNING)
        .order_by(Turn.deadline, Turn.id)
    )
    if player is not None:
        wanted = wanted.where(Seat.player_id == player.id)
    if match is not None:
        wanted = wanted.where(Turn.match_id == match.id)
    return db.session.scalars(wanted).all()


def _hold(turn: Turn) -> None:
    """Read a turn's row again and hold it: two stops at once must not lose one."""
    db.session.flush()
    db.session.refresh(turn, with_for_update=True)
