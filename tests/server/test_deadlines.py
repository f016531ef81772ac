"""Deadlines: clocks that stand still, quiet hours, and the days on which clocks change."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from typing import NamedTuple
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from pbem.deadlines import (
    GRACE,
    HALF,
    LEAST_LEFT,
    STEPS,
    Calendar,
    Quiet,
    Span,
    absence,
    at_wall,
    bank_after,
    days_absent,
    deadline,
    is_out_of_time,
    is_reminded,
    merged,
    moved_deadline,
    next_daily,
    out_of_quiet,
    reminder,
    running,
)

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
STEP = timedelta(minutes=15)  # every change of clocks below lies on this grid
SATURDAY = 5

PARIS = ZoneInfo("Europe/Paris")
APIA = ZoneInfo("Pacific/Apia")

# The day that Samoa left out, as it changed sides of the date line: Friday 30 December 2011.
LEFT_OUT = datetime(2011, 12, 30, 10, tzinfo=UTC)
# Where something happens to the calendar; the properties look around it.
CHANGES = (
    ("Europe/Paris", datetime(2026, 3, 29, 1, tzinfo=UTC)),
    ("Europe/Paris", datetime(2026, 10, 25, 1, tzinfo=UTC)),
    ("Europe/Paris", datetime(2028, 2, 29, 12, tzinfo=UTC)),
    ("America/New_York", datetime(2026, 3, 8, 7, tzinfo=UTC)),
    ("America/New_York", datetime(2026, 11, 1, 6, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2026, 4, 4, 15, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2026, 10, 3, 15, 30, tzinfo=UTC)),
    ("America/Santiago", datetime(2026, 4, 5, 3, tzinfo=UTC)),
    ("America/Santiago", datetime(2026, 9, 6, 4, tzinfo=UTC)),
    ("Pacific/Apia", datetime(2026, 12, 31, 11, tzinfo=UTC)),
    ("Pacific/Apia", LEFT_OUT),
)
ZONES = sorted({name for name, _ in CHANGES})

often = settings(max_examples=100, deadline=None)


class Clock(NamedTuple):
    """What a deadline is made from."""

    opened: datetime
    allowance: timedelta
    calendar: Calendar

    @property
    def due(self) -> datetime:
        return deadline(*self)

    def but(self, **changes) -> Clock:
        """The same clock in a calendar that differs."""
        return self._replace(calendar=replace(self.calendar, **changes))


def at(text: str) -> datetime:
    """A moment, written with its offset: 2026-10-25 02:30+02:00."""
    return datetime.fromisoformat(text).astimezone(UTC)


def shown(moment: datetime, zone: str | ZoneInfo) -> str:
    """A moment on the wall, with the offset that tells doubled hours apart."""
    zone = ZoneInfo(zone) if isinstance(zone, str) else zone
    return moment.astimezone(zone).isoformat(" ", "minutes")


def quiet(text: str) -> Quiet:
    """Quiet hours, written 22:00-08:00."""
    start, until = (int(hour) * 60 + int(minute) for hour, minute in clock_times(text))
    return Quiet(start, until)


def clock_times(text: str) -> list[list[str]]:
    return [side.split(":") for side in text.split("-")]


def is_weekend(moment: datetime, calendar: Calendar) -> bool:
    return moment.astimezone(calendar.zone).weekday() >= SATURDAY


def stands_still(moment: datetime, calendar: Calendar) -> bool:
    stopped = any(span.start <= moment < span.until for span in calendar.stops)
    return stopped or (calendar.weekends and is_weekend(moment, calendar))


def is_quiet_on_the_wall(moment: datetime, calendar: Calendar) -> bool:
    local, hours = moment.astimezone(calendar.zone), calendar.quiet
    if hours is None:
        return False
    minute = local.hour * 60 + local.minute
    if hours.start <= hours.until:
        return hours.start <= minute < hours.until
    return minute >= hours.start or minute < hours.until


def has_plain_edges(moment: datetime, calendar: Calendar) -> bool:
    """Whether no edge of the quiet hours around a moment is a skipped or doubled wall time."""
    today, hours = moment.astimezone(calendar.zone).date(), calendar.quiet
    return hours is None or all(
        comes_once(day, minute, calendar.zone)
        for day in (today - DAY, today, today + DAY)
        for minute in (hours.start, hours.until)
    )


def comes_once(day: date, minute: int, zone: ZoneInfo) -> bool:
    wall = datetime(day.year, day.month, day.day, minute // 60, minute % 60, tzinfo=zone)
    return wall.utcoffset() == wall.replace(fold=1).utcoffset()


def between(low: timedelta, high: timedelta, step: timedelta = STEP) -> st.SearchStrategy:
    return st.integers(low // step, high // step).map(lambda count: count * step)


minutes_of_day = st.integers(0, 24 * 60 - 1)
quiets = st.builds(Quiet, minutes_of_day, minutes_of_day)


@st.composite
def spans(draw, near: datetime) -> Span:
    start = near + draw(between(-6 * DAY, 12 * DAY))
    return Span(start, start + draw(between(timedelta(), 5 * DAY)))


@st.composite
def clocks(draw) -> Clock:
    name, near = draw(st.sampled_from(CHANGES))
    calendar = Calendar(
        ZoneInfo(name),
        quiet=draw(st.none() | quiets),
        weekends=draw(st.booleans()),
        stops=tuple(draw(st.lists(spans(near), max_size=4))),
    )
    opened = near + draw(between(-4 * DAY, 4 * DAY))
    return Clock(opened, draw(between(HOUR, 8 * DAY)), calendar)


@st.composite
def moments_in_zones(draw) -> tuple[datetime, ZoneInfo]:
    name, near = draw(st.sampled_from(CHANGES))
    return near + draw(between(-2 * DAY, 2 * DAY, timedelta(minutes=1))), ZoneInfo(name)


# A clock runs for its allowance.


def test_a_clock_without_stops_runs_through_nights_and_weekends():
    opened = at("2026-06-05 12:00+02:00")
    assert deadline(opened, 3 * DAY, Calendar(PARIS)) == opened + 3 * DAY


@often
@given(clocks())
def test_a_clock_runs_exactly_its_allowance_and_stands_still_in_stops(clock):
    moment, left = clock.opened, clock.allowance
    while left or stands_still(moment, clock.calendar):
        if not stands_still(moment, clock.calendar):
            left -= STEP
        moment += STEP
    assert clock.but(quiet=None).due == moment


@often
@given(clocks())
def test_running_until_the_deadline_takes_the_allowance(clock):
    # A deadline that a stop pushed to its end is no exception: nothing ran meanwhile.
    without = clock.but(quiet=None)
    assert running(clock.opened, without.due, clock.calendar) == clock.allowance
    assert running(clock.opened, without.due - STEP, clock.calendar) <= clock.allowance
    # Quiet hours move a deadline, but they don't stop a clock.
    assert running(clock.opened, clock.due, clock.calendar) >= clock.allowance


@often
@given(clocks(), between(timedelta(), 8 * DAY), between(timedelta(), 8 * DAY))
def test_what_ran_in_two_parts_is_what_ran_in_all(clock, one, other):
    start, calendar = clock.opened, clock.calendar
    middle, until = start + one, start + one + other
    parts = running(start, middle, calendar) + running(middle, until, calendar)
    assert parts == running(start, until, calendar) <= until - start


def test_nothing_runs_before_the_start():
    start = at("2026-06-01 12:00Z")
    assert running(start, start, Calendar(PARIS)) == timedelta()
    assert running(start, start - DAY, Calendar(PARIS)) == timedelta()


@often
@given(clocks(), between(timedelta(), 4 * DAY))
def test_more_allowance_never_brings_a_deadline_forward(clock, more):
    assert clock._replace(allowance=clock.allowance + more).due >= clock.due


@often
@given(clocks(), between(timedelta(), 4 * DAY))
def test_a_later_opening_never_brings_a_deadline_forward(clock, later):
    assert clock._replace(opened=clock.opened + later).due >= clock.due


# What stops a clock never brings a deadline forward, and no deadline falls into it.


@often
@given(clocks(), st.data())
def test_another_stop_never_brings_a_deadline_forward(clock, data):
    more = data.draw(spans(clock.opened))
    assert clock.but(stops=(*clock.calendar.stops, more)).due >= clock.due


@often
@given(clocks(), st.integers(-3, 9), st.integers(0, 9))
def test_an_absence_never_brings_a_deadline_forward(clock, begins, lasts):
    first = clock.opened.date() + begins * DAY
    away = absence(first, first + lasts * DAY, clock.calendar.zone)
    assert clock.but(stops=(*clock.calendar.stops, away)).due >= clock.due


@often
@given(clocks(), between(timedelta(), 5 * DAY))
def test_a_stop_that_is_extended_never_brings_a_deadline_forward(clock, longer):
    extended = tuple(Span(stop.start, stop.until + longer) for stop in clock.calendar.stops)
    assert clock.but(stops=extended).due >= clock.due


@often
@given(clocks())
def test_weekends_never_bring_a_deadline_forward(clock):
    assert clock.but(weekends=True).due >= clock.but(weekends=False).due


@often
@given(clocks(), quiets)
def test_quiet_hours_never_bring_a_deadline_forward(clock, hours):
    assert clock.but(quiet=hours).due >= clock.but(quiet=None).due


@often
@given(clocks())
def test_no_deadline_falls_into_a_stop_or_a_weekend_that_stops_the_clock(clock):
    assert not any(span.holds(clock.due) for span in clock.calendar.stops)
    assert not is_weekend(clock.but(weekends=True).due, clock.calendar)


@often
@given(clocks(), quiets)
def test_no_deadline_falls_into_quiet_hours_on_the_wall(clock, hours):
    kept = clock.but(quiet=hours)
    # Edges that the clocks skip or double are written out below.
    assume(has_plain_edges(kept.due, kept.calendar))
    assert not is_quiet_on_the_wall(kept.due, kept.calendar)
    assert not stands_still(kept.due, kept.calendar)


@often
@given(clocks())
def test_the_order_of_stops_and_merging_them_change_nothing(clock):
    stops = clock.calendar.stops
    assert clock.but(stops=stops[::-1]).due == clock.due
    assert clock.but(stops=merged(stops)).due == clock.due


# Stops, by example: a clock of 72 hours that is opened on Monday 1 June 2026 at noon.


def june(first: int, last: int) -> Span:
    return absence(date(2026, 6, first), date(2026, 6, last), PARIS)


@pytest.mark.parametrize(
    ("stops", "expected"),
    [
        ([], "2026-06-04 12:00+02:00"),
        ([june(2, 8)], "2026-06-11 12:00+02:00"),
        ([june(2, 5), june(4, 8)], "2026-06-11 12:00+02:00"),
        ([june(4, 8), june(2, 5)], "2026-06-11 12:00+02:00"),
        ([june(2, 4), june(5, 8)], "2026-06-11 12:00+02:00"),
        ([june(2, 8), june(4, 5)], "2026-06-11 12:00+02:00"),
        ([june(2, 8), june(2, 8)], "2026-06-11 12:00+02:00"),
        ([june(2, 3), june(5, 6)], "2026-06-08 12:00+02:00"),
    ],
    ids=["none", "one", "overlapping", "later first", "touching", "nested", "twice", "apart"],
)
def test_absence_over_absence_stops_the_clock_once(stops, expected):
    calendar = Calendar(PARIS, stops=tuple(stops))
    assert shown(deadline(at("2026-06-01 12:00+02:00"), 3 * DAY, calendar), PARIS) == expected


@pytest.mark.parametrize(
    ("opened", "stops", "expected"),
    [
        ("2026-06-04 12:00+02:00", [], "2026-06-09 12:00+02:00"),
        ("2026-06-01 12:00+02:00", [june(3, 5)], "2026-06-09 12:00+02:00"),
        ("2026-06-04 12:00+02:00", [june(7, 9)], "2026-06-11 12:00+02:00"),
        ("2026-06-04 12:00+02:00", [june(6, 7)], "2026-06-09 12:00+02:00"),
        ("2026-06-04 12:00+02:00", [june(5, 8)], "2026-06-11 12:00+02:00"),
        ("2026-06-06 12:00+02:00", [june(1, 7)], "2026-06-11 00:00+02:00"),
    ],
    ids=["none", "touching before", "overlapping", "the same", "around", "opened in both"],
)
def test_absence_and_weekends_stop_the_clock_once(opened, stops, expected):
    calendar = Calendar(PARIS, weekends=True, stops=tuple(stops))
    assert shown(deadline(at(opened), 3 * DAY, calendar), PARIS) == expected


def test_a_turn_that_opens_in_an_absence_runs_from_its_end():
    calendar = Calendar(PARIS, stops=(june(1, 3),))
    due = deadline(at("2026-06-02 15:00+02:00"), 5 * HOUR, calendar)
    assert shown(due, PARIS) == "2026-06-04 05:00+02:00"


def test_a_deadline_as_an_absence_begins_moves_to_its_end():
    opened, calendar = at("2026-06-01 12:00+02:00"), Calendar(PARIS, stops=(june(2, 3),))
    assert shown(deadline(opened, 12 * HOUR, calendar), PARIS) == "2026-06-04 00:00+02:00"
    assert shown(deadline(opened, 12 * HOUR - STEP, calendar), PARIS) == "2026-06-01 23:45+02:00"


def test_stops_that_are_over_empty_or_turned_around_change_nothing():
    opened = at("2026-06-01 12:00Z")
    stops = (
        Span(opened - DAY, opened),
        Span(opened + HOUR, opened + HOUR),
        Span(opened + DAY, opened + HOUR),
    )
    assert deadline(opened, DAY, Calendar(PARIS, stops=stops)) == opened + DAY


def test_a_deadline_in_quiet_hours_before_a_weekend_waits_for_monday_morning():
    calendar = Calendar(PARIS, quiet("22:00-08:00"), weekends=True)
    due = deadline(at("2026-06-05 12:00+02:00"), 11 * HOUR, calendar)
    assert shown(due, PARIS) == "2026-06-08 08:00+02:00"


def test_quiet_hours_that_lead_into_an_absence_lead_behind_it():
    calendar = Calendar(PARIS, quiet("22:00-08:00"), stops=(june(2, 3),))
    due = deadline(at("2026-06-01 12:00+02:00"), 11 * HOUR, calendar)
    assert shown(due, PARIS) == "2026-06-04 08:00+02:00"


def test_weekends_are_those_of_the_players_zone():
    opened = at("2026-06-05 12:00Z")  # Saturday 01:00 in Apia, Friday 08:00 in New York
    east = Calendar(APIA, weekends=True)
    west = Calendar(ZoneInfo("America/New_York"), weekends=True)
    assert shown(deadline(opened, HOUR, east), APIA) == "2026-06-08 01:00+13:00"
    assert deadline(opened, HOUR, west) == opened + HOUR


@pytest.mark.parametrize(
    ("zone", "opened", "expected"),
    [
        ("Europe/Paris", "2026-03-28 12:00+01:00", "2026-03-29 13:00+02:00"),
        ("Europe/Paris", "2026-10-24 12:00+02:00", "2026-10-25 11:00+01:00"),
        ("America/New_York", "2026-03-07 12:00-05:00", "2026-03-08 13:00-04:00"),
        ("America/New_York", "2026-10-31 12:00-04:00", "2026-11-01 11:00-05:00"),
        ("Australia/Lord_Howe", "2026-10-03 12:00+10:30", "2026-10-04 12:30+11:00"),
        ("Australia/Lord_Howe", "2026-04-04 12:00+11:00", "2026-04-05 11:30+10:30"),
        ("America/Santiago", "2026-09-05 12:00-04:00", "2026-09-06 13:00-03:00"),
        ("America/Santiago", "2026-04-04 12:00-03:00", "2026-04-05 11:00-04:00"),
        ("Pacific/Apia", "2011-12-29 12:00-10:00", "2011-12-31 12:00+14:00"),
        ("Europe/Paris", "2028-02-28 12:00+01:00", "2028-02-29 12:00+01:00"),
        ("Europe/Paris", "2028-02-29 12:00+01:00", "2028-03-01 12:00+01:00"),
    ],
)
def test_a_clock_of_24_hours_takes_24_real_hours_over_a_change_of_clocks(zone, opened, expected):
    assert shown(deadline(at(opened), DAY, Calendar(ZoneInfo(zone))), zone) == expected


@pytest.mark.parametrize(
    ("zone", "friday", "monday"),
    [
        ("Europe/Paris", "2026-03-27 23:00+01:00", "2026-03-30 01:00+02:00"),
        ("Europe/Paris", "2026-10-23 23:00+02:00", "2026-10-26 01:00+01:00"),
        ("America/New_York", "2026-03-06 23:00-05:00", "2026-03-09 01:00-04:00"),
        ("America/New_York", "2026-10-30 23:00-04:00", "2026-11-02 01:00-05:00"),
        ("Australia/Lord_Howe", "2026-10-02 23:00+10:30", "2026-10-05 01:00+11:00"),
        ("Australia/Lord_Howe", "2026-04-03 23:00+11:00", "2026-04-06 01:00+10:30"),
        ("America/Santiago", "2026-09-04 23:00-04:00", "2026-09-07 01:00-03:00"),
        ("America/Santiago", "2026-04-03 23:00-03:00", "2026-04-06 01:00-04:00"),
        # There was no Friday in Apia: Saturday came straight behind Thursday.
        ("Pacific/Apia", "2011-12-29 23:00-10:00", "2012-01-02 01:00+14:00"),
    ],
)
def test_a_weekend_in_which_the_clocks_change_ends_at_midnight_of_the_wall(zone, friday, monday):
    calendar = Calendar(ZoneInfo(zone), weekends=True)
    assert shown(deadline(at(friday), 2 * HOUR, calendar), zone) == monday
    assert running(at(friday), at(monday), calendar) == 2 * HOUR


# Quiet hours.


@pytest.mark.parametrize(
    ("hours", "moment", "expected"),
    [
        ("22:00-08:00", "2026-06-01 21:59+02:00", "2026-06-01 21:59+02:00"),
        ("22:00-08:00", "2026-06-01 22:00+02:00", "2026-06-02 08:00+02:00"),
        ("22:00-08:00", "2026-06-02 00:00+02:00", "2026-06-02 08:00+02:00"),
        ("22:00-08:00", "2026-06-02 07:59+02:00", "2026-06-02 08:00+02:00"),
        ("22:00-08:00", "2026-06-02 08:00+02:00", "2026-06-02 08:00+02:00"),
        ("09:00-17:00", "2026-06-02 08:59+02:00", "2026-06-02 08:59+02:00"),
        ("09:00-17:00", "2026-06-02 09:00+02:00", "2026-06-02 17:00+02:00"),
        ("09:00-17:00", "2026-06-02 17:00+02:00", "2026-06-02 17:00+02:00"),
        ("20:00-00:00", "2026-06-02 23:59+02:00", "2026-06-03 00:00+02:00"),
        ("00:00-06:00", "2026-06-02 00:00+02:00", "2026-06-02 06:00+02:00"),
        ("22:00-22:00", "2026-06-02 22:00+02:00", "2026-06-02 22:00+02:00"),
        ("22:00-08:00", "2026-12-31 23:00+01:00", "2027-01-01 08:00+01:00"),
        ("22:00-08:00", "2028-02-28 23:00+01:00", "2028-02-29 08:00+01:00"),
        ("22:00-08:00", "2028-02-29 23:00+01:00", "2028-03-01 08:00+01:00"),
    ],
)
def test_a_moment_in_quiet_hours_moves_to_their_end(hours, moment, expected):
    assert shown(out_of_quiet(at(moment), Calendar(PARIS, quiet(hours))), PARIS) == expected


def test_a_moment_stays_where_nobody_wants_quiet_hours():
    midnight = at("2026-06-02 00:00+02:00")
    assert out_of_quiet(midnight, Calendar(PARIS)) == midnight


@often
@given(moments_in_zones(), quiets)
def test_only_what_is_quiet_on_the_wall_moves_and_then_to_their_end(found, hours):
    moment, zone = found
    calendar = Calendar(zone, hours)
    assume(has_plain_edges(moment, calendar))
    if not is_quiet_on_the_wall(moment, calendar):
        assert out_of_quiet(moment, calendar) == moment
        return
    moved = out_of_quiet(moment, calendar)
    local = moved.astimezone(zone)
    assert moment < moved <= moment + 25 * HOUR
    assert local.hour * 60 + local.minute == hours.until


@pytest.mark.parametrize(
    ("zone", "hours", "moment", "expected"),
    [
        ("Europe/Paris", "22:00-02:30", "2026-03-29 01:00+01:00", "2026-03-29 03:30+02:00"),
        ("Europe/Paris", "22:00-02:00", "2026-03-29 01:00+01:00", "2026-03-29 03:00+02:00"),
        ("America/New_York", "22:00-02:30", "2026-03-08 01:00-05:00", "2026-03-08 03:30-04:00"),
        ("Australia/Lord_Howe", "22:00-02:15", "2026-10-04 01:00+10:30", "2026-10-04 02:45+11:00"),
        ("America/Santiago", "20:00-00:00", "2026-09-05 23:00-04:00", "2026-09-06 01:00-03:00"),
        ("America/Santiago", "20:00-00:30", "2026-09-05 23:00-04:00", "2026-09-06 01:30-03:00"),
        ("Pacific/Apia", "22:00-08:00", "2011-12-29 23:00-10:00", "2011-12-31 08:00+14:00"),
    ],
)
def test_quiet_hours_that_end_in_a_skipped_hour_end_behind_it(zone, hours, moment, expected):
    calendar = Calendar(ZoneInfo(zone), quiet(hours))
    assert shown(out_of_quiet(at(moment), calendar), zone) == expected
    assert shown(deadline(at(moment) - HOUR, HOUR, calendar), zone) == expected


@pytest.mark.parametrize(
    ("zone", "hours", "moment", "first", "second"),
    [
        ("Europe/Paris", "22:00-02:30",
         "2026-10-25 01:00+02:00", "2026-10-25 02:30+02:00", "2026-10-25 02:15+01:00"),
        ("America/New_York", "22:00-01:30",
         "2026-11-01 00:30-04:00", "2026-11-01 01:30-04:00", "2026-11-01 01:15-05:00"),
        ("Australia/Lord_Howe", "22:00-01:45",
         "2026-04-05 01:00+11:00", "2026-04-05 01:45+11:00", "2026-04-05 01:40+10:30"),
        ("America/Santiago", "20:00-23:30",
         "2026-04-04 22:00-03:00", "2026-04-04 23:30-03:00", "2026-04-04 23:15-04:00"),
    ],
)  # fmt: skip
def test_quiet_hours_that_end_in_a_doubled_hour_end_at_the_first(
    zone, hours, moment, first, second
):
    calendar = Calendar(ZoneInfo(zone), quiet(hours))
    assert shown(out_of_quiet(at(moment), calendar), zone) == first
    # They are over then: the hour that comes again isn't quiet again.
    assert out_of_quiet(at(second), calendar) == at(second)


def test_quiet_hours_that_begin_in_a_doubled_hour_begin_at_the_first():
    calendar = Calendar(PARIS, quiet("02:30-08:00"))
    before, first = at("2026-10-25 02:15+02:00"), at("2026-10-25 02:30+02:00")
    assert out_of_quiet(before, calendar) == before
    assert shown(out_of_quiet(first, calendar), PARIS) == "2026-10-25 08:00+01:00"
    again = at("2026-10-25 02:15+01:00")
    assert shown(out_of_quiet(again, calendar), PARIS) == "2026-10-25 08:00+01:00"


@pytest.mark.parametrize(
    ("zone", "moment", "expected"),
    [
        ("Europe/Paris", "2026-03-28 22:00+01:00", "2026-03-29 08:00+02:00"),
        ("Europe/Paris", "2026-03-29 03:00+02:00", "2026-03-29 08:00+02:00"),
        ("Europe/Paris", "2026-10-24 22:00+02:00", "2026-10-25 08:00+01:00"),
        ("Europe/Paris", "2026-10-25 02:30+01:00", "2026-10-25 08:00+01:00"),
        ("America/New_York", "2026-03-07 22:00-05:00", "2026-03-08 08:00-04:00"),
        ("America/New_York", "2026-11-01 01:30-05:00", "2026-11-01 08:00-05:00"),
        ("Australia/Lord_Howe", "2026-10-03 22:00+10:30", "2026-10-04 08:00+11:00"),
        ("Australia/Lord_Howe", "2026-04-05 01:45+10:30", "2026-04-05 08:00+10:30"),
        ("America/Santiago", "2026-09-05 22:00-04:00", "2026-09-06 08:00-03:00"),
        ("America/Santiago", "2026-04-04 23:30-04:00", "2026-04-05 08:00-04:00"),
        ("Pacific/Apia", "2011-12-31 22:00+14:00", "2012-01-01 08:00+14:00"),
    ],
)
def test_quiet_hours_over_a_change_of_clocks_end_at_eight_on_the_wall(zone, moment, expected):
    calendar = Calendar(ZoneInfo(zone), quiet("22:00-08:00"))
    assert shown(out_of_quiet(at(moment), calendar), zone) == expected


def test_quiet_hours_go_on_behind_a_day_that_was_left_out():
    calendar = Calendar(APIA, quiet("22:00-08:00"))
    moment = at("2011-12-31 03:00+14:00")
    assert shown(out_of_quiet(moment, calendar), APIA) == "2011-12-31 08:00+14:00"


def test_a_stop_brings_no_deadline_forward_over_a_day_that_was_left_out():
    calendar = Calendar(APIA, quiet("22:00-08:00"))
    clock = Clock(at("2011-12-28 23:00-10:00"), DAY, calendar)
    stop = Span(at("2011-12-29 22:00-10:00"), at("2011-12-31 03:00+14:00"))
    assert clock.but(stops=(stop,)).due >= clock.due


# The bank.


def test_a_bank_pays_for_what_is_late_and_for_no_more():
    opened, calendar = at("2026-06-01 12:00Z"), Calendar(PARIS)
    left = [
        bank_after(DAY, 3 * DAY, opened, opened + 3 * DAY + late, calendar)
        for late in (-2 * DAY, timedelta(), HOUR, DAY - STEP, DAY, DAY + HOUR)
    ]
    assert left == [DAY, DAY, 23 * HOUR, STEP, timedelta(), timedelta()]


def test_an_absence_costs_no_bank():
    calendar = Calendar(PARIS, stops=(june(2, 8),))
    opened = at("2026-06-01 12:00+02:00")
    in_time = bank_after(DAY, 3 * DAY, opened, at("2026-06-11 12:00+02:00"), calendar)
    late = bank_after(DAY, 3 * DAY, opened, at("2026-06-11 13:00+02:00"), calendar)
    assert (in_time, late) == (DAY, 23 * HOUR)


def test_quiet_hours_do_cost_bank():
    calendar = Calendar(PARIS, quiet("22:00-08:00"))
    opened, moved = at("2026-06-01 23:00+02:00"), at("2026-06-03 02:00+02:00")
    assert bank_after(DAY, DAY, opened, moved, calendar) == 21 * HOUR


@often
@given(clocks(), between(timedelta(), 8 * DAY), between(timedelta(), 8 * DAY))
def test_a_move_that_is_late_takes_just_that_from_the_bank_whatever_stops(clock, bank, late):
    opened, pace, calendar = clock
    moved = deadline(opened, pace + late, replace(calendar, quiet=None))
    left = bank_after(bank, pace, opened, moved, calendar)
    assert left == max(timedelta(), bank - late) >= timedelta()


@often
@given(clocks(), between(timedelta(), 8 * DAY))
def test_a_bank_that_is_used_up_exactly_is_nothing(clock, bank):
    opened, pace, calendar = clock
    moved = deadline(opened, pace + bank, replace(calendar, quiet=None))
    assert bank_after(bank, pace, opened, moved, calendar) == timedelta()


@often
@given(clocks(), between(timedelta(), 8 * DAY), between(timedelta(), 12 * DAY))
def test_a_move_in_time_leaves_the_bank_whole(clock, bank, early):
    in_time = max(clock.opened, clock.but(quiet=None).due - early)
    left = bank_after(bank, clock.allowance, clock.opened, in_time, clock.calendar)
    assert left == bank


@often
@given(clocks(), between(timedelta(), 8 * DAY), between(timedelta(), 40 * DAY))
def test_a_bank_never_grows_and_is_never_negative(clock, bank, after):
    opened, pace, calendar = clock
    assert timedelta() <= bank_after(bank, pace, opened, opened + after, calendar) <= bank


# A deadline that moves.

around_noon = between(-9 * DAY, 9 * DAY).map(lambda after: at("2026-06-01 12:00Z") + after)


@often
@given(around_noon, around_noon, around_noon)
def test_an_open_deadline_never_moves_backwards(old, new, now):
    assert moved_deadline(old, new, now=now) == max(old, new)


@often
@given(around_noon, around_noon, around_noon)
def test_as_an_absence_ends_early_a_deadline_comes_forward_and_leaves_24_hours(old, new, now):
    moved = moved_deadline(old, new, now=now, may_come_forward=True)
    if new >= old:
        assert moved == new
        return
    assert new <= moved <= old
    assert moved >= min(old, now + LEAST_LEFT)
    assert moved in (old, new, now + LEAST_LEFT)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (10 * DAY, 3 * DAY, 3 * DAY),
        (10 * DAY, 5 * HOUR, DAY),
        (10 * DAY, -DAY, DAY),
        (10 * DAY, DAY, DAY),
        (6 * HOUR, 5 * HOUR, 6 * HOUR),
        (-HOUR, -DAY, -HOUR),
        (6 * HOUR, 9 * HOUR, 9 * HOUR),
    ],
)
def test_a_deadline_that_may_come_forward_by_example(old, new, expected):
    now = at("2026-06-01 12:00Z")
    moved = moved_deadline(now + old, now + new, now=now, may_come_forward=True)
    assert moved == now + expected


@pytest.mark.parametrize(
    ("late", "out"),
    [
        (-HOUR, False),
        (timedelta(), False),
        (GRACE - timedelta.resolution, False),
        (GRACE, False),
        (GRACE + timedelta.resolution, True),
        (DAY, True),
    ],
)
def test_time_is_out_only_behind_the_last_moment_of_grace(late, out):
    due = at("2026-06-01 12:00Z")
    assert is_out_of_time(due, due + late) is out


def test_the_grace_is_an_hour():
    assert timedelta(hours=1) == GRACE


# Reminders.


@pytest.mark.parametrize(
    ("allowance", "expected"),
    [
        (72, {HALF: 36, 24: 48, 8: 64, 2: 70, 0: 72}),
        (25, {HALF: 12.5, 24: 1, 8: 17, 2: 23, 0: 25}),
        (24, {HALF: 12, 24: None, 8: 16, 2: 22, 0: 24}),
        (8, {HALF: 4, 24: None, 8: None, 2: 6, 0: 8}),
        (1, {HALF: 0.5, 24: None, 8: None, 2: None, 0: 1}),
        (0, {HALF: None, 24: None, 8: None, 2: None, 0: None}),
    ],
)
def test_each_step_is_reminded_unless_that_is_before_the_turn_opened(allowance, expected):
    opened = at("2026-06-01 12:00Z")
    found = {step: reminder(step, opened, opened + allowance * HOUR) for step in STEPS}
    assert found == {
        step: None if hours is None else opened + hours * HOUR for step, hours in expected.items()
    }


@often
@given(clocks(), st.sampled_from(STEPS))
def test_a_reminder_comes_behind_the_opening_and_no_later_than_the_deadline(clock, step):
    when = reminder(step, clock.opened, clock.due)
    assert when is None or clock.opened < when <= clock.due
    if when is None:
        assert step > 0
        assert clock.due - step * HOUR <= clock.opened


@pytest.mark.parametrize(
    ("step", "first", "behind"),
    [
        (HALF, 36 * HOUR, 72 * HOUR),
        (24, 48 * HOUR, 72 * HOUR),
        (8, 64 * HOUR, 72 * HOUR),
        (2, 70 * HOUR, 72 * HOUR),
        (0, 72 * HOUR, 72 * HOUR + GRACE),
    ],
)
def test_a_step_is_reminded_until_the_deadline_and_the_last_until_the_grace_ends(
    step, first, behind
):
    opened = at("2026-06-01 12:00Z")
    moments = (first - timedelta.resolution, first, behind - timedelta.resolution, behind)
    found = [is_reminded(step, opened, opened + 3 * DAY, opened + after) for after in moments]
    assert found == [False, True, True, False]


def test_a_step_before_the_opening_is_never_reminded():
    opened = at("2026-06-01 12:00Z")
    asked = [opened + nth * STEP for nth in range(-100, 100)]
    assert not any(is_reminded(24, opened, opened + 8 * HOUR, now) for now in asked)


# Absences.


@pytest.mark.parametrize(
    ("zone", "first", "last", "start", "hours"),
    [
        ("Europe/Paris", "2026-06-02", "2026-06-05", "2026-06-02 00:00+02:00", 96),
        ("Europe/Paris", "2026-03-29", "2026-03-29", "2026-03-29 00:00+01:00", 23),
        ("Europe/Paris", "2026-10-25", "2026-10-25", "2026-10-25 00:00+02:00", 25),
        ("America/New_York", "2026-03-08", "2026-03-08", "2026-03-08 00:00-05:00", 23),
        ("America/New_York", "2026-11-01", "2026-11-01", "2026-11-01 00:00-04:00", 25),
        ("Australia/Lord_Howe", "2026-10-04", "2026-10-04", "2026-10-04 00:00+10:30", 23.5),
        ("Australia/Lord_Howe", "2026-04-05", "2026-04-05", "2026-04-05 00:00+11:00", 24.5),
        # Midnight doesn't exist: the day begins at one.
        ("America/Santiago", "2026-09-06", "2026-09-06", "2026-09-06 01:00-03:00", 23),
        ("America/Santiago", "2026-04-04", "2026-04-04", "2026-04-04 00:00-03:00", 25),
        ("Pacific/Apia", "2011-12-29", "2011-12-31", "2011-12-29 00:00-10:00", 48),
        ("Pacific/Apia", "2011-12-30", "2011-12-30", "2011-12-31 00:00+14:00", 0),
        ("Europe/Paris", "2028-02-29", "2028-02-29", "2028-02-29 00:00+01:00", 24),
        ("Europe/Paris", "2028-02-28", "2028-03-01", "2028-02-28 00:00+01:00", 72),
        ("Europe/Paris", "2027-02-28", "2027-03-01", "2027-02-28 00:00+01:00", 48),
        ("Europe/Paris", "2026-12-31", "2027-01-01", "2026-12-31 00:00+01:00", 48),
    ],
)
def test_an_absence_lasts_from_midnight_to_midnight_on_the_wall(zone, first, last, start, hours):
    away = absence(date.fromisoformat(first), date.fromisoformat(last), ZoneInfo(zone))
    assert shown(away.start, zone) == start
    assert away.until - away.start == hours * HOUR


@often
@given(moments_in_zones(), st.integers(-3, 3), st.integers(0, 5))
def test_an_absence_holds_what_the_wall_calls_its_days(found, begins, lasts):
    moment, zone = found
    today = moment.astimezone(zone).date()
    first, last = today + begins * DAY, today + (begins + lasts) * DAY
    assert absence(first, last, zone).holds(moment) is (first <= today <= last)


def test_a_span_holds_its_start_but_not_its_end():
    span = june(2, 3)
    edges = [(edge - timedelta.resolution, edge) for edge in (span.start, span.until)]
    assert [tuple(map(span.holds, pair)) for pair in edges] == [(False, True), (True, False)]


@pytest.mark.parametrize("name", ZONES)
def test_days_of_absences_over_new_year_count_for_their_own_year(name):
    zone = ZoneInfo(name)
    away = [absence(date(2026, 12, 30), date(2027, 1, 3), zone)]
    assert [days_absent(away, year, zone) for year in (2025, 2026, 2027, 2028)] == [0, 2, 3, 0]


@pytest.mark.parametrize("name", ZONES)
def test_days_of_absences_that_overlap_count_once(name):
    zone = ZoneInfo(name)
    away = [
        absence(date(2026, 6, 2), date(2026, 6, 5), zone),
        absence(date(2026, 6, 4), date(2026, 6, 8), zone),
        absence(date(2026, 6, 9), date(2026, 6, 9), zone),
        absence(date(2026, 6, 3), date(2026, 6, 3), zone),
    ]
    assert days_absent(away, 2026, zone) == 8
    assert days_absent(away[::-1], 2026, zone) == 8


def test_nobody_is_absent_without_an_absence():
    assert days_absent([], 2026, PARIS) == 0


def test_a_leap_day_is_a_day_of_absence():
    common = absence(date(2027, 2, 28), date(2027, 3, 1), PARIS)
    leap = absence(date(2028, 2, 28), date(2028, 3, 1), PARIS)
    assert days_absent([common, leap], 2027, PARIS) == 2
    assert days_absent([common, leap], 2028, PARIS) == 3


def test_an_absence_that_ended_early_counts_the_day_on_which_it_ended():
    away = june(2, 8)
    ends = ("2026-06-04 00:00+02:00", "2026-06-04 00:01+02:00", "2026-06-04 18:00+02:00")
    ended = [replace(away, until=at(until)) for until in ends]
    assert [days_absent([span], 2026, PARIS) for span in ended] == [2, 3, 3]


@often
@given(
    st.sampled_from(ZONES),
    st.lists(st.tuples(st.integers(-400, 400), st.integers(0, 30)), max_size=6),
    st.sampled_from([2026, 2027, 2028]),
)
@example("America/Santiago", [(-117, 0)], 2026)  # 6 September 2026, which lacks its midnight
def test_days_absent_are_the_dates_that_were_given_each_once(name, given_days, year):
    zone, new_year = ZoneInfo(name), date(2027, 1, 1)
    ranges = [(new_year + begins * DAY, lasts) for begins, lasts in given_days]
    away = [absence(first, first + lasts * DAY, zone) for first, lasts in ranges]
    dates = {first + nth * DAY for first, lasts in ranges for nth in range(lasts + 1)}
    assert days_absent(away, year, zone) == sum(day.year == year for day in dates)
    assert days_absent(merged(away), year, zone) == days_absent(away, year, zone)


def test_a_day_that_was_left_out_is_no_day_of_absence():
    away = [absence(date(2011, 12, 29), date(2011, 12, 31), APIA)]
    assert days_absent(away, 2011, APIA) == 2


def test_a_span_that_is_empty_is_no_day_of_absence():
    noon = at("2026-06-02 12:00+02:00")
    assert days_absent([Span(noon, noon)], 2026, PARIS) == 0


# Merged spans.


def test_spans_that_overlap_touch_or_lie_in_another_are_merged_into_one():
    assert merged([june(4, 8), june(2, 5)]) == (june(2, 8),)
    assert merged([june(2, 4), june(5, 8)]) == (june(2, 8),)
    assert merged([june(2, 8), june(4, 5)]) == (june(2, 8),)
    assert merged([june(2, 8), june(2, 4), june(2, 8)]) == (june(2, 8),)
    apart = (june(2, 3), june(6, 7), june(12, 14))
    assert merged(apart[::-1]) == apart
    assert merged([]) == ()


@often
@given(st.lists(spans(LEFT_OUT), max_size=6))
def test_merged_spans_lie_in_order_apart_and_hold_the_same_moments(found):
    together = merged(found)
    assert all(one.until < other.start for one, other in pairwise(together))
    assert merged(together) == together == merged(found[::-1])
    for edge in {moment for span in found for moment in (span.start, span.until)}:
        for moment in (edge - timedelta.resolution, edge):
            held = any(span.holds(moment) for span in found)
            assert any(span.holds(moment) for span in together) is held


# Wall times.


@pytest.mark.parametrize(
    ("zone", "day", "time_of_day", "expected"),
    [
        ("Europe/Paris", "2026-03-29", "02:00", "2026-03-29 03:00+02:00"),
        ("Europe/Paris", "2026-03-29", "02:30", "2026-03-29 03:30+02:00"),
        ("Europe/Paris", "2026-03-29", "03:00", "2026-03-29 03:00+02:00"),
        ("Europe/Paris", "2026-10-25", "02:00", "2026-10-25 02:00+02:00"),
        ("Europe/Paris", "2026-10-25", "02:59", "2026-10-25 02:59+02:00"),
        ("Europe/Paris", "2026-10-25", "03:00", "2026-10-25 03:00+01:00"),
        ("America/New_York", "2026-03-08", "02:30", "2026-03-08 03:30-04:00"),
        ("America/New_York", "2026-11-01", "01:30", "2026-11-01 01:30-04:00"),
        ("Australia/Lord_Howe", "2026-10-04", "02:15", "2026-10-04 02:45+11:00"),
        ("Australia/Lord_Howe", "2026-04-05", "01:45", "2026-04-05 01:45+11:00"),
        ("America/Santiago", "2026-09-06", "00:00", "2026-09-06 01:00-03:00"),
        ("America/Santiago", "2026-04-04", "23:30", "2026-04-04 23:30-03:00"),
        ("America/Santiago", "2026-04-05", "00:00", "2026-04-05 00:00-04:00"),
        ("Pacific/Apia", "2011-12-30", "08:00", "2011-12-31 08:00+14:00"),
    ],
)
def test_a_skipped_wall_time_moves_forward_and_a_doubled_one_is_the_first(
    zone, day, time_of_day, expected
):
    (hour, minute), *_ = clock_times(time_of_day)
    moment = at_wall(date.fromisoformat(day), int(hour) * 60 + int(minute), ZoneInfo(zone))
    assert moment.tzinfo is UTC
    assert shown(moment, zone) == expected


@pytest.mark.parametrize(
    ("zone", "after", "time_of_day", "expected"),
    [
        ("Europe/Paris", "2026-06-01 06:59+02:00", "07:00", "2026-06-01 07:00+02:00"),
        ("Europe/Paris", "2026-06-01 07:00+02:00", "07:00", "2026-06-02 07:00+02:00"),
        ("Europe/Paris", "2026-03-28 07:00+01:00", "07:00", "2026-03-29 07:00+02:00"),
        ("Europe/Paris", "2026-10-24 07:00+02:00", "07:00", "2026-10-25 07:00+01:00"),
        ("Europe/Paris", "2026-03-28 02:30+01:00", "02:30", "2026-03-29 03:30+02:00"),
        ("Europe/Paris", "2026-03-29 03:30+02:00", "02:30", "2026-03-30 02:30+02:00"),
        ("Europe/Paris", "2026-10-25 00:00+02:00", "02:30", "2026-10-25 02:30+02:00"),
        # Not a second time on one day.
        ("Europe/Paris", "2026-10-25 02:30+02:00", "02:30", "2026-10-26 02:30+01:00"),
        ("Europe/Paris", "2026-10-25 02:15+01:00", "02:30", "2026-10-26 02:30+01:00"),
        ("America/New_York", "2026-11-01 01:15-05:00", "01:30", "2026-11-02 01:30-05:00"),
        ("Australia/Lord_Howe", "2026-10-04 01:59+10:30", "02:15", "2026-10-04 02:45+11:00"),
        ("America/Santiago", "2026-09-05 12:00-04:00", "00:00", "2026-09-06 01:00-03:00"),
        ("America/Santiago", "2026-09-06 01:00-03:00", "00:00", "2026-09-07 00:00-03:00"),
        ("Pacific/Apia", "2011-12-29 08:00-10:00", "08:00", "2011-12-31 08:00+14:00"),
        ("Pacific/Apia", "2011-12-31 08:00+14:00", "08:00", "2012-01-01 08:00+14:00"),
        ("Europe/Paris", "2028-02-28 07:00+01:00", "07:00", "2028-02-29 07:00+01:00"),
        ("Europe/Paris", "2028-02-29 07:00+01:00", "07:00", "2028-03-01 07:00+01:00"),
        ("Europe/Paris", "2026-12-31 07:00+01:00", "07:00", "2027-01-01 07:00+01:00"),
    ],
)
def test_what_comes_daily_comes_once_a_day_on_the_wall(zone, after, time_of_day, expected):
    (hour, minute), *_ = clock_times(time_of_day)
    found = next_daily(at(after), int(hour) * 60 + int(minute), ZoneInfo(zone))
    assert shown(found, zone) == expected


@often
@given(moments_in_zones(), minutes_of_day)
def test_what_comes_daily_is_strictly_behind_at_that_wall_time_and_the_first(found, minute):
    after, zone = found
    moment = next_daily(after, minute, zone)
    assert after < moment <= after + 25 * HOUR
    local = moment.astimezone(zone)
    if comes_once(local.date(), minute, zone):
        assert local.hour * 60 + local.minute == minute
    around = [after.date() + nth * DAY for nth in range(-2, 4)]
    assert moment == min(one for day in around if (one := at_wall(day, minute, zone)) > after)
