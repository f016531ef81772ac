"""Does one thing and dies at its nth step, for every n. Run as: steps.py WHAT START OUT SMTP_PORT.

A step is a writing statement, a commit about to happen, or a commit that has happened.
Each death leaves its instance in OUT/n; the last n is the run that came to its end.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from flask import Flask
from sqlalchemy import event, select

from pbem import create_app, lobby, play, worker
from pbem.config import Settings
from pbem.ext import db
from pbem.models import Seat, Turn

NOW = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
DEAD = 9  # exit code of a run that died as it should
_WRITES = ("INSERT", "UPDATE", "DELETE")


def application(instance: Path, smtp_port: int) -> Flask:
    """Return the server of an instance; parent and child share its settings."""
    return create_app(
        Settings(
            instance=instance,
            mail_domain="play.example",
            base_url="https://play.example",
            secret_keys=("ab" * 32,),
            smtp_port=smtp_port,
            smtp_timeout=5,
        )
    )


def move(now: datetime) -> None:
    """Make the house's move at the first turn, as its link does."""
    turn = db.session.scalars(select(Turn).order_by(Turn.id)).first()
    assert turn is not None
    text = play.choose_for(turn.id, "greedy")
    assert text is not None
    play.make_move(turn.id, text, by="link", now=now)


def time_out(now: datetime) -> None:
    """Let the house play for whoever's time is over."""
    worker.time_out(now + 74 * HOUR)


def remind(now: datetime) -> None:
    """Remind of the turns that are due in a day."""
    worker.remind(now + 50 * HOUR)


def sit(now: datetime) -> None:
    """Sit down at the last free seat, which starts the match."""
    for seat in db.session.scalars(select(Seat).where(Seat.joined_at.is_(None))).all():
        lobby.sit(seat.id, name="Bob", phrase="", language="en", zone="Europe/Paris", now=now)


WHAT: dict[str, Callable[[datetime], None]] = {
    todo.__name__: todo for todo in (move, time_out, remind, sit)
}


def die_at(nth: int) -> None:
    """Arrange that this process is gone at its nth step."""
    passed = 0

    def step(*_about: object) -> None:
        nonlocal passed
        passed += 1
        if passed == nth:
            os._exit(DEAD)

    def statement(_connection: object, _cursor: object, words: str, *_about: object) -> None:
        if words.startswith(_WRITES):
            step()

    event.listen(db.engine, "before_cursor_execute", statement)
    event.listen(db.engine, "commit", step)
    event.listen(db.session, "after_commit", step)


def put(saved: Path, instance: Path) -> None:
    """Put a saved state in the place of an instance; the running application is in its context."""
    db.session.remove()
    db.engine.dispose()
    shutil.rmtree(instance)
    shutil.copytree(saved, instance)


def main() -> None:
    """Fork a run for each step, until one comes to its end."""
    what, start, out, port = WHAT[sys.argv[1]], Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4]
    instance = out / "instance"
    with application(instance, int(port)).app_context():
        # A whole run, so that templates and statements are compiled before we fork.
        put(start, instance)
        what(NOW)
        nth = code = 0
        while nth == 0 or code == DEAD:
            nth += 1
            put(start, instance)
            child = os.fork()
            if child == 0:
                die_at(nth)
                what(NOW)
                os._exit(0)
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            shutil.copytree(instance, out / str(nth))
    shutil.rmtree(instance)
    sys.exit(code)


if __name__ == "__main__":
    main()
