"""Table talk, notes to oneself, and hints."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add the columns and the tables."""
    off = {"nullable": False, "server_default": sa.false()}
    for table, column in (("match", "allows_whispers"), ("player", "wants_hints")):
        with op.batch_alter_table(table) as changed:
            changed.add_column(sa.Column(column, sa.Boolean(), **off))
        with op.batch_alter_table(table) as changed:
            changed.alter_column(column, server_default=None)
    op.create_table(
        "talk",
        sa.Column("id", ID, nullable=False),
        sa.Column("match_id", ID, nullable=False),
        sa.Column("seat_id", ID, nullable=False),
        sa.Column("player_id", ID, nullable=False),
        sa.Column("to_id", ID, nullable=True),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("note_id", ID, nullable=True),
        sa.Column("nth", sa.Integer(), nullable=False),
        sa.Column("hidden_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["match_id"], ["match.id"], name="fk_talk_match_id"),
        sa.ForeignKeyConstraint(["seat_id"], ["seat.id"], name="fk_talk_seat_id"),
        sa.ForeignKeyConstraint(["player_id"], ["player.id"], name="fk_talk_player_id"),
        sa.ForeignKeyConstraint(["to_id"], ["player.id"], name="fk_talk_to_id"),
        sa.ForeignKeyConstraint(["note_id"], ["note.id"], name="fk_talk_note_id"),
        sa.PrimaryKeyConstraint("id", name="pk_talk"),
        sa.UniqueConstraint("note_id", "nth", name="uq_talk_note_id_nth"),
    )
    op.create_index("ix_talk_match_id", "talk", ["match_id"])
    op.create_index("ix_talk_player_id", "talk", ["player_id"])
    op.create_table(
        "heard",
        sa.Column("id", ID, nullable=False),
        sa.Column("talk_id", ID, nullable=False),
        sa.Column("letter_id", ID, nullable=False),
        sa.Column("seat_id", ID, nullable=False),
        sa.ForeignKeyConstraint(["talk_id"], ["talk.id"], name="fk_heard_talk_id"),
        sa.ForeignKeyConstraint(["letter_id"], ["letter.id"], name="fk_heard_letter_id"),
        sa.ForeignKeyConstraint(["seat_id"], ["seat.id"], name="fk_heard_seat_id"),
        sa.PrimaryKeyConstraint("id", name="pk_heard"),
        sa.UniqueConstraint("letter_id", "talk_id", name="uq_heard_letter_id_talk_id"),
    )
    op.create_index("ix_heard_talk_id", "heard", ["talk_id"])
    op.create_index("ix_heard_seat_id", "heard", ["seat_id"])
    op.create_table(
        "mute",
        sa.Column("id", ID, nullable=False),
        sa.Column("player_id", ID, nullable=False),
        sa.Column("muted_id", ID, nullable=False),
        sa.ForeignKeyConstraint(["player_id"], ["player.id"], name="fk_mute_player_id"),
        sa.ForeignKeyConstraint(["muted_id"], ["player.id"], name="fk_mute_muted_id"),
        sa.PrimaryKeyConstraint("id", name="pk_mute"),
        sa.UniqueConstraint("player_id", "muted_id", name="uq_mute_player_id_muted_id"),
    )
    op.create_table(
        "private_note",
        sa.Column("id", ID, nullable=False),
        sa.Column("seat_id", ID, nullable=False),
        sa.Column("player_id", ID, nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["seat_id"], ["seat.id"], name="fk_private_note_seat_id"),
        sa.ForeignKeyConstraint(["player_id"], ["player.id"], name="fk_private_note_player_id"),
        sa.PrimaryKeyConstraint("id", name="pk_private_note"),
        sa.UniqueConstraint("seat_id", "player_id", name="uq_private_note_seat_id_player_id"),
    )
    op.create_index("ix_private_note_player_id", "private_note", ["player_id"])


def downgrade() -> None:
    """Take them away again."""
    for table in ("private_note", "mute", "heard", "talk"):
        op.drop_table(table)
    with op.batch_alter_table("player") as player:
        player.drop_column("wants_hints")
    with op.batch_alter_table("match") as match:
        match.drop_column("allows_whispers")
