"""Moves in random play beside OpenSpiel's hearts, and a replay beside its page.

A checked move: ask whose turn it is, list the legal moves, take one by chance, check that it
is legal, and make it in place, which returns the events. In bulk, as `pbem simulate` plays,
nothing is checked again. OpenSpiel (C++, driven from Python) plays hearts in place too. Deals
are timed on both sides and not counted as moves.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import pyspiel
from jinja2 import Environment

from bench.measure import Asked, Bar, compare, judge
from bench.picture import say_plainly
from engine import GAMES
from engine.game import Event, Game, Options, Seat
from engine.record import replay

SEATS: Final = 3
MOVES: Final = 3000  # in a round
# Moves a second, as a part of the peer's; twice that is the goal.
LEAST: Final = {"snakebit": 0.3, "bisque": 0.4, "biscuit": 0.2}
LEAST_IN_BULK: Final = {"snakebit": 0.6, "bisque": 0.7, "biscuit": 0.35}

PLIES: Final = 60
SLOWEST: Final = 1.2  # times as long as the page, at most
GOAL: Final = 0.7
TARGET: Final = 200  # points: a match of several hands
KEY: Final = b"a match of sixty moves"

# The list of moves as templates/web/table.html has it.
_PAGE: Final = """<!doctype html>
<html lang="en">
<head><title>Biscuit {{ code }}</title></head>
<body>
<h1>After move {{ log | length }}</h1>
<section class="log">
<h2>What happened</h2>
<ol start="0">
{% for number, lines in log %}<li value="{{ number }}"{% if number == ply %} aria-current="step"\
{% endif %}><a href="/games/{{ code }}/{{ number }}">{{ lines | join(" ") }}</a></li>
{% endfor %}
</ol>
</section>
</body>
</html>
"""


def run(asked: Asked) -> Iterator[Bar]:
    """Compare random play of each game, checked and in bulk, then a replay."""
    chance = random.Random("speed")
    for name, least in LEAST.items():
        yield _played(name, "checked moves", partial(play, GAMES[name], chance), least, asked)
    for name, least in LEAST_IN_BULK.items():
        in_bulk = partial(play_in_bulk, GAMES[name], chance)
        yield _played(name, "moves in bulk", in_bulk, least, asked)
    yield _replayed(chance, asked)


def _played(name: str, what: str, ours: Callable[[], None], least: float, asked: Asked) -> Bar:
    return judge(
        f"engine {name}, {SEATS} seats",
        f"{what} a second",
        compare(ours, partial(play_hearts, random.Random("hearts")), asked, times=MOVES),
        peer="OpenSpiel's hearts",
        least=least,
        goal=2 * least,
    )


def play(game: Game[Any, Any, Any], chance: random.Random) -> None:
    """Make that many checked moves in matches of the game; the last match is left off."""
    for state, seat, move in _decisions(game, chance):
        assert game.is_legal(state, seat, move)
        events = game.step(state, seat, move)
        assert events


def play_in_bulk(game: Game[Any, Any, Any], chance: random.Random) -> None:
    """Make as many moves of those that are legal, without another look at them."""
    for state, seat, move in _decisions(game, chance):
        game.step(state, seat, move)


def _decisions(game: Game[Any, Any, Any], chance: random.Random) -> Iterator[tuple[Any, Seat, Any]]:
    """Yield that many moves by chance with their seat and state, to be made in place."""
    options = game.check_options(SEATS, {})
    state = _dealt(game, options, chance)
    for _ in range(MOVES):
        asked = game.to_move(state)
        if not asked:
            assert game.outcome(state)
            state = _dealt(game, options, chance)
            asked = game.to_move(state)
        seat = min(asked)
        yield state, seat, chance.choice(game.legal_moves(state, seat))


def _dealt(game: Game[Any, Any, Any], options: Options, chance: random.Random) -> Any:
    state, _ = game.new_game(chance.randbytes(32), SEATS, options)
    return state


def play_hearts(chance: random.Random) -> None:
    """Make that many moves in OpenSpiel's hearts; the last match is left off."""
    hearts = pyspiel.load_game("hearts")
    moves = 0
    while moves < MOVES:
        state = hearts.new_initial_state()
        while moves < MOVES and not state.is_terminal():
            is_move = not state.is_chance_node()
            state.apply_action(chance.choice(state.legal_actions()))
            moves += is_move


@dataclass(frozen=True, slots=True)
class _Ply:
    """One move of a match, as it is stored, with what happened."""

    seat: Seat
    move: str
    events: tuple[Event, ...]

    @property
    def lines(self) -> tuple[str, ...]:
        """Return what happened in words."""
        return tuple(say_plainly(event.phrase) for event in self.events)


def _replayed(chance: random.Random, asked: Asked) -> Bar:
    game = GAMES["biscuit"]
    rules = game.check_options(SEATS, {"target": TARGET})
    state, plies = _match(game, rules, chance)
    decisions = [(ply.seat, ply.move) for ply in plies]
    events = [ply.events for ply in plies]
    page = Environment(autoescape=True).from_string(_PAGE)
    log = [(number, ply.lines) for number, ply in enumerate(plies, 1)]

    def again() -> None:
        played = replay(game, KEY, SEATS, rules, decisions)
        assert played.state == state
        assert [ply.events for ply in played.plies] == events

    rates = compare(again, lambda: page.render(code="BSC-7F3K", ply=PLIES, log=log), asked)
    return judge(
        f"engine replay of {PLIES} moves of biscuit, {SEATS} seats, checked",
        "ms",
        [(1000 / ours, 1000 / peer) for ours, peer in rates],
        peer="Jinja's page of them",
        most=SLOWEST,
        goal=GOAL,
    )


def _match(
    game: Game[Any, Any, Any], options: Options, chance: random.Random
) -> tuple[object, list[_Ply]]:
    """Return a match after sixty moves by chance, and these."""
    state, _ = game.new_game(KEY, SEATS, options)
    plies = []
    for _ in range(PLIES):
        seat = min(game.to_move(state))
        move = chance.choice(game.legal_moves(state, seat))
        plies.append(_Ply(seat, game.format(move), game.step(state, seat, move)))
    return state, plies
