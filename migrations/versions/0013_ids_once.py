"""Ids of SQLite are given once: those of rows that are gone never come again."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables anew that would give an id again; see migrations/env.py."""
    if op.get_bind().dialect.name != "sqlite":
        return
    for table in _numbered_anew():
        with op.batch_alter_table(table, recreate="always"):
            pass


def downgrade() -> None:
    """Leave them: nothing of before minds."""


def _numbered_anew() -> list[str]:
    found = sa.text(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE '%AUTOINCREMENT%'"
        " AND name NOT LIKE 'sqlite_%' AND name <> 'alembic_version' ORDER BY name"
    )
    return list(op.get_bind().scalars(found))
