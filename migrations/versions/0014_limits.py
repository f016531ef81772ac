"""Limits, sessions that end everywhere, and links that are made anew."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
COUNTERS = (("player", "sign_outs"), ("player", "renewed"), ("seat", "renewed"))


def upgrade() -> None:
    """Add the columns and the table."""
    for table, column in COUNTERS:
        with op.batch_alter_table(table) as changed:
            changed.add_column(sa.Column(column, sa.Integer(), nullable=False, server_default="0"))
        with op.batch_alter_table(table) as changed:
            changed.alter_column(column, server_default=None)
    op.create_table(
        "attempt",
        sa.Column("id", ID, nullable=False),
        sa.Column("what", sa.String(16), nullable=False),
        sa.Column("who", sa.String(32), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("times", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_attempt"),
        sa.UniqueConstraint("what", "who", "since", name="uq_attempt_what_who_since"),
    )


def downgrade() -> None:
    """Take them away again."""
    op.drop_table("attempt")
    for table, column in COUNTERS:
        with op.batch_alter_table(table) as changed:
            changed.drop_column(column)
