"""Runs the migrations in the application's own database."""

from __future__ import annotations

from typing import Any, Literal

from alembic import context
from flask import current_app

from pbem.models.base import Instant

extension = current_app.extensions["migrate"]
database = extension.db


def plain_types(kind: str, item: Any, _context: Any) -> str | Literal[False]:
    """Write our own column types as what they are in the database."""
    if kind == "type" and isinstance(item, Instant):
        return "sa.DateTime(timezone=True)"
    return False


def migrate() -> None:
    """Bring the database that the settings name to the wanted revision."""
    with database.engine.connect() as connection:
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
