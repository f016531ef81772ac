"""Matches, their seats, turns and moves."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import (
    JSON,
    ColumnElement,
    ForeignKey,
    Index,
    LargeBinary,
    String,
    UniqueConstraint,
    false,
    text,
)
from sqlalchemy.ext.hybrid import hybrid_property
from sqlalchemy.orm import Mapped, mapped_column, relationship

from pbem.models.base import Id, Instant, Model
from pbem.models.player import Player, shown_name


class Status(StrEnum):
    """Where a match stands: waiting for players, running, over, or never begun."""

    OPEN = "open"
    RUNNING = "running"
    OVER = "over"
    CANCELLED = "cancelled"


class Policy(StrEnum):
    """What happens when time runs out."""

    HOUSE = "house"  # the house makes the move
    OPEN = "open"  # so it does, and after the second miss the seat is free
    STOP = "stop"  # the game ends as it stands


class Match(Model):
    """One playing of a game. The key, seats, options and moves are the truth of it.

    ``code`` is the public id, in addresses and in the deal. ``server_key`` is secret
    until the match is over. ``ply`` counts its moves. One that ``is_listed`` is shown to
    everybody while it waits for players. ``rematch_of`` is the match whose players it asks
    once more. With ``weekends`` its clocks stand still on Saturdays and Sundays.
    ``paused_at`` is set while all of them are stopped. With ``allows_whispers`` a player may
    say something to one other alone.
    """

    __table_args__ = (
        # The front page asks for these few among all matches.
        Index(
            "ix_match_listed",
            "opened_at",
            sqlite_where=text("is_listed AND status = 'open'"),
            postgresql_where=text("is_listed AND status = 'open'"),
        ),
        # The worker asks for tables that never filled.
        Index(
            "ix_match_open",
            "opened_at",
            sqlite_where=text("status = 'open'"),
            postgresql_where=text("status = 'open'"),
        ),
    )

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    code: Mapped[str] = mapped_column(String(64), unique=True)
    game: Mapped[str] = mapped_column(String(32))
    options: Mapped[dict[str, Any]] = mapped_column(JSON)
    status: Mapped[str] = mapped_column(String(16), default=Status.OPEN)
    opener_id: Mapped[int] = mapped_column(ForeignKey("player.id"), index=True)
    rematch_of: Mapped[int | None] = mapped_column(ForeignKey("match.id"), unique=True)
    is_listed: Mapped[bool] = mapped_column(default=False)
    draws_seats: Mapped[bool] = mapped_column(default=False)
    allows_whispers: Mapped[bool] = mapped_column(default=False)
    server_key: Mapped[bytes] = mapped_column(LargeBinary)
    commitment: Mapped[str] = mapped_column(String(64))
    pace_hours: Mapped[int]
    bank_hours: Mapped[int] = mapped_column(default=72)
    weekends: Mapped[bool] = mapped_column(default=False)
    policy: Mapped[str] = mapped_column(String(8), default=Policy.HOUSE)
    paused_at: Mapped[datetime | None] = mapped_column(Instant)
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
    notices: Mapped[list[Notice]] = relationship(order_by="Notice.id", viewonly=True)

    @property
    def pace(self) -> timedelta:
        """Return the time for one move."""
        return timedelta(hours=self.pace_hours)

    @property
    def bank(self) -> timedelta:
        """Return what each seat has for late moves, in all."""
        return timedelta(hours=self.bank_hours)


class Seat(Model):
    """A place at a table. ``place`` is fixed when it is opened, ``number`` when it starts.

    An empty seat may be reserved for an ``invited`` address; a seat is filled by a
    player or by a bot. ``phrase_at`` tells when the phrase arrived that counts.

    ``bank_left`` are seconds. ``misses`` counts the turns in a row whose time ran out; with
    two the seat ``is_kept`` by the house until its player comes back. One that ``is_free``
    may be taken over, and ``taken_over`` is set once it was. ``held_at`` is when its clock
    was stopped for a letter that came back. ``renewed`` counts how often its links were made anew.
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
    stored_name: Mapped[str | None] = mapped_column("name", String(40))
    phrase: Mapped[str] = mapped_column(String(100), default="")
    phrase_at: Mapped[datetime | None] = mapped_column(Instant)
    joined_at: Mapped[datetime | None] = mapped_column(Instant)
    resigned: Mapped[bool] = mapped_column(default=False)
    bank_left: Mapped[int] = mapped_column(default=0)
    misses: Mapped[int] = mapped_column(default=0)
    is_kept: Mapped[bool] = mapped_column(default=False)
    is_free: Mapped[bool] = mapped_column(default=False)
    taken_over: Mapped[bool] = mapped_column(default=False)
    held_at: Mapped[datetime | None] = mapped_column(Instant)
    renewed: Mapped[int] = mapped_column(default=0)

    match: Mapped[Match] = relationship(back_populates="seats")
    player: Mapped[Player | None] = relationship()

    @hybrid_property
    def name(self) -> str | None:
        """Return the name of who sits here as people read it; None for an empty seat.

        In queries it is as it is stored.
        """
        return None if self.stored_name is None else shown_name(self.stored_name)

    @name.inplace.setter
    def _set_name(self, name: str | None) -> None:
        self.stored_name = name

    @name.inplace.expression
    @classmethod
    def _name_column(cls) -> ColumnElement[str | None]:
        return cls.stored_name.expression

    @property
    def is_filled(self) -> bool:
        """Return whether somebody sits here."""
        return self.player_id is not None or self.bot is not None

    @property
    def is_vacant(self) -> bool:
        """Return whether somebody may sit down here, before the start or in its course."""
        return self.is_free if self.number is not None else not self.is_filled

    @property
    def is_unplaced(self) -> bool:
        """Return whether the seat is left out of the winners: it was given up or taken over."""
        return self.resigned or self.taken_over

    @property
    def is_asked_by_mail(self) -> bool:
        """Return whether a person plays it now, who is told of each turn."""
        return self.player_id is not None and not self.is_kept and not self.resigned


class Turn(Model):
    """One seat being asked for one move. ``ply`` is the match's when it was asked.

    ``seat`` is the number of the seat that is ``asked``.

    ``extra`` are seconds that others granted. ``stops`` are the times in which its clock
    stood still, but for absences: `kind`, `start` and `until`. ``sequence`` counts how
    often the deadline has moved. One that ``is_house`` asked a bot or a seat that the house
    plays; a person may have come back to it since. ``came_forward`` is its deadline since the
    last look for reminders.
    """

    __table_args__ = (
        UniqueConstraint("match_id", "seat", "nth"),
        # The sweep asks for open turns by deadline and must not read the others.
        Index(
            "ix_turn_due",
            "deadline",
            sqlite_where=text("closed_at IS NULL"),
            postgresql_where=text("closed_at IS NULL"),
        ),
        # Every second the worker asks for the few that wait for a bot.
        Index(
            "ix_turn_house",
            "id",
            sqlite_where=text("closed_at IS NULL AND is_house = 1"),
            postgresql_where=text("closed_at IS NULL AND is_house"),
        ),
        Index(
            "ix_turn_came_forward",
            "id",
            sqlite_where=text("closed_at IS NULL AND came_forward = 1"),
            postgresql_where=text("closed_at IS NULL AND came_forward"),
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
    extra: Mapped[int] = mapped_column(default=0)
    stops: Mapped[list[dict[str, str]]] = mapped_column(JSON, default=list)
    sequence: Mapped[int] = mapped_column(default=0)
    is_house: Mapped[bool] = mapped_column(default=False, server_default=false())
    came_forward: Mapped[bool] = mapped_column(default=False, server_default=false())

    match: Mapped[Match] = relationship()
    asked: Mapped[Seat] = relationship(
        primaryjoin=(
            "and_(foreign(Turn.match_id) == Seat.match_id, foreign(Turn.seat) == Seat.number)"
        ),
        viewonly=True,
    )


class Notice(Model):
    """What happened at a table beside the game, as its players were told; see post.notice."""

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    match_id: Mapped[int] = mapped_column(ForeignKey("match.id"), index=True)
    what: Mapped[str] = mapped_column(String(16))
    about: Mapped[dict[str, Any]] = mapped_column(JSON)
    at: Mapped[datetime] = mapped_column(Instant)


class Proposal(Model):
    """Something that players of a table must agree on. ``yes`` are seats, by their id.

    ``seat`` is whose idea it is. ``about`` holds what its kind needs; ``result`` is done
    or void once it is closed.
    """

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    match_id: Mapped[int] = mapped_column(ForeignKey("match.id"), index=True)
    seat_id: Mapped[int] = mapped_column(ForeignKey("seat.id"))
    kind: Mapped[str] = mapped_column(String(16))
    about: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    yes: Mapped[list[int]] = mapped_column(JSON, default=list)
    made_at: Mapped[datetime] = mapped_column(Instant)
    closed_at: Mapped[datetime | None] = mapped_column(Instant)
    result: Mapped[str | None] = mapped_column(String(8))

    match: Mapped[Match] = relationship()
    seat: Mapped[Seat] = relationship()


class Move(Model):
    """One decision of a seat, in canonical notation, with all scores after it.

    ``bank_taken`` are the seconds that it came late and took out of the seat's bank.
    """

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
    bank_taken: Mapped[int] = mapped_column(default=0)


class WithdrawnMove(Model):
    """A move that its player took back; it counts no more and keeps its turn's id."""

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    match_id: Mapped[int] = mapped_column(ForeignKey("match.id"), index=True)
    ply: Mapped[int]
    turn_id: Mapped[int] = mapped_column(ForeignKey("turn.id"))
    seat: Mapped[int]
    text: Mapped[str] = mapped_column(String(32))
    by: Mapped[str] = mapped_column(String(16))
    at: Mapped[datetime] = mapped_column(Instant)
    withdrawn_at: Mapped[datetime] = mapped_column(Instant)


class StandingOrder(Model):
    """What a player wants played on a coming turn of a hand; nobody else may know of it.

    ``ended_at`` is when it was cancelled or fired, which made the ``ply``.
    """

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    seat_id: Mapped[int] = mapped_column(ForeignKey("seat.id"), index=True)
    player_id: Mapped[int] = mapped_column(ForeignKey("player.id"))
    hand: Mapped[int]
    text: Mapped[str] = mapped_column(String(200))
    given_at: Mapped[datetime] = mapped_column(Instant)
    ended_at: Mapped[datetime | None] = mapped_column(Instant)
    ply: Mapped[int | None]
