"""Players: persons with an address."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import String
from sqlalchemy.orm import Mapped, mapped_column

from pbem.models.base import Id, Instant, Model


class Player(Model):
    """A person who plays. ``sign_ins`` makes a sign-in link good for one use.

    With ``plays_forced`` a move without a choice is made for them, without asking.
    """

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    address: Mapped[str] = mapped_column(String(320), unique=True)
    name: Mapped[str] = mapped_column(String(40))
    language: Mapped[str] = mapped_column(String(5))
    zone: Mapped[str] = mapped_column(String(64))
    sign_ins: Mapped[int] = mapped_column(default=0)
    plays_forced: Mapped[bool] = mapped_column(default=True)
    created_at: Mapped[datetime] = mapped_column(Instant)
