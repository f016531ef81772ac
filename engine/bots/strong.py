"""A bot that imagines the cards it cannot see, and plays each of its moves out."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, Final

from engine.bots.base import Bot
from engine.bots.greedy import Greedy
from engine.bots.skills import SKILLS
from engine.game import N_

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.game import Game, Scores, Seat, View

# What a point ahead of the best rival is worth, in wins of the hand.
LEAD: Final = 0.02


class Strong(Bot):
    """Chooses the move that does best in hands that it imagines.

    An iteration plays one move out to the end of the hand, all seats by the rule of thumb.
    All moves are tried in the same imagined hands; the better half is tried again, until
    one is left.
    """

    title = N_("strong")
    about = N_("imagines the cards it cannot see, many times, and looks ahead")

    def __init__(self, seed: str, iterations: int | None = None) -> None:
        """Start the bot's chance; ``iterations`` is None for what a server can spend."""
        super().__init__(seed)
        self._iterations = iterations
        self._chance = random.Random(seed)  # noqa: S311 - play, not secrets

    def choose(self, game: Game[Any, Any, Any], view: View) -> Any:
        """Return the move that does best; a single one without a thought."""
        if game.name not in SKILLS:
            return Greedy(self.seed).choose(game, view)
        moves = list(game.moves(view))
        totals = dict.fromkeys(moves, 0.0)
        left = self._iterations or SKILLS[game.name].iterations
        for rounds in range((len(moves) - 1).bit_length(), 0, -1):
            hands = max(1, left // rounds // len(moves))
            left -= hands * len(moves)
            for _ in range(hands):
                self._try(game, view, totals, moves)
            moves.sort(key=totals.__getitem__, reverse=True)
            del moves[(len(moves) + 1) // 2 :]
        return moves[0]

    def _try(
        self,
        game: Game[Any, Any, Any],
        view: View,
        totals: dict[Any, float],
        moves: Sequence[Any],
    ) -> None:
        """Add to the totals what each of the moves comes to in one imagined hand."""
        assert view.seat is not None, "onlookers make no moves"
        skill = SKILLS[game.name]
        rivals = skill.rivals(view)
        world = skill.imagine(view, self._chance)
        for move in moves:
            reached = _played_out(game, game.copy(world), view.seat, move)
            totals[move] += _worth(reached, view.seat, rivals)


def _played_out(game: Game[Any, Any, Any], state: Any, seat: Seat, move: Any) -> Scores:
    """Return the gains of the hand after the move, or the scores if it ends the match."""
    reply = SKILLS[game.name].reply
    before = state.last_hand
    game.step(state, seat, move)
    while state.last_hand is before:
        asked = min(game.to_move(state))
        game.step(state, asked, reply(state, asked))
    gains: Scores = state.last_hand.gains
    return gains if game.to_move(state) else game.scores(state)


def _worth(reached: Scores, seat: Seat, rivals: Sequence[Seat]) -> float:
    """Return the seat's share of the win, and a little for how far it is ahead or behind."""
    mine, theirs = reached[seat - 1], [reached[rival - 1] for rival in rivals]
    best = max(theirs)
    share = 1 / (1 + theirs.count(best)) if mine == best else float(mine > best)
    return share + LEAD * (mine - best)
