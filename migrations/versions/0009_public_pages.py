"""A player's switch: a public page of their results."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the switch, off for everybody."""
    off = sa.Column("has_page", sa.Boolean(), nullable=False, server_default=sa.false())
    op.add_column("player", off)
    with op.batch_alter_table("player") as player:
        player.alter_column("has_page", server_default=None)


def downgrade() -> None:
    """Take the switch away."""
    op.drop_column("player", "has_page")
