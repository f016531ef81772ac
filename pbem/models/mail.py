"""Mail: letters that go out, notes that come in, reminders that were given."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    ForeignKey,
    Index,
    LargeBinary,
    String,
    UniqueConstraint,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column, relationship

from pbem.models.base import Id, Instant, Model
from pbem.models.match import Match, Seat, Turn
from pbem.models.player import Player


class LetterState(StrEnum):
    """How far a letter is.

    ``retry`` waits for its next try, ``unknown`` was cut off behind the final dot and
    ``stale`` was no longer true when its time came. ``gathered`` waits for its reader's
    daily mail, which tells of it and leaves it ``told``.
    """

    QUEUED = "queued"
    SENDING = "sending"
    SENT = "sent"
    RETRY = "retry"
    UNKNOWN = "unknown"
    FAILED = "failed"
    STALE = "stale"
    GATHERED = "gathered"
    TOLD = "told"


class Letter(Model):
    """An outgoing mail to one address. ``about`` holds what its kind needs beside the ids.

    Its Message-ID is made from ``id`` and ``tail`` and so is the same at every try.
    ``wanted_at`` is when it was to leave, ``due_at`` when it is tried next, and
    ``soft_bounced_at`` when it came back for a reason that may pass.
    """

    __table_args__ = (
        Index("ix_letter_state_due_at", "state", "due_at"),
        # Few letters come back, and only they are counted.
        Index(
            "ix_letter_soft",
            "address",
            "soft_bounced_at",
            sqlite_where=text("soft_bounced_at IS NOT NULL"),
            postgresql_where=text("soft_bounced_at IS NOT NULL"),
        ),
        # What an address was mailed lately is asked of invitations and the like, not of turns.
        Index(
            "ix_letter_address",
            "address",
            "created_at",
            sqlite_where=text("turn_id IS NULL"),
            postgresql_where=text("turn_id IS NULL"),
        ),
        # What waits for a player's daily mail, and whether a player was reached.
        Index("ix_letter_player_id_state", "player_id", "state"),
        # A relay's limits count what has left.
        Index(
            "ix_letter_sent_at",
            "sent_at",
            sqlite_where=text("sent_at IS NOT NULL"),
            postgresql_where=text("sent_at IS NOT NULL"),
        ),
    )

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    kind: Mapped[str] = mapped_column(String(32))
    tail: Mapped[str] = mapped_column(String(16))
    address: Mapped[str] = mapped_column(String(320))
    language: Mapped[str] = mapped_column(String(5))
    zone: Mapped[str] = mapped_column(String(64))
    player_id: Mapped[int | None] = mapped_column(ForeignKey("player.id"))
    match_id: Mapped[int | None] = mapped_column(ForeignKey("match.id"), index=True)
    seat_id: Mapped[int | None] = mapped_column(ForeignKey("seat.id"))
    turn_id: Mapped[int | None] = mapped_column(ForeignKey("turn.id"), index=True)
    about: Mapped[dict[str, Any]] = mapped_column(JSON, default=dict)
    state: Mapped[str] = mapped_column(String(16), default=LetterState.QUEUED)
    due_at: Mapped[datetime] = mapped_column(Instant)
    wanted_at: Mapped[datetime] = mapped_column(Instant)
    created_at: Mapped[datetime] = mapped_column(Instant)
    sent_at: Mapped[datetime | None] = mapped_column(Instant)
    leased_until: Mapped[datetime | None] = mapped_column(Instant)
    attempts: Mapped[int] = mapped_column(default=0)
    error: Mapped[str | None] = mapped_column(String(500))
    soft_bounced_at: Mapped[datetime | None] = mapped_column(Instant)

    player: Mapped[Player | None] = relationship()
    match: Mapped[Match | None] = relationship()
    seat: Mapped[Seat | None] = relationship()
    turn: Mapped[Turn | None] = relationship()

    def message_id(self, domain: str) -> str:
        """Return the letter's Message-ID, angle brackets included."""
        return f"<{self.id}.{self.tail}@{domain}>"


class Suppression(Model):
    """An address that is not mailed, until its owner asks for mail again."""

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    address: Mapped[str] = mapped_column(String(320), unique=True)
    why: Mapped[str] = mapped_column(String(16))
    made_at: Mapped[datetime] = mapped_column(Instant)


class Why(StrEnum):
    """Why an address is not mailed.

    Its owner said so, or called a mail of ours spam; or a host has blocked it, which its
    owner can't undo.
    """

    ASKED = "asked"
    COMPLAINT = "complaint"
    BLOCKED = "blocked"


class Note(Model):
    """An incoming mail, stored as it came before anybody is told "taken".

    ``verdict`` says in a word what became of it once it was read; ``reason`` says why.
    """

    __table_args__ = (Index("ix_note_read_at", "read_at", "received_at"),)

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    digest: Mapped[str] = mapped_column(String(64), unique=True)
    raw: Mapped[bytes] = mapped_column(LargeBinary)
    recipient: Mapped[str] = mapped_column(String(320))
    return_path: Mapped[str] = mapped_column(String(320))
    received_at: Mapped[datetime] = mapped_column(Instant)
    leased_until: Mapped[datetime | None] = mapped_column(Instant)
    read_at: Mapped[datetime | None] = mapped_column(Instant)
    verdict: Mapped[str | None] = mapped_column(String(16))
    reason: Mapped[str | None] = mapped_column(String(500))
    turn_id: Mapped[int | None] = mapped_column(ForeignKey("turn.id"))


class Mailbox(Model):
    """How far a folder of a mailbox is read: by UID, which counts only with its validity.

    ``polled_at`` is when it was last looked into with success.
    """

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    folder: Mapped[str] = mapped_column(String(500), unique=True)
    uid_validity: Mapped[int] = mapped_column(BigInteger)
    last_uid: Mapped[int] = mapped_column(BigInteger)
    polled_at: Mapped[datetime] = mapped_column(Instant)


class Reminder(Model):
    """A reminder that was given: once for each turn, deadline and step (hours before)."""

    __table_args__ = (UniqueConstraint("turn_id", "deadline", "step"),)

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    turn_id: Mapped[int] = mapped_column(ForeignKey("turn.id"))
    deadline: Mapped[datetime] = mapped_column(Instant)
    step: Mapped[int]


class Beat(Model):
    """When a worker was last at work (row 1), by which a standstill is found out.

    Row 2 tells when it last looked for reminders, see worker.remind.
    """

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    at: Mapped[datetime] = mapped_column(Instant)
