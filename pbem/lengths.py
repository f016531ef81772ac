"""How long a game takes by mail: bots play some, and their moves are counted."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from statistics import median_high
from typing import Final

from engine import GAMES
from engine.bots import BOTS
from engine.errors import BadOption
from engine.game import OptionValue
from pbem.play import HOUSE

PLAYED: Final = 5  # games; their median is told
MOST: Final = 400  # moves that are counted of one
OFTEN: Final = 4  # most moves come within a fourth of their time


@dataclass(frozen=True, slots=True)
class Length:
    """What a game of so many players takes: moves that leave a choice, and days.

    ``at_most`` if each move takes all of its time, ``often`` if a fourth of it. Games that
    take very long are counted to MOST only.
    """

    seats: int
    moves: int
    at_most: int
    often: int

    @property
    def is_longer(self) -> bool:
        """Return whether it takes more than was counted."""
        return self.moves >= MOST


def lengths(game_name: str, options: Mapping[str, OptionValue], pace_hours: int) -> list[Length]:
    """Return for each number of players that the options allow how long a game takes."""
    found = []
    for seats in GAMES[game_name].seat_counts:
        # Some options are for one number of players only.
        with suppress(BadOption):
            checked = GAMES[game_name].check_options(seats, options)
            moves = _moves(game_name, seats, tuple(checked.items()))
            hours = moves * pace_hours
            found.append(Length(seats, moves, at_most=_days(hours), often=_days(hours / OFTEN)))
    return found


def _days(hours: float) -> int:
    return ceil(hours / 24)


@lru_cache(maxsize=256)
def _moves(game_name: str, seats: int, options: Sequence[tuple[str, OptionValue]]) -> int:
    """Return the median of the moves with a choice; the others are played by themselves."""
    return median_high(_played(game_name, seats, dict(options), nth) for nth in range(PLAYED))


def _played(game_name: str, seats: int, options: Mapping[str, OptionValue], nth: int) -> int:
    game, bot = GAMES[game_name], BOTS[HOUSE]("")
    state, _events = game.new_game(hashlib.sha256(b"%d" % nth).digest(), seats, options)
    moves = 0
    while moves < MOST and (asked := game.to_move(state)):
        seat = min(asked)
        view = game.view(state, seat)
        moves += len(game.moves(view)) > 1
        game.step(state, seat, bot.choose(game, view))
    return moves
