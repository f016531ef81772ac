"""How often something may be done, counted in the database: all processes count together."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sqlalchemy import delete
from sqlalchemy.dialects import postgresql, sqlite

from engine.game import N_
from pbem.errors import TooOften
from pbem.ext import db, tokens, writing
from pbem.models import Attempt

KEPT: Final = timedelta(days=2)  # longer than any limit's time
_HOUR: Final = timedelta(hours=1)
_DAY: Final = timedelta(days=1)
# The two write the same statement, and have no common name for it.
_INSERT: Final[dict[str, Callable[[Any], Any]]] = {
    "postgresql": postgresql.insert,
    "sqlite": sqlite.insert,
}


@dataclass(frozen=True, slots=True)
class Limit:
    """How often one may do something within an hour or a day, by the clock."""

    what: str
    most: int
    within: timedelta


RENEWALS: Final = Limit("renewals", 5, _DAY)  # of the links of one seat, or of one player


def sign_ins(most: int) -> Limit:
    """Return the limit on signing in: mails asked for and buttons pressed, from one network."""
    return Limit("sign-ins", most, _HOUR)


def tables(most: int) -> Limit:
    """Return the limit on the tables that one player opens."""
    return Limit("tables", most, _DAY)


def mails_to(most: int) -> Limit:
    """Return the limit on the mails that are taken for one turn, seat or letter."""
    return Limit("mails to", most, _HOUR)


def mails_from(most: int) -> Limit:
    """Return the limit on the mails that are taken from one sender."""
    return Limit("mails from", most, _HOUR)


def one_more(limit: Limit, who: str, *, now: datetime) -> None:
    """Count that somebody does it once more; raises TooOften where that is one too many.

    The caller holds the transaction.
    """
    seconds = int(limit.within.total_seconds())
    begun = int(now.timestamp()) // seconds * seconds
    counted = (
        _INSERT[db.engine.dialect.name](Attempt)
        .values(
            what=limit.what,
            who=tokens().fingerprint(who),
            since=datetime.fromtimestamp(begun, UTC),
            times=1,
        )
        .on_conflict_do_update(
            index_elements=["what", "who", "since"],
            set_={"times": Attempt.times + 1},
            where=Attempt.times < limit.most,
        )
        .returning(Attempt.times)
    )
    if not db.session.scalars(counted).all():
        raise _too_often(begun + seconds - now.timestamp())


def try_one_more(limit: Limit, who: str, *, now: datetime) -> None:
    """Do as ``one_more`` does, in a transaction of its own."""
    with writing():
        one_more(limit, who, now=now)


def forget_old(*, now: datetime) -> None:
    """Forget what no limit asks for any more."""
    with writing():
        db.session.execute(delete(Attempt).where(Attempt.since < now - KEPT))


def _too_often(left: float) -> TooOften:
    """Return what is said to who may try again when so many seconds are over."""
    minutes = max(1, math.ceil(left / 60))
    if minutes <= 90:
        return TooOften(minutes=minutes)
    words = N_("that was asked for too often; nothing is lost, try again in %(hours)s hours")
    return TooOften(words, hours=-(-minutes // 60))
