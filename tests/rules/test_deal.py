import hashlib
import hmac
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rules.biscuit_tables import GAME

from engine import deal
from engine.biscuit_state import new_state
from engine.decktet import BASIC, cards_of

KEY = bytes(range(32))


def words(key, label):
    """The published stream, written out anew."""
    block = 0
    while True:
        digest = hmac.new(key, f"{label}/{block}".encode(), hashlib.sha256).digest()
        yield from (int.from_bytes(digest[at : at + 8], "big") for at in (0, 8, 16, 24))
        block += 1


def test_the_commitment_is_the_sha_256_of_the_server_key():
    assert deal.commitment(b"\x00" * 32) == (
        "66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925"
    )


def test_the_deal_key_is_an_hmac_over_the_game_id_and_a_line_for_each_phrase():
    message = "id-7\n\nlucky seven\ndéjà vu".encode()
    assert deal.deal_key(KEY, "id-7", ["", "lucky seven", "déjà vu"]) == (
        hmac.new(KEY, message, hashlib.sha256).digest()
    )


def test_another_phrase_gives_another_deal():
    keys = {deal.deal_key(KEY, "id", phrases) for phrases in (["", ""], ["a", ""], ["", "a"])}
    assert len(keys) == 3


@given(st.binary(min_size=1, max_size=40), st.integers(0, 45))
def test_a_shuffle_swaps_downwards_as_published(key, size):
    expected = list(range(size))
    stream = words(key, "hand/1")
    for last in range(size - 1, 0, -1):
        other = next(stream) % (last + 1)  # a word near 2^64 is too rare to be met here
        expected[last], expected[other] = expected[other], expected[last]
    assert deal.shuffle(key, "hand/1", range(size)) == expected


def test_a_word_at_the_very_top_is_skipped():
    top = (1 << 64) - 1
    assert deal._swapped("abc", iter([top, 3, 1])) == ["c", "b", "a"]
    assert deal._swapped("ab", iter([top])) == ["a", "b"]


def test_a_shuffle_leaves_the_given_cards_as_they_were():
    items = [1, 2, 3, 4, 5]
    assert sorted(deal.shuffle(KEY, "x", items)) == items == [1, 2, 3, 4, 5]


def test_labels_give_shuffles_of_their_own():
    orders = [tuple(deal.shuffle(KEY, label, BASIC)) for label in ("hand/1", "hand/2", "seats")]
    assert len(set(orders)) == 3


def test_every_card_comes_to_the_top_about_as_often():
    tops = Counter(deal.shuffle(KEY, f"hand/{n}", range(6))[0] for n in range(1200))
    assert all(150 < tops[item] < 250 for item in range(6))


def test_drawn_seats_come_from_the_phrases_in_joining_order():
    key = deal.deal_key(KEY, "id", ["a", "b", "c"])
    assert deal.draw_seats(KEY, "id", ["a", "b", "c"]) == deal.shuffle(key, "seats", range(3))


def test_a_phrase_is_one_line_in_composed_form():
    assert deal.clean_phrase("  de\u0301ja\u0300\n vu ") == "d\u00e9j\u00e0 vu"


def test_a_phrase_of_more_than_100_characters_is_refused_in_words():
    assert deal.clean_phrase("x" * 100) == "x" * 100
    with pytest.raises(ValueError, match="at most 100 characters"):
        deal.clean_phrase("x" * 101)


def test_cards_are_dealt_one_at_a_time_from_the_opening_seat():
    order = deal.shuffle(KEY, "hand/1", BASIC)
    state, _ = new_state(KEY, 3, GAME.check_options(3, {}))
    # Seat 1 may have drawn at once, on top of the cards it was dealt.
    hands = [cards_of(hand) for hand in state.hands]
    assert all(set(order[seat:18:3]) <= set(hands[seat]) for seat in range(3))
    assert (state.face_down, state.lines.initial) == (order[18], order[19])
    assert list(reversed(state.pile)) == order[36 - len(state.pile) :]
