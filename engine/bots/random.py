"""A bot that plays any legal move."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from engine.bots.base import Bot
from engine.game import N_

if TYPE_CHECKING:
    from engine.game import Game, View


class Random(Bot):
    """Chooses with equal chance among all legal moves."""

    title = N_("careless")
    about = N_("makes any move that is allowed")

    def __init__(self, seed: str) -> None:
        """Start the bot's own chance; the same seed gives the same game."""
        super().__init__(seed)
        self._chance = random.Random(seed)  # noqa: S311 - play, not secrets

    def choose(self, game: Game[Any, Any, Any], view: View) -> Any:
        """Return any legal move."""
        return self._chance.choice(game.moves(view))
