"""Counts of all sequences of moves from fixed deals: any change of the rules changes one."""

import pytest

from engine import GAMES

KEY = b"counting"


def position(name, seats, options, plies):
    """The table after so many moves, each the first by its notation of the first seat asked."""
    game = GAMES[name]
    state, _ = game.new_game(KEY, seats, game.check_options(seats, options))
    for _ in range(plies):
        seat = min(game.to_move(state))
        game.step(state, seat, min(game.moves(game.view(state, seat)), key=game.format))
    return state


def sequences(game, state, depth):
    """How many different sequences of this many moves there are; fewer at a match's end."""
    if depth == 0:
        return 1
    total = 0
    for seat in game.to_move(state):
        moves = game.moves(game.view(state, seat))
        if depth == 1:
            total += len(moves)
            continue
        for move in moves:
            after = game.copy(state)
            game.step(after, seat, move)
            total += sequences(game, after, depth - 1)
    return total


@pytest.mark.parametrize(
    ("name", "seats", "options", "plies", "counts"),
    [
        ("biscuit", 2, {}, 0, [6, 46, 248, 1436, 5762]),
        ("biscuit", 3, {}, 0, [6, 36, 156, 1064, 9124]),
        ("biscuit", 4, {"partners": True}, 0, [6, 22, 88, 500, 3314, 15378]),
        (
            "biscuit",
            3,
            {"excuse": True, "pawns": True, "courts": True},
            0,
            [6, 46, 208, 1216, 7680],
        ),
        ("biscuit", 2, {"target": 30}, 9, [1, 1, 1, 4, 28, 88, 476, 1552]),
        ("bisque", 3, {}, 0, [24, 382, 3024, 33264]),
        ("bisque", 3, {}, 3, [11, 121, 1331, 2662, 26620]),
        ("bisque", 3, {"rounds": 2}, 40, [2, 4, 8, 8, 8, 8, 16, 384]),
        ("bisque", 3, {"rounds": 1}, 39, [2, 4, 8, 16, 16, 16, 16, 32]),
        ("snakebit", 3, {}, 0, [12, 34, 156, 1860, 4863, 15445]),
        ("snakebit", 4, {}, 0, [7, 25, 78, 228, 2099, 4680, 11248]),
        ("snakebit", 3, {"end": "minus13"}, 15, [6, 12, 27, 108, 166, 248, 496, 496]),
        ("snakebit", 4, {}, 134, [1, 2, 8, 14, 26, 50, 100, 100]),
    ],
)
def test_there_are_so_many_sequences_of_moves(name, seats, options, plies, counts):
    state = position(name, seats, options, plies)
    found = [sequences(GAMES[name], state, depth) for depth in range(1, len(counts) + 1)]
    assert found == counts


def test_objectives_are_chosen_in_any_order():
    game = GAMES["bisque"]
    state = position("bisque", 3, {}, 0)
    one, two, three = (len(game.moves(game.view(state, seat))) for seat in (1, 2, 3))
    assert sequences(game, state, 2) == 2 * (one * two + two * three + three * one)
    assert sequences(game, state, 3) == 6 * one * two * three
