"""Playthroughs: whole matches written out as every seat sees them, to be read and compared.

`make golden` rewrites the files in tests/golden/playthroughs; their diff is read before it
is committed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from engine import GAMES
from engine.bots.random import Random
from engine.game import Event, Game, OptionValue, Phrase, Placed, View

FOLDER = Path(__file__).parent / "golden/playthroughs"

# Each file with its game, seats and options; every option of a game is in one of them.
FILES: dict[str, tuple[str, int, dict[str, OptionValue]]] = {
    "biscuit-2": ("biscuit", 2, {}),
    "biscuit-3-excuse-pawns": ("biscuit", 3, {"excuse": True, "pawns": True}),
    "biscuit-4-partners-courts": ("biscuit", 4, {"partners": True, "courts": True}),
    "biscuit-2-target": ("biscuit", 2, {"target": 12}),
    "bisque-3-two-rounds": ("bisque", 3, {"rounds": 2}),
    "snakebit-3": ("snakebit", 3, {"end": "six"}),
    "snakebit-4-minus13": ("snakebit", 4, {"end": "minus13"}),
}


def playthrough(name: str) -> str:
    """Return the playthrough of one file, from a key that its name gives."""
    game_name, seats, given = FILES[name]
    game = GAMES[game_name]
    options = game.check_options(seats, given)
    key = hashlib.sha256(name.encode()).digest()
    return "\n".join([*_lines(game, seats, options, key), ""])


def _lines(
    game: Game[Any, Any, Any], seats: int, options: Mapping[str, OptionValue], key: bytes
) -> Iterator[str]:
    state, events = game.new_game(key, seats, options)
    player = Random(key.hex())
    told = ", ".join(f"{name} {value}" for name, value in options.items())
    yield f"{game.title}, version {game.version}, {seats} seats, {told}"
    ply = 0
    while True:
        yield from (f"  {line}" for event in events for line in _event(event))
        for seat in (None, *range(1, seats + 1)):
            yield from _view(game, game.view(state, seat))
        asked = game.to_move(state)
        if not asked:
            break
        seat = min(asked)
        move = player.choose(game, game.view(state, seat))
        ply += 1
        yield f"\nply {ply}: seat {seat} plays {game.format(move)}"
        events = game.step(state, seat, move)
    outcome = game.outcome(state)
    yield f"\nend: {outcome.reason}, scores {outcome.scores}, placings {outcome.placings}"


def _event(event: Event) -> Iterator[str]:
    points = f" ({event.points:+d})" if event.points else ""
    yield f"{event.kind}: {english(event.phrase)}{points}"
    if event.secret is not None:
        yield f"  to {sorted(event.knows)}: {english(event.secret)}"


def _view(game: Game[Any, Any, Any], view: View) -> Iterator[str]:
    who = "onlooker" if view.seat is None else f"seat {view.seat}"
    hand = " ".join(card.code for card in view.hand)
    yield f"  {who}: to move {sorted(view.to_move)}, scores {view.scores}, hand [{hand}]"
    if view.seat is None:
        yield f"    hands of {view.hand_sizes}; {_facts(game, view)}"
        yield f"    {' '.join(_placed(card) for card in game.layout(view).cards)}"
    hint = game.hint(view)
    if hint is not None:
        yield f"    hint: {english(hint)}"
    for move in game.moves(view):
        preview = game.preview(view, move)
        points = "" if preview.points is None else f" {preview.points:+d}"
        effects = "; ".join(english(effect) for effect in preview.effects)
        line = f"    {game.format(move)}: {english(preview.place)}{points} {effects}"
        yield line.rstrip()


def _facts(game: Game[Any, Any, Any], view: View) -> str:
    return "; ".join(f"{english(f.name)} {english(f.value)}" for f in game.facts(view))


def _placed(placed: Placed) -> str:
    code = "??" if placed.card is None else placed.card.code
    marks = "".join(sorted(f"!{mark}" for mark in placed.marks))
    return f"{code}@{placed.column:g},{placed.row:g}{marks}"


def english(phrase: Phrase) -> str:
    """Return a phrase in the engine's own English, seats by their numbers."""
    fields = {
        name: english(value) if isinstance(value, Phrase) else getattr(value, "word", value)
        for name, value in phrase.fields.items()
    }
    pattern = phrase.one if phrase.one is not None and fields["n"] == 1 else phrase.text
    return pattern % fields if fields else pattern


def main() -> None:
    """Write all files anew."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        (FOLDER / f"{name}.txt").write_text(playthrough(name), encoding="utf-8")


if __name__ == "__main__":
    main()
