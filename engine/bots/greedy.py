"""A bot that takes the most points it can have now. It also plays for the house."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.bots.base import Bot

if TYPE_CHECKING:
    from engine.game import Game, View


class Greedy(Bot):
    """Chooses the move that scores most at once; the first listed of several.

    It has no chance in it, so that the house's move for an absent player can be told
    and checked beforehand.
    """

    def choose(self, game: Game[Any, Any, Any], view: View) -> Any:
        """Return the first of the moves that score most."""
        return max(game.moves(view), key=lambda move: game.preview(view, move).points or 0)
