"""What players say at a table and note for themselves, and who has heard it."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ForeignKey, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from pbem.models.base import Id, Instant, Model
from pbem.models.mail import Letter
from pbem.models.match import Match, Seat
from pbem.models.player import Player


class Talk(Model):
    """What a player said at a table: to all its seats, or ``to`` one player.

    It is its player's, not the seat's: who takes the seat over hears no whispers of before.
    ``note_id`` is the mail that it came by; ``nth`` counts what one mail says, and so a mail
    that is read twice says it once. ``hidden_at`` is set once a host has hidden it.
    """

    __table_args__ = (UniqueConstraint("note_id", "nth"),)

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    match_id: Mapped[int] = mapped_column(ForeignKey("match.id"), index=True)
    seat_id: Mapped[int] = mapped_column(ForeignKey("seat.id"))
    player_id: Mapped[int] = mapped_column(ForeignKey("player.id"), index=True)
    to_id: Mapped[int | None] = mapped_column(ForeignKey("player.id"))
    text: Mapped[str] = mapped_column(Text)
    at: Mapped[datetime] = mapped_column(Instant)
    note_id: Mapped[int | None] = mapped_column(ForeignKey("note.id"))
    nth: Mapped[int] = mapped_column(default=0)
    hidden_at: Mapped[datetime | None] = mapped_column(Instant)

    match: Mapped[Match] = relationship()
    seat: Mapped[Seat] = relationship()
    player: Mapped[Player] = relationship(foreign_keys=[player_id])
    to: Mapped[Player | None] = relationship(foreign_keys=[to_id])


class Heard(Model):
    """That a letter tells a seat something that was said; it counts unless the letter is stale."""

    __table_args__ = (UniqueConstraint("letter_id", "talk_id"),)

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    talk_id: Mapped[int] = mapped_column(ForeignKey("talk.id"), index=True)
    letter_id: Mapped[int] = mapped_column(ForeignKey("letter.id"))
    seat_id: Mapped[int] = mapped_column(ForeignKey("seat.id"), index=True)

    talk: Mapped[Talk] = relationship()
    letter: Mapped[Letter] = relationship()


class Mute(Model):
    """That a player does not want to read what another one says, at any table."""

    __table_args__ = (UniqueConstraint("player_id", "muted_id"),)

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    player_id: Mapped[int] = mapped_column(ForeignKey("player.id"))
    muted_id: Mapped[int] = mapped_column(ForeignKey("player.id"))


class PrivateNote(Model):
    """What a player notes for themselves about a game; nobody else ever reads it."""

    __table_args__ = (UniqueConstraint("seat_id", "player_id"),)

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    seat_id: Mapped[int] = mapped_column(ForeignKey("seat.id"))
    player_id: Mapped[int] = mapped_column(ForeignKey("player.id"), index=True)
    text: Mapped[str] = mapped_column(Text)
    at: Mapped[datetime] = mapped_column(Instant)
