"""Checks the promises against the database, and says in a line each what is not so."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from pbem.audit import games, letters, people
from pbem.audit.tables import wrongs_of_tables

__all__ = ["wrongs", "wrongs_of_tables"]


def wrongs(*, now: datetime | None = None) -> Iterator[str]:
    """Yield a line for each row that is not as promised; nothing is changed."""
    now = now or datetime.now(UTC)
    yield from games.wrongs(now=now)
    yield from letters.wrongs(now=now)
    yield from people.wrongs()
