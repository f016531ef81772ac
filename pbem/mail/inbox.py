"""The way in: mail is stored as it came, then read; see answering for what is done then.

``take`` is the one function behind every way in. It stores and commits before anybody
is told "taken"; reading happens afterwards, once, whoever does it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from flask import current_app
from sqlalchemy import or_, select, update
from sqlalchemy.exc import IntegrityError, InterfaceError, OperationalError

from pbem import away, limits, play, suppression
from pbem.ext import db, settings, tokens, writing
from pbem.failpoints import reached
from pbem.links import seat_named, token_in
from pbem.mail import note, trust
from pbem.mail.answering import (
    answer_invitation,
    answer_replaced,
    answer_seat,
    answer_turn,
    finish,
)
from pbem.mail.parser import Parser, Reading
from pbem.models import Letter, Note, Player, Seat, Turn, Why
from pbem.tokens import Named

LEASE: Final = timedelta(minutes=2)
BATCH: Final = 20  # notes claimed at once

_Named = tuple[Named, int, int]  # what a token names, and how often it had been renewed

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Envelope:
    """What the transport says of a mail: who gets it, and where it bounces to."""

    recipient: str
    return_path: str = ""


def take(raw: bytes, envelope: Envelope, *, now: datetime) -> bool:
    """Store a mail durably; returns False if this very mail was stored before."""
    digest = note.digest(raw, envelope.recipient)
    try:
        with writing():
            db.session.add(
                Note(
                    digest=digest,
                    raw=raw,
                    recipient=envelope.recipient[:320],
                    return_path=envelope.return_path[:320],
                    received_at=now,
                )
            )
            db.session.flush()
            reached("mail: noted")
    except IntegrityError:
        return False
    reached("mail: kept")
    return True


def admit(envelope: Envelope, *, now: datetime) -> None:
    """Let one more mail come in, unless a flood does; raises TooOften, and it may come later.

    Counted are the mails to what a token names, however it is spelt, and those of one
    sender. A mailbox is not asked: its mail lies there already.
    """
    token = token_in(envelope.recipient)
    named = None if token is None else tokens().read_address(token)
    most = settings().mails_in_an_hour
    to = envelope.recipient.lower() if named is None else f"{named[0]} {named[1]}"
    with writing():
        limits.one_more(limits.mails_to(most), to, now=now)
        if envelope.return_path not in ("", "<>"):
            limits.one_more(limits.mails_from(most), envelope.return_path.lower(), now=now)


def read_all(*, now: datetime) -> int:
    """Read the notes that wait, in the order in which they came; returns how many."""
    read = 0
    while claimed := _claim(now):
        reached("mail: claimed")
        for note_id in claimed:
            _read_one(note_id, now=now)
        read += len(claimed)
    return read


def _claim(now: datetime) -> Sequence[int]:
    ids = (
        select(Note.id)
        .where(Note.read_at.is_(None), or_(Note.leased_until.is_(None), Note.leased_until < now))
        .order_by(Note.received_at, Note.id)
        .limit(BATCH)
        .with_for_update(skip_locked=True)
    )
    with writing():
        claimed = db.session.scalars(
            update(Note)
            .where(Note.id.in_(ids))
            .values(leased_until=now + LEASE)
            .returning(Note.id)
            .execution_options(synchronize_session=False)
        ).all()
    return sorted(claimed)


def _read_one(note_id: int, *, now: datetime) -> None:
    """Read one note; one that fails is kept and shown to the host, and the next is read."""
    try:
        _read(note_id, now=now)
    except (OperationalError, InterfaceError):
        # The database failed, not the mail: it is read again when its lease is over.
        _log.exception("note %s waits for the database", note_id)
        db.session.rollback()
    except Exception:  # noqa: BLE001 - the outermost loop: one bad mail must not stop the next
        _log.exception("note %s failed", note_id)
        db.session.rollback()
        finish(note_id, "failed", "the server failed to read it; see the log", now=now)


def _read(note_id: int, *, now: datetime) -> None:
    row = db.session.get_one(Note, note_id)
    parser: Parser = current_app.extensions["pbem.parser"]
    try:
        reading = parser.read(row.raw, return_path=row.return_path)
    except note.Unparseable as error:
        finish(note_id, "unparseable", str(error), now=now)
        return
    reached("mail: parsed")
    facts = reading.facts
    if suppression.is_blocked(facts.sender):
        finish(note_id, "blocked", "a host has blocked its sender", now=now)
        return
    automatic = facts.automatic or ("null return path" if row.return_path == "<>" else None)
    if automatic is not None:
        _take_automatic(note_id, row, reading, automatic, now=now)
        return
    named = _named([row.recipient, *facts.recipients])
    if named is None:
        finish(note_id, "unknown", "no address of it holds a token of ours", now=now)
        return
    reached("mail: named")
    kind, number, renewed = named
    seat = seat_named(kind, number)
    if seat is not None and seat.renewed != renewed:
        answer_replaced(note_id, seat, now=now)
    elif kind is Named.SEAT:
        seat = db.session.get_one(Seat, number)
        answer = answer_invitation if seat.is_vacant else answer_seat
        answer(note_id, seat, facts, now=now)
    else:
        turn = db.session.get_one(Turn, number)
        answer_turn(note_id, turn, facts, now=now)
    reached("mail: answered")


def _take_automatic(
    note_id: int, row: Note, reading: Reading, automatic: str, *, now: datetime
) -> None:
    """Close a mail that no person wrote, silently: a bounce, a complaint, an absence note."""
    facts, returned, complained = reading.facts, reading.bounce, reading.complaint
    named = _named([row.recipient, *facts.recipients], letters_too=True)
    with writing():
        if returned is not None:
            letter = _returned(named, returned.message_ids)
            if letter is not None:
                came_back = away.bounced if returned.is_permanent else away.bounced_softly
                came_back(letter.id, returned.reason, now=now)
            verdict = "bounce" if letter is not None else "unknown"
            play.close_note(note_id, verdict, reason=returned.reason, now=now)
            return
        if complained is not None:
            letter = _returned(named, complained)
            # The address is gone once its player has deleted their account.
            if letter is not None and letter.address:
                suppression.suppress(letter.address, Why.COMPLAINT, now=now)
            verdict = "complaint" if letter is not None else "unknown"
            play.close_note(note_id, verdict, reason=automatic, now=now)
            return
        player = _player_of(named)
        is_theirs = player is not None and trust.is_from(facts.sender, player.every_address)
        if player is not None and is_theirs and facts.is_absence:
            player.offers_absence = True
        play.close_note(note_id, "automatic", reason=automatic, now=now)


def match_of(row: Note) -> int | None:
    """Return the match that a mail is about by the addresses that it names, if it is any."""
    addresses = [row.recipient]
    with suppress(note.Unparseable):
        parser: Parser = current_app.extensions["pbem.parser"]
        addresses += parser.read(row.raw).facts.recipients
    match _named(addresses, letters_too=True):
        case (Named.TURN, number, _):
            return db.session.get_one(Turn, number).match_id
        case (Named.SEAT, number, _):
            return db.session.get_one(Seat, number).match_id
        case (Named.LETTER, number, _):
            letter = db.session.get(Letter, number)
            return None if letter is None else letter.match_id
    return None


def _returned(named: _Named | None, message_ids: Sequence[str]) -> Letter | None:
    """Return the letter that came back: only our own token, or the id with its tail, proves it."""
    if named is not None and named[0] is Named.LETTER:
        return db.session.get(Letter, named[1])
    for message_id in message_ids:
        number = message_id.strip("<>").partition(".")[0]
        letter = db.session.get(Letter, int(number)) if number.isdecimal() else None
        if letter is not None and letter.message_id(settings().mail_domain) == message_id:
            return letter
    return None


def _player_of(named: _Named | None) -> Player | None:
    """Return the player whom one of our tokens is about."""
    match named:
        case (Named.TURN, number, _):
            return db.session.get_one(Turn, number).asked.player
        case (Named.SEAT, number, _):
            return db.session.get_one(Seat, number).player
        case (Named.LETTER, number, _):
            letter = db.session.get(Letter, number)
            return None if letter is None else letter.player
    return None


def _named(addresses: Sequence[str], *, letters_too: bool = False) -> _Named | None:
    """Return the turn or seat that the first of our tokens names, or with letters_too a letter.

    People also answer to the envelope address; its letter knows what it was about.
    """
    for address in addresses:
        token = token_in(address)
        named = None if token is None else tokens().read_renewable_address(token)
        if named is None:
            continue
        if named[0] is not Named.LETTER or letters_too:
            return named
        letter = db.session.get(Letter, named[1])
        if letter is not None and letter.turn_id is not None:
            return Named.TURN, letter.turn_id, named[2]
        if letter is not None and letter.kind == "invitation" and letter.seat_id is not None:
            return Named.SEAT, letter.seat_id, named[2]
    return None
