"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op


revision = '0001'
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make all tables."""
    op.create_table('player',
    sa.Column('id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('address', sa.String(length=320), nullable=False),
    sa.Column('name', sa.String(length=40), nullable=False),
    sa.Column('language', sa.String(length=5), nullable=False),
    sa.Column('zone', sa.String(length=64), nullable=False),
    sa.Column('sign_ins', sa.Integer(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_player')),
    sa.UniqueConstraint('address', name=op.f('uq_player_address'))
    )
    op.create_table('match',
    sa.Column('id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('code', sa.String(length=64), nullable=False),
    sa.Column('game', sa.String(length=32), nullable=False),
    sa.Column('options', sa.JSON(), nullable=False),
    sa.Column('status', sa.String(length=16), nullable=False),
    sa.Column('opener_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('draws_seats', sa.Boolean(), nullable=False),
    sa.Column('server_key', sa.LargeBinary(), nullable=False),
    sa.Column('commitment', sa.String(length=64), nullable=False),
    sa.Column('pace_hours', sa.Integer(), nullable=False),
    sa.Column('opened_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('started_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('ended_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('ply', sa.Integer(), nullable=False),
    sa.Column('scores', sa.JSON(), nullable=True),
    sa.Column('winners', sa.JSON(), nullable=True),
    sa.Column('ended', sa.String(length=16), nullable=True),
    sa.ForeignKeyConstraint(['opener_id'], ['player.id'], name=op.f('fk_match_opener_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_match')),
    sa.UniqueConstraint('code', name=op.f('uq_match_code'))
    )
    op.create_table('seat',
    sa.Column('id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('match_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('place', sa.Integer(), nullable=False),
    sa.Column('number', sa.Integer(), nullable=True),
    sa.Column('player_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=True),
    sa.Column('bot', sa.String(length=16), nullable=True),
    sa.Column('invited', sa.String(length=320), nullable=True),
    sa.Column('name', sa.String(length=40), nullable=True),
    sa.Column('phrase', sa.String(length=100), nullable=False),
    sa.Column('phrase_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('joined_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('resigned', sa.Boolean(), nullable=False),
    sa.ForeignKeyConstraint(['match_id'], ['match.id'], name=op.f('fk_seat_match_id')),
    sa.ForeignKeyConstraint(['player_id'], ['player.id'], name=op.f('fk_seat_player_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_seat')),
    sa.UniqueConstraint('match_id', 'place', name=op.f('uq_seat_match_id_place')),
    sa.UniqueConstraint('match_id', 'player_id', name=op.f('uq_seat_match_id_player_id'))
    )
    with op.batch_alter_table('seat', schema=None) as batch_op:
        batch_op.create_index(batch_op.f('ix_seat_player_id'), ['player_id'], unique=False)

    op.create_table('turn',
    sa.Column('id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('match_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('seat', sa.Integer(), nullable=False),
    sa.Column('nth', sa.Integer(), nullable=False),
    sa.Column('ply', sa.Integer(), nullable=False),
    sa.Column('opened_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('deadline', sa.DateTime(timezone=True), nullable=False),
    sa.Column('closed_at', sa.DateTime(timezone=True), nullable=True),
    sa.ForeignKeyConstraint(['match_id'], ['match.id'], name=op.f('fk_turn_match_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_turn')),
    sa.UniqueConstraint('match_id', 'seat', 'nth', name=op.f('uq_turn_match_id_seat_nth'))
    )
    with op.batch_alter_table('turn', schema=None) as batch_op:
        batch_op.create_index('ix_turn_due', ['deadline'], unique=False, sqlite_where=sa.text('closed_at IS NULL'), postgresql_where=sa.text('closed_at IS NULL'))

    op.create_table('letter',
    sa.Column('id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('kind', sa.String(length=32), nullable=False),
    sa.Column('tail', sa.String(length=16), nullable=False),
    sa.Column('address', sa.String(length=320), nullable=False),
    sa.Column('language', sa.String(length=5), nullable=False),
    sa.Column('zone', sa.String(length=64), nullable=False),
    sa.Column('player_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=True),
    sa.Column('match_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=True),
    sa.Column('seat_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=True),
    sa.Column('turn_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=True),
    sa.Column('about', sa.JSON(), nullable=False),
    sa.Column('state', sa.String(length=16), nullable=False),
    sa.Column('due_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('sent_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('leased_until', sa.DateTime(timezone=True), nullable=True),
    sa.Column('attempts', sa.Integer(), nullable=False),
    sa.Column('error', sa.String(length=500), nullable=True),
    sa.ForeignKeyConstraint(['match_id'], ['match.id'], name=op.f('fk_letter_match_id')),
    sa.ForeignKeyConstraint(['player_id'], ['player.id'], name=op.f('fk_letter_player_id')),
    sa.ForeignKeyConstraint(['seat_id'], ['seat.id'], name=op.f('fk_letter_seat_id')),
    sa.ForeignKeyConstraint(['turn_id'], ['turn.id'], name=op.f('fk_letter_turn_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_letter'))
    )
    with op.batch_alter_table('letter', schema=None) as batch_op:
        batch_op.create_index(batch_op.f('ix_letter_match_id'), ['match_id'], unique=False)
        batch_op.create_index('ix_letter_state_due_at', ['state', 'due_at'], unique=False)
        batch_op.create_index(batch_op.f('ix_letter_turn_id'), ['turn_id'], unique=False)

    op.create_table('move',
    sa.Column('id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('match_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('ply', sa.Integer(), nullable=False),
    sa.Column('turn_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('seat', sa.Integer(), nullable=False),
    sa.Column('text', sa.String(length=32), nullable=False),
    sa.Column('scores', sa.JSON(), nullable=False),
    sa.Column('by', sa.String(length=16), nullable=False),
    sa.Column('at', sa.DateTime(timezone=True), nullable=False),
    sa.ForeignKeyConstraint(['match_id'], ['match.id'], name=op.f('fk_move_match_id')),
    sa.ForeignKeyConstraint(['turn_id'], ['turn.id'], name=op.f('fk_move_turn_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_move')),
    sa.UniqueConstraint('match_id', 'ply', name=op.f('uq_move_match_id_ply')),
    sa.UniqueConstraint('turn_id', name=op.f('uq_move_turn_id'))
    )
    op.create_table('note',
    sa.Column('id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('digest', sa.String(length=64), nullable=False),
    sa.Column('raw', sa.LargeBinary(), nullable=False),
    sa.Column('recipient', sa.String(length=320), nullable=False),
    sa.Column('return_path', sa.String(length=320), nullable=False),
    sa.Column('received_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('leased_until', sa.DateTime(timezone=True), nullable=True),
    sa.Column('read_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('verdict', sa.String(length=16), nullable=True),
    sa.Column('reason', sa.String(length=500), nullable=True),
    sa.Column('turn_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=True),
    sa.ForeignKeyConstraint(['turn_id'], ['turn.id'], name=op.f('fk_note_turn_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_note')),
    sa.UniqueConstraint('digest', name=op.f('uq_note_digest'))
    )
    with op.batch_alter_table('note', schema=None) as batch_op:
        batch_op.create_index('ix_note_read_at', ['read_at', 'received_at'], unique=False)

    op.create_table('reminder',
    sa.Column('id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('turn_id', sa.BigInteger().with_variant(sa.Integer(), 'sqlite'), nullable=False),
    sa.Column('deadline', sa.DateTime(timezone=True), nullable=False),
    sa.Column('step', sa.Integer(), nullable=False),
    sa.ForeignKeyConstraint(['turn_id'], ['turn.id'], name=op.f('fk_reminder_turn_id')),
    sa.PrimaryKeyConstraint('id', name=op.f('pk_reminder')),
    sa.UniqueConstraint('turn_id', 'deadline', 'step', name=op.f('uq_reminder_turn_id_deadline_step'))
    )


def downgrade() -> None:
    """Drop them again."""
    op.drop_table('reminder')
    with op.batch_alter_table('note', schema=None) as batch_op:
        batch_op.drop_index('ix_note_read_at')

    op.drop_table('note')
    op.drop_table('move')
    with op.batch_alter_table('letter', schema=None) as batch_op:
        batch_op.drop_index(batch_op.f('ix_letter_turn_id'))
        batch_op.drop_index('ix_letter_state_due_at')
        batch_op.drop_index(batch_op.f('ix_letter_match_id'))

    op.drop_table('letter')
    with op.batch_alter_table('turn', schema=None) as batch_op:
        batch_op.drop_index('ix_turn_due', sqlite_where=sa.text('closed_at IS NULL'), postgresql_where=sa.text('closed_at IS NULL'))

    op.drop_table('turn')
    with op.batch_alter_table('seat', schema=None) as batch_op:
        batch_op.drop_index(batch_op.f('ix_seat_player_id'))

    op.drop_table('seat')
    op.drop_table('match')
    op.drop_table('player')
