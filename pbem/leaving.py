"""Deleting an account: games and phrases stay, and nothing else that is the player's.

Others' proofs and records need who sat where and the phrases, so the rows of games stay,
without the name.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, Text, cast, delete, func, or_, select, update

from pbem import agreements, play, post
from pbem.ext import db, settings, writing
from pbem.models import (
    FORMER,
    Absence,
    Entries,
    Heard,
    Letter,
    LetterState,
    Mute,
    Note,
    Notice,
    Player,
    PrivateNote,
    Proposal,
    Seat,
    StandingOrder,
    Status,
    Talk,
    Turn,
)

_log = logging.getLogger(__name__)

# What may still leave, by itself or since a host wants it.
_WAITING = (
    LetterState.QUEUED,
    LetterState.RETRY,
    LetterState.UNKNOWN,
    LetterState.GATHERED,
    LetterState.FAILED,
)


def delete_account(player_id: int, *, now: datetime) -> None:
    """Delete a player's account; twice changes nothing.

    1 no letter goes to them from here on   4 mail of theirs, out and in
    2 their name in news of their tables    5 what they said and noted for themselves
    3 their seats: resigned, or free again  6 addresses, absences, settings
    """
    with writing():
        player = db.session.get_one(Player, player_id)
        if player.deleted_at is not None:
            return
        player.deleted_at = now
        addresses = player.every_address
        seats = _seats(player)
        _forget_name(player, seats)
        for seat in seats:
            _leave(seat, player, now=now)
        _decline_all(addresses, now=now)
        _forget_letters(player, addresses)
        _forget_notes(player, addresses)
        _forget_talk(player)
        _forget_settings(player)
    _log.info("player %s has deleted their account", player_id)


def is_theirs(player: Player, addresses: Sequence[str]) -> ColumnElement[bool]:
    """Return the condition for notes of a player: from their addresses, or about their turns."""
    turns = (
        select(Turn.id)
        .join(Seat, (Seat.match_id == Turn.match_id) & (Seat.number == Turn.seat))
        .where(Seat.player_id == player.id)
    )
    return or_(Note.return_path.in_(addresses), Note.turn_id.in_(turns))


def _seats(player: Player) -> Sequence[Seat]:
    mine = select(Seat).where(Seat.player_id == player.id).order_by(Seat.match_id)
    return db.session.scalars(mine).all()


def _forget_name(player: Player, seats: Sequence[Seat]) -> None:
    """Take a player's names out of what others were, are or will be told of their tables.

    Of a seat that somebody else has taken over since, only letters know.
    """
    about, names = Letter.about, {player.stored_name, *(seat.stored_name for seat in seats)}
    mailed = select(Letter.match_id).where(
        Letter.player_id == player.id, Letter.match_id.is_not(None)
    )
    told = select(Letter).where(
        or_(Letter.match_id.in_(mailed), Letter.match_id.in_([seat.match_id for seat in seats])),
        or_(about["name"].as_string().in_(names), about["by"].as_string().in_(names)),
    )
    kept = select(Notice).where(
        or_(Notice.match_id.in_(mailed), Notice.match_id.in_([seat.match_id for seat in seats]))
    )
    rows: list[Letter | Notice] = [*db.session.scalars(told), *db.session.scalars(kept)]
    for one in rows:
        one.about = {
            key: FORMER if key in ("name", "by") and value in names else value
            for key, value in one.about.items()
        }


def _leave(seat: Seat, player: Player, *, now: datetime) -> None:
    match = seat.match
    play.lock(match)
    db.session.refresh(seat)
    seat.name, seat.invited = FORMER, None
    asked = select(Proposal).where(Proposal.seat_id == seat.id, Proposal.closed_at.is_(None))
    for proposed in db.session.scalars(asked):
        proposed.closed_at, proposed.result = now, "void"
    if match.status == Status.RUNNING:
        agreements.give_up(seat, now=now)
    elif match.status == Status.OPEN and match.opener_id == player.id:
        match.status = Status.CANCELLED
        seat.phrase, seat.phrase_at = "", None
        post.notice(match, "closed", {"name": FORMER}, but=seat, now=now)
    elif match.status == Status.OPEN:
        seat.player, seat.name, seat.joined_at = None, None, None
        seat.phrase, seat.phrase_at = "", None
        post.declined(match, FORMER, now=now)


def _decline_all(addresses: Sequence[str], *, now: datetime) -> None:
    """Give back the places that are held for a player, and withdraw offers of seats to them."""
    held = select(Seat).where(Seat.invited.in_(addresses)).order_by(Seat.match_id)
    for seat in db.session.scalars(held).all():
        play.lock(seat.match)
        db.session.refresh(seat)
        seat.invited = None
        if seat.match.status == Status.OPEN:
            post.declined(seat.match, FORMER, now=now)
    offers = select(Proposal).where(Proposal.about["address"].as_string().in_(addresses))
    for proposed in db.session.scalars(offers).all():
        proposed.about = proposed.about | {"address": FORMER}
        if proposed.closed_at is None:
            proposed.closed_at, proposed.result = now, "void"


def _forget_letters(player: Player, addresses: Sequence[str]) -> None:
    """Stop the letters to a player, and take their addresses and words out of all letters."""
    db.session.flush()
    added = Letter.kind == "add_address"
    theirs = or_(
        Letter.player_id == player.id,
        Letter.address.in_(addresses),
        added & (Letter.about["player"].as_integer() == player.id),
    )
    db.session.execute(
        update(Letter)
        .where(theirs, Letter.state.in_(_WAITING))
        .values(state=LetterState.STALE)
        .execution_options(synchronize_session=False)
    )
    db.session.execute(
        update(Letter)
        .where(theirs)
        .values(address="", error=None)
        .execution_options(synchronize_session=False)
    )
    db.session.expire_all()
    quoted = select(Letter).where(
        Letter.player_id == player.id, Letter.about["line"].as_string().is_not(None)
    )
    for letter in db.session.scalars(quoted):
        letter.about = letter.about | {"line": ""}
    answers = select(Letter).where(Letter.player_id == player.id, Letter.kind == "answer")
    for letter in db.session.scalars(answers):
        letter.about = {"parts": [], "unread": []}
    for address in addresses:
        text = cast(Letter.about, Text)
        for letter in db.session.scalars(
            select(Letter).where(text.contains(address, autoescape=True))
        ):
            letter.about = {
                key: _without(value, address) if isinstance(value, str) else value
                for key, value in letter.about.items()
            }


def _without(text: str, address: str) -> str:
    return FORMER if text == address else text.replace(address, "…")


def _forget_notes(player: Player, addresses: Sequence[str]) -> None:
    """Take away a player's mails, and all that name their addresses, as bounces do.

    One that holds a longer address with theirs at its end goes too: it was read, and is kept
    for the host only. One that still waits is read as an empty mail.
    """
    named = or_(is_theirs(player, addresses), *(_raw_holds(address) for address in addresses))
    db.session.execute(
        update(Note)
        .where(or_(Note.return_path.in_(addresses), Note.read_at.is_not(None) & named))
        .values(raw=b"", return_path="", reason=None)
        .execution_options(synchronize_session=False)
    )


def _raw_holds(address: str) -> ColumnElement[bool]:
    if db.engine.dialect.name == "sqlite":
        return func.instr(func.lower(cast(Note.raw, Text)), address) > 0
    return func.strpos(func.lower(func.encode(Note.raw, "escape")), address) > 0


def _forget_talk(player: Player) -> None:
    said = select(Talk.id).where(Talk.player_id == player.id)
    for gone in (
        delete(Heard).where(Heard.talk_id.in_(said)),
        delete(Talk).where(Talk.player_id == player.id),
        delete(PrivateNote).where(PrivateNote.player_id == player.id),
        delete(Mute).where(or_(Mute.player_id == player.id, Mute.muted_id == player.id)),
    ):
        db.session.execute(gone.execution_options(synchronize_session=False))


def _forget_settings(player: Player) -> None:
    site = settings()
    for private in (Absence, StandingOrder):
        db.session.execute(delete(private).where(private.player_id == player.id))
    player.addresses.clear()
    # No address looks like this, and so nobody signs in or is found by it.
    player.address, player.name = f"former-{player.id}", FORMER
    player.language, player.zone = site.language, site.zone
    player.quiet_from = player.quiet_until = player.digest_at = player.digest_due_at = None
    player.mails, player.reminder_steps, player.entries = {}, [], Entries.NONE
    player.moves_by_mail = player.wants_hints = player.offers_absence = False
    player.unreachable_at = player.unreachable_why = None
    player.sign_ins += 1
