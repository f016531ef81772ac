"""Tables that everybody may find, and games that are played once more."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

LISTED = sa.text("is_listed AND status = 'open'")


def upgrade() -> None:
    """Add the columns and what they are found by."""
    with op.batch_alter_table("match") as match:
        match.add_column(sa.Column("rematch_of", sa.BigInteger().with_variant(sa.Integer(), "sqlite")))
        match.add_column(
            sa.Column("is_listed", sa.Boolean(), nullable=False, server_default=sa.false())
        )
    with op.batch_alter_table("match") as match:
        match.alter_column("is_listed", server_default=None)
        match.create_foreign_key("fk_match_rematch_of_match", "match", ["rematch_of"], ["id"])
        match.create_unique_constraint("uq_match_rematch_of", ["rematch_of"])
        match.create_index(
            "ix_match_listed", ["opened_at"], sqlite_where=LISTED, postgresql_where=LISTED
        )


def downgrade() -> None:
    """Take them away again."""
    with op.batch_alter_table("match") as match:
        match.drop_index("ix_match_listed")
        match.drop_constraint("uq_match_rematch_of")
        match.drop_constraint("fk_match_rematch_of_match")
        match.drop_column("is_listed")
        match.drop_column("rematch_of")
