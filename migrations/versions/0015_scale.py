"""What is asked often of a large site has indexes, and the turns of bots are marked."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

# Name, table, columns, and which rows; None for all.
INDEXES = (
    ("ix_match_opener_id", "match", ["opener_id"], None),
    ("ix_match_open", "match", ["opened_at"], "status = 'open'"),
    ("ix_letter_address", "letter", ["address", "created_at"], "turn_id IS NULL"),
    ("ix_letter_player_id_state", "letter", ["player_id", "state"], None),
    ("ix_letter_sent_at", "letter", ["sent_at"], "sent_at IS NOT NULL"),
    ("ix_player_half", "player", ["id"], "CAST(reminder_steps AS VARCHAR) LIKE '%-1%'"),
    ("ix_player_daily", "player", ["id"], "digest_at IS NOT NULL"),
    ("ix_player_unreachable", "player", ["id"], "unreachable_at IS NOT NULL"),
)
# Indexes of the few open turns that are marked, and the mark.
TURNS = (("ix_turn_house", "is_house"), ("ix_turn_came_forward", "came_forward"))


def upgrade() -> None:
    """Make the indexes, and note which open turns wait for a bot or the house."""
    op.add_column(
        "turn", sa.Column("is_house", sa.Boolean(), nullable=False, server_default=sa.false())
    )
    op.execute(
        "UPDATE turn SET is_house = true WHERE closed_at IS NULL AND EXISTS (SELECT 1 FROM seat"
        " WHERE seat.match_id = turn.match_id AND seat.number = turn.seat"
        " AND (seat.bot IS NOT NULL OR seat.is_kept OR seat.resigned))"
    )
    op.add_column(
        "turn", sa.Column("came_forward", sa.Boolean(), nullable=False, server_default=sa.false())
    )
    for name, column in TURNS:
        op.create_index(
            name,
            "turn",
            ["id"],
            unique=False,
            sqlite_where=sa.text(f"closed_at IS NULL AND {column} = 1"),
            postgresql_where=sa.text(f"closed_at IS NULL AND {column}"),
        )
    for name, table, columns, where in INDEXES:
        some = {} if where is None else {"sqlite_where": sa.text(where), "postgresql_where": sa.text(where)}
        op.create_index(name, table, columns, unique=False, **some)


def downgrade() -> None:
    """Take them away again."""
    for name, table, _columns, _where in reversed(INDEXES):
        op.drop_index(name, table_name=table)
    for name, _column in TURNS:
        op.drop_index(name, table_name="turn")
    with op.batch_alter_table("turn") as changed:
        for _name, column in TURNS:
            changed.drop_column(column)
