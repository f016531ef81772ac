import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rules.biscuit_tables import cards
from rules.trick_tables import BISQUE, bisque, legal, played, read

from engine import deal
from engine.bisque import PLIES
from engine.bisque_state import TRICKS, HandResult, is_void, new_state, totals
from engine.decktet import BASIC, cards_of, mask
from engine.errors import Ambiguous, BadOption, IllegalMove, NotYourTurn, Unreadable
from engine.game import Fact, Outcome, Placed, Preview, Slot, say

AIMS = "8MS 9LK 7WY"
ONE_HAND = {"rounds": 1}


def by_chance(key, **options):
    """All states of a match of chance moves, with the moves in notation."""
    chance = random.Random(key)
    state, _ = BISQUE.new_game(key, 3, BISQUE.check_options(3, options))
    states, texts = [state], []
    while BISQUE.to_move(state):
        seat = chance.choice(sorted(BISQUE.to_move(state)))
        move = chance.choice(BISQUE.moves(BISQUE.view(state, seat)))
        state, _ = BISQUE.apply(state, seat, move)
        states.append(state)
        texts.append(BISQUE.format(move))
    return states, texts


def kinds(events):
    return [event.kind for event in events]


def test_bisque_is_for_three_and_for_one_to_twelve_hands():
    assert BISQUE.check_options(3, {}) == {"rounds": 6}
    assert BISQUE.check_options(3, {"rounds": 12}) == {"rounds": 12}
    for seats, given_options in ((2, {}), (4, {}), (3, {"rounds": 0}), (3, {"rounds": 13})):
        with pytest.raises(BadOption):
            BISQUE.check_options(seats, given_options)


def test_each_seat_gets_every_third_card_from_the_opening_seat_on():
    state, _ = new_state(b"deal", {"rounds": 6})
    order = deal.shuffle(b"deal", "hand/1", BASIC)
    assert state.hands == [mask(tuple(order[nth::3])) for nth in range(3)]


def test_all_three_are_asked_at_once_and_may_choose_in_any_order():
    table = bisque("9MS AM", "8WL CK", "2MK AK")
    assert BISQUE.to_move(table) == {1, 2, 3}
    after, events = played(BISQUE, table, "aim 8WL", seat=2)
    assert (BISQUE.to_move(after), kinds(events)) == ({1, 3}, ["aim"])
    with pytest.raises(NotYourTurn):
        BISQUE.apply(after, 2, BISQUE.canonical(BISQUE.view(table, 2), "aim 8WL"))


def test_an_objective_has_two_suits_and_leaves_the_hand():
    table = bisque("9MS AM", "8WL CK", "2MK AK")
    assert legal(BISQUE, table, 1) == ["aim 9MS"]
    after, _ = played(BISQUE, table, "aim 9MS", seat=1)
    view = BISQUE.view(after, 1)
    assert (view.hand, view.aim, view.chosen) == (cards("AM"), cards("9MS")[0], (1,))


def test_others_see_who_has_chosen_but_not_what():
    table = bisque("9MS AM", "8WL CK", "2MK AK")
    after, (told,) = played(BISQUE, table, "aim 9MS", seat=1)
    assert told.told(1) == say(
        "%(seat)s chose %(card)s as the objective.", seat=1, card=told.secret_cards[0]
    )
    for watcher in (None, 2, 3):
        view = BISQUE.view(after, watcher)
        assert told.told(watcher) == say("%(seat)s chose an objective.", seat=1)
        assert (view.chosen, view.aims, view.hand_sizes) == ((1,), (None, None, None), (1, 2, 2))
        assert BISQUE.layout(view).cards[0].card is None


def test_the_opening_seat_leads_once_the_last_objective_is_chosen():
    table = bisque("9MS AM", "8WL CK", "2MK AK", hand_number=2)
    after, _ = played(BISQUE, table, "aim 9MS", "aim 8WL", "aim 2MK")
    assert BISQUE.to_move(after) == {2}
    assert legal(BISQUE, after) == ["play CK"]


def test_the_winner_fills_the_pot_and_then_leads():
    table = bisque("5SW AM", "9MS CK", "2MK AK", aims=AIMS, turn=1)
    after, events = played(BISQUE, table, "play 5SW", "play 9MS", "play 2MK")
    assert (BISQUE.to_move(after), kinds(events)) == ({2}, ["play", "trick"])
    assert legal(BISQUE, after) == ["pot 2MK", "pot 5SW"]
    after, events = played(BISQUE, after, "pot 5SW")
    assert (after.pot, kinds(events)) == (cards("5SW"), ["pot"])
    assert legal(BISQUE, after) == ["play CK"]
    (trick,) = BISQUE.view(after, None).tricks
    assert (trick.leader, trick.cards, trick.winner) == (1, cards("5SW 9MS 2MK"), 2)


def test_of_three_equal_ranks_the_first_wins():
    table = bisque("5SW", "5ML", "5YK", aims=AIMS, turn=3, leader=3)
    after, _ = played(BISQUE, table, "play 5YK", "play 5SW", "play 5ML")
    assert BISQUE.to_move(after) == {3}


def test_the_last_pot_card_scores_the_hand_and_opens_the_objectives():
    table = bisque(
        "5SW", "9MS", "2MK", aims=AIMS, turn=1, pot="AM CS 8WL 7ML 6MW 4MS 3LY CK AK 2WL", rounds=1
    )
    table.tricks = by_chance(b"tricks", **ONE_HAND)[0][-1].tricks[:10]
    after, events = played(BISQUE, table, "play 5SW", "play 9MS", "play 2MK", "pot 5SW")
    assert kinds(events) == ["pot", "score", "score", "score"]
    assert [(event.cards, event.points) for event in events[1:]] == [
        ((aim,), gain) for aim, gain in zip(cards(AIMS), after.scores, strict=True)
    ]
    assert after.scores == (19, 15, 3)
    assert BISQUE.outcome(after) == Outcome((1, 2, 3), (19, 15, 3), "rounds")
    view = BISQUE.view(after, None)
    assert (view.aims, view.is_over) == (cards(AIMS), True)


def test_after_a_hand_the_next_is_dealt_and_its_objectives_are_secret_again():
    states, _ = by_chance(b"next", rounds=2)
    view = BISQUE.view(states[PLIES], None)
    assert (view.hand_number, view.aims, view.pot, view.chosen) == (2, (None,) * 3, (), ())
    assert isinstance(view.last_hand, HandResult)
    assert view.last_hand.gains == view.scores


def test_a_tie_at_the_end_is_shared():
    table = bisque("", "", "", aims=AIMS, scores=(5, 9, 9))
    assert BISQUE.outcome(table).winners == (2, 3)


def test_a_deal_is_void_if_somebody_holds_no_card_with_two_suits():
    # One deal in a billion is void, so no key is looked for: the condition is asked alone.
    high = mask(cards("AM AS AW AL AY AK CM CS CW CL CY CK"))
    assert is_void(high)
    assert not is_void(high | mask(cards("2MK")))


def test_a_running_match_shows_no_objective_of_its_running_hand():
    _, texts = by_chance(b"record", rounds=2)
    running = texts[: PLIES + 5]
    shown = BISQUE.public_moves(running)
    assert list(shown[:PLIES]) == running[:PLIES]
    assert list(shown[PLIES:]) == ["aim", "aim", "aim", *running[PLIES + 3 :]]
    assert list(BISQUE.public_moves(texts[:2])) == ["aim", "aim"]
    assert list(BISQUE.public_moves(texts[:PLIES])) == texts[:PLIES]


@given(st.binary(min_size=1, max_size=8))
def test_a_pot_holds_eleven_cards_none_of_them_an_objective(key):
    states, _ = by_chance(key, **ONE_HAND)
    hand = states[-1].last_hand
    assert len(set(hand.pot)) == TRICKS == 11
    assert not set(hand.pot) & set(hand.aims)
    assert hand.gains == tuple(min(totals(hand.pot, aim)) for aim in hand.aims)
    assert all(trick.potted in trick.cards for trick in states[-1].tricks)


def test_previews_say_what_is_certain():
    card = cards("5SW 9MS 2MK")
    table = bisque("5SW", "9MS", "2MK", aims=AIMS, turn=3, leader=1, trick="5SW 9MS")
    view = BISQUE.view(table, 3)
    effect = say("%(seat)s wins it", seat=2)
    move = BISQUE.canonical(view, "play 2MK")
    assert BISQUE.preview(view, move) == Preview(card[2], say("to the trick"), None, (effect,))
    first = bisque("5SW AM", "", "")
    view = BISQUE.view(first, 1)
    move = BISQUE.canonical(view, "aim 5SW")
    assert BISQUE.preview(view, move) == Preview(card[0], say("as your objective"), None)


@pytest.mark.parametrize(
    ("table", "hint"),
    [
        (bisque("5SW", "", ""), "Choose your objective: a card with two suits."),
        (bisque("5SW", "", "", aims=AIMS, turn=1), "You lead, with any card."),
        (
            bisque("5SW", "", "", aims=AIMS, turn=1, leader=3, trick="9MS"),
            "Any card may be played: the highest rank wins, the first of equals.",
        ),
        (
            bisque("", "", "", aims=AIMS, turn=1, trick="9MS 2MK 3LY"),
            "You won the trick: choose the card that goes into the pot.",
        ),
    ],
)
def test_the_hint_tells_what_is_asked(table, hint):
    assert BISQUE.hint(BISQUE.view(table, 1)) == say(hint)
    assert BISQUE.hint(BISQUE.view(table, None)) is None


def test_the_picture_shows_who_played_what_and_where_cards_are_awaited():
    table = bisque("5SW", "6SY", "7SK", aims=AIMS, turn=3, leader=2, trick="9MS", pot="AM")
    layout = BISQUE.layout(BISQUE.view(table, 3))
    nine, own, ace = cards("9MS 7WY AM")
    assert layout.cards[0] == Placed(0, 0, nine, label=say("%(seat)s", seat=2))
    assert [placed.card for placed in layout.cards[1:]] == [None, None, own, ace]
    assert layout.slots == (Slot(1.2, 0, ""), Slot(2.4, 0, ""))


def test_the_facts_tell_the_hand_the_trick_and_the_own_suits():
    table = bisque("5SW", "6SY", "7SK", aims=AIMS, turn=1, pot="AM 5SW")
    own = say(
        "%(first)s, %(second)s",
        first=say("%(suit)s %(points)s", suit=cards("8MS")[0].suits[0], points=5),
        second=say("%(suit)s %(points)s", suit=cards("8MS")[0].suits[1], points=5),
    )
    hand = Fact(say("Hand"), say("%(n)s of %(most)s", n=1, most=6))
    trick = Fact(say("Trick"), say("%(n)s of %(most)s", n=1, most=11))
    assert BISQUE.facts(BISQUE.view(table, None)) == (hand, trick)
    assert BISQUE.facts(BISQUE.view(table, 1)) == (
        hand,
        trick,
        Fact(say("Your suits in the pot"), own),
    )


@pytest.mark.parametrize(
    "text", ["aim 5SW", "5sw", "objectif 5 soleils vagues", "je vise le 5SW", "the discovery"]
)
def test_an_objective_is_read_generously(text):
    assert read(BISQUE, bisque("5SW 6SY AM", "", ""), text) == "aim 5SW"


@pytest.mark.parametrize(
    ("text", "move"),
    [
        ("play AM", "play AM"),
        ("as de lunes", "play AM"),
        ("I lead 6SY", "play 6SY"),
        ("6", "play 6SY"),
    ],
)
def test_a_card_to_the_trick_is_read_generously(text, move):
    table = bisque("5SW 6SY AM", "", "", aims=AIMS, turn=1)
    assert read(BISQUE, table, text) == move


@pytest.mark.parametrize(
    "text", ["pot 2MK", "2mk", "je mets 2 lunes dans la marmite", "the author"]
)
def test_a_card_for_the_pot_is_read_generously(text):
    table = bisque("", "", "", aims=AIMS, turn=1, trick="9MS 2MK 3LY")
    assert read(BISQUE, table, text) == "pot 2MK"


def test_what_cannot_be_meant_is_refused_with_a_reason():
    choosing = bisque("5SW 5ML AM", "", "")
    playing = bisque("5SW 5ML AM", "", "", aims=AIMS, turn=1)
    filling = bisque("AM", "", "", aims=AIMS, turn=1, trick="9MS 2MK 3LY")
    for table, text, reason in (
        (choosing, "AM", "an objective has two suits, and AM has not"),
        (choosing, "play 5SW", "your objective is asked for first"),
        (playing, "6SY", "6SY is not in your hand"),
        (playing, "pot 5SW", "a card to the trick is asked for now"),
        (filling, "9MS", "your own card may not go into the pot"),
        (filling, "AM", "AM is not in the trick you won"),
        (filling, "play AM", "you won the trick: put one of its cards into the pot first"),
    ):
        with pytest.raises(IllegalMove) as refused:
            read(BISQUE, table, text)
        assert str(refused.value) == reason


def test_what_is_ambiguous_or_unreadable_is_never_guessed():
    table = bisque("5SW 5ML AM", "", "", aims=AIMS, turn=1)
    with pytest.raises(Ambiguous) as ambiguous:
        read(BISQUE, table, "5")
    assert ambiguous.value.readings == ("play 5ML", "play 5SW")
    for text in ("", "play", "5SW 5ML", "play pot 5SW", "hello"):
        with pytest.raises(Unreadable):
            read(BISQUE, table, text)


def test_whoever_is_not_asked_cannot_move():
    table = bisque("5SW", "6SY", "", aims=AIMS, turn=1)
    with pytest.raises(NotYourTurn):
        read(BISQUE, table, "6SY", seat=2)
    assert cards_of(table.hands[1]) == cards("6SY")
