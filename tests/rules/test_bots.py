import pytest
from rules.biscuit_tables import GAME, biscuit

from engine import GAMES
from engine.bots import BOTS


def match_of(name, bot, seats, seed):
    game = GAMES[name]
    players = {seat: BOTS[bot](f"{seed} {seat}") for seat in range(1, seats + 1)}
    state, _ = game.new_game(seed.encode(), seats, game.check_options(seats, {}))
    moves = []
    while game.to_move(state):
        seat = min(game.to_move(state))
        move = players[seat].choose(game, game.view(state, seat))
        moves.append((seat, game.format(move)))
        state, _ = game.apply(state, seat, move)
    return moves, game.scores(state)


EVERYWHERE = [
    (name, bot, seats) for name in GAMES for bot in BOTS for seats in GAMES[name].seat_counts
]


@pytest.mark.parametrize(("name", "bot", "seats"), EVERYWHERE)
def test_a_bot_plays_a_match_to_its_end_and_repeats_itself(name, bot, seats):
    first = match_of(name, bot, seats, "a")
    assert first == match_of(name, bot, seats, "a")
    assert len(first[1]) == seats


def test_another_seed_makes_the_random_bot_play_otherwise():
    table = biscuit("5SW", "6SY 7SK 8MS 9WY", "AM CM")
    view = GAME.view(table, 1)
    chosen = {BOTS["random"](str(seed)).choose(GAME, view) for seed in range(60)}
    assert chosen == set(GAME.moves(view))


def test_the_greedy_bot_takes_the_most_points():
    table = biscuit("5SW 6SY", "7WY 4MS 2SY", "AM CM")
    assert GAME.format(BOTS["greedy"]("x").choose(GAME, GAME.view(table, 1))) == "4MS left"


def test_the_greedy_bot_takes_the_first_of_equal_moves():
    table = biscuit("5SW", "9MS 8MS", "AM CM")
    assert GAME.format(BOTS["greedy"]("x").choose(GAME, GAME.view(table, 1))) == "8MS left"
