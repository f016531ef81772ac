"""The games by name. A new game is one module and one line here."""

from __future__ import annotations

from typing import Any, Final

from engine.biscuit import Biscuit
from engine.bisque import Bisque
from engine.game import Game
from engine.snakebit import Snakebit

GAMES: Final[dict[str, Game[Any, Any, Any]]] = {
    game.name: game for game in (Biscuit(), Bisque(), Snakebit())
}
