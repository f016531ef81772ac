"""The process that keeps time: a short table of jobs over due rows in the database.

No deadline is ever a job of its own, so that a restart loses nothing and a second
worker is harmless.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from apscheduler.schedulers.background import BackgroundScheduler
from sqlalchemy import exists, select
from sqlalchemy.exc import IntegrityError

from pbem import deadlines, play, post
from pbem.errors import PbemError
from pbem.ext import db, settings, writing
from pbem.mail import inbox, outbox
from pbem.mail.listener import Listener
from pbem.models import Note, Reminder, Seat, Turn

if TYPE_CHECKING:
    from flask import Flask

BATCH: Final = 100  # due rows of one sweep

_log = logging.getLogger(__name__)


def read_notes(now: datetime) -> None:
    """Read the mail that has come in."""
    inbox.read_all(now=now)


def play_bots(now: datetime) -> None:
    """Make the moves of the seats where bots sit."""
    turns = db.session.execute(
        select(Turn.id, Seat.bot)
        .join(Seat, (Seat.match_id == Turn.match_id) & (Seat.number == Turn.seat))
        .where(Turn.closed_at.is_(None), Seat.bot.is_not(None))
        .limit(BATCH)
    ).all()
    for turn_id, bot in turns:
        assert bot is not None, "the query wants a bot"
        text = play.choose_for(turn_id, bot)
        if text is None:
            continue
        try:
            play.make_move(turn_id, text, by="bot", now=now)
        except PbemError as error:
            _log.info("turn %s: another worker was first: %s", turn_id, error)


def remind(now: datetime) -> None:
    """Remind of turns that are due in a day; once for each turn and deadline."""
    soon = now + timedelta(hours=deadlines.REMINDER_STEP)
    turns = db.session.scalars(
        select(Turn)
        .where(
            Turn.closed_at.is_(None),
            Turn.deadline > now,
            Turn.deadline <= soon,
            ~exists().where(Reminder.turn_id == Turn.id, Reminder.deadline == Turn.deadline),
        )
        .limit(BATCH)
    ).all()
    for turn in turns:
        _remind(turn.id, turn.deadline, now=now)


def time_out(now: datetime) -> None:
    """Let the house move where time and grace are over."""
    limit = now - deadlines.GRACE
    due = (
        select(Turn.id)
        .where(Turn.closed_at.is_(None), Turn.deadline < limit)
        .order_by(Turn.deadline)
        .limit(BATCH)
    )
    for turn_id in db.session.scalars(due).all():
        # A reply counts by the time it reached us, so mail that waits is read first.
        if _mail_waits(db.session.get_one(Turn, turn_id).deadline + deadlines.GRACE):
            _log.info("turn %s: mail from before its limit is still unread", turn_id)
            continue
        if play.time_out(turn_id, now=now):
            _log.info("turn %s: time ran out, the house played", turn_id)


def send_letters(now: datetime) -> None:
    """Send the letters that are due."""
    outbox.send_due(now=now)


# Each job with the seconds between its runs.
JOBS: Final[tuple[tuple[Callable[[datetime], None], int], ...]] = (
    (read_notes, 1),
    (play_bots, 1),
    (time_out, 20),
    (remind, 60),
    (send_letters, 2),
)


def run_once(now: datetime) -> None:
    """Run every job one time, in the order of the table."""
    for job, _seconds in JOBS:
        job(now)


def scheduler(app: Flask) -> BackgroundScheduler:
    """Return APScheduler with the table of jobs; the caller starts and stops it."""
    found = BackgroundScheduler(
        timezone=UTC,
        # A job that came late still runs, once; by default it would be dropped.
        job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1},
    )
    for job, seconds in JOBS:
        found.add_job(
            _guarded, "interval", [app, job], seconds=seconds, id=job.__name__,
            next_run_time=datetime.now(UTC),
        )  # fmt: skip
    return found


class Worker:
    """The jobs and the listener for mail, started and stopped together."""

    def __init__(self, app: Flask) -> None:
        """Prepare, but start nothing."""
        self._scheduler = scheduler(app)
        with app.app_context():
            self._listener = Listener(app) if settings().listen_protocol != "none" else None

    def start(self) -> None:
        """Start; raises OSError where the listener's port is in use."""
        if self._listener is not None:
            self._listener.start()
        self._scheduler.start()

    def stop(self) -> None:
        """Stop after the jobs in hand are done."""
        if self._listener is not None:
            self._listener.stop()
        self._scheduler.shutdown(wait=True)


def _guarded(app: Flask, job: Callable[[datetime], None]) -> None:
    """Run one job in the application; what it meets is logged and the next run goes on."""
    with app.app_context():
        try:
            job(datetime.now(UTC))
        except Exception:  # noqa: BLE001 - the outermost loop: one job must not stop the others
            _log.exception("job %s failed; it runs again", job.__name__)
            db.session.rollback()


def _remind(turn_id: int, deadline: datetime, *, now: datetime) -> None:
    """Remind of a turn, or settle that one so short is not reminded."""
    step = deadlines.REMINDER_STEP
    try:
        with writing():
            db.session.add(Reminder(turn_id=turn_id, deadline=deadline, step=step))
            db.session.flush()
            turn = db.session.get_one(Turn, turn_id)
            wanted = deadlines.reminder(turn.opened_at, turn.deadline)
            if turn.closed_at is None and wanted is not None:
                post.reminder(turn, play.seat_of(turn), now=now)
    except IntegrityError:
        _log.info("turn %s: another worker has reminded of it", turn_id)


def _mail_waits(limit: datetime) -> bool:
    waiting = exists().where(Note.read_at.is_(None), Note.received_at <= limit)
    return bool(db.session.scalar(select(waiting)))
