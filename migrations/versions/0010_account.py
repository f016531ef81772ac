"""Several addresses for one player, and accounts that are deleted."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the column and the table, with the one address that each player has."""
    with op.batch_alter_table("player") as player:
        player.add_column(sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True))
    op.create_table(
        "address",
        sa.Column("id", ID, nullable=False),
        sa.Column("player_id", ID, nullable=False),
        sa.Column("address", sa.String(320), nullable=False),
        sa.Column("added_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["player_id"], ["player.id"], name="fk_address_player_id"),
        sa.PrimaryKeyConstraint("id", name="pk_address"),
        sa.UniqueConstraint("address", name="uq_address_address"),
    )
    op.create_index("ix_address_player_id", "address", ["player_id"])
    op.execute(
        "INSERT INTO address (player_id, address, added_at)"
        " SELECT id, address, created_at FROM player ORDER BY id"
    )


def downgrade() -> None:
    """Take them away again."""
    op.drop_table("address")
    with op.batch_alter_table("player") as player:
        player.drop_column("deleted_at")
