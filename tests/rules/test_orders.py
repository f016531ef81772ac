"""Orders are read generously, checked against a view, and never choose between two moves."""

from __future__ import annotations

import pytest
from rules.biscuit_tables import biscuit
from rules.trick_tables import bisque, snakebit

from engine import GAMES, orders
from engine.decktet import Suit
from engine.errors import Ambiguous, IllegalMove, Unreadable

BISCUIT, BISQUE, SNAKEBIT = (GAMES[name] for name in ("biscuit", "bisque", "snakebit"))
SUNS = Suit.SUNS


def chosen(game, state, text, seat=None):
    """The move that an order chooses at a table, as it is written; None for none."""
    view = game.view(state, seat or min(game.to_move(state)))
    move = orders.choose(game, view, orders.read(game, text))
    return None if move is None else game.format(move)


@pytest.mark.parametrize(
    ("text", "move"),
    [
        ("lowest", "2SY"),
        ("then my lowest card", "2SY"),
        ("Highest of the named suit!", "6SY"),
        ("then highest of suns", "6SY"),
        ("puis la plus haute de soleils", "6SY"),
        ("ma carte la plus basse de la couleur nommée", "2SY"),
        ("if suns led: highest", "6SY"),
        ("si soleils mené: la plus basse", "2SY"),
        ("si les soleils sont menés, la plus haute", "6SY"),
        ("if waves led: highest", None),
        ("if suns led: then 5sw", "5SW"),
        ("5 suns waves", "5SW"),
        ("puis 5SW", "5SW"),
        ("9LK", None),  # it must follow suit
        ("highest of leaves", None),
        ("whatever is forced", None),
    ],
)
def test_an_order_chooses_from_the_legal_moves(text, move) -> None:
    table = snakebit("3SK", "2SY 5SW 6SY 9LK", "4MS", turn=2, leader=1, named=SUNS, trick="7SK")
    assert chosen(SNAKEBIT, table, text) == move


def test_a_lead_that_could_name_two_suits_is_no_lead() -> None:
    table = snakebit("2SY 5SW", "3SK 9LK", "4MS 6LK")
    assert chosen(SNAKEBIT, table, "lowest") is None
    assert chosen(SNAKEBIT, table, "2SY") is None
    assert chosen(SNAKEBIT, table, "2SY wyrms") == "2SY wyrms"


def test_what_is_forced_is_played() -> None:
    table = snakebit("3SK", "2SY 9LK", "4MS", turn=2, leader=1, named=SUNS, trick="7SK")
    assert chosen(SNAKEBIT, table, "whatever is forced") == "2SY"
    assert chosen(SNAKEBIT, table, "ce qui est forcé") == "2SY"


def test_a_score_may_be_asked_for_and_chooses_between_places() -> None:
    table = biscuit("5YK 6LK", "7SK 2SY", "3MW 9MS")
    view = BISCUIT.view(table, 1)
    scored = {BISCUIT.format(m): BISCUIT.preview(view, m).points for m in BISCUIT.moves(view)}
    assert scored["7SK right"] == 3
    assert chosen(BISCUIT, table, "7SK right if it scores 3 or more") == "7SK right"
    assert chosen(BISCUIT, table, "7SK right if it scores at least 4 points") is None
    assert chosen(BISCUIT, table, "puis 7sk à droite si ça marque 3 ou plus") == "7SK right"
    # At both ends it could go; only one of them scores.
    assert {"7SK left", "7SK right"} <= set(scored)
    assert chosen(BISCUIT, table, "7SK") is None
    assert chosen(BISCUIT, table, "7SK if it scores 3 or more") == "7SK right"


def test_lowest_means_a_card_of_the_hand_and_none_for_the_pot() -> None:
    table = bisque("2SY 9LK", "3SK 6LK", "4MS 8MS", aims="5YK 6SY 7ML", turn=1, trick="7SK 2MK 3LY")
    assert chosen(BISQUE, table, "lowest") is None
    assert chosen(BISQUE, table, "pot 2mk") == "pot 2MK"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "then",
        "we'll see",
        "if it rains: lowest",
        "5SW if it scores",
        "lowest of cards",
        "a" * 201,
        "if suns led:",
        "5SW if it scores 2",
    ],
)
@pytest.mark.parametrize("game", list(GAMES.values()), ids=list(GAMES))
def test_other_words_are_no_order(game, text) -> None:
    with pytest.raises(Unreadable):
        orders.read(game, text)


def test_signs_that_nobody_sees_are_not_kept() -> None:
    text = orders.read(SNAKEBIT, "\u202ethen\x00 5SW\n\u200b suns.").text
    assert text == "5sw suns"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("8wl", "8wl can't be a move of yours any more in this hand"),
        ("lowest of moons", "you hold no card of that suit"),
    ],
)
def test_what_can_never_be_is_refused(text, words) -> None:
    table = snakebit("2SY 5SW", "3SK 9LK", "4MS 6LK")
    with pytest.raises(IllegalMove, match=words):
        orders.check(SNAKEBIT, SNAKEBIT.view(table, 1), orders.read(SNAKEBIT, text))


@pytest.mark.parametrize(
    ("name", "text"),
    [("biscuit", "if suns led: lowest"), ("bisque", "lowest of the named suit")],
)
def test_a_rule_of_another_game_is_refused(name, text) -> None:
    game, table = GAMES[name], biscuit("5YK 6LK", "7SK 2SY", "3MW 9MS")
    if name == "bisque":
        table = bisque("2SY 9LK", "3SK 6LK", "4MS 8MS", aims="5YK 6SY 7ML", turn=1)
    with pytest.raises(IllegalMove):
        orders.check(game, game.view(table, 1), orders.read(game, text))


def test_an_order_that_may_mean_two_cards_is_refused_with_both() -> None:
    """Even where one of them is held: the other may be drawn before the order fires."""
    table = biscuit("5YK 6LK", "7SK 2SY", "3MW 9MS")
    with pytest.raises(Ambiguous) as refused:
        orders.check(BISCUIT, BISCUIT.view(table, 1), orders.read(BISCUIT, "7 right"))
    assert set(refused.value.readings) == {"7SK", "7ML", "7WY"}


def test_an_order_may_wait_for_a_column() -> None:
    table = biscuit("5YK 6LK", "7SK 2SY", "3MW 9MS")
    orders.check(BISCUIT, BISCUIT.view(table, 1), orders.read(BISCUIT, "7SK up"))
    assert chosen(BISCUIT, table, "7SK up") is None
