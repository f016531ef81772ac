"""A bot that plays by a rule of thumb. It also plays for the house."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.bots.base import Bot
from engine.bots.skills import SKILLS
from engine.game import N_

if TYPE_CHECKING:
    from engine.game import Game, View


class Greedy(Bot):
    """Chooses the move that the game's rule of thumb likes best.

    It has no chance in it, so that the house's move for an absent player can be told
    and checked beforehand.
    """

    title = N_("easy")
    about = N_("takes the most that it can have at once, by a plain rule")

    def choose(self, game: Game[Any, Any, Any], view: View) -> Any:
        """Return the best move by the rule, the first listed of several."""
        skill = SKILLS.get(game.name)
        if skill is None:
            # Nobody has told the bots of this game: what scores most at once will do.
            return max(game.moves(view), key=lambda move: game.preview(view, move).points or 0)
        return skill.best(view)
