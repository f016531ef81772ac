"""How often something was tried, so that nobody does it without end."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from pbem.models.base import Id, Instant, Model


class Attempt(Model):
    """How often ``who`` did ``what`` ``since`` a full hour or day; rows go after two days.

    ``who`` is a fingerprint: neither an address nor a network is kept.
    """

    __table_args__ = (UniqueConstraint("what", "who", "since"),)

    id: Mapped[int] = mapped_column(Id, primary_key=True)
    what: Mapped[str] = mapped_column(String(16))
    who: Mapped[str] = mapped_column(String(32))
    since: Mapped[datetime] = mapped_column(Instant)
    times: Mapped[int]
