"""Runs the migrations in the application's own database."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

from alembic import context
from flask import current_app
from sqlalchemy import Table, event

from pbem.models.base import Instant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy.engine import Connection

extension = current_app.extensions["migrate"]
database = extension.db


def plain_types(kind: str, item: Any, _context: Any) -> str | Literal[False]:
    """Write our own column types as what they are in the database."""
    if kind == "type" and isinstance(item, Instant):
        return "sa.DateTime(timezone=True)"
    return False


@contextmanager
def unchecked(connection: Connection) -> Iterator[None]:
    """Let SQLite not look at foreign keys meanwhile.

    Most changes to a table make it anew, and dropping the old one would fail while rows of
    other tables refer to it.
    """
    if connection.dialect.name != "sqlite":
        yield
        return
    # Not through the connection itself: it would begin, and then this has no effect.
    raw = connection.connection.cursor()
    raw.execute("PRAGMA foreign_keys = OFF")
    try:
        yield
    finally:
        raw.execute("PRAGMA foreign_keys = ON")


def number_onward(table: Table, _metadata: Any) -> None:
    """Let SQLite never give the id of a row that is gone to another one.

    Ids stand in links, addresses and Message-IDs. PostgreSQL's sequences do so by themselves,
    and here a table that is made anew would lose it again.
    """
    if "id" in table.columns:
        table.dialect_options["sqlite"]["autoincrement"] = True


@contextmanager
def numbered_onward() -> Iterator[None]:
    """Make all tables of a block so."""
    event.listen(Table, "after_parent_attach", number_onward)
    try:
        yield
    finally:
        event.remove(Table, "after_parent_attach", number_onward)


def migrate() -> None:
    """Bring the database that the settings name to the wanted revision."""
    with (
        database.engine.connect().execution_options(writes=True) as connection,
        unchecked(connection),
        numbered_onward(),
    ):
        if connection.dialect.name == "postgresql":
            # A migration of a large table may take longer than any page.
            connection.exec_driver_sql("SET statement_timeout = 0")
            connection.commit()
        context.configure(
            connection=connection,
            target_metadata=database.metadata,
            render_as_batch=True,
            render_item=plain_types,
        )
        with context.begin_transaction():
            context.run_migrations()
        connection.commit()


migrate()
