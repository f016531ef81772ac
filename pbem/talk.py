"""Use cases of what players say at a table, and of what they note for themselves."""

from __future__ import annotations

import logging
import re
import unicodedata
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import delete, func, select

from engine.game import N_
from pbem import play, post
from pbem.cleaning import TURNING
from pbem.errors import BadTalk, NobodyThere, NotYours, TooMany
from pbem.ext import db, tokens, writing
from pbem.models import Match, Mute, PrivateNote, Seat, Talk

MOST: Final = 2000  # characters of one line of talk, and of a note
MOST_A_DAY: Final = 100  # lines of talk of one seat
CUT: Final = "[…]"  # stands where an address or a link of ours was

_ADDRESS: Final = re.compile(r"[^\s@<>()\[\],;:\"]{1,64}@[\w-]+(?:\.[\w-]+)+")
# Our links with tokens, wherever they were copied from; and tokens with no link around them.
_LINK: Final = re.compile(
    r"(?:https?://[^\s/<>]+)?/(?:sign-in|[a-z])/[0-9a-f-]+\.[\w-]{16,}[\w.-]*", re.IGNORECASE
)
_TOKEN: Final = re.compile(r"\b[0-9a-f]+(?:-[0-9a-f]+)*(?:\.[\w-]{6})?\.[\w-]{40,}")
_OF_ADDRESS: Final = re.compile(r"\b[a-z2-7]{24}\b", re.IGNORECASE)

_log = logging.getLogger(__name__)


def say(
    seat_id: int,
    text: str,
    *,
    to: str = "",
    note_id: int | None = None,
    nth: int = 0,
    now: datetime,
) -> Talk:
    """Say something to the table, or ``to`` the one player of that name.

    What the same mail said before, as its ``nth``, is not said again. Raises BadTalk,
    NobodyThere, NotYours (no whispers here, or no game yet) or TooMany.
    """
    text = clean_talk(text)
    if not text:
        raise BadTalk(N_("there is nothing to say in it"))
    with writing():
        seat = db.session.get_one(Seat, seat_id)
        play.lock(seat.match)
        said = None if note_id is None else _said_before(note_id, nth)
        if said is not None:
            return said
        if seat.number is None or seat.player_id is None:
            raise NotYours(N_("talk begins when the game does"))
        _check_day(seat, now=now)
        other = _listener(seat, to) if to.strip() else None
        talk = Talk(
            match_id=seat.match_id,
            seat_id=seat.id,
            player_id=seat.player_id,
            to_id=None if other is None else other.player_id,
            text=text,
            at=now,
            note_id=note_id,
            nth=nth,
        )
        db.session.add(talk)
        db.session.flush()
        for listener in _others(seat) if other is None else [other]:
            post.talk(listener, now=now)
    _log.info("match %s: seat %s said something", seat.match_id, seat.number)
    return talk


def write_note(seat_id: int, text: str, *, now: datetime) -> None:
    """Keep a player's note to themselves about a game; an empty one deletes it.

    It takes the place of the note before. Raises BadTalk.
    """
    text = clean_talk(text)
    with writing():
        seat = db.session.get_one(Seat, seat_id)
        if seat.player_id is None:
            raise NotYours
        note = _note(seat)
        if note is None:
            note = PrivateNote(seat_id=seat.id, player_id=seat.player_id, text=text, at=now)
            db.session.add(note)
        note.text, note.at = text, now
        if not text:
            db.session.flush()
            db.session.delete(note)


def note_of(seat: Seat) -> str:
    """Return what a seat's player has noted for themselves, or nothing."""
    note = _note(seat)
    return "" if note is None else note.text


def mute(seat_id: int, name: str) -> Seat:
    """Keep what the player of that name says from a seat's player, at all tables.

    Raises NobodyThere. Twice changes nothing.
    """
    with writing():
        seat = db.session.get_one(Seat, seat_id)
        other = _listener_of_name(seat, name)
        if not _is_muted(seat, other):
            db.session.add(Mute(player_id=seat.player_id, muted_id=other.player_id))
        return other


def unmute(seat_id: int, name: str) -> Seat:
    """Let a seat's player read again what the player of that name says; raises NobodyThere."""
    with writing():
        seat = db.session.get_one(Seat, seat_id)
        other = _listener_of_name(seat, name)
        db.session.execute(
            delete(Mute).where(Mute.player_id == seat.player_id, Mute.muted_id == other.player_id)
        )
        return other


def hide(talk_id: int, match: Match, *, now: datetime) -> None:
    """Hide something from all readers, as a host wants it; whispers are not theirs to read.

    Raises NobodyThere for what is not talk of that table. Twice changes nothing.
    """
    with writing():
        talk = db.session.get(Talk, talk_id)
        if talk is None or talk.match_id != match.id or talk.to_id is not None:
            raise BadTalk(N_("that was not said at this table"))
        if talk.hidden_at is None:
            talk.hidden_at = now
            post.note_down(
                talk.match, "hidden", {"by": "", "name": talk.player.stored_name}, now=now
            )
            _log.info("match %s: a host hid talk %s", talk.match_id, talk.id)


def clean_talk(text: str) -> str:
    """Return a text as it is stored: plain, without our addresses, links and tokens.

    Raises BadTalk if it is too long.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if len(text) > MOST:
        raise BadTalk(
            N_("that is %(length)s characters; at most %(most)s are kept, so make it shorter"),
            length=len(text),
            most=MOST,
        )
    printable = "".join(
        char if char == "\n" or unicodedata.category(char) not in ("Cc", "Cs") else " "
        for char in text
        if char not in TURNING
    )
    lines = [_without_ours(line).rstrip() for line in printable.split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def _without_ours(line: str) -> str:
    for ours in (_ADDRESS, _LINK, _TOKEN):
        line = ours.sub(CUT, line)
    return _OF_ADDRESS.sub(lambda word: CUT if tokens().read_address(word[0]) else word[0], line)


def _said_before(note_id: int, nth: int) -> Talk | None:
    return db.session.scalar(select(Talk).where(Talk.note_id == note_id, Talk.nth == nth))


def _check_day(seat: Seat, *, now: datetime) -> None:
    # The table has an index of its talk, the seat has none.
    at_table = (Talk.match_id == seat.match_id, Talk.seat_id == seat.id)
    lately = select(func.count()).where(*at_table, Talk.at > now - timedelta(days=1))
    if (db.session.scalar(lately) or 0) >= MOST_A_DAY:
        raise TooMany(N_("you have said enough at this table for today; try again tomorrow"))


def _listener(seat: Seat, name: str) -> Seat:
    if not seat.match.allows_whispers:
        raise NotYours(N_("nobody may whisper at this table; say it to all, or not at all"))
    return _listener_of_name(seat, name)


def _listener_of_name(seat: Seat, name: str) -> Seat:
    wanted = _plain(name)
    others = _others(seat)
    found = [other for other in others if _plain(other.name or "") == wanted]
    if len(found) != 1:
        names = ", ".join(other.name or "" for other in others)
        raise NobodyThere(name=name.strip()[:40], names=names or "-")
    return found[0]


def _plain(name: str) -> str:
    return " ".join(name.casefold().split())


def _others(seat: Seat) -> list[Seat]:
    """Return the other seats at which persons sit."""
    return [
        other for other in seat.match.seats if other.player_id is not None and other.id != seat.id
    ]


def _is_muted(seat: Seat, other: Seat) -> bool:
    found = select(Mute.id).where(
        Mute.player_id == seat.player_id, Mute.muted_id == other.player_id
    )
    return db.session.scalar(found) is not None


def _note(seat: Seat) -> PrivateNote | None:
    return db.session.scalar(
        select(PrivateNote).where(
            PrivateNote.seat_id == seat.id, PrivateNote.player_id == seat.player_id
        )
    )
