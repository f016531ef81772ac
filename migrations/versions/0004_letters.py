"""Which letters a player wants, moves by ready-made replies, and whom nobody mails."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the columns and the table."""
    with op.batch_alter_table("player") as player:
        player.add_column(
            sa.Column("mails", sa.JSON(), nullable=False, server_default=sa.text("'{}'"))
        )
        player.add_column(
            sa.Column("moves_by_mail", sa.Boolean(), nullable=False, server_default=sa.false())
        )
    with op.batch_alter_table("player") as player:
        player.alter_column("mails", server_default=None)
        player.alter_column("moves_by_mail", server_default=None)
    op.create_table(
        "suppression",
        sa.Column("id", ID, nullable=False),
        sa.Column("address", sa.String(320), nullable=False),
        sa.Column("why", sa.String(16), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_suppression"),
        sa.UniqueConstraint("address", name="uq_suppression_address"),
    )


def downgrade() -> None:
    """Take them away again."""
    op.drop_table("suppression")
    with op.batch_alter_table("player") as player:
        player.drop_column("moves_by_mail")
        player.drop_column("mails")
