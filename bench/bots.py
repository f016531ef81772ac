"""Bots against weaker ones: how often they win a hand, with seats rotated, and how long they think.

It takes some minutes, so it runs alone: `python -m bench bots`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import sqrt
from statistics import mean, quantiles, stdev
from time import process_time
from typing import Any, Final, TypeAlias

from bench.measure import Asked, Bar
from engine import GAMES
from engine.bots.base import Bot
from engine.bots.greedy import Greedy
from engine.bots.random import Random
from engine.bots.strong import Strong
from engine.game import Scores, Seat

DEALS: Final = 600  # of each game for each pair of bots
SEATS: Final = 3
MOST: Final = 50.0  # milliseconds of one core that a move of the strong bot may take
ITERATIONS: Final = {"biscuit": 28, "bisque": 24, "snakebit": 32}  # what fits into that
EVEN: Final = 1 / SEATS
OPTIONS: Final = {"biscuit": {}, "bisque": {"rounds": 1}, "snakebit": {}}

Maker: TypeAlias = Callable[[str], Bot]


def run(_asked: Asked, *, deals: int = DEALS) -> Iterator[Bar]:
    """Let one bot play against two others, a hand a deal, in each seat by turns."""
    for game in GAMES:
        yield _share("greedy against two random", game, Greedy, Random, deals)
    for game in GAMES:
        thinker = Timed(game)
        yield _share("strong against two greedy", game, thinker.strong, Greedy, deals)
        yield thinker.bar()


class Timed:
    """Strong bots of one game and what their moves took, in milliseconds of one core."""

    def __init__(self, game: str) -> None:
        """Begin with no moves."""
        self.game = game
        self.took: list[float] = []

    def strong(self, seed: str) -> Bot:
        """Return a strong bot whose moves are timed."""
        return _TimedBot(Strong(seed, ITERATIONS[self.game]), self.took)

    def bar(self) -> Bar:
        """Return what a move took."""
        late = quantiles(self.took, n=100)[-1]
        words = (
            f"{self.game}: {len(self.took)} moves with {ITERATIONS[self.game]} iterations took"
            f" {mean(self.took):.1f} ms in the mean, 99 % of them at most {late:.1f} ms,"
            f" the slowest {max(self.took):.1f} ms (to reach: {MOST:.0f} ms for 99 %)"
        )
        return Bar(words, late <= MOST)


class _TimedBot(Bot):
    def __init__(self, bot: Bot, took: list[float]) -> None:
        super().__init__(bot.seed)
        self._bot, self._took = bot, took

    def choose(self, game: Any, view: Any) -> Any:
        start = process_time()
        move = self._bot.choose(game, view)
        if len(game.moves(view)) > 1:
            self._took.append(1000 * (process_time() - start))
        return move


def _share(words: str, game: str, one: Maker, other: Maker, deals: int) -> Bar:
    """Return the share of the hands that one bot wins; a shared win counts as its share."""
    shares = []
    for nth in range(deals):
        seat = nth % SEATS + 1
        makers = [one if place == seat else other for place in range(1, SEATS + 1)]
        shares.append(_won(_gains(game, f"bench/{game}/{nth}", makers), seat))
    share, margin = mean(shares), 1.96 * stdev(shares) / sqrt(deals)
    told = (
        f"{game}: {words} won {share:.1%} of {deals} hands"
        f" ({share - margin:.1%} to {share + margin:.1%}; to reach: all above {EVEN:.1%})"
    )
    return Bar(told, share - margin > EVEN)


def _gains(name: str, key: str, makers: Sequence[Maker]) -> Scores:
    """Return what the first hand of a match gave to each seat."""
    game = GAMES[name]
    bots = [maker(f"{key}/{place}") for place, maker in enumerate(makers, 1)]
    options = game.check_options(SEATS, OPTIONS[name])
    state, _ = game.new_game(key.encode(), SEATS, options)
    while state.last_hand is None:
        seat = min(game.to_move(state))
        game.step(state, seat, bots[seat - 1].choose(game, game.view(state, seat)))
    gains: Scores = state.last_hand.gains
    return gains


def _won(gains: Scores, seat: Seat) -> float:
    best = max(gains)
    return (gains[seat - 1] == best) / gains.count(best)
