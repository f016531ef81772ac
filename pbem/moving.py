"""One game as a file, by which it goes on on another server: its record and all beside it.

The file of a game that runs tells its deal's key, and so every hidden card.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from sqlalchemy import exists, select

from engine import GAMES, deal
from engine.bots import BOTS
from engine.errors import BadRecord
from engine.record import Decision, Record, loads, replay, to_json, verify
from pbem import deadlines, lobby, play
from pbem.cleaning import clean_address, clean_name, clean_phrase, clean_zone
from pbem.errors import PbemError
from pbem.ext import db, writing
from pbem.models import FORMER, Match, Move, Player, Policy, Seat, Status, Turn
from pbem.table import record

FORMAT: Final = "pbem-game/1"
# It names files and stands in addresses.
_CODE: Final = re.compile(r"[a-z0-9-]{1,64}")
# Who makes moves, as in records.
_BY: Final = ("link", "reply", "web", "order", "forced", "timeout", "bot", "host")
# Columns by name with their types, in the file as in the database; None where it may be null.
_TERMS: Final[dict[str, tuple[type | None, ...]]] = {
    "pace_hours": (int,),
    "bank_hours": (int,),
    "weekends": (bool,),
    "policy": (str,),
    "draws_seats": (bool,),
    "allows_whispers": (bool,),
    "opened_at": (datetime,),
    "started_at": (datetime,),
    "ended_at": (datetime, None),
}
_SEAT: Final[dict[str, tuple[type | None, ...]]] = {
    "place": (int,),
    "bot": (str, None),
    "phrase_at": (datetime, None),
    "joined_at": (datetime, None),
    "resigned": (bool,),
    "taken_over": (bool,),
    "bank_left": (int,),
    "misses": (int,),
    "is_kept": (bool,),
    "is_free": (bool,),
}
_PLAYER: Final[dict[str, tuple[type | None, ...]]] = {
    "address": (str,),
    "name": (str,),
    "language": (str,),
    "zone": (str,),
    "plays_forced": (bool,),
}


class CannotMove(Exception):
    """Raised with the words for a game that can't be handed over or taken in."""


@dataclass(frozen=True, slots=True)
class GameFile:
    """A game's file that was read and checked. ``record`` tells all: the key and every move."""

    record: Record
    opener: int | None
    terms: Mapping[str, Any]
    seats: tuple[Mapping[str, Any], ...]


def hand_over(match: Match) -> str:
    """Return a game's file as text; raises CannotMove for a table that still waits."""
    if match.status not in (Status.RUNNING, Status.OVER):
        raise CannotMove("it has not begun, so there is nothing to move; open a table there")
    runs = match.status == Status.RUNNING
    seats = sorted(match.seats, key=lambda seat: seat.number or 0)
    whole = {
        "format": FORMAT,
        "shows_hidden_cards": runs,
        "record": to_json(record(match)),
        "hidden": _hidden(match) if runs else None,
        "opener": next((s.number for s in seats if s.player_id == match.opener_id), None),
        "terms": _columns(match, _TERMS),
        "seats": [_seat(seat) for seat in seats],
    }
    return json.dumps(whole, ensure_ascii=False, indent=1) + "\n"


def read(text: str) -> GameFile:
    """Return what a game's file holds; raises CannotMove, in words, for what does not fit."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CannotMove(f"it is not JSON, or cut off: {error}") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise CannotMove(f"it is no game's file of this version; that begins with {FORMAT}")
    try:
        told = loads(json.dumps(data.get("record")))
    except BadRecord as error:
        raise CannotMove(f"its record: {error}") from error
    whole = told if told.key is not None else _with_hidden(told, data.get("hidden"))
    seats = data.get("seats")
    if not isinstance(seats, list) or len(seats) != len(told.names):
        raise CannotMove("seats: there is one for each seat of the record")
    opener = data.get("opener")
    if opener is not None and opener not in range(1, len(seats) + 1):
        raise CannotMove("opener: it is no seat")
    found = GameFile(
        record=whole,
        opener=opener,
        terms=_checked(data.get("terms"), _TERMS, "terms"),
        seats=tuple(_read_seat(seat, number) for number, seat in enumerate(seats, 1)),
    )
    _check(found)
    return found


def take_in(file: GameFile, *, now: datetime) -> Match:
    """Store a game that was read, and ask whom it waits for; raises CannotMove."""
    with writing():
        if db.session.scalar(select(exists().where(Match.code == file.record.id))):
            raise CannotMove(f"the game {file.record.id} is here already")
        match = _match(file, now=now)
        db.session.add(match)
        db.session.flush()
        _add_moves(match, file.record)
        if match.status == Status.RUNNING:
            db.session.expire(match, ["moves"])
            play.resume(match, now=now)
    return match


def _hidden(match: Match) -> dict[str, Any]:
    return {
        "key": match.server_key.hex(),
        "moves": [{"move": move.text, "by": move.by} for move in match.moves],
    }


def _seat(seat: Seat) -> dict[str, Any]:
    player = seat.player
    is_here = player is not None and player.deleted_at is None
    return _columns(seat, _SEAT) | {
        "is_former": seat.stored_name == FORMER,
        "player": _columns(player, _PLAYER) if is_here else None,
    }


def _columns(row: object, names: Mapping[str, object]) -> dict[str, Any]:
    found = {name: getattr(row, name) for name in names}
    return {
        name: value.isoformat() if isinstance(value, datetime) else value
        for name, value in found.items()
    }


def _with_hidden(told: Record, hidden: object) -> Record:
    """Return a running game's record with the key and the moves as they were made."""
    fields = _checked(hidden, {"key": (str,), "moves": (list,)}, "hidden")
    moves = [_checked(one, {"move": (str,), "by": (str,)}, "hidden") for one in fields["moves"]]
    if len(moves) != len(told.decisions):
        raise CannotMove("hidden: there is one move for each of the record")
    try:
        key = bytes.fromhex(fields["key"])
    except ValueError as error:
        raise CannotMove("hidden.key: it is not hexadecimal") from error
    decisions = (
        Decision(one.seat, move["move"], one.scores, {**one.extra, "by": move["by"]})
        for one, move in zip(told.decisions, moves, strict=True)
    )
    return replace(told, key=key, decisions=tuple(decisions))


def _read_seat(data: object, number: int) -> dict[str, Any]:
    where = f"seat {number}"
    found = _checked(data, _SEAT | {"is_former": (bool,), "player": (dict, None)}, where)
    if found["bot"] is not None and found["bot"] not in BOTS:
        raise CannotMove(f"{where}: there is no bot called {found['bot']!r} here")
    if found["player"] is not None:
        found["player"] = _checked(found["player"], _PLAYER, where)
        try:
            found["player"]["address"] = clean_address(found["player"]["address"])
            found["player"]["zone"] = clean_zone(found["player"]["zone"])
        except PbemError as error:
            raise CannotMove(f"{where}: {error}") from error
    return found


def _checked(
    data: object, wanted: Mapping[str, tuple[type | None, ...]], where: str
) -> dict[str, Any]:
    """Return the wanted fields of an object; raises CannotMove that names the first wrong one."""
    if not isinstance(data, dict):
        raise CannotMove(f"{where}: an object belongs here")
    return {
        name: _value(data.get(name), kinds, f"{where}.{name}") for name, kinds in wanted.items()
    }


def _value(value: object, kinds: tuple[type | None, ...], where: str) -> object:
    if value is None and None in kinds:
        return None
    kind = kinds[0]
    if kind is datetime and isinstance(value, str):
        try:
            when = datetime.fromisoformat(value)
        except ValueError:
            when = None
        if when is not None and when.tzinfo is not None:
            return when
    elif type(value) is kind:
        return value
    raise CannotMove(f"{where}: {value!r} does not belong here")


def _check(file: GameFile) -> None:
    """Check that the game replays, to its end if it is over; raises CannotMove."""
    told = file.record
    _check_words(file)
    try:
        if told.ended is not None:
            verify(told)
        else:
            _check_running(told)
    except BadRecord as error:
        raise CannotMove(f"its record: {error}") from error
    people = [seat["player"]["address"] for seat in file.seats if seat["player"]]
    if not people:
        raise CannotMove("nobody of it has an account any more, and a game belongs to somebody")
    if len(set(people)) != len(people):
        raise CannotMove("an address has two of its seats; each person has one")
    for number, seat in enumerate(file.seats, 1):
        is_played = seat["player"] or seat["bot"] or seat["resigned"] or seat["is_kept"]
        if told.ended is None and not is_played:
            raise CannotMove(f"seat {number}: nobody plays it")
    for decision in told.decisions:
        _checked(decision.extra, {"by": (str,), "at": (datetime,)}, "a move")
        if decision.extra["by"] not in _BY:
            raise CannotMove(f"a move.by: {decision.extra['by']!r} does not belong here")


def _check_words(file: GameFile) -> None:
    """Check what the rules of a game do not: its code, its times and its phrases."""
    terms = file.terms
    if not _CODE.fullmatch(file.record.id):
        raise CannotMove("record.id: a code has small letters, digits and hyphens, at most 64")
    if terms["policy"] not in list(Policy):
        raise CannotMove(f"terms.policy: there is none called {terms['policy']!r}")
    if not deadlines.LEAST_PACE <= terms["pace_hours"] <= deadlines.MOST_PACE:
        raise CannotMove(f"terms.pace_hours: {terms['pace_hours']} is not possible")
    if not 0 <= terms["bank_hours"] <= deadlines.MOST_PACE:
        raise CannotMove(f"terms.bank_hours: {terms['bank_hours']} is not possible")
    for number, seat in enumerate(file.seats, 1):
        if not 0 <= seat["bank_left"] <= terms["bank_hours"] * 3600:
            raise CannotMove(f"seat {number}.bank_left: {seat['bank_left']} is not possible")
    try:
        for phrase in file.record.phrases:
            clean_phrase(phrase)
    except PbemError as error:
        raise CannotMove(f"record.deal.phrases: {error}") from error


def _check_running(told: Record) -> None:
    assert told.key is not None, "it was put in from what is hidden"
    if deal.commitment(told.key) != told.commitment:
        raise BadRecord("deal.commitment: it is not the SHA-256 of the key")
    game = GAMES[told.game]
    played = replay(
        game,
        deal.deal_key(told.key, told.id, told.phrases),
        len(told.names),
        told.options,
        [(decision.seat, decision.move) for decision in told.decisions],
    )
    for ply, decision in zip(played.plies, told.decisions, strict=True):
        if decision.scores != ply.scores:
            raise BadRecord(f"ply {ply.number}: the scores are {list(ply.scores)}")
    if game.outcome(played.state) is not None:
        raise BadRecord("ended: after the last ply the game is over, and it says that it runs")


def _match(file: GameFile, *, now: datetime) -> Match:
    told, terms = file.record, file.terms
    assert told.key is not None, "it was checked by its key"
    players = [_player(seat["player"], now=now) for seat in file.seats]
    here = [player for player in players if player is not None]
    if len({player.id for player in here}) != len(here):
        raise CannotMove("two of its seats are one person's here; each person has one")
    opener = players[file.opener - 1] if file.opener else None
    match = Match(
        **terms,
        code=told.id,
        game=told.game,
        options=dict(told.options),
        status=Status.RUNNING if told.ended is None else Status.OVER,
        opener_id=(opener or here[0]).id,
        server_key=told.key,
        commitment=told.commitment,
        ply=len(told.decisions),
        scores=list(told.scores),
        winners=None if told.winners is None else list(told.winners),
        ended=told.ended,
    )
    for number, (seat, player) in enumerate(zip(file.seats, players, strict=True), 1):
        name = FORMER if seat["is_former"] else clean_name(told.names[number - 1])
        values = {column: seat[column] for column in _SEAT}
        match.seats.append(
            Seat(**values, number=number, player=player, name=name, phrase=told.phrases[number - 1])
        )
    return match


def _player(given: Mapping[str, Any] | None, *, now: datetime) -> Player | None:
    """Return the player of an address, made if there is none; None for a seat without one."""
    if given is None:
        return None
    known = lobby.find_player(given["address"])
    if known is not None:
        return known
    new = lobby.new_player(
        given["address"],
        name=given["name"],
        language=given["language"],
        zone=given["zone"],
        now=now,
    )
    new.plays_forced = given["plays_forced"]
    return new


def _add_moves(match: Match, told: Record) -> None:
    """Add the moves, each in a turn of its own that is over."""
    opened_at, turns = match.started_at, dict.fromkeys(range(1, len(told.names) + 1), 0)
    assert opened_at is not None, "it was checked"
    for ply, decision in enumerate(told.decisions, 1):
        at = datetime.fromisoformat(decision.extra["at"])
        turns[decision.seat] += 1
        turn = Turn(
            match_id=match.id,
            seat=decision.seat,
            nth=turns[decision.seat],
            ply=ply - 1,
            opened_at=opened_at,
            deadline=at,
            closed_at=at,
        )
        db.session.add(turn)
        db.session.flush()
        db.session.add(
            Move(
                match_id=match.id,
                ply=ply,
                turn_id=turn.id,
                seat=decision.seat,
                text=decision.move,
                scores=list(decision.scores or ()),
                by=decision.extra["by"],
                at=at,
            )
        )
        opened_at = at
    db.session.flush()
