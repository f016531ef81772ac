"""How far the folder of a mailbox is read."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "mailbox",
        sa.Column("id", ID, nullable=False),
        sa.Column("folder", sa.String(500), nullable=False),
        sa.Column("uid_validity", sa.BigInteger(), nullable=False),
        sa.Column("last_uid", sa.BigInteger(), nullable=False),
        sa.Column("polled_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_mailbox"),
        sa.UniqueConstraint("folder", name="uq_mailbox_folder"),
    )


def downgrade() -> None:
    """Take it away again."""
    op.drop_table("mailbox")
