"""Match records: what replays a match, read, written and checked alone.

The format is ``decktet-record/1``. A record that ends by its rules, by agreement or by
resignation is checked to the last score; nothing here needs a server.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from engine import GAMES, deal
from engine.errors import BadOption, BadRecord
from engine.game import Event, Game, Options, Outcome, Scores, Seat

FORMAT: Final = "decktet-record/1"
# Ends that are not the rules' doing: they may follow any ply.
EARLY_ENDS: Final = frozenset({"stopped", "resigned"})


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision as a record keeps it; ``extra`` holds the keys beside these."""

    seat: Seat
    move: str
    scores: Scores | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)


class Ply(NamedTuple):
    """One replayed decision: who, what, what happened and the scores after it."""

    number: int
    seat: Seat
    move: str
    events: tuple[Event, ...]
    scores: Scores


@dataclass(frozen=True, slots=True)
class Replay:
    """A match played again from its key and decisions. ``state`` is the caller's own."""

    state: Any
    opening: tuple[Event, ...]
    plies: tuple[Ply, ...]


@dataclass(frozen=True, slots=True)
class Record:
    """A whole record. ``key`` is None while the match runs, as are ``winners`` and ``ended``."""

    game: str
    id: str
    options: Options
    names: tuple[str, ...]
    resigned: frozenset[Seat]
    seating: tuple[str, ...] | None
    commitment: str
    phrases: tuple[str, ...]
    key: bytes | None
    decisions: tuple[Decision, ...]
    scores: Scores
    winners: tuple[Seat, ...] | None
    ended: str | None


def replay(
    game: Game[Any, Any, Any],
    deal_key: bytes,
    seats: int,
    options: Options,
    decisions: Iterable[tuple[Seat, str]],
) -> Replay:
    """Return the match played again; raises BadRecord that names the first wrong ply."""
    state, opening = game.new_game(deal_key, seats, options)
    plies = []
    for number, (seat, text) in enumerate(decisions, 1):
        if seat not in game.to_move(state):
            raise BadRecord(f"ply {number}: seat {seat} was not to move")
        move = game.notation.get(text)
        if move is None or not game.is_legal(state, seat, move):
            raise BadRecord(f"ply {number}: {text!r} is not legal now")
        events = game.step(state, seat, move)
        plies.append(Ply(number, seat, text, events, game.scores(state)))
    return Replay(state, opening, tuple(plies))


def verify(record: Record) -> None:
    """Check a record alone: commitment, deal, moves, scores and outcome.

    Raises BadRecord, in words, at the first thing that is wrong.
    """
    if record.key is None:
        raise BadRecord("deal.key: missing; a running match cannot be checked yet")
    if deal.commitment(record.key) != record.commitment:
        raise BadRecord("deal.commitment: it is not the SHA-256 of the key")
    _check_seating(record, record.key)
    game = GAMES[record.game]
    played = replay(
        game,
        deal.deal_key(record.key, record.id, record.phrases),
        len(record.names),
        record.options,
        [(decision.seat, decision.move) for decision in record.decisions],
    )
    for ply, decision in zip(played.plies, record.decisions, strict=True):
        if decision.scores is not None and decision.scores != ply.scores:
            raise BadRecord(
                f"ply {ply.number}: the scores are {list(ply.scores)}, not {list(decision.scores)}"
            )
    if record.scores != game.scores(played.state):
        raise BadRecord(f"scores: they are {list(game.scores(played.state))} at the end")
    _check_end(record, game.outcome(played.state))


def _check_seating(record: Record, key: bytes) -> None:
    """Check that seats were drawn as the key says, where they were drawn."""
    if record.seating is None:
        return
    # The draw took the phrases in joining order; each joiner took theirs along to a seat.
    count = len(record.names)
    if sorted(record.seating) != sorted(record.names):
        raise BadRecord("seating: it does not name the players of the seats")
    for order in _joining_orders(record):
        phrases = [record.phrases[place] for place in order]
        drawn = deal.draw_seats(key, record.id, phrases)
        if [order[joiner] for joiner in drawn] == list(range(count)):
            return
    raise BadRecord("seating: the seats are not those that the key draws")


def _joining_orders(record: Record) -> Iterable[list[int]]:
    """Yield the seat indexes in joining order; several where players share a name."""

    def extend(order: list[int]) -> Iterable[list[int]]:
        if len(order) == len(record.names):
            yield order
            return
        wanted = (record.seating or ())[len(order)]
        for place, name in enumerate(record.names):
            if name == wanted and place not in order:
                yield from extend([*order, place])

    return extend([])


def _check_end(record: Record, outcome: Outcome | None) -> None:
    if record.ended in EARLY_ENDS and outcome is None:
        _check_winners(record, _standing(record))
        return
    if outcome is None:
        raise BadRecord(f"ended: {record.ended!r}, but after the last ply the match goes on")
    if record.ended != outcome.reason:
        raise BadRecord(f"ended: it is {outcome.reason!r}, not {record.ended!r}")
    _check_winners(record, best(outcome.scores, record.resigned))


def _check_winners(record: Record, winners: tuple[Seat, ...]) -> None:
    if record.winners != winners:
        given = None if record.winners is None else list(record.winners)
        raise BadRecord(f"winners: they are {list(winners)}, not {given}")


def _standing(record: Record) -> tuple[Seat, ...]:
    if record.ended == "resigned" and (len(record.names) != 2 or len(record.resigned) != 1):
        raise BadRecord("ended: 'resigned' is for two seats, one of them marked resigned")
    return best(record.scores, record.resigned)


def best(scores: Scores, resigned: frozenset[Seat]) -> tuple[Seat, ...]:
    """Return the winners: those with the best scores among the seats that did not resign."""
    kept = [seat for seat in range(1, len(scores) + 1) if seat not in resigned]
    # Everybody gone: nobody is placed before the others for it.
    kept = kept or list(range(1, len(scores) + 1))
    best = max(scores[seat - 1] for seat in kept)
    return tuple(seat for seat in kept if scores[seat - 1] == best)


def dumps(record: Record) -> str:
    """Return the record as one line of JSON."""
    return json.dumps(to_json(record), ensure_ascii=False, separators=(",", ":"))


def to_json(record: Record) -> dict[str, Any]:
    """Return the record as the JSON object of the format."""
    facts: dict[str, Any] = {"commitment": record.commitment, "phrases": list(record.phrases)}
    if record.key is not None:
        facts["key"] = record.key.hex()
    return {
        "format": FORMAT,
        "game": record.game,
        "id": record.id,
        "options": dict(record.options),
        "seats": [
            {"seat": seat, "name": name} | ({"resigned": True} if seat in record.resigned else {})
            for seat, name in enumerate(record.names, 1)
        ],
        "seating": None if record.seating is None else list(record.seating),
        "deal": facts,
        "moves": [
            {"ply": ply, "seat": decision.seat, "move": decision.move}
            | ({} if decision.scores is None else {"scores": list(decision.scores)})
            | dict(decision.extra)
            for ply, decision in enumerate(record.decisions, 1)
        ],
        "scores": list(record.scores),
        "winners": None if record.winners is None else list(record.winners),
        "ended": record.ended,
    }


def loads(text: str) -> Record:
    """Read a record from JSON; raises BadRecord that names the field or ply."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadRecord(f"not JSON, or cut off: {error}") from error
    if not isinstance(data, dict):
        raise BadRecord("a record is a JSON object")
    return _read(_Fields(data, ""))


def _read(fields: _Fields) -> Record:
    if fields.text("format") != FORMAT:
        raise BadRecord(f"format: it is not {FORMAT}")
    name = fields.text("game")
    if name not in GAMES:
        raise BadRecord(f"game: {name!r} is unknown; there is {', '.join(GAMES)}")
    places = [_Fields(item, f"seats[{n}].") for n, item in enumerate(fields.items("seats"))]
    for number, place in enumerate(places, 1):
        if place.number("seat") != number:
            raise BadRecord(f"seats: seat {number} is missing or out of order")
    try:
        options = GAMES[name].check_options(len(places), fields.table("options"))
    except BadOption as error:
        raise BadRecord(f"options: {error}") from error
    facts = _Fields(fields.table("deal"), "deal.")
    phrases = tuple(facts.texts("phrases"))
    if len(phrases) != len(places):
        raise BadRecord("deal.phrases: there is one for each seat, empty or not")
    return Record(
        game=name,
        id=fields.text("id"),
        options=options,
        names=tuple(place.text("name") for place in places),
        resigned=frozenset(n for n, place in enumerate(places, 1) if place.get("resigned") is True),
        seating=None if fields.get("seating") is None else tuple(fields.texts("seating")),
        commitment=facts.text("commitment"),
        phrases=phrases,
        key=_key(facts),
        decisions=tuple(_decisions(fields, len(places))),
        scores=fields.scores("scores", len(places)),
        winners=None if fields.get("winners") is None else tuple(fields.numbers("winners")),
        ended=None if fields.get("ended") is None else fields.text("ended"),
    )


def _key(facts: _Fields) -> bytes | None:
    if facts.get("key") is None:
        return None
    try:
        return bytes.fromhex(facts.text("key"))
    except ValueError as error:
        raise BadRecord("deal.key: it is not hexadecimal") from error


def _decisions(fields: _Fields, seats: int) -> Iterable[Decision]:
    for ply, item in enumerate(fields.items("moves"), 1):
        entry = _Fields(item, f"ply {ply}: ")
        if entry.number("ply") != ply:
            raise BadRecord(f"ply {ply}: its number is {entry.number('ply')}; one is missing")
        scores = None if entry.get("scores") is None else entry.scores("scores", seats)
        known = {"ply", "seat", "move", "scores"}
        extra = {name: value for name, value in entry.data.items() if name not in known}
        yield Decision(entry.number("seat"), entry.text("move"), scores, extra)


class _Fields:
    """A JSON object read field by field; what is wrong is told by the field's path."""

    def __init__(self, data: object, path: str) -> None:
        if not isinstance(data, dict):
            raise BadRecord(f"{path.rstrip('.: ')}: an object belongs here")
        self.data = data
        self.path = path

    def get(self, name: str) -> object:
        return self.data.get(name)

    def text(self, name: str) -> str:
        value = self.get(name)
        if not isinstance(value, str):
            raise BadRecord(f"{self.path}{name}: a text belongs here")
        return value

    def number(self, name: str) -> int:
        value = self.get(name)
        if not isinstance(value, int) or isinstance(value, bool):
            raise BadRecord(f"{self.path}{name}: a whole number belongs here")
        return value

    def table(self, name: str) -> dict[str, object]:
        value = self.get(name)
        if not isinstance(value, dict):
            raise BadRecord(f"{self.path}{name}: an object belongs here")
        return value

    def items(self, name: str) -> list[object]:
        value = self.get(name)
        if not isinstance(value, list):
            raise BadRecord(f"{self.path}{name}: a list belongs here")
        return value

    def texts(self, name: str) -> list[str]:
        found = self.items(name)
        if not all(isinstance(item, str) for item in found):
            raise BadRecord(f"{self.path}{name}: a list of texts belongs here")
        return [str(item) for item in found]

    def numbers(self, name: str) -> list[int]:
        found = [item for item in self.items(name) if isinstance(item, int)]
        if len(found) != len(self.items(name)) or any(isinstance(item, bool) for item in found):
            raise BadRecord(f"{self.path}{name}: a list of whole numbers belongs here")
        return found

    def scores(self, name: str, seats: int) -> Scores:
        found = tuple(self.numbers(name))
        if len(found) != seats:
            raise BadRecord(f"{self.path}{name}: there is one score for each seat")
        return found
