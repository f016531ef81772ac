import pytest
from hypothesis import given
from hypothesis import strategies as st
from rules.biscuit_tables import GAME, biscuit

from engine.decktet import CARDS, DECK, Rank, Suit
from engine.errors import Ambiguous, IllegalMove, NotYourTurn, RulesError, Unreadable
from engine.reading import CardWords, read, tokens, vocabulary

WORDS = vocabulary(("pot, au pot", "POT"), ("play", None))


def card(text):
    """The cards that a text of one card may mean."""
    (item,) = read(text, WORDS)
    return " ".join(found.code for found in item.cards)


@pytest.mark.parametrize(
    "text",
    """6SY|6sy|6YS|6 SY|6 s y|6 Y S|6 suns wyrms|6 wyrms suns|6 of suns and wyrms|six of Suns
    le 6 SY|6 soleils wyrms|6 de soleils et wyrms|suns wyrms 6|penitent|The Penitent|6\u00a0S\u200bY
    "6SY"|card 6SY|six soleils|6 sun|play the 6sy""".replace("\n", "|").split("|"),
)
def test_the_penitent_is_read_however_it_is_written(text):
    assert card(text) == "6SY"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("as", "AS"),
        ("as de lunes", "AM"),
        ("l'as de feuilles", "AL"),
        ("l’as de vagues", "AW"),
        ("as m", "AM"),
        ("ace of knots", "AK"),
        ("a k", "AK"),
        ("a 6sy", "6SY"),
        ("couronne nœuds", "CK"),
        ("crown noeuds", "CK"),
        ("Crown of Leaves", "CL"),
        ("the end", "CL"),
        ("chance meeting", "7ML"),
        ("light keeper", "PSWK"),
        ("pawn moons wyrms knots", "PMYK"),
        ("pion lunes wyrms nœuds", "PMYK"),
        ("p m y k", "PMYK"),
        ("pkym", "PMYK"),
        ("cour soleils vagues wyrms", "TSWY"),
        ("t swy", "TSWY"),
        ("excuse", "EX"),
        ("l'Excuse", "EX"),
        ("ex", "EX"),
        ("neuf feuilles nœuds", "9LK"),
        ("deux vagues", "2WL"),
        ("5", "5ML 5SW 5YK"),
        ("cinq", "5ML 5SW 5YK"),
        ("court", "TMWK TMLY TSWY TSLK"),
    ],
)
def test_cards_are_read_in_english_and_french(text, code):
    assert card(text) == code


@pytest.mark.parametrize("one", DECK, ids=str)
def test_every_card_is_read_by_its_code_and_by_its_name(one):
    assert card(one.code) == card(one.code.lower()) == card(one.name) == one.code
    words = " ".join([one.rank.name, *(suit.word for suit in one.suits[::-1])])
    assert card(words) == one.code


def test_a_games_words_stand_beside_the_cards():
    assert read("play 4MS au pot", WORDS) == (
        CardWords(Rank.FOUR, (Suit.MOONS, Suit.SUNS)),
        "POT",
    )


def test_a_suit_after_a_whole_card_is_a_word_of_its_own():
    whole = CardWords(Rank.FIVE, (Suit.SUNS, Suit.WAVES))
    assert read("5SW suns", WORDS) == (whole, CardWords(suits=(Suit.SUNS,)))
    assert read("5 suns waves soleils", WORDS) == (whole, CardWords(suits=(Suit.SUNS,)))


@pytest.mark.parametrize("text", ["6SY sideways", "hello", "6MS", "10SY", "6SS", "q", "6SY?? no"])
def test_an_unknown_word_is_never_guessed(text):
    with pytest.raises(Unreadable):
        read(text, WORDS)


def test_a_letter_is_too_long_for_a_move():
    with pytest.raises(Unreadable, match="too long"):
        read("6SY " * 100, WORDS)


def test_words_lose_accents_signs_and_odd_spaces():
    assert tokens("  Nœuds,\u00a0AU-DESSUS\u200b d’été (à gauche)! ") == [
        "noeuds",
        "au",
        "dessus",
        "ete",
        "gauche",
    ]


# One column is open, below the Soldier (5YK) at the right end of the main line.
def table(hand="6SY 6LK 4MS CM 7SK"):
    return biscuit("5SW 2SY 5YK", hand, "AM AS", pile="CW CS", columns={"5YK": ("", "8YK")})


def two_columns():
    return biscuit(
        "5ML 5SW 2SY 5YK",
        "6SY 6LK 4MS",
        "AM AS",
        start=1,
        pile="CW",
        columns={"5YK": ("", "8YK"), "5ML": ("7ML", "")},
    )


def meant(text, state=None):
    state = table() if state is None else state
    return GAME.format(GAME.parse(GAME.view(state, 1), text))


@pytest.mark.parametrize(
    ("text", "move"),
    [
        ("6sy left", "6SY left"),
        ("6SY L", "6SY left"),
        ("left 6SY", "6SY left"),
        ("play the penitent on the left", "6SY left"),
        ("put 6 of suns and wyrms left", "6SY left"),
        ("joue le 6 soleils wyrms à gauche", "6SY left"),
        ("6 SY gauche", "6SY left"),
        ("6sy a gauche", "6SY left"),
        ("6SY r", "6SY right"),
        ("6SY right end", "6SY right"),
        ("6sy droite", "6SY right"),
        ("6SY up", "6SY up 5YK"),
        ("6SY above the Soldier", "6SY up 5YK"),
        ("6SY over 8YK", "6SY up 5YK"),
        ("6sy haut", "6SY up 5YK"),
        ("6SY au-dessus de 5YK", "6SY up 5YK"),
        ("6SY au dessous", "6SY down 5YK"),
        ("jouer 6SY en bas", "6SY down 5YK"),
        ("6SY below betrayal", "6SY down 5YK"),
        ("6SY under the 8", "6SY down 5YK"),
        ("6sy left of 5sw", "6SY left"),
        ("4MS", "4MS left"),
        ("mountain", "4MS left"),
        ("4", "4MS left"),
        ("4 moons", "4MS left"),
        ("7 up", "7SK up 5YK"),
    ],
)
def test_a_move_of_biscuit_is_read_generously(text, move):
    assert meant(text) == move


def test_several_readings_are_listed_and_none_is_chosen():
    with pytest.raises(Ambiguous) as caught:
        meant("6SY")
    assert caught.value.readings == ("6SY left", "6SY right", "6SY up 5YK", "6SY down 5YK")
    with pytest.raises(Ambiguous) as caught:
        meant("6 right")
    assert caught.value.readings == ("6SY right", "6LK right")


def test_with_two_columns_the_column_must_be_named():
    with pytest.raises(Ambiguous) as caught:
        meant("6LK up", two_columns())
    assert caught.value.readings == ("6LK up 5ML", "6LK up 5YK")
    assert meant("6LK up 7ML", two_columns()) == "6LK up 5ML"
    assert meant("6LK above 8YK", two_columns()) == "6LK up 5YK"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("9LK left", "9LK is not in your hand"),
        ("4MS right", "4MS shares no suit with 5YK"),
        ("6LK left", "6LK shares no suit with 5SW"),
        ("CM", "CM shares no suit with 5SW, 5YK, 8YK"),
        ("6SY up 5SW", "5SW names no open place there"),
        ("keep", "there is no drawn card to keep; play a card"),
    ],
)
def test_what_is_not_legal_is_refused_with_the_reason(text, reason):
    with pytest.raises(IllegalMove) as caught:
        meant(text)
    assert str(caught.value) == reason


def test_without_a_column_only_the_main_lines_ends_are_open():
    with pytest.raises(IllegalMove, match="there is no column yet"):
        meant("6SY up", biscuit("5SW", "6SY CM", "AM", pile="CW"))


@pytest.mark.parametrize(
    "text",
    ["", "left", "6SY left right", "above 5YK 6SY", "6SY 5YK 8YK", "6SY sideways", "keep left"],
)
def test_what_says_no_move_is_unreadable(text):
    with pytest.raises(Unreadable):
        meant(text)


@pytest.mark.parametrize(
    ("text", "move"),
    [("keep", "keep"), ("Keep it", "keep"), ("je garde", "keep"), ("garder le 6SY", "keep")],
)
def test_a_drawn_card_may_be_kept_in_words(text, move):
    assert meant(text, drawn()) == move


def drawn():
    state = biscuit("5SW", "7ML 6SY", "AM CM", pile="CW")
    state.drawn = CARDS["6SY"]
    return state


def test_after_drawing_only_the_drawn_card_may_be_played():
    with pytest.raises(IllegalMove) as caught:
        meant("7ML left", drawn())
    assert str(caught.value) == "you may only play the card you drew, 6SY, or keep it"
    with pytest.raises(IllegalMove, match="the card you drew is 6SY"):
        meant("keep 7ML", drawn())


def test_who_is_not_to_move_is_told_so():
    with pytest.raises(NotYourTurn):
        GAME.parse(GAME.view(table(), 2), "AM left")


@given(st.text(max_size=60))
def test_any_text_is_a_legal_move_or_an_error_in_words(text):
    view = GAME.view(table(), 1)
    try:
        answer = GAME.parse(view, text)
    except RulesError as error:
        answer = str(error)
    assert answer in GAME.moves(view) or (isinstance(answer, str) and answer)
