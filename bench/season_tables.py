"""The tables of a season, and some of the same kinds whose moves are made with no mail."""

from __future__ import annotations

import random
from datetime import datetime
from time import perf_counter
from typing import Final

from flask import Flask

from pbem import clocks, play
from pbem.ext import db
from pbem.models import Match
from torture import habits
from torture.habits import BEGIN

MOST_PEOPLE: Final = 64
PACES: Final = (6, 12, 24)  # hours
BANKS: Final = (0, 6, 24)  # hours
BARE: Final = 12  # games with no mail, at most


def new_people(games: int, chance: random.Random) -> dict[int, str]:
    """Sign up as many people as so many games need; gives their habits by id."""
    return habits.new_players(min(MOST_PEOPLE, 8 + 2 * games), chance, now=BEGIN)


def new_table(nth: int, ids: list[int], chance: random.Random, *, now: datetime) -> Match:
    """Return a game that has begun, of each kind in turn.

    Six hands of Bisque are more than 250 moves, so it has fewer.
    """
    options: dict[str, dict[str, object]] = {
        "biscuit": {name: chance.random() < 0.3 for name in ("excuse", "pawns", "courts")},
        "bisque": {"rounds": chance.choice((1, 2))},
    }
    return habits.new_table(nth, ids, chance, options, paces=PACES, banks=BANKS, now=now)


class Bare:
    """Games of the same kinds on a database of the same kind, whose moves are made alone."""

    def __init__(self, app: Flask, games: int) -> None:
        """Open as many tables as a season of so many needs; must run in the app's context."""
        self._app = app
        self._chance = random.Random("bare")
        self._ids = list(new_people(games, self._chance))
        self._opened = 0
        self._matches = [self._table() for _ in range(min(games, BARE))]

    def rate(self, seconds: float) -> float:
        """Return how many moves are made in a second."""
        made, spent = 0, 0.0
        with self._app.app_context():
            while spent < seconds:
                turn_id = self._turn()
                text = play.choose_for(turn_id, "random")
                assert text is not None, "it is open"
                start = perf_counter()
                play.make_move(turn_id, text, by="link", now=BEGIN)
                spent += perf_counter() - start
                made += 1
        return made / spent

    def _turn(self) -> int:
        """Return an open turn, of a new game where one has ended."""
        nth = self._chance.randrange(len(self._matches))
        turns = clocks.open_turns(match=db.session.get_one(Match, self._matches[nth]))
        for turn in turns:
            return turn.id
        self._matches[nth] = self._table()
        return self._turn()

    def _table(self) -> int:
        self._opened += 1
        return new_table(self._opened, self._ids, self._chance, now=BEGIN).id
