"""Workers as processes that do what is due at a made-up moment, all at the same time."""

from __future__ import annotations

import logging
import multiprocessing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Final

from pbem import create_app, worker
from pbem.config import Settings
from pbem.ext import db
from torture.dying import Killed, dying

OFTEN: Final = 2  # seconds between the runs of the jobs that people wait for
_log = logging.getLogger("pbem.crew")  # where errors are looked for
_FRESH: Final = multiprocessing.get_context("spawn")  # no connection is shared with a parent


@dataclass(frozen=True, slots=True)
class Shift:
    """What each worker does at a moment: all jobs, or only those that run every other second.

    One that ``dies_after`` so many statements that write leaves the rest.
    """

    now: datetime
    only_often: bool = False
    dies_after: int | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """How a shift ended: whether its worker died, and the errors that it met."""

    died: bool
    errors: tuple[str, ...]


class Errors(logging.Handler):
    """What the server logs as its own failure until this is closed, a line each."""

    def __init__(self) -> None:
        """Begin to listen."""
        super().__init__(logging.ERROR)
        self._lines: list[str] = []
        logging.getLogger("pbem").addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a record, with what it was raised by."""
        why = record.exc_info[1] if record.exc_info else ""
        self._lines.append(f"{record.getMessage()}: {why!r}")

    def close(self) -> None:
        """Listen no more."""
        logging.getLogger("pbem").removeHandler(self)
        super().close()

    def taken(self) -> tuple[str, ...]:
        """Return the lines since the last look."""
        lines, self._lines = self._lines, []
        return tuple(lines)


class Crew:
    """Workers on one database; a context manager."""

    def __init__(self, site: Settings, number: int) -> None:
        """Start them."""
        self._pipes: list[Connection] = []
        self._processes = []
        for _ in range(number):
            ours, theirs = _FRESH.Pipe()
            process = _FRESH.Process(target=_live, args=(site, theirs), daemon=True)
            process.start()
            theirs.close()
            self._pipes.append(ours)
            self._processes.append(process)
        for pipe in self._pipes:
            pipe.recv()

    def __enter__(self) -> Crew:
        """Return what gives them work."""
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        """Let them end."""
        for pipe in self._pipes:
            pipe.close()
        for process in self._processes:
            process.join(30)

    @property
    def number(self) -> int:
        """Return how many there are."""
        return len(self._pipes)

    def begin(self, shifts: Sequence[Shift]) -> None:
        """Let each begin a shift, and do not wait for any."""
        for pipe, shift in zip(self._pipes, shifts, strict=True):
            pipe.send(shift)

    def end(self) -> list[Done]:
        """Wait until all are done."""
        return [pipe.recv() for pipe in self._pipes]


def _live(site: Settings, pipe: Connection) -> None:
    """Work as the pipe says, until it ends."""
    app = create_app(site)
    errors = Errors()
    with app.app_context():
        pipe.send("ready")
        while True:
            try:
                shift = pipe.recv()
            except EOFError:
                break
            pipe.send(_work(shift, errors))
        db.session.remove()
        db.engine.dispose()
    app.extensions["pbem.parser"].close()


def _work(shift: Shift, errors: Errors) -> Done:
    """Do all that is due, each job as the worker's own table runs it."""
    died = False
    try:
        with dying(shift.dies_after):
            for job, seconds in worker.JOBS:
                if seconds <= OFTEN or not shift.only_often:
                    _do(job, shift.now)
    except Killed:
        died = True
    # A dead process has no transaction; the database has ended it.
    db.session.remove()
    return Done(died, errors.taken())


def _do(job: Callable[[datetime], None], now: datetime) -> None:
    """Run one job; what it fails of is logged, and the others run."""
    try:
        job(now)
    except Exception:  # noqa: BLE001 - the outermost loop, as the worker has it
        _log.exception("job %s failed", job.__name__)
        db.session.rollback()
