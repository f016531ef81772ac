"""Moves that are taken back, and orders for turns to come."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
INSTANT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Add the tables, and what tells how much a late move took."""
    with op.batch_alter_table("move") as move:
        move.add_column(sa.Column("bank_taken", sa.Integer(), nullable=False, server_default="0"))
    with op.batch_alter_table("move") as move:
        move.alter_column("bank_taken", server_default=None)
    op.create_table(
        "withdrawn_move",
        sa.Column("id", ID, nullable=False),
        sa.Column("match_id", ID, nullable=False),
        sa.Column("ply", sa.Integer(), nullable=False),
        sa.Column("turn_id", ID, nullable=False),
        sa.Column("seat", sa.Integer(), nullable=False),
        sa.Column("text", sa.String(32), nullable=False),
        sa.Column("by", sa.String(16), nullable=False),
        sa.Column("at", INSTANT, nullable=False),
        sa.Column("withdrawn_at", INSTANT, nullable=False),
        sa.ForeignKeyConstraint(["match_id"], ["match.id"], name="fk_withdrawn_move_match_id"),
        sa.ForeignKeyConstraint(["turn_id"], ["turn.id"], name="fk_withdrawn_move_turn_id"),
        sa.PrimaryKeyConstraint("id", name="pk_withdrawn_move"),
    )
    op.create_index("ix_withdrawn_move_match_id", "withdrawn_move", ["match_id"])
    op.create_table(
        "standing_order",
        sa.Column("id", ID, nullable=False),
        sa.Column("seat_id", ID, nullable=False),
        sa.Column("player_id", ID, nullable=False),
        sa.Column("hand", sa.Integer(), nullable=False),
        sa.Column("text", sa.String(200), nullable=False),
        sa.Column("given_at", INSTANT, nullable=False),
        sa.Column("ended_at", INSTANT, nullable=True),
        sa.Column("ply", sa.Integer(), nullable=True),
        sa.ForeignKeyConstraint(["seat_id"], ["seat.id"], name="fk_standing_order_seat_id"),
        sa.ForeignKeyConstraint(["player_id"], ["player.id"], name="fk_standing_order_player_id"),
        sa.PrimaryKeyConstraint("id", name="pk_standing_order"),
    )
    op.create_index("ix_standing_order_seat_id", "standing_order", ["seat_id"])


def downgrade() -> None:
    """Take them away again."""
    op.drop_table("standing_order")
    op.drop_table("withdrawn_move")
    with op.batch_alter_table("move") as move:
        move.drop_column("bank_taken")
