"""A player's switch: moves without a choice are played by themselves."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the switch, on for everybody."""
    on = sa.Column("plays_forced", sa.Boolean(), nullable=False, server_default=sa.true())
    op.add_column("player", on)
    with op.batch_alter_table("player") as player:
        player.alter_column("plays_forced", server_default=None)


def downgrade() -> None:
    """Take the switch away."""
    op.drop_column("player", "plays_forced")
