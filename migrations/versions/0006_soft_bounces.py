"""When a letter came back for a reason that may pass."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

CAME_BACK = sa.text("soft_bounced_at IS NOT NULL")


def upgrade() -> None:
    """Add the column and its index."""
    with op.batch_alter_table("letter") as letter:
        letter.add_column(sa.Column("soft_bounced_at", sa.DateTime(timezone=True)))
        letter.create_index(
            "ix_letter_soft",
            ["address", "soft_bounced_at"],
            sqlite_where=CAME_BACK,
            postgresql_where=CAME_BACK,
        )


def downgrade() -> None:
    """Take them away again."""
    with op.batch_alter_table("letter") as letter:
        letter.drop_index("ix_letter_soft")
        letter.drop_column("soft_bounced_at")
