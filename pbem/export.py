"""All data of a player, for themselves: nothing of other persons but their names at tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import or_, select
from sqlalchemy.orm import defer

from pbem.ext import db
from pbem.leaving import is_theirs
from pbem.models import (
    Letter,
    Match,
    Note,
    Player,
    Proposal,
    Seat,
    StandingOrder,
    Suppression,
    Talk,
)
from pbem.talk import note_of

# Columns by name, so that a new one is not given away before somebody has thought of it.
_PLAYER: Final = (
    "address",
    "name",
    "language",
    "zone",
    "sign_ins",
    "plays_forced",
    "quiet_from",
    "quiet_until",
    "reminder_steps",
    "digest_at",
    "digest_due_at",
    "entries",
    "mails",
    "moves_by_mail",
    "wants_hints",
    "unreachable_at",
    "unreachable_why",
    "created_at",
)
_MATCH: Final = ("code", "game", "options", "status", "opened_at", "started_at", "ended_at")
_SEAT: Final = (
    "place",
    "number",
    "name",
    "phrase",
    "phrase_at",
    "joined_at",
    "resigned",
    "bank_left",
    "misses",
    "is_kept",
)
_MOVE: Final = ("ply", "text", "by", "at")
_ORDER: Final = ("hand", "text", "given_at", "ended_at", "ply")
_TALK: Final = ("text", "at", "hidden_at")
_LETTER: Final = ("kind", "language", "state", "created_at", "wanted_at", "sent_at")
_NOTE: Final = ("received_at", "read_at", "verdict")


def data(player: Player) -> dict[str, Any]:
    """Return all data of a player, ready for JSON."""
    return {
        "player": _columns(player, _PLAYER),
        "addresses": [_columns(one, ("address", "added_at")) for one in player.addresses],
        "mails_off": [_columns(one, ("address", "why", "made_at")) for one in _stopped(player)],
        "absences": [_columns(one, ("starts_at", "ends_at", "made_at")) for one in player.absences],
        "games": [_game(seat) for seat in _seats(player)],
        "letters": [
            _columns(letter, _LETTER) | {"game": _code(letter.match)} for letter in _letters(player)
        ],
        "mails_received": [_columns(note, _NOTE) for note in _notes(player)],
    }


def _game(seat: Seat) -> dict[str, Any]:
    match = seat.match
    asked = select(Proposal).where(Proposal.seat_id == seat.id).order_by(Proposal.id)
    left = select(StandingOrder).where(
        StandingOrder.seat_id == seat.id, StandingOrder.player_id == seat.player_id
    )
    said = select(Talk).where(Talk.match_id == match.id, Talk.player_id == seat.player_id)
    return _columns(match, _MATCH) | {
        "opened_by_you": match.opener_id == seat.player_id,
        "players": [other.name for other in match.seats],
        "your_seat": _columns(seat, _SEAT),
        "your_moves": [_columns(move, _MOVE) for move in match.moves if move.seat == seat.number],
        "your_orders": [
            _columns(one, _ORDER) for one in db.session.scalars(left.order_by(StandingOrder.id))
        ],
        "you_said": [
            _columns(one, _TALK) | {"to": one.to.name if one.to else None}
            for one in db.session.scalars(said.order_by(Talk.id))
        ],
        "your_note": note_of(seat),
        "you_asked_for": [
            _columns(one, ("kind", "made_at", "closed_at", "result"))
            for one in db.session.scalars(asked)
        ],
    }


def _seats(player: Player) -> Sequence[Seat]:
    return db.session.scalars(
        select(Seat).where(Seat.player_id == player.id).order_by(Seat.match_id)
    ).all()


def _letters(player: Player) -> Sequence[Letter]:
    theirs = or_(Letter.player_id == player.id, Letter.address.in_(player.every_address))
    return db.session.scalars(select(Letter).where(theirs).order_by(Letter.id)).all()


def _notes(player: Player) -> Sequence[Note]:
    theirs = is_theirs(player, player.every_address)
    return db.session.scalars(
        select(Note).where(theirs).order_by(Note.id).options(defer(Note.raw))
    ).all()


def _stopped(player: Player) -> Sequence[Suppression]:
    return db.session.scalars(
        select(Suppression).where(Suppression.address.in_(player.every_address))
    ).all()


def _code(match: Match | None) -> str | None:
    return None if match is None else match.code


def _columns(row: object, names: Sequence[str]) -> dict[str, Any]:
    """Return columns of a row by name, moments as in ISO 8601."""
    found = {name: getattr(row, name) for name in names}
    return {
        name: value.isoformat() if hasattr(value, "isoformat") else value
        for name, value in found.items()
    }
