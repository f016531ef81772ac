import csv
from collections import Counter
from pathlib import Path

import pytest

from engine.decktet import (
    BASIC,
    CARDS,
    COURTS,
    DECK,
    EXCUSE,
    PAWNS,
    Rank,
    Suit,
    cards_of,
    mask,
    read_deck,
)
from engine.errors import BadDeck

LIST = Path(__file__).parent.parent / "golden" / "deck.csv"


def test_the_deck_is_the_published_list_in_its_order():
    with LIST.open(encoding="utf-8", newline="") as lines:
        rows = [tuple(row.values()) for row in csv.DictReader(lines)]
    ours = [
        (
            card.code,
            card.name,
            card.rank.name.title(),
            " ".join(suit.name.title() for suit in card.suits),
        )
        for card in DECK
    ]
    ranks = {Rank(str(number)).name.title(): str(number) for number in range(2, 10)}
    ours = [(code, name, ranks.get(rank, rank), suits) for code, name, rank, suits in ours]
    assert ours == rows


def test_every_suit_stands_once_at_each_basic_rank():
    counted = Counter((card.rank, suit) for card in BASIC for suit in card.suits)
    assert counted == {(rank, suit): 1 for rank in list(Rank)[:10] for suit in Suit}


def test_the_parts_of_the_deck_are_36_4_4_and_1_cards():
    assert (len(BASIC), len(PAWNS), len(COURTS), len(DECK)) == (36, 4, 4, 45)
    assert {card.rank for card in PAWNS} == {Rank.PAWN}
    assert {card.rank for card in COURTS} == {Rank.COURT}
    assert EXCUSE.suits == ()


def test_a_cards_id_is_its_rank_and_its_suit_letters():
    assert [CARDS[code].code for code in ("AM", "5SW", "CK", "PMSL", "EX")] == [
        "AM",
        "5SW",
        "CK",
        "PMSL",
        "EX",
    ]
    assert str(CARDS["5SW"]) == "5SW"
    assert [card.index for card in DECK] == list(range(45))


def test_ranks_count_from_one_to_ten():
    assert [rank.number for rank in list(Rank)[:10]] == list(range(1, 11))


@pytest.mark.parametrize("rank", [Rank.PAWN, Rank.COURT, Rank.EXCUSE])
def test_pawns_courts_and_the_excuse_have_no_number(rank):
    with pytest.raises(ValueError, match="is not in list"):
        _ = rank.number


def test_a_mask_holds_cards_and_gives_them_back_in_the_decks_order():
    chosen = (CARDS["CK"], CARDS["AM"], CARDS["EX"])
    assert cards_of(mask(chosen)) == (CARDS["AM"], CARDS["CK"], CARDS["EX"])
    assert cards_of(0) == ()


@pytest.mark.parametrize("at", range(45))
def test_a_deck_that_lacks_a_card_or_has_it_twice_is_named(at):
    lines = [f"{card.code} {card.name}" for card in DECK]
    assert read_deck("\n".join(lines)) == DECK
    rank = "the Excuse" if lines[at].startswith("EX") else f"of the rank {lines[at][0]}"
    for wrong in (lines[:at] + lines[at + 1 :], [*lines, lines[at]]):
        with pytest.raises(BadDeck, match=rank):
            read_deck("\n".join(wrong))
