"""A worker that dies in the middle of what it does, at a statement that writes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import event

from pbem.ext import db


class Killed(BaseException):
    """The worker died in the middle of what it did."""


@contextmanager
def dying(after: int | None) -> Iterator[None]:
    """Let the block die at its n-th statement that writes; None: it lives."""
    left = after

    def look(_c: Any, _cursor: Any, statement: str, *_rest: Any) -> None:
        nonlocal left
        if left is None or statement.lstrip()[:6] not in ("UPDATE", "INSERT"):
            return
        left -= 1
        if left < 0:
            left = None
            raise Killed

    event.listen(db.engine, "before_cursor_execute", look)
    try:
        yield
    finally:
        event.remove(db.engine, "before_cursor_execute", look)
