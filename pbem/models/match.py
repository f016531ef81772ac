"""Matches, their seats, turns and moves."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import JSON, ForeignKey, Index, LargeBinary, String, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from pbem.models.base import Id, Instant, Model
from pbem.models.player import Player


class Status(StrEnum):
    """Where a match stands: waiting for players, running, over, or never begun."""

    OPEN = "open"
    RUNNING = "running"
    OVER = "over"
    CANCELLED = "cancelled"


class Match(Model):
    """One playing of a game. The key, seats, options and moves are the truth of it.

    ``code`` is the public id, in addresses and in the deal. ``server_key`` is secret
    until the match is over. ``ply`` counts its moves.
    """

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    code: Mapped[str] = mapped_column(String(64), unique=True)
    game: Mapped[str] = mapped_column(String(32))
    options: Mapped[dict[str, Any]] = mapped_column(JSON)
    status: Mapped[str] = mapped_column(String(16), default=Status.OPEN)
    opener_id: Mapped[int] = mapped_column(ForeignKey("player.id"))
    draws_seats: Mapped[bool] = mapped_column(default=False)
    server_key: Mapped[bytes] = mapped_column(LargeBinary)
    commitment: Mapped[str] = mapped_column(String(64))
    pace_hours: Mapped[int]
    opened_at: Mapped[datetime] = mapped_column(Instant)
    started_at: Mapped[datetime | None] = mapped_column(Instant)
    ended_at: Mapped[datetime | None] = mapped_column(Instant)
    ply: Mapped[int] = mapped_column(default=0)
    scores: Mapped[list[int] | None] = mapped_column(JSON)
    winners: Mapped[list[int] | None] = mapped_column(JSON)
    ended: Mapped[str | None] = mapped_column(String(16))

    opener: Mapped[Player] = relationship()
    seats: Mapped[list[Seat]] = relationship(back_populates="match", order_by="Seat.place")
    moves: Mapped[list[Move]] = relationship(order_by="Move.ply", viewonly=True)

    @property
    def pace(self) -> timedelta:
        """Return the time for one move."""
        return timedelta(hours=self.pace_hours)


class Seat(Model):
    """A place at a table. ``place`` is fixed when it is opened, ``number`` when it starts.

    An empty seat may be reserved for an ``invited`` address; a seat is filled by a
    player or by a bot. ``phrase_at`` tells when the phrase arrived that counts.
    """

    __table_args__ = (
        UniqueConstraint("match_id", "place"),
        UniqueConstraint("match_id", "player_id"),
    )

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    match_id: Mapped[int] = mapped_column(ForeignKey("match.id"))
    place: Mapped[int]
    number: Mapped[int | None]
    player_id: Mapped[int | None] = mapped_column(ForeignKey("player.id"), index=True)
    bot: Mapped[str | None] = mapped_column(String(16))
    invited: Mapped[str | None] = mapped_column(String(320))
    name: Mapped[str | None] = mapped_column(String(40))
    phrase: Mapped[str] = mapped_column(String(100), default="")
    phrase_at: Mapped[datetime | None] = mapped_column(Instant)
    joined_at: Mapped[datetime | None] = mapped_column(Instant)
    resigned: Mapped[bool] = mapped_column(default=False)

    match: Mapped[Match] = relationship(back_populates="seats")
    player: Mapped[Player | None] = relationship()

    @property
    def is_filled(self) -> bool:
        """Return whether somebody sits here."""
        return self.player_id is not None or self.bot is not None


class Turn(Model):
    """One seat being asked for one move. ``ply`` is the match's when it was asked."""

    __table_args__ = (
        UniqueConstraint("match_id", "seat", "nth"),
        # The sweep asks for open turns by deadline and must not read the others.
        Index(
            "ix_turn_due",
            "deadline",
            sqlite_where=text("closed_at IS NULL"),
            postgresql_where=text("closed_at IS NULL"),
        ),
    )

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    match_id: Mapped[int] = mapped_column(ForeignKey("match.id"))
    seat: Mapped[int]
    nth: Mapped[int]
    ply: Mapped[int]
    opened_at: Mapped[datetime] = mapped_column(Instant)
    deadline: Mapped[datetime] = mapped_column(Instant)
    closed_at: Mapped[datetime | None] = mapped_column(Instant)

    match: Mapped[Match] = relationship()


class Move(Model):
    """One decision of a seat, in canonical notation, with all scores after it."""

    __table_args__ = (UniqueConstraint("match_id", "ply"),)

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    match_id: Mapped[int] = mapped_column(ForeignKey("match.id"))
    ply: Mapped[int]
    turn_id: Mapped[int] = mapped_column(ForeignKey("turn.id"), unique=True)
    seat: Mapped[int]
    text: Mapped[str] = mapped_column(String(32))
    scores: Mapped[list[int]] = mapped_column(JSON)
    by: Mapped[str] = mapped_column(String(16))
    at: Mapped[datetime] = mapped_column(Instant)
