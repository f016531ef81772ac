"""What the models share: their base and their column types."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import BigInteger, DateTime, Integer
from sqlalchemy.types import TypeDecorator

from pbem.ext import Base, db

if TYPE_CHECKING:
    from sqlalchemy.engine import Dialect

    Model = Base
else:
    Model = db.Model

# SQLite numbers rows by itself only in a plain INTEGER column.
Id = BigInteger().with_variant(Integer, "sqlite")


class Instant(TypeDecorator[datetime]):
    """A moment: aware UTC in Python, whatever the database keeps."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, _dialect: Dialect) -> Any:
        """Refuse a naive time, which would mean another moment on another machine."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value} has no time zone")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, _dialect: Dialect) -> datetime | None:
        """Return the moment as aware UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
