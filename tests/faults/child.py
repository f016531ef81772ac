"""A server process that dies where it is told to. Run as: child.py WHAT INSTANCE SMTP_PORT.

It is not a test: tests start it, kill it or let it kill itself, and look at what stands.
"""

from __future__ import annotations

import os
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import event, select

from pbem import create_app, play
from pbem.config import Settings
from pbem.ext import db
from pbem.mail import inbox
from pbem.models import Letter, Match, Turn

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)


def settings(instance: Path, smtp_port: int) -> Settings:
    """Return the settings that parent and child share."""
    return Settings(
        instance=instance,
        database_url=f"sqlite:///{instance / 'pbem.sqlite3'}",
        mail_domain="play.example",
        base_url="https://play.example",
        secret_keys=("ab" * 32,),
        smtp_port=smtp_port,
        smtp_timeout=5,
    )


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def open_turn() -> Turn | None:
    return db.session.scalars(select(Turn).where(Turn.closed_at.is_(None))).first()


def move_once() -> None:
    """Make the house's move for the seat that is asked, and acknowledge it."""
    turn = open_turn()
    assert turn is not None
    text = play.choose_for(turn.id, "greedy")
    play.make_move(turn.id, text, by="link", now=NOW)
    print(turn.id, text, flush=True)


def move_and_die(moment: str) -> None:
    """Die at a moment of the commit that holds the move."""

    def is_the_move() -> bool:
        return any(isinstance(row, (Turn, Match)) for row in db.session.identity_map.values())

    event.listen(db.session, moment, lambda _session: die() if is_the_move() else None)
    move_once()


def move_on() -> None:
    """Make moves until killed or until the match is over."""
    while open_turn() is not None:
        move_once()


def send() -> None:
    """Send what is due; the parent's mail server kills us when it has taken a mail."""
    from pbem.mail import outbox

    outbox.send_due(now=NOW)


def store_and_die() -> None:
    """Store a reply to the open turn, and die before it is read."""
    letter = db.session.scalars(select(Letter).where(Letter.kind == "your_turn")).first()
    address = (Path(sys.argv[2]) / "reply_to").read_text()
    raw = f"From: {letter.address}\r\nTo: {address}\r\nMessage-ID: <r@x.example>\r\n\r\n1\r\n"
    inbox.take(raw.encode(), inbox.Envelope(address, letter.address), now=NOW)
    die()


def main() -> None:
    what, instance, port = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])
    with create_app(settings(instance, port)).app_context():
        match what:
            case "before" | "after":
                move_and_die(f"{what}_commit")
            case "move":
                move_once()
            case "on":
                move_on()
            case "send":
                send()
            case "store":
                store_and_die()


if __name__ == "__main__":
    main()
