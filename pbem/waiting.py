"""Whom a table waits for, until when, and why a clock stands still: facts, and their words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from flask_babel import gettext

from pbem import clocks, words
from pbem.models import Match, Policy, Seat, Turn


@dataclass(frozen=True, slots=True)
class Waiting:
    """An open turn as the table and the host may see it; ``why`` tells of a standstill."""

    turn: Turn
    seat: Seat
    is_late: bool
    why: str

    @property
    def name(self) -> str:
        """Return the name at the seat."""
        return self.seat.name or ""


def waiting(match: Match, *, now: datetime, zone: str) -> tuple[Waiting, ...]:
    """Return whom a running match waits for, the first deadline first."""
    return tuple(
        Waiting(
            turn,
            turn.asked,
            turn.deadline < now and match.paused_at is None,
            _why(turn, turn.asked, now, zone),
        )
        for turn in clocks.open_turns(match=match)
    )


def terms(turn: Turn, seat: Seat, *, now: datetime, zone: str) -> tuple[str, ...]:
    """Return what a player is told of their time, after the deadline: its parts, and what then."""
    match = turn.match
    lines = [_parts(turn, seat)]
    if match.weekends:
        lines.append(gettext("Saturdays and Sundays do not count."))
    lines += [line for line in (_why(turn, seat, now, zone),) if line]
    lines.append(_what_then(match, seat))
    return tuple(lines)


def _parts(turn: Turn, seat: Seat) -> str:
    pace = words.span(turn.match.pace_hours * 3600)
    parts = [gettext("%(time)s for the move", time=pace)]
    if turn.extra:
        parts.append(gettext("%(time)s that you were given", time=words.span(turn.extra)))
    if seat.bank_left >= 60:
        parts.append(gettext("%(time)s left in your bank", time=words.span(seat.bank_left)))
    elif turn.match.bank_hours:
        parts.append(gettext("nothing left in your bank"))
    return gettext("Counted: %(parts)s.", parts=", ".join(parts))


def _what_then(match: Match, seat: Seat) -> str:
    if match.policy == Policy.STOP:
        return gettext("If nothing has come an hour after that, the game ends as it stands.")
    if seat.misses == 0:
        return gettext(
            "If nothing has come an hour after that, the house plays one legal move for you."
        )
    if match.policy == Policy.OPEN:
        return gettext(
            "If nothing has come an hour after that, the house plays for you until you come back,"
            " and somebody else may take your seat."
        )
    return gettext(
        "If nothing has come an hour after that, the house plays for you until you come back."
    )


def _why(turn: Turn, seat: Seat, now: datetime, zone: str) -> str:
    """Return in words why a turn's clock stands still, with its date; empty if it runs."""
    if seat.is_kept or seat.resigned:
        return gettext("The house plays for %(name)s.", name=seat.name)
    found = clocks.standstill(turn, seat, now=now)
    if found is None:
        return ""
    if found.until is None:
        since = words.moment(turn.match.paused_at or now, zone)
        return gettext("The game is paused since %(time)s; no clock runs.", time=since)
    until = words.moment(found.until, zone)
    if found.kind == "absent":
        return gettext(
            "%(name)s is away; the clock stands still until %(time)s.", name=seat.name, time=until
        )
    return gettext(
        "Mail to %(name)s comes back; the clock stands still until %(time)s at most.",
        name=seat.name,
        time=until,
    )
