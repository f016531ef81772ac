"""A player's row says when their next daily mail is due, not when the last one left."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

INSTANT = sa.DateTime(timezone=True)
PLAYER = sa.table(
    "player",
    sa.column("id", sa.Integer()),
    sa.column("zone", sa.String()),
    sa.column("digest_at", sa.Integer()),
    sa.column("digested_at", INSTANT),
    sa.column("digest_due_at", INSTANT),
    sa.column("created_at", INSTANT),
)


def upgrade() -> None:
    """Reckon the next moment of each player who wants a daily mail."""
    op.drop_index("ix_player_daily", table_name="player")
    op.add_column("player", sa.Column("digest_due_at", INSTANT))
    last = sa.func.coalesce(PLAYER.c.digested_at, PLAYER.c.created_at, type_=INSTANT)
    asked = sa.select(PLAYER.c.id, PLAYER.c.zone, PLAYER.c.digest_at, last)
    connection = op.get_bind()
    for player_id, zone, minute, at in connection.execute(
        asked.where(PLAYER.c.digest_at.is_not(None))
    ).all():
        due = PLAYER.update().where(PLAYER.c.id == player_id)
        connection.execute(due.values(digest_due_at=_next(at, minute, ZoneInfo(zone))))
    op.drop_column("player", "digested_at")
    _index("digest_due_at", "digest_due_at")


def downgrade() -> None:
    """Count a day back."""
    op.drop_index("ix_player_daily", table_name="player")
    op.add_column("player", sa.Column("digested_at", INSTANT))
    connection = op.get_bind()
    asked = sa.select(PLAYER.c.id, PLAYER.c.digest_due_at)
    for player_id, due in connection.execute(
        asked.where(PLAYER.c.digest_due_at.is_not(None))
    ).all():
        last = PLAYER.update().where(PLAYER.c.id == player_id)
        connection.execute(last.values(digested_at=due - timedelta(days=1)))
    op.drop_column("player", "digest_due_at")
    _index("id", "digest_at")


def _index(column: str, given: str) -> None:
    where = sa.text(f"{given} IS NOT NULL")
    op.create_index(
        "ix_player_daily", "player", [column], sqlite_where=where, postgresql_where=where
    )


def _next(after: datetime, minute: int, zone: ZoneInfo) -> datetime:
    after = after if after.tzinfo else after.replace(tzinfo=UTC)  # as SQLite keeps it
    wall = after.astimezone(zone).replace(
        hour=minute // 60, minute=minute % 60, second=0, microsecond=0
    )
    if wall.astimezone(UTC) <= after:
        wall += timedelta(days=1)
    return wall.astimezone(UTC)
