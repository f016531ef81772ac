"""A turn letter that somebody got, the reply to it, and what became of that."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from email.message import EmailMessage

from cast import ADDRESSES, first_turn, reply_to, run_worker
from mail_server import Mailbox
from sqlalchemy import func, select

from pbem.ext import db
from pbem.models import Move, Note


@dataclass(frozen=True)
class Asked:
    """Who is asked for a move, the letter that asks, and how many moves there were before."""

    name: str
    letter: EmailMessage
    before: int
    now: datetime

    @property
    def sender(self) -> str:
        return ADDRESSES[self.name]

    @property
    def address(self) -> str:
        """Where replies go."""
        return str(self.letter["Reply-To"])

    def reply(self, text: str = "1", *, message_id: str = "<reply@players.example>") -> bytes:
        # A mail server would add a date to a mail that has none, which makes it another mail.
        date = b"Date: Tue, 01 Dec 2026 12:00:00 +0000\r\n"
        return date + reply_to(self.letter, text, sender=self.sender, message_id=message_id)

    def moves(self) -> int:
        """Let the worker read all that came, and count the moves since the letter."""
        db.session.rollback()
        run_worker(self.now)
        return (db.session.scalar(select(func.count(Move.id))) or 0) - self.before


def asked(mailbox: Mailbox, now: datetime) -> Asked:
    """Return a turn that leaves a choice, with its letter as it arrived."""
    name, letter, match = first_turn(mailbox, now=now)
    return Asked(name, letter, match.ply, now)


def notes() -> list[Note]:
    """Return the mails that were taken, as other threads have stored them."""
    db.session.rollback()
    return list(db.session.scalars(select(Note).order_by(Note.id)))
