"""Players: persons with an address."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Final

from flask_babel import gettext
from sqlalchemy import JSON, ColumnElement, ForeignKey, Index, String, text
from sqlalchemy.ext.hybrid import hybrid_property
from sqlalchemy.orm import Mapped, mapped_column, relationship

from engine.game import N_
from pbem.models.base import Id, Instant, Model

# Stands for the name of whoever has deleted their account. It is no printable sign, and so
# nobody can be called so.
FORMER: Final = "\x7f"
# Few want a reminder at half time; deadlines.HALF among the steps of the JSON column.
HALF_WANTED: Final = "CAST(player.reminder_steps AS VARCHAR) LIKE '%-1%'"
FORMER_WORDS: Final = N_("a former player")


def shown_name(name: str) -> str:
    """Return a name as people read it: that of a former player in the running language."""
    return gettext(FORMER_WORDS) if name == FORMER else name


class Entries(StrEnum):
    """How a player gets the deadlines as calendar entries."""

    NONE = "none"
    ATTACHED = "attached"
    FEED = "feed"


class Wanted(StrEnum):
    """How a player wants letters of a kind; what is not said is NOW."""

    NOW = "now"
    DAILY = "daily"
    OFF = "off"


class Player(Model):
    """A person who plays.

    ``sign_ins`` makes a sign-in link good for one use, and ``sign_outs`` ends all sessions from
    before the last one. ``renewed`` counts how often the links to their own pages were made anew.

    ``address`` is the preferred one of their ``addresses``: letters go there. Of an account
    that was deleted only the row is left, for its games, and says since when.

    With ``plays_forced`` a move without a choice is made for them, without asking.
    ``quiet_from``, ``quiet_until`` and ``digest_at`` (one mail a day instead of one for
    each turn) are minutes after midnight in their zone; ``digest_due_at`` is when the
    next one is due. ``reminder_steps`` are hours before the deadline, see deadlines.STEPS.
    ``mails`` says, by the kind of letter, which are wanted in the daily mail or not at all.
    With ``moves_by_mail`` the links to moves are ready-made replies. Who ``wants_hints`` is
    shown the moves that score most. Who ``has_page`` wants a
    public page of their results.
    ``unreachable_at`` is when a letter came back last; ``offers_absence`` asks the next
    letter to offer an absence, once.
    """

    # The worker asks for these few among all players.
    __table_args__ = tuple(
        Index(name, column, sqlite_where=text(where), postgresql_where=text(where))
        for name, column, where in (
            ("ix_player_half", "id", HALF_WANTED.replace("player.", "")),
            ("ix_player_daily", "digest_due_at", "digest_due_at IS NOT NULL"),
            ("ix_player_unreachable", "id", "unreachable_at IS NOT NULL"),
        )
    )

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    address: Mapped[str] = mapped_column(String(320), unique=True)
    stored_name: Mapped[str] = mapped_column("name", String(40))
    language: Mapped[str] = mapped_column(String(5))
    zone: Mapped[str] = mapped_column(String(64))
    sign_ins: Mapped[int] = mapped_column(default=0)
    sign_outs: Mapped[int] = mapped_column(default=0)
    renewed: Mapped[int] = mapped_column(default=0)
    plays_forced: Mapped[bool] = mapped_column(default=True)
    quiet_from: Mapped[int | None]
    quiet_until: Mapped[int | None]
    reminder_steps: Mapped[list[int]] = mapped_column(JSON, default=lambda: [24, 0])
    digest_at: Mapped[int | None]
    digest_due_at: Mapped[datetime | None] = mapped_column(Instant)
    entries: Mapped[str] = mapped_column(String(8), default=Entries.ATTACHED)
    mails: Mapped[dict[str, str]] = mapped_column(JSON, default=dict)
    moves_by_mail: Mapped[bool] = mapped_column(default=False)
    wants_hints: Mapped[bool] = mapped_column(default=False)
    has_page: Mapped[bool] = mapped_column(default=False)
    unreachable_at: Mapped[datetime | None] = mapped_column(Instant)
    unreachable_why: Mapped[str | None] = mapped_column(String(200))
    offers_absence: Mapped[bool] = mapped_column(default=False)
    created_at: Mapped[datetime] = mapped_column(Instant)
    deleted_at: Mapped[datetime | None] = mapped_column(Instant)

    absences: Mapped[list[Absence]] = relationship(order_by="Absence.starts_at")
    addresses: Mapped[list[Address]] = relationship(
        back_populates="player", order_by="Address.id", cascade="all, delete-orphan"
    )

    @hybrid_property
    def name(self) -> str:
        """Return the player's name as people read it; in queries it is as it is stored."""
        return shown_name(self.stored_name)

    @name.inplace.setter
    def _set_name(self, name: str) -> None:
        self.stored_name = name

    @name.inplace.expression
    @classmethod
    def _name_column(cls) -> ColumnElement[str]:
        return cls.stored_name.expression

    @property
    def every_address(self) -> list[str]:
        """Return the addresses that are the player's, the preferred one first."""
        others = [one.address for one in self.addresses if one.address != self.address]
        return [self.address, *others]


class Address(Model):
    """An address that its player has proved to be theirs; the preferred one is among them."""

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    player_id: Mapped[int] = mapped_column(ForeignKey("player.id"), index=True)
    address: Mapped[str] = mapped_column(String(320), unique=True)
    added_at: Mapped[datetime] = mapped_column(Instant)

    player: Mapped[Player] = relationship(back_populates="addresses")


class Absence(Model):
    """A time in which a player's clocks stand still; ``ends_at`` is not part of it."""

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    player_id: Mapped[int] = mapped_column(ForeignKey("player.id"), index=True)
    starts_at: Mapped[datetime] = mapped_column(Instant)
    ends_at: Mapped[datetime] = mapped_column(Instant)
    made_at: Mapped[datetime] = mapped_column(Instant)
