"""The examples on the rules pages: short games that the engine plays, draws and tells.

They stand in templates/games/<game>.examples.json; each has a `deal` (any text), `seats`,
`options` that differ from the default, and `moves`. The last move is the one to look at.
A rules page shows one where it has a fence called `example` with the example's name.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from flask import current_app

from engine import GAMES
from engine.game import Layout
from pbem import words
from pbem.telling import sentence

NAMES: Final = ("Ann", "Bob", "Cleo", "Dan")


@dataclass(frozen=True, slots=True)
class Example:
    """The table after an example's last move, as anybody sees it, and what the move did."""

    layout: Layout
    lines: tuple[str, ...]


def example(game_name: str, name: str) -> Example:
    """Play an example in the running language; raises RulesError where the rules forbid it."""
    given = examples(game_name)[name]
    game = GAMES[game_name]
    options = game.check_options(given["seats"], given.get("options", {}))
    key = hashlib.sha256(given["deal"].encode()).digest()
    state, events = game.new_game(key, given["seats"], options)
    for text in given["moves"]:
        seat = min(game.to_move(state))
        move = game.canonical(game.view(state, seat), text)
        state, events = game.apply(state, seat, move)
    fresh = frozenset(card for event in events for card in event.cards)
    say = words.speaker(NAMES)
    return Example(
        game.layout(game.view(state, None), fresh=fresh),
        tuple(sentence(event, None, say) for event in events),
    )


def examples(game_name: str) -> dict[str, dict[str, Any]]:
    """Return a game's examples by name, as they are written."""
    text = (folder() / f"{game_name}.examples.json").read_text(encoding="utf-8")
    found: dict[str, dict[str, Any]] = json.loads(text)
    return found


def folder() -> Path:
    """Return where the games' boards, rules and examples are."""
    return Path(current_app.root_path, current_app.template_folder or "") / "games"
