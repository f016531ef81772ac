"""The addresses that nobody mails, until their owner asks for mail again."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from sqlalchemy import bindparam, delete, exists, select, update
from sqlalchemy.exc import IntegrityError

from pbem.ext import db, run
from pbem.models import Suppression, Why

_IS_SUPPRESSED: Final = select(exists().where(Suppression.address == bindparam("given")))


def is_suppressed(address: str) -> bool:
    """Return whether no letter may go to an address."""
    return bool(run(_IS_SUPPRESSED, given=address).scalar())


def is_blocked(address: str) -> bool:
    """Return whether a host has blocked an address: it gets no letter and its mail no answer."""
    found = exists().where(Suppression.address == address, Suppression.why == Why.BLOCKED)
    return bool(db.session.scalar(select(found)))


def blocked() -> Sequence[Suppression]:
    """Return the blocked addresses, the latest first."""
    found = select(Suppression).where(Suppression.why == Why.BLOCKED)
    return db.session.scalars(found.order_by(Suppression.id.desc())).all()


def block(address: str, *, now: datetime) -> None:
    """Block an address, as a host wants it. The caller holds the transaction."""
    suppress(address, Why.BLOCKED, now=now)
    db.session.execute(
        update(Suppression).where(Suppression.address == address).values(why=Why.BLOCKED)
    )


def unblock(address: str) -> None:
    """Let a blocked address be mailed again. The caller holds the transaction."""
    db.session.execute(
        delete(Suppression).where(Suppression.address == address, Suppression.why == Why.BLOCKED)
    )


def suppress(address: str, why: Why, *, now: datetime) -> None:
    """Mail an address no more. The caller holds the transaction."""
    # Two clicks at once find no row both: the second one's is one too many.
    with contextlib.suppress(IntegrityError), db.session.begin_nested():
        db.session.add(Suppression(address=address, why=why, made_at=now))


def allow(address: str) -> None:
    """Let an address be mailed again, as its owner wants. The caller holds the transaction."""
    db.session.execute(
        delete(Suppression).where(Suppression.address == address, Suppression.why != Why.BLOCKED)
    )
