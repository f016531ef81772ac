"""Whether the tables are those of the code: their unique keys keep most of the promises."""

from __future__ import annotations

from collections.abc import Iterator

from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import text

from pbem.ext import db

_THERE = {"add": "missing", "remove": "too much", "modify": "different"}


def wrongs_of_tables() -> Iterator[str]:
    """Yield a line for each difference of the tables, and for each row that points nowhere."""
    connection = db.session.connection()
    for difference in compare_metadata(MigrationContext.configure(connection), db.metadata):
        # What differs within one column comes as a list.
        one = difference[0] if isinstance(difference, list) else difference
        what, *parts = one
        how, _, kind = str(what).partition("_")
        yield f"the tables: {kind} {_name(parts)} is {_THERE.get(how, how)}; run: pbem db upgrade"
    if connection.dialect.name == "sqlite":
        for table, row, parent, _key in connection.execute(text("PRAGMA foreign_key_check")):
            yield f"{table} {row} belongs to a row of {parent} that is not there"


def _name(parts: list[object]) -> str:
    """Return what a difference is about, as short as it is told."""
    names = [str(getattr(part, "name", part)) for part in parts if part is not None]
    return " ".join(name for name in names if len(name) < 60)
