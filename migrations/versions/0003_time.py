"""Banks, weekends, quiet hours, absences, digests, proposals, and what time ran out does."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
INSTANT = sa.DateTime(timezone=True)


def _optional(name: str, kind: sa.types.TypeEngine) -> sa.Column:
    return sa.Column(name, kind, nullable=True)


def _with(name: str, kind: sa.types.TypeEngine, value: object) -> sa.Column:
    """Return a column that rows of before get a value in."""
    return sa.Column(name, kind, nullable=False, server_default=value)


ADDED = {
    "player": (
        _optional("quiet_from", sa.Integer()),
        _optional("quiet_until", sa.Integer()),
        _with("reminder_steps", sa.JSON(), sa.text("'[24, 0]'")),
        _optional("digest_at", sa.Integer()),
        _optional("digested_at", INSTANT),
        _with("entries", sa.String(8), "attached"),
        _optional("unreachable_at", INSTANT),
        _optional("unreachable_why", sa.String(200)),
        _with("offers_absence", sa.Boolean(), sa.false()),
    ),
    "match": (
        _with("bank_hours", sa.Integer(), "72"),
        _with("weekends", sa.Boolean(), sa.false()),
        _with("policy", sa.String(8), "house"),
        _optional("paused_at", INSTANT),
    ),
    "seat": (
        _with("bank_left", sa.Integer(), "0"),
        _with("misses", sa.Integer(), "0"),
        _with("is_kept", sa.Boolean(), sa.false()),
        _with("is_free", sa.Boolean(), sa.false()),
        _with("taken_over", sa.Boolean(), sa.false()),
        _optional("held_at", INSTANT),
    ),
    "turn": (
        _with("extra", sa.Integer(), "0"),
        _with("stops", sa.JSON(), sa.text("'[]'")),
        _with("sequence", sa.Integer(), "0"),
    ),
    "letter": (_optional("wanted_at", INSTANT),),
}


def upgrade() -> None:
    """Add the columns and the tables."""
    for table, columns in ADDED.items():
        with op.batch_alter_table(table) as changed:
            for column in columns:
                changed.add_column(column)
    op.execute("UPDATE letter SET wanted_at = due_at")
    # The seats of games that have begun hold no bank, so there is none.
    op.execute("UPDATE \"match\" SET bank_hours = 0 WHERE status <> 'open'")
    for table, columns in ADDED.items():
        with op.batch_alter_table(table) as changed:
            for column in columns:
                if column.server_default is not None:
                    changed.alter_column(column.name, server_default=None)
            if table == "letter":
                changed.alter_column("wanted_at", nullable=False)
    op.create_table(
        "absence",
        sa.Column("id", ID, nullable=False),
        sa.Column("player_id", ID, nullable=False),
        sa.Column("starts_at", INSTANT, nullable=False),
        sa.Column("ends_at", INSTANT, nullable=False),
        sa.Column("made_at", INSTANT, nullable=False),
        sa.ForeignKeyConstraint(["player_id"], ["player.id"], name="fk_absence_player_id"),
        sa.PrimaryKeyConstraint("id", name="pk_absence"),
    )
    op.create_index("ix_absence_player_id", "absence", ["player_id"])
    op.create_table(
        "proposal",
        sa.Column("id", ID, nullable=False),
        sa.Column("match_id", ID, nullable=False),
        sa.Column("seat_id", ID, nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("about", sa.JSON(), nullable=False),
        sa.Column("yes", sa.JSON(), nullable=False),
        sa.Column("made_at", INSTANT, nullable=False),
        sa.Column("closed_at", INSTANT, nullable=True),
        sa.Column("result", sa.String(8), nullable=True),
        sa.ForeignKeyConstraint(["match_id"], ["match.id"], name="fk_proposal_match_id"),
        sa.ForeignKeyConstraint(["seat_id"], ["seat.id"], name="fk_proposal_seat_id"),
        sa.PrimaryKeyConstraint("id", name="pk_proposal"),
    )
    op.create_index("ix_proposal_match_id", "proposal", ["match_id"])
    op.create_table(
        "beat",
        sa.Column("id", ID, nullable=False),
        sa.Column("at", INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_beat"),
    )


def downgrade() -> None:
    """Take them away again."""
    for table in ("beat", "proposal", "absence"):
        op.drop_table(table)
    for table, columns in ADDED.items():
        with op.batch_alter_table(table) as changed:
            for column in columns:
                changed.drop_column(column.name)
