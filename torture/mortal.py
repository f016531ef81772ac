"""Server processes that are killed: at a named failpoint, or at any moment, by SIGKILL.

``Mortal`` is what runs them. It starts this module as a process, which has an application
ready and forks it for each life, so that a life costs milliseconds.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import IO, Final

from flask import current_app
from sqlalchemy import select

from pbem import create_app, failpoints, play
from pbem.ext import db
from pbem.mail import inbox, letters, outbox
from pbem.models import Letter
from torture import world

ROUNDS: Final = 3  # of replies to all turns
_TOLD: Final = 1  # the standard output
_ROOT: Final = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Life:
    """What a process is to do, and when it dies.

    That is so many seconds after it has begun, or when it comes to a failpoint for the
    nth time. One that ``wakes`` is stopped there, until it is woken.
    """

    does: str
    seed: int
    now: str
    after: float | None = None
    at: str | None = None
    nth: int = 1
    wakes: bool = False


@dataclass(slots=True)
class Death:
    """What a process had begun, what it had acknowledged, and where it was when it died.

    ``error`` is what it met instead of death; ``code`` is 0 where it had nothing more to do.
    """

    begun: list[str] = field(default_factory=list)
    acknowledged: list[str] = field(default_factory=list)
    visited: list[str] = field(default_factory=list)
    error: str | None = None
    code: int = 0


class Mortal:
    """Lives on one database, one after the other; a context manager."""

    def __init__(self) -> None:
        """Start the process for the database of the running application."""
        site = current_app.extensions["pbem.settings"]
        given = (str(site.instance), site.database, str(site.smtp_port))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "torture.mortal", *given],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # What a killed process leaves half said; errors are told.
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=_ROOT,
            env={"PYTHONPATH": str(_ROOT), "PATH": os.environ["PATH"]},
        )
        # What it told of its rehearsal is of no account.
        for line in _pipe(self._process.stdout):
            if line.startswith("!"):
                break

    def __enter__(self) -> Mortal:
        """Return what runs lives."""
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        """End the process."""
        self._process.communicate(timeout=30)

    def live(self, life: Life, *, asleep: Callable[[], None] | None = None) -> Death:
        """Let a process live and die; returns what it told.

        Where something is to be done while it is ``asleep``, it is stopped and woken
        instead of killed.
        """
        db.session.remove()
        self._say(json.dumps(asdict(replace(life, wakes=asleep is not None))))
        death = Death()
        for line in _pipe(self._process.stdout):
            sign, words = line[0], line[2:].rstrip("\n")
            match sign:
                case "?":
                    death.begun.append(words)
                case "+":
                    death.acknowledged.append(words)
                case "~":
                    death.visited.append(words)
                case "!":
                    death.error = words
                case "z":
                    assert asleep is not None, "it sleeps if it is to"
                    asleep()
                    self._say("wake")
                case _:
                    death.code = int(words)
                    return death
        raise EOFError("the process that forks is gone")

    def _say(self, words: str) -> None:
        _pipe(self._process.stdin).write(words + "\n")
        _pipe(self._process.stdin).flush()


def _pipe(stream: IO[str] | None) -> IO[str]:
    assert stream is not None, "it is a pipe"
    return stream


def _tell(sign: str, words: str) -> None:
    # One write: a process that is killed leaves whole lines.
    os.write(_TOLD, f"{sign} {words}\n".encode())


def move_on(chance: random.Random, now: datetime) -> None:
    """Make moves, and acknowledge each, while anybody is asked."""
    while turns := world.open_turns():
        turn = chance.choice(turns)
        made = f"{turn.id} {world.choice(turn, chance)[1]}"
        _tell("?", made)
        turn_id, _, text = made.partition(" ")
        play.make_move(int(turn_id), text, by="link", now=now)
        _tell("+", made)


def take_mails(chance: random.Random, now: datetime) -> None:
    """Take a reply to each turn, acknowledge it and read them, for a while."""
    for _ in range(ROUNDS):
        turns = world.open_turns()
        for turn in turns:
            taken = f"{turn.id} {world.choice(turn, chance)[0]}"
            raw, envelope = world.reply(turn, taken.partition(" ")[2])
            _tell("?", taken)
            inbox.take(raw, envelope, now=now)
            _tell("+", taken)
        inbox.read_all(now=now)


def send(_chance: random.Random, now: datetime) -> None:
    """Send what is due."""
    outbox.send_due(now=now)


_DOES: dict[str, Callable[[random.Random, datetime], None]] = {
    todo.__name__: todo for todo in (move_on, take_mails, send)
}


def _begin(life: Life, has_begun: int) -> None:
    """Do what a life is for, until it ends or is ended."""
    left = life.nth

    def visit(name: str) -> None:
        nonlocal left
        _tell("~", name)
        if name == life.at:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGSTOP if life.wakes else signal.SIGKILL)

    failpoints.hook_in(visit)
    os.write(has_begun, b"!")
    _DOES[life.does](random.Random(life.seed), datetime.fromisoformat(life.now))


def _live(life: Life) -> int:
    """Fork a life, and kill it in time; returns its exit code."""
    begins, has_begun = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            _begin(life, has_begun)
        except BaseException as error:  # noqa: BLE001 - a child must not become a second parent
            _tell("!", repr(error).replace("\n", " "))
            os._exit(1)
        os._exit(0)
    os.close(has_begun)
    if life.after is not None and os.read(begins, 1):
        time.sleep(life.after)
        os.kill(child, signal.SIGKILL)
    os.close(begins)
    status = os.waitpid(child, os.WUNTRACED)[1]
    if os.WIFSTOPPED(status):
        _tell("z", "asleep")
        sys.stdin.readline()
        os.kill(child, signal.SIGCONT)
        status = os.waitpid(child, 0)[1]
    return os.waitstatus_to_exitcode(status)


class _Enough(Exception):
    """Raised to undo a rehearsal."""


def _rehearse() -> None:
    """Do a little of all and undo it: what is compiled for it serves all lives."""

    def stop(name: str) -> None:
        if name in ("mail: noted", "move: told"):
            raise _Enough

    failpoints.hook_in(stop)
    turn = world.open_turns()[0]
    for does in (take_mails, move_on):
        with suppress(_Enough):
            does(random.Random(0), turn.opened_at)
    letter = db.session.scalars(select(Letter).where(Letter.kind == "your_turn")).first()
    assert letter is not None, "who is asked has one"
    letters.build(letter)


def main() -> None:
    """Live as the lines on the standard input say, until they end."""
    instance, database, port = sys.argv[1:]
    app = create_app(world.site(Path(instance), database, int(port)))
    with app.app_context():
        _rehearse()
        db.session.remove()
        # A connection may not be shared by two processes.
        db.engine.dispose()
        _tell("!", "ready")
        while line := sys.stdin.readline():
            code = _live(Life(**json.loads(line)))
            _tell(".", str(code))


if __name__ == "__main__":
    main()
