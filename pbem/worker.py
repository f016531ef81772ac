"""The process that keeps time: a short table of jobs over due rows in the database.

No deadline is ever a job of its own, so that a restart loses nothing and a second
worker is harmless.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from apscheduler.schedulers.background import BackgroundScheduler
from sqlalchemy import (
    Float,
    bindparam,
    exists,
    extract,
    or_,
    select,
    text,
    type_coerce,
    update,
)
from sqlalchemy.exc import IntegrityError

from pbem import away, clocks, deadlines, limits, lobby, play, post
from pbem.errors import PbemError
from pbem.ext import db, settings, writing
from pbem.mail import imap, inbox, outbox
from pbem.mail.listener import Listener
from pbem.mail.parser import Parser
from pbem.metrics import Metrics
from pbem.models import (
    HALF_WANTED,
    Beat,
    Letter,
    LetterState,
    Match,
    Note,
    Player,
    Reminder,
    Seat,
    Status,
    Turn,
)

if TYPE_CHECKING:
    from flask import Flask

BATCH: Final = 100  # due rows of one sweep
BEAT: Final = timedelta(minutes=1)  # between the notes that a worker is at work
LAST_LOOK: Final = 2  # the beat's row that tells up to when steps of reminders were looked at
FIRST_LOOK: Final = timedelta(hours=deadlines.MOST_PACE)  # back, where none was before
HALF_LOOKS: Final = timedelta(minutes=10)  # between looks for reminders at half time
BOUNCES_WITHIN: Final = timedelta(hours=1)  # a letter that has not come back by then went through

_log = logging.getLogger(__name__)

# Made once: to make it takes longer than the database's answer.
_DUE: Final = (
    select(Turn.id)
    .join(Match, Match.id == Turn.match_id)
    .join(Turn.asked)
    .where(Turn.closed_at.is_(None), Turn.deadline < bindparam("limit"))
    .where(Match.status == Status.RUNNING, Match.paused_at.is_(None))
    .where(Seat.player_id.is_not(None), ~Seat.is_kept, ~Seat.resigned)
    .order_by(Turn.deadline)
    .limit(BATCH)
)


def read_notes(now: datetime) -> None:
    """Read the mail that has come in."""
    inbox.read_all(now=now)


def play_bots(now: datetime) -> None:
    """Make the moves of the seats where bots sit, or which the house keeps."""
    turns = db.session.execute(
        select(Turn.id, Seat.bot)
        .join(Match, Match.id == Turn.match_id)
        .join(Turn.asked)
        .where(Turn.closed_at.is_(None), Turn.is_house, Match.status == Status.RUNNING)
        .where(or_(Seat.bot.is_not(None), Seat.is_kept, Seat.resigned))
        .limit(BATCH)
    ).all()
    for turn_id, bot in turns:
        if bot is None:
            play.house_plays(turn_id, now=now)
            continue
        text = play.choose_for(turn_id, bot)
        if text is None:
            continue
        try:
            play.make_move(turn_id, text, by="bot", now=now)
        except PbemError as error:
            _log.info("turn %s: another worker was first: %s", turn_id, error)


def remind(now: datetime) -> None:
    """Remind of turns at the steps that their players chose, in one letter for each player."""
    _make_up_for_standstill(now)
    found = _near_a_step(db.session.scalar(select(Beat.at).where(Beat.id == LAST_LOOK)), now)
    given = _given([turn.id for turn, _player in found])
    wanted: dict[int, list[tuple[int, datetime, int]]] = {}
    for turn, player in found:
        for step in player.reminder_steps:
            key = (turn.id, turn.deadline, step)
            if key not in given and deadlines.is_reminded(step, turn.opened_at, turn.deadline, now):
                wanted.setdefault(player.id, []).append(key)
    for player_id, steps in wanted.items():
        _remind(player_id, steps, now=now)
    _note_last_look([turn for turn, _player in found if turn.came_forward], now)


def due_turns(now: datetime) -> Sequence[int]:
    """Return the turns whose time and grace are over, the longest first, as many as one sweep."""
    limit = {"limit": now - deadlines.GRACE}
    return db.session.connection().execute(_DUE, limit).scalars().all()


def time_out(now: datetime) -> None:
    """Do what is done where time and grace are over."""
    _make_up_for_standstill(now)
    for turn_id in due_turns(now):
        # A reply counts by the time it reached us, so mail that waits is read first.
        last = db.session.get_one(Turn, turn_id).deadline + deadlines.GRACE
        if _mail_waits(last) or imap.is_awaited(last, now=now):
            _log.info("turn %s: mail from before its limit is still unread", turn_id)
            continue
        if play.time_out(turn_id, now=now):
            _log.info("turn %s: time ran out", turn_id)


def send_digests(now: datetime) -> None:
    """Queue the daily mail of each player who wants one, if there is anything in it."""
    due = select(Player.id).where(Player.digest_due_at <= now)
    for player_id in db.session.scalars(due).all():
        away.send_digest(player_id, now=now)


def expire_tables(now: datetime) -> None:
    """Close tables that never filled."""
    old = select(Match.id).where(Match.status == Status.OPEN, Match.opened_at <= now - lobby.WAITS)
    for match_id in db.session.scalars(old).all():
        lobby.expire(match_id, now=now)


def find_reached(now: datetime) -> None:
    """Forget that a player could not be reached, once a later letter did not come back."""
    waited = exists().where(
        Letter.player_id == Player.id,
        Letter.state == LetterState.SENT,
        Letter.sent_at > Player.unreachable_at,
        Letter.sent_at < now - BOUNCES_WITHIN,
    )
    found = select(Player.id).where(Player.unreachable_at.is_not(None), waited)
    for player_id in db.session.scalars(found).all():
        with writing():
            away.reached(db.session.get_one(Player, player_id), now=now)


def forget_attempts(now: datetime) -> None:
    """Forget counts of tries that no limit asks for any more."""
    limits.forget_old(now=now)


def send_letters(now: datetime) -> None:
    """Send the letters that are due."""
    outbox.send_due(now=now)


# Each job with the seconds between its runs.
JOBS: Final[tuple[tuple[Callable[[datetime], None], int], ...]] = (
    (read_notes, 1),
    (play_bots, 1),
    (time_out, 20),
    (remind, 60),
    (send_digests, 60),
    (expire_tables, 600),
    (find_reached, 600),
    (forget_attempts, 3600),
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
    """The jobs, and the ways in for mail that a worker keeps, started and stopped together."""

    def __init__(self, app: Flask) -> None:
        """Prepare, but start nothing."""
        self._parser: Parser = app.extensions["pbem.parser"]
        self._scheduler = scheduler(app)
        with app.app_context():
            self._listener = Listener(app) if settings().listen_protocol != "none" else None
            self._watcher = imap.Watcher(app) if settings().imap_host else None

    def start(self) -> None:
        """Start; raises OSError where the listener's port is in use."""
        if self._listener is not None:
            self._listener.start()
        if self._watcher is not None:
            self._watcher.start()
        self._scheduler.start()

    def stop(self) -> None:
        """Stop after the jobs in hand are done."""
        if self._listener is not None:
            self._listener.stop()
        if self._watcher is not None:
            self._watcher.stop()
        self._scheduler.shutdown(wait=True)
        self._parser.close()


def _guarded(app: Flask, job: Callable[[datetime], None]) -> None:
    """Run one job in the application; what it meets is logged and the next run goes on."""
    metrics: Metrics = app.extensions["pbem.metrics"]
    with app.app_context():
        try:
            with metrics.sweep(job.__name__):
                job(datetime.now(UTC))
        except Exception:  # noqa: BLE001 - the outermost loop: one job must not stop the others
            _log.exception("job %s failed; it runs again", job.__name__)
            db.session.rollback()


def _near_a_step(since: datetime | None, now: datetime) -> Sequence[tuple[Turn, Player]]:
    """Return the open turns with a step in the time that was not looked at yet, and who is asked.

    ``since`` is when the last look was; None before the first one. A step's moment is found by
    the deadline, which has an index, or a look would read every open turn there is.
    """
    asked = (
        select(Turn, Player)
        .join(Match, Match.id == Turn.match_id)
        .join(Turn.asked)
        .join(Player, Player.id == Seat.player_id)
        .where(Turn.closed_at.is_(None), Match.status == Status.RUNNING)
        .where(Match.paused_at.is_(None), ~Seat.is_kept, ~Seat.resigned)
    )
    # A turn may have been opened, or moved, by a transaction that was not through at the last look.
    begin = now - FIRST_LOOK if since is None else since - BEAT
    found: dict[int, tuple[Turn, Player]] = {}
    for step in deadlines.STEPS:
        ahead = timedelta(hours=step)
        is_near = (Turn.deadline > begin + ahead) & (Turn.deadline <= now + ahead)
        if step == deadlines.HALF:
            # No index holds the middle of a turn: it is asked for now and then, and of few.
            first, last = _mark_before(begin), _mark_before(now)
            if first == last:
                continue
            players = db.session.scalars(select(Player.id).where(text(HALF_WANTED))).all()
            # Twice an epoch's seconds are more than an integer of PostgreSQL holds.
            twice = type_coerce(
                extract("epoch", Turn.opened_at) + extract("epoch", Turn.deadline), Float
            )
            is_near = Seat.player_id.in_(players) & twice.between(2 * first - 2, 2 * last)
        near = db.session.execute(asked.where(is_near))
        found |= {turn.id: (turn, player) for turn, player in near}
    forward = db.session.execute(asked.where(Turn.came_forward))
    found |= {turn.id: (turn, player) for turn, player in forward}
    return [found[turn_id] for turn_id in sorted(found)]


def _mark_before(moment: datetime) -> int:
    """Return the last mark at or before a moment, between which reminders at half time wait."""
    seconds = int(HALF_LOOKS.total_seconds())
    return int(moment.timestamp()) // seconds * seconds


def _given(turn_ids: Sequence[int]) -> set[tuple[int, datetime, int]]:
    """Return the reminders that were given of these turns."""
    rows = db.session.execute(
        select(Reminder.turn_id, Reminder.deadline, Reminder.step).where(
            Reminder.turn_id.in_(turn_ids)
        )
    )
    return {(turn_id, deadline, step) for turn_id, deadline, step in rows}


def _note_last_look(forward: Sequence[Turn], now: datetime) -> None:
    """Note that all steps up to now were looked at; a worker that fails before looks again.

    So were those of the turns that had come ``forward``, if they have not moved since.
    """
    seen = [(Turn.id == turn.id, Turn.sequence == turn.sequence) for turn in forward]
    try:
        with writing():
            for one in seen:
                db.session.execute(update(Turn).where(*one).values(came_forward=False))
            db.session.merge(Beat(id=LAST_LOOK, at=now))
    except IntegrityError:
        _log.info("another worker has looked for reminders")


def _remind(player_id: int, steps: list[tuple[int, datetime, int]], *, now: datetime) -> None:
    """Note the steps as given and queue the one letter for them."""
    try:
        with writing():
            turns = []
            for turn_id, deadline, step in steps:
                turn = db.session.get_one(Turn, turn_id)
                if turn.closed_at is None and turn.deadline == deadline:
                    db.session.add(Reminder(turn_id=turn_id, deadline=deadline, step=step))
                    turns += [turn] if turn not in turns else []
            db.session.flush()
            if len(turns) == 1:
                post.reminder(turns[0], turns[0].asked, now=now)
            elif turns:
                post.reminders(db.session.get_one(Player, player_id), turns, now=now)
    except IntegrityError:
        _log.info("player %s: another worker has reminded", player_id)


def _make_up_for_standstill(now: datetime) -> None:
    """Move all open deadlines by a time in which no worker was at work; once for each."""
    last = db.session.scalar(select(Beat.at).where(Beat.id == 1))
    if last is not None and now - last < BEAT:
        return
    try:
        with writing():
            if last is None:
                db.session.add(Beat(id=1, at=now))
                return
            beat = update(Beat).where(Beat.id == 1, Beat.at == last).values(at=now)
            is_ours = bool(db.session.scalars(beat.returning(Beat.id)).all())
            if is_ours and now - last > deadlines.STANDSTILL:
                _log.warning("nobody kept time since %s; open deadlines move", last)
                for turn in clocks.open_turns():
                    _stand_still(turn, last, now=now)
                hours = round((now - last).total_seconds() / 3600, 1)
                post.for_host("standstill", {"hours": hours}, now=now)
    except IntegrityError:
        _log.info("another worker has begun to keep time")


def _stand_still(turn: Turn, since: datetime, *, now: datetime) -> None:
    """Let a turn's clock stand still while nobody kept time; in its grace the grace does."""
    start, until = max(since, turn.opened_at), now
    if turn.deadline <= since <= turn.deadline + deadlines.GRACE:
        # What stands still behind a deadline does not move it, so it is put just before.
        start = turn.deadline - timedelta(minutes=1)
        until = start + (now - since)
    clocks.stop(turn, "standstill", start, until, now=now)


def _mail_waits(limit: datetime) -> bool:
    waiting = exists().where(Note.read_at.is_(None), Note.received_at <= limit)
    return bool(db.session.scalar(select(waiting)))
