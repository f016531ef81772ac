"""Pure arithmetic of time: when a turn is due, when it is reminded, when it is too late.

All moments are aware UTC. A *clock* runs from a turn's opening until its allowance (pace
and bank) is used up; it stands still in *stops* (absences, pauses, our own failures) and,
where the table wants it, at weekends of the player's zone. A deadline never falls into a
stop or into the player's quiet hours; it moves to their end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

# What a late move is given before anything happens.
GRACE: Final = timedelta(hours=1)
# Who is asked twice in a row was led on by the page; the letter waits for so long.
LEAD_ON: Final = timedelta(minutes=10)
# After so long without a worker at work, open deadlines move by that time.
STANDSTILL: Final = timedelta(minutes=15)
# A notice that leaves later than this moves the deadline, but not by more than MOST_LATE.
LATE_NOTICE: Final = timedelta(minutes=15)
MOST_LATE: Final = timedelta(hours=24)
# So long the clock stands for who can't be reached by mail, once in a match.
UNREACHABLE: Final = timedelta(days=3)
# A deadline that comes forward, as an absence ends early, leaves at least this.
LEAST_LEFT: Final = timedelta(hours=24)

LEAST_PACE: Final = 1  # hours
MOST_PACE: Final = 720  # hours: 30 days
DEFAULT_PACE: Final = 72  # hours
DEFAULT_BANK: Final = 72  # hours
MOST_ABSENCE: Final = 30  # days a year

HALF: Final = -1  # the reminder at half time; the others are hours before the deadline
STEPS: Final = (HALF, 24, 8, 2, 0)
DEFAULT_STEPS: Final = (24, 0)

_SATURDAY: Final = 5
_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Span:
    """A time in which a clock stands still; ``until`` is not part of it."""

    start: datetime
    until: datetime

    def holds(self, moment: datetime) -> bool:
        """Return whether the moment lies in it."""
        return self.start <= moment < self.until


@dataclass(frozen=True, slots=True)
class Quiet:
    """A player's quiet hours, in minutes after midnight; they may go over midnight."""

    start: int
    until: int


@dataclass(frozen=True, slots=True)
class Calendar:
    """What of a player's time a deadline depends on."""

    zone: ZoneInfo
    quiet: Quiet | None = None
    weekends: bool = False
    stops: tuple[Span, ...] = ()


def deadline(opened_at: datetime, allowance: timedelta, calendar: Calendar) -> datetime:
    """Return when a clock that started then has used up its allowance."""
    moment, left = opened_at, allowance
    while True:
        moment = _out_of_stops(moment, calendar)
        upcoming = _next_stop(moment, calendar)
        if upcoming is None or upcoming - moment >= left:
            return _shown(moment + left, calendar)
        left -= upcoming - moment
        moment = upcoming


def running(start: datetime, until: datetime, calendar: Calendar) -> timedelta:
    """Return for how long a clock ran between two moments."""
    ran, moment = timedelta(), start
    while True:
        moment = _out_of_stops(moment, calendar)
        if moment >= until:
            return ran
        upcoming = _next_stop(moment, calendar)
        end = until if upcoming is None else min(upcoming, until)
        ran += end - moment
        moment = end


def bank_after(
    bank: timedelta, pace: timedelta, opened_at: datetime, moved_at: datetime, calendar: Calendar
) -> timedelta:
    """Return what is left of a bank when a move came then."""
    late = running(opened_at, moved_at, calendar) - pace
    return max(timedelta(), bank - max(timedelta(), late))


def moved_deadline(
    old: datetime, new: datetime, *, now: datetime, may_come_forward: bool = False
) -> datetime:
    """Return an open turn's deadline after what it depends on has changed.

    It never moves backwards, save where an absence ended early: then to no less than 24
    hours from now.
    """
    if new >= old or not may_come_forward:
        return max(old, new)
    return min(old, max(new, now + LEAST_LEFT))


def out_of_quiet(moment: datetime, calendar: Calendar) -> datetime:
    """Return the moment, or the end of the quiet hours that it falls in."""
    quiet = calendar.quiet
    if quiet is None or quiet.start == quiet.until:
        return moment
    local = moment.astimezone(calendar.zone)
    # The quiet hours that hold a moment began today or yesterday; or a day before that,
    # where a zone once left out a whole day.
    for day in (local.date() - 2 * _DAY, local.date() - _DAY, local.date()):
        start = at_wall(day, quiet.start, calendar.zone)
        after = day if quiet.start < quiet.until else day + _DAY
        until = at_wall(after, quiet.until, calendar.zone)
        if start <= moment < until:
            return until
    return moment


def reminder(step: int, opened_at: datetime, due: datetime) -> datetime | None:
    """Return when a step of a turn is reminded; None where that is before it was asked."""
    when = opened_at + (due - opened_at) / 2 if step == HALF else due - timedelta(hours=step)
    return when if when > opened_at else None


def is_reminded(step: int, opened_at: datetime, due: datetime, now: datetime) -> bool:
    """Return whether now is the time for a step's reminder, or it came a little before."""
    when = reminder(step, opened_at, due)
    return when is not None and when <= now < (due if step else due + GRACE)


def is_out_of_time(due: datetime, now: datetime) -> bool:
    """Return whether the grace after a deadline is over as well."""
    return now > due + GRACE


def absence(first: date, last: date, zone: ZoneInfo) -> Span:
    """Return the span from the first day's midnight to the end of the last day."""
    return Span(at_wall(first, 0, zone), at_wall(last + _DAY, 0, zone))


def days_absent(spans: Iterable[Span], year: int, zone: ZoneInfo) -> int:
    """Return on how many days of a year somebody is absent; overlaps count once."""
    days: set[date] = set()
    for span in spans:
        day = span.start.astimezone(zone).date()
        while (midnight := at_wall(day, 0, zone)) < span.until:
            # A zone may have left out a day, and a span may be empty.
            if max(midnight, span.start) < min(at_wall(day + _DAY, 0, zone), span.until):
                days.add(day)
            day += _DAY
    return sum(day.year == year for day in days)


def at_wall(day: date, minute: int, zone: ZoneInfo) -> datetime:
    """Return the moment of a wall time, in minutes after midnight.

    A time that doesn't exist, as the clocks change, moves forward; of one that comes
    twice it is the first.
    """
    wall = datetime.combine(day, time(minute // 60, minute % 60), tzinfo=zone)
    # Where the wall time is skipped, the offset of before (fold 0) leads behind the gap.
    return wall.astimezone(UTC)


def next_daily(after: datetime, minute: int, zone: ZoneInfo) -> datetime:
    """Return the first moment behind ``after`` at which it is that time of the day."""
    day = after.astimezone(zone).date()
    while (moment := at_wall(day, minute, zone)) <= after:
        day += _DAY
    return moment


def _shown(moment: datetime, calendar: Calendar) -> datetime:
    """Return a deadline that falls neither into a stop nor into quiet hours."""
    while True:
        later = out_of_quiet(_out_of_stops(moment, calendar), calendar)
        if later == moment:
            return moment
        moment = later


def _out_of_stops(moment: datetime, calendar: Calendar) -> datetime:
    while True:
        ends = [span.until for span in calendar.stops if span.holds(moment)]
        weekend = _weekend(moment, calendar)
        if weekend is not None and weekend.holds(moment):
            ends.append(weekend.until)
        if not ends:
            return moment
        moment = max(ends)


def _next_stop(moment: datetime, calendar: Calendar) -> datetime | None:
    """Return when the next stop begins after a moment that lies in none."""
    starts = [span.start for span in calendar.stops if moment < span.start < span.until]
    weekend = _weekend(moment, calendar)
    if weekend is not None:
        starts.append(weekend.start)
    return min(starts, default=None)


def _weekend(moment: datetime, calendar: Calendar) -> Span | None:
    """Return the weekend that holds the moment, or else the next one."""
    if not calendar.weekends:
        return None
    today = moment.astimezone(calendar.zone).date()
    saturday = today + ((_SATURDAY - today.weekday()) % 7) * _DAY
    if today.weekday() > _SATURDAY:
        saturday -= 7 * _DAY
    return Span(at_wall(saturday, 0, calendar.zone), at_wall(saturday + 2 * _DAY, 0, calendar.zone))


def merged(spans: Sequence[Span]) -> tuple[Span, ...]:
    """Return spans in order, those that overlap or touch as one."""
    found: list[Span] = []
    for span in sorted(spans, key=lambda one: one.start):
        if found and span.start <= found[-1].until:
            found[-1] = Span(found[-1].start, max(found[-1].until, span.until))
        else:
            found.append(span)
    return tuple(found)
