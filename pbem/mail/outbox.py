"""The way out: letters are claimed with a lease, checked, rendered, sent and marked.

Nothing here runs inside a transaction that writes a match, nor in a web request.
"""

from __future__ import annotations

import logging
import smtplib
import time
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from flask import current_app
from sqlalchemy import and_, case, func, or_, select, update

from pbem import away, clocks, deadlines, post
from pbem.deadlines import Calendar
from pbem.ext import db, settings, writing
from pbem.failpoints import reached
from pbem.links import Links
from pbem.mail import letters
from pbem.mail.smtp import CutOff, PatientConnection, Postman
from pbem.models import Beat, Letter, LetterState, Turn

BATCH: Final = 20  # letters claimed at once
# In one run, whose leases count from its beginning: a slow relay must not outlive them.
BATCHES: Final = 5
# A worker that died holds its letters no longer than this.
LEASE: Final = timedelta(minutes=5)
# The gaps between the tries; the last one repeats until GIVE_UP.
GAPS: Final = tuple(timedelta(minutes=minutes) for minutes in (1, 5, 15, 60, 240))
GIVE_UP: Final = timedelta(days=2)
# After a line lost behind the final dot: once more, when a copy is no longer likely.
UNKNOWN_GAP: Final = timedelta(hours=6)
# What somebody waits for leaves in their quiet hours too.
ASKED_FOR: Final = ("sign_in", "add_address", "for_host")
# What leaves first where there is more than the relay takes.
_FIRST: Final = (
    ("sign_in", "add_address"),  # somebody sits and waits for them
    ("your_turn", "taken_back"),
    post.ANSWERS,
    ("reminder", "reminders"),
)
_LAST: Final = (("digest",), ("talk",))
_PLACES: Final = {
    kind: place
    for places in (enumerate(_FIRST), enumerate(_LAST, len(_FIRST) + 1))
    for place, kinds in places
    for kind in kinds
}
_ORDER: Final = (
    case(_PLACES, value=Letter.kind, else_=len(_FIRST)),
    Letter.created_at,
    Letter.id,
)
DAY: Final = timedelta(days=1)
# A limit for each second is kept over this time, in which a worker comes back to the queue.
SPAN: Final = timedelta(seconds=2)
_CLOSING: Final = 421  # the relay says so before it hangs up
_LOGIN_WANTED: Final = 530
_TOO_LARGE: Final = 552

_log = logging.getLogger(__name__)


def send_due(*, now: datetime) -> int:
    """Send letters that are due, the most urgent and then the oldest first.

    Returns how many went out. More than a run takes, or than the relay's limits allow, are left
    to the worker's next run.
    """
    sent = 0
    for _ in range(BATCHES):
        claimed, ready = claim(now=now)
        reached("letter: claimed")
        went_out, is_relay_lost = _send_all(ready, now=now)
        sent += went_out
        # A silent relay costs a time limit for each batch; the worker's next run tries again.
        if is_relay_lost or claimed < BATCH:
            break
    return sent


def try_again(letter_id: int, *, now: datetime) -> bool:
    """Let a letter that was given up leave once more, with the Message-ID that it had.

    Returns False, with nothing changed, if it was not given up. One that is no longer true
    is not sent.
    """
    with writing():
        again = db.session.scalars(
            update(Letter)
            .where(Letter.id == letter_id, Letter.state == LetterState.FAILED)
            .values(state=LetterState.QUEUED, due_at=now, attempts=0, error=None)
            .returning(Letter.id)
        ).all()
    return bool(again)


def claim(*, most: int = BATCH, now: datetime) -> tuple[int, Sequence[int]]:
    """Lease due letters to this worker; those of a worker that died are due again.

    Returns how many were due, and those that may leave now.
    """
    due = or_(
        and_(
            Letter.state.in_((LetterState.QUEUED, LetterState.RETRY, LetterState.UNKNOWN)),
            Letter.due_at <= now,
        ),
        and_(Letter.state == LetterState.SENDING, Letter.leased_until < now),
    )
    ids = (
        select(Letter.id)
        .where(due)
        # Not by id alone: PostgreSQL would walk all letters ever sent in that order.
        .order_by(*_ORDER)
        .with_for_update(skip_locked=True)
    )
    with writing():
        ids = ids.limit(min(most, _allowed(now)))
        claimed = db.session.scalars(
            update(Letter)
            .where(Letter.id.in_(ids))
            .values(
                state=LetterState.SENDING,
                leased_until=now + LEASE,
                attempts=Letter.attempts + 1,
            )
            .returning(Letter.id)
            .execution_options(synchronize_session=False)
        ).all()
        found = db.session.scalars(
            select(Letter)
            .where(Letter.id.in_(claimed))
            .order_by(*_ORDER)
            .execution_options(populate_existing=True)
        ).all()
        ready = [letter for letter in found if not _waits_for_morning(letter, now=now)]
        for letter in ready:
            _move_deadline_if_late(letter, now=now)
        return len(claimed), [letter.id for letter in ready]


def _allowed(now: datetime) -> int:
    """Return how many letters may be claimed now by the relay's limits, whoever sends them."""
    site = settings()
    in_span = site.mails_a_second * int(SPAN.total_seconds())
    limits = [(most, span) for most, span in ((site.mails_a_day, DAY), (in_span, SPAN)) if most]
    if not limits:
        return BATCH
    # Workers count one after the other, or together they would claim too many.
    db.session.execute(select(Beat.id).with_for_update())
    return min(max(most - _count_since(now - span), 0) for most, span in limits)


def _count_since(moment: datetime) -> int:
    """Count the letters that left since then, or are leaving now."""
    left = select(func.count()).where(Letter.state == LetterState.SENT, Letter.sent_at > moment)
    leaving = select(func.count()).where(Letter.state == LetterState.SENDING)
    return (db.session.scalar(left) or 0) + (db.session.scalar(leaving) or 0)


def _waits_for_morning(letter: Letter, *, now: datetime) -> bool:
    """Put a letter off that would leave in its reader's quiet hours; an answer never waits."""
    if letter.player is None or letter.kind in ASKED_FOR or post.is_answer(letter):
        return False
    calendar = Calendar(clocks.zone_of(letter.player), clocks.quiet_of(letter.player))
    morning = deadlines.out_of_quiet(now, calendar)
    if morning == now:
        return False
    letter.state, letter.leased_until = LetterState.QUEUED, None
    letter.due_at = letter.wanted_at = morning
    letter.attempts -= 1
    return True


def _move_deadline_if_late(letter: Letter, *, now: datetime) -> None:
    """Let a turn's clock begin when its notice leaves, if that is much later than wanted."""
    if letter.kind not in ("your_turn", "receipt") or letter.turn_id is None:
        return
    late = now - letter.wanted_at
    if late <= deadlines.LATE_NOTICE:
        return
    # A move that is just being made holds the row, and its turn needs no other deadline.
    asked = select(Turn).where(Turn.id == letter.turn_id, Turn.closed_at.is_(None))
    turn = db.session.scalar(asked.with_for_update(skip_locked=True))
    if turn is not None:
        until = letter.wanted_at + min(late, deadlines.MOST_LATE)
        clocks.stop(turn, "notice", letter.wanted_at, until, now=now)


def _send_all(ids: Sequence[int], *, now: datetime) -> tuple[int, bool]:
    """Send claimed letters over one connection; what a lost one leaves is tried again later.

    Returns how many went out, and whether the connection was lost.
    """
    if not ids:
        return 0, False  # a relay counts logins too
    postman: Postman = current_app.extensions["pbem.postman"]
    waiting = list(ids)
    sent = 0
    try:
        with postman.connect() as connection:
            reached("letter: connected")
            while waiting:
                sent += _send(waiting[0], connection, now=now)
                waiting.pop(0)
                if waiting and settings().mails_a_second:
                    time.sleep(1 / settings().mails_a_second)
    except (smtplib.SMTPException, OSError) as error:
        _log.warning("the relay cannot be used now: %s", _told(error))
        for letter_id in waiting:
            # One that was cut off behind the dot has its own state already.
            if _held(letter_id, until=now + LEASE) is not None:
                _retry(letter_id, _told(error), now=now)
        return sent, True
    return sent, False


def _send(letter_id: int, connection: PatientConnection, *, now: datetime) -> bool:
    """Send one letter. Raises only when the connection is of no use to the next ones."""
    letter = _held(letter_id, until=now + LEASE)
    if letter is None:
        return False
    # Looked at here and not for all at once: turns end while the letters before it are sent.
    if not letters.is_true(letter):
        _mark(letter_id, state=LetterState.STALE, now=now)
        return False
    reached("letter: true")
    try:
        parcel = letters.parcel(letter)
    except Exception as error:  # noqa: BLE001 - the outermost loop: one bad letter must not stop the next
        # One letter that can't be written must not keep the others.
        _log.exception("letter %s cannot be written", letter_id)
        _fail(letter_id, f"cannot be written: {error}", now=now)
        return False
    envelope_from = Links().bounce(letter_id)
    # Nothing may stay open while we wait for the relay.
    db.session.rollback()
    reached("letter: written")
    try:
        connection.send(parcel, envelope_from=envelope_from)
    except CutOff as error:
        _unknown(letter_id, str(error), now=now)
        raise smtplib.SMTPServerDisconnected(str(error)) from error
    except smtplib.SMTPRecipientsRefused as error:
        code, reason = next(iter(error.recipients.values()))
        _refused_for(letter_id, code, reason, now=now)
        if code == _CLOSING:
            raise smtplib.SMTPServerDisconnected(_answer(code, reason)) from error
        return False
    except smtplib.SMTPResponseException as error:
        judged = _refused_from if isinstance(error, smtplib.SMTPSenderRefused) else _refused
        judged(letter_id, error.smtp_code, error.smtp_error, now=now)
        if error.smtp_code == _CLOSING:
            raise
        return False
    reached("letter: handed over")
    _mark(letter_id, state=LetterState.SENT, sent_at=now, error=None, now=now)
    reached("letter: marked")
    _log.info("letter %s sent", letter_id)
    return True


def _held(letter_id: int, *, until: datetime) -> Letter | None:
    """Return a claimed letter as it stands; None if a slow relay has outlived its lease."""
    db.session.rollback()
    letter = letters.read(letter_id)
    is_held = letter.state == LetterState.SENDING and letter.leased_until == until
    return letter if is_held else None


def _refused_for(letter_id: int, code: int, reason: bytes | str, *, now: datetime) -> None:
    """Judge a refusal of the recipient: for good it counts as mail that came back."""
    if code < 500 or _is_about_us(code, reason):
        _retry(letter_id, _answer(code, reason), now=now)
        return
    _mark(letter_id, state=LetterState.FAILED, error=_answer(code, reason)[:500], now=now)
    with writing():
        away.bounced(letter_id, _answer(code, reason), now=now)


def _refused_from(letter_id: int, code: int, reason: bytes | str, *, now: datetime) -> None:
    """Judge a refusal of the sender: the letter's size, or our own address, which can be mended."""
    if code == _TOO_LARGE:
        _fail(letter_id, _answer(code, reason), now=now)
    else:
        _retry(letter_id, _answer(code, reason), now=now)


def _is_about_us(code: int, reason: bytes | str) -> bool:
    """Return whether the relay takes no mail from us, whoever it is for: the host can mend that."""
    # RFC 4954: 530 wants a login (or STARTTLS, RFC 3207). RFC 3463: 5.7 is policy, not an address.
    return code == _LOGIN_WANTED or _answer(code, reason).split(" ", 1)[1].startswith("5.7.")


def _refused(letter_id: int, code: int, reason: bytes | str, *, now: datetime) -> None:
    if code < 500:
        _retry(letter_id, _answer(code, reason), now=now)
    else:
        _fail(letter_id, _answer(code, reason), now=now)


def _fail(letter_id: int, reason: str, *, now: datetime) -> None:
    """Give a letter up, and tell the hosts."""
    _mark(letter_id, state=LetterState.FAILED, error=reason[:500], now=now)
    with writing():
        letter = db.session.get_one(Letter, letter_id)
        if letter.kind != "for_host":
            about = {"letter": letter.id, "kind": letter.kind, "error": reason[:500]}
            post.for_host("letter", about, now=now)


def _retry(letter_id: int, reason: str, *, now: datetime) -> None:
    """Try a letter again after a growing gap, for two days in all."""
    letter = db.session.get_one(Letter, letter_id)
    if now - letter.created_at > GIVE_UP:
        _fail(letter_id, f"given up: {reason}", now=now)
        return
    gap = GAPS[min(letter.attempts, len(GAPS)) - 1]
    _mark(letter_id, state=LetterState.RETRY, due_at=now + gap, error=reason[:500], now=now)


def _unknown(letter_id: int, reason: str, *, now: datetime) -> None:
    """Send once more, much later, under the same Message-ID; then leave it."""
    letter = db.session.get_one(Letter, letter_id)
    if letter.about.get("cut_off"):
        _fail(letter_id, f"cut off twice: {reason}", now=now)
        return
    _mark(
        letter_id,
        state=LetterState.UNKNOWN,
        due_at=now + UNKNOWN_GAP,
        error=reason[:500],
        about=letter.about | {"cut_off": True},
        now=now,
    )


def _told(error: Exception) -> str:
    if isinstance(error, smtplib.SMTPResponseException):
        return _answer(error.smtp_code, error.smtp_error)
    return str(error) or type(error).__name__


def _answer(code: int, reason: bytes | str) -> str:
    words = reason.decode(errors="replace") if isinstance(reason, bytes) else reason
    return f"{code} {words}"


def _mark(letter_id: int, *, now: datetime, **values: object) -> None:
    """Say how far a letter is, unless another worker has taken it over meanwhile."""
    with writing():
        db.session.execute(
            update(Letter)
            .where(Letter.id == letter_id, Letter.state == LetterState.SENDING)
            .where(Letter.leased_until == now + LEASE)
            .values(leased_until=None, **values)
            .execution_options(synchronize_session=False)
        )
