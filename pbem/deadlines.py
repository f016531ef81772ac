"""Pure arithmetic of time: when a turn is due, when it is reminded, when it is too late."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

# What a late move is given before anything happens.
GRACE: Final = timedelta(hours=1)
# Who is asked twice in a row was led on by the page; the letter waits for so long.
LEAD_ON: Final = timedelta(minutes=10)
# One reminder, this many hours before the deadline.
REMINDER_STEP: Final = 24

LEAST_PACE: Final = 1  # hours
MOST_PACE: Final = 720  # hours: 30 days
DEFAULT_PACE: Final = 72  # hours


def deadline(opened_at: datetime, pace: timedelta) -> datetime:
    """Return when a turn that opened then is due."""
    return opened_at + pace


def reminder(opened_at: datetime, due: datetime) -> datetime | None:
    """Return when a turn is reminded; None where that would be before it was asked."""
    when = due - timedelta(hours=REMINDER_STEP)
    return when if when > opened_at else None


def is_out_of_time(due: datetime, now: datetime) -> bool:
    """Return whether the grace after a deadline is over as well."""
    return now > due + GRACE
