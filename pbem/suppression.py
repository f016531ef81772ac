"""The addresses that nobody mails, until their owner asks for mail again."""

from __future__ import annotations

import contextlib
from datetime import datetime

from sqlalchemy import delete, exists, select
from sqlalchemy.exc import IntegrityError

from pbem.ext import db
from pbem.models import Suppression, Why


def is_suppressed(address: str) -> bool:
    """Return whether no letter may go to an address."""
    found = exists().where(Suppression.address == address)
    return bool(db.session.scalar(select(found)))


def suppress(address: str, why: Why, *, now: datetime) -> None:
    """Mail an address no more. The caller holds the transaction."""
    # Two clicks at once find no row both: the second one's is one too many.
    with contextlib.suppress(IntegrityError), db.session.begin_nested():
        db.session.add(Suppression(address=address, why=why, made_at=now))


def allow(address: str) -> None:
    """Let an address be mailed again. The caller holds the transaction."""
    db.session.execute(delete(Suppression).where(Suppression.address == address))
