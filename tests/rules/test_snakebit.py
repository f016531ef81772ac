import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rules.biscuit_tables import cards
from rules.trick_tables import SNAKEBIT, legal, played, read, snakebit

from engine import deal
from engine.decktet import CARDS, Suit, mask
from engine.errors import Ambiguous, BadOption, IllegalMove, NotYourTurn, Unreadable
from engine.game import Fact, Outcome, Placed, Preview, Slot, count, say
from engine.snakebit_state import ACES, CROWNS, CYCLE, NUMBERS, new_state

M, S, W, K = Suit.MOONS, Suit.SUNS, Suit.WAVES, Suit.KNOTS


def hands_of(key, seats, **options):
    """The states after each hand of a match of chance moves, and the last state."""
    chance = random.Random(key)
    state, _ = SNAKEBIT.new_game(key, seats, SNAKEBIT.check_options(seats, options))
    found = []
    while SNAKEBIT.to_move(state):
        (seat,) = SNAKEBIT.to_move(state)
        move = chance.choice(SNAKEBIT.moves(SNAKEBIT.view(state, seat)))
        after, _ = SNAKEBIT.apply(state, seat, move)
        if after.last_hand != state.last_hand:
            found.append(after)
        state = after
    return found


def kinds(events):
    return [event.kind for event in events]


def test_snakebit_is_for_three_or_four_and_ends_in_one_of_two_ways():
    assert SNAKEBIT.check_options(3, {}) == {"end": "six"}
    assert SNAKEBIT.check_options(4, {"end": "minus13"}) == {"end": "minus13"}
    for seats, options in ((2, {}), (5, {}), (3, {"end": "seven"}), (3, {"rounds": 6})):
        with pytest.raises(BadOption):
            SNAKEBIT.check_options(seats, options)


@pytest.mark.parametrize("seats", [3, 4])
def test_number_cards_are_dealt_and_an_ace_and_a_crown_turned_over(seats):
    state, (told,) = new_state(b"deal", seats, {"end": "six"})
    order = deal.shuffle(b"deal", "hand/1", NUMBERS)
    assert state.hands == [mask(tuple(order[nth::seats])) for nth in range(seats)]
    assert state.ace == deal.shuffle(b"deal", "aces/1", ACES)[0]
    assert state.crown == deal.shuffle(b"deal", "crowns/1", CROWNS)[0]
    assert (told.kind, told.cards) == ("deal", (state.ace, state.crown))


def test_each_ace_and_crown_comes_once_in_six_hands_and_the_deal_moves_left():
    hands = [state.last_hand for state in hands_of(b"piles", 3, end="minus13")]
    assert len(hands) > CYCLE
    assert {hand.ace for hand in hands[:CYCLE]} == set(ACES)
    assert {hand.crown for hand in hands[:CYCLE]} == set(CROWNS)
    again = deal.shuffle(b"piles", "aces/2", ACES)
    assert [hand.ace for hand in hands[CYCLE : 2 * CYCLE]] == again[: len(hands) - CYCLE]
    assert [hand.tricks[0].leader for hand in hands[:4]] == [1, 2, 3, 1]


def test_a_leader_names_a_suit_and_the_others_must_follow_it():
    table = snakebit("5SW 9LK", "2WL 6SY", "8YK 3LY", flip="AM CK")
    after, events = played(SNAKEBIT, table, "5SW suns")
    assert events[0].phrase == say(
        "%(seat)s led %(card)s and named %(suit)s.", seat=1, card=CARDS["5SW"], suit=S
    )
    assert legal(SNAKEBIT, after) == ["6SY"]
    after, _ = played(SNAKEBIT, after, "6SY")
    # Seat 3 has no Suns: any card will do.
    assert legal(SNAKEBIT, after) == ["3LY", "8YK"]


def test_hands_are_sorted_by_rank_with_trumps_last():
    table = snakebit("9MS 2MK 6SY 3LY", "", "", flip="AM CK")
    assert SNAKEBIT.view(table, 1).hand == cards("3LY 6SY 2MK 9MS")


def test_a_suit_is_freed_by_any_card_that_shows_it_in_any_role():
    table = snakebit("5SW 6SY", "2MK 9LK", "8YK 3LY", flip="AM CK")
    assert SNAKEBIT.view(table, 1).barred == (M, K)
    after, events = played(SNAKEBIT, table, "5SW suns", "2MK")
    assert SNAKEBIT.view(after, 1).barred == ()
    assert kinds(events) == ["play", "free", "free"]
    assert SNAKEBIT.view(after, None).naming == say("Every suit may be named.")


def test_trump_and_curse_are_freed_by_themselves():
    table = snakebit("2MK 6MW", "", "", flip="AM CK", played="4MS")
    assert SNAKEBIT.view(table, 1).barred == (K,)
    assert legal(SNAKEBIT, table) == ["2MK moons", "6MW moons", "6MW waves"]


def test_a_barred_suit_is_still_led_under_the_other_suit_and_trumps_then():
    table = snakebit("4MS", "9LK", "7SK", flip="AM CY")
    assert legal(SNAKEBIT, table) == ["4MS suns"]
    after, _ = played(SNAKEBIT, table, "4MS suns", "9LK", "7SK")
    assert after.last_hand.taken == (1, 0, 0)


def test_the_winner_leads_next_and_the_trick_can_be_read_back():
    table = snakebit("5SW 9LK", "2WL 6SY", "8YK 3LY", flip="AM CK")
    after, events = played(SNAKEBIT, table, "5SW suns", "6SY", "3LY")
    assert (SNAKEBIT.to_move(after), kinds(events)) == ({2}, ["play", "trick"])
    (trick,) = SNAKEBIT.view(after, None).tricks
    assert (trick.leader, trick.named, trick.cards, trick.winner) == (1, S, cards("5SW 6SY 3LY"), 2)
    assert SNAKEBIT.view(after, None).counted == ((0, 0), (1, 0), (0, 0))


def test_cursed_cards_in_a_trick_are_told():
    table = snakebit("5SW 2WL", "6SY 9MS", "8YK 3LY", flip="AM CK")
    _, events = played(SNAKEBIT, table, "5SW suns", "6SY", "8YK")
    assert [event.phrase for event in events[1:]] == [
        say("%(suit)s may be named from now on.", suit=K),
        count(
            1,
            "%(seat)s won the trick, with one cursed card in it.",
            "%(seat)s won the trick, with %(n)s cursed cards in it.",
            seat=2,
        ),
    ]


@pytest.mark.parametrize(("seats", "total"), [(3, 0), (4, -2)])
@given(key=st.binary(min_size=1, max_size=8))
def test_a_hand_sums_to_zero_for_three_and_to_minus_two_for_four(seats, total, key):
    hands = [state.last_hand for state in hands_of(key, seats)]
    assert len(hands) == 6
    for hand in hands:
        assert sum(hand.gains) == total
        assert sum(hand.taken) == len(NUMBERS) // seats
        assert sum(hand.bites) == 8


def test_six_hands_are_played_however_low_somebody_stands():
    table = snakebit("5SW", "6SY", "3LY", flip="AM CK", hand_number=5, scores=(-20, 10, 10))
    after, _ = played(SNAKEBIT, table, "5SW suns", "6SY", "3LY")
    assert (SNAKEBIT.outcome(after), after.hand_number) == (None, 6)


def test_a_match_to_minus_13_ends_with_the_hand_that_brings_somebody_there():
    table = snakebit("3SK", "2MK", "7SK", flip="AM CK", scores=(3, -11, 8), end="minus13")
    after, events = played(SNAKEBIT, table, "3SK suns", "2MK", "7SK")
    # The trump takes three cursed cards with one trick: two points down.
    assert kinds(events)[-3:] == ["score", "score", "score"]
    assert SNAKEBIT.outcome(after) == Outcome((2, 3, 1), (3, -13, 8), "minus13")


def test_previews_say_what_is_certain():
    table = snakebit("5SW 2WL", "6SY 9MS", "8YK 3LY", flip="AM CK")
    view = SNAKEBIT.view(table, 1)
    lead = SNAKEBIT.canonical(view, "5SW suns")
    named = say("naming %(suit)s", suit=S)
    assert SNAKEBIT.preview(view, lead) == Preview(CARDS["5SW"], named, None)
    after, _ = played(SNAKEBIT, table, "5SW suns", "6SY")
    view = SNAKEBIT.view(after, 3)
    follow = SNAKEBIT.canonical(view, "8YK")
    bite = count(1, "%(n)s cursed card in it", "%(n)s cursed cards in it")
    effects = (say("%(seat)s wins it", seat=2), bite)
    there = say("to the trick")
    assert SNAKEBIT.preview(view, follow) == Preview(CARDS["8YK"], there, None, effects)


def test_the_preview_of_the_last_card_counts_the_hand():
    table = snakebit("5SW", "6SY", "2MK", flip="AM CK")
    after, _ = played(SNAKEBIT, table, "5SW suns", "6SY")
    view = SNAKEBIT.view(after, 3)
    (move,) = SNAKEBIT.moves(view)
    points = SNAKEBIT.preview(view, move).points
    last, _ = played(SNAKEBIT, after, "2MK")
    assert points == last.last_hand.gains[2] == 0


@pytest.mark.parametrize(
    ("table", "hint"),
    [
        (
            snakebit("6MW 5SW", "", ""),
            say("Neither %(first)s nor %(second)s may be named yet.", first=M, second=K),
        ),
        (
            snakebit("6MW 5SW", "", "", played="8MS"),
            say("%(suit)s may not be named yet.", suit=K),
        ),
        (
            snakebit("6MW 5SW", "", "", flip="AM CM"),
            say("%(suit)s may not be named yet.", suit=M),
        ),
        (
            snakebit("6MW 5SW", "", "", played="2MK"),
            say("You lead: name either suit of your card."),
        ),
        (snakebit("2MK", "", ""), say("You hold nothing else, so you may name any suit.")),
        (
            snakebit("6MW 5SW", "", "", leader=3, named=W, trick="2WL"),
            say("You must follow %(suit)s.", suit=W),
        ),
        (
            snakebit("6MW 5SW", "", "", leader=3, named=K, trick="7SK"),
            say("You have no %(suit)s: any card may be played.", suit=K),
        ),
    ],
)
def test_the_hint_tells_the_rule_that_matters(table, hint):
    assert SNAKEBIT.hint(SNAKEBIT.view(table, 1)) == hint
    assert SNAKEBIT.hint(SNAKEBIT.view(table, 2)) is None


def test_the_picture_shows_who_played_what_and_the_turned_cards():
    table = snakebit("6MW", "2WL", "5SW", turn=1, leader=3, named=W, trick="5SW")
    layout = SNAKEBIT.layout(SNAKEBIT.view(table, None))
    ace, crown, led = cards("AM CK 5SW")
    assert layout.cards == (
        Placed(0, 0, led, label=say("%(seat)s", seat=3)),
        Placed(layout.cards[1].column, 0, ace, label=say("%(suit)s", suit=M)),
        Placed(layout.cards[2].column, 0, crown, label=say("%(suit)s", suit=K)),
    )
    assert layout.slots == (Slot(1.2, 0, ""), Slot(2.4, 0, ""))
    assert layout.labels[0].text == say("%(seat)s named %(suit)s", seat=3, suit=W)


def test_the_picture_keeps_the_last_trick_with_its_winner_until_somebody_leads():
    table = snakebit("5SW 9LK", "2WL 6SY", "8YK 3LY", flip="AM CK")
    after, _ = played(SNAKEBIT, table, "5SW suns", "6SY", "3LY")
    view = SNAKEBIT.view(after, 2)
    marks = {placed.card.code: placed.marks for placed in SNAKEBIT.layout(view).cards}
    assert {code for code, found in marks.items() if "won" in found} == {"6SY"}
    leading = SNAKEBIT.layout(view, move=SNAKEBIT.canonical(view, "2WL waves"))
    assert [placed.card.code for placed in leading.cards] == ["2WL", "AM", "CK"]


def test_the_facts_tell_the_hand_the_trick_and_the_end():
    trick = Fact(say("Trick"), say("%(n)s of %(most)s", n=1, most=8))
    six = snakebit("6MW", "", "")
    assert SNAKEBIT.facts(SNAKEBIT.view(six, None)) == (
        Fact(say("Hand"), say("%(n)s of %(most)s", n=1, most=6)),
        trick,
    )
    lowest = say("once somebody stands at %(points)s or lower", points="−13")
    until = snakebit("6MW", "", "", end="minus13")
    assert SNAKEBIT.facts(SNAKEBIT.view(until, None)) == (
        Fact(say("Hand"), say("%(number)s", number=1)),
        trick,
        Fact(say("End"), lowest),
    )


@pytest.mark.parametrize(
    "text",
    """5SW suns|5sw S|5 suns waves, suns|suns: 5SW|5SW naming suns|5ws suns
    5 soleils vagues, je nomme soleils|the discovery suns|I lead 5SW and name Suns
    joue le 5SW en nommant soleils|5SW, s
    """.strip()
    .replace("\n", "|")
    .split("|"),
)
def test_a_lead_is_read_generously(text):
    assert read(SNAKEBIT, snakebit("5SW 6MW 9LK", "", ""), text) == "5SW suns"


def test_the_suit_may_be_left_out_where_only_one_may_be_named():
    table = snakebit("6MW 5SW", "", "")
    assert read(SNAKEBIT, table, "6MW") == "6MW waves"
    with pytest.raises(Ambiguous) as ambiguous:
        read(SNAKEBIT, table, "5SW")
    assert ambiguous.value.readings == ("5SW suns", "5SW waves")


@pytest.mark.parametrize("text", ["6SY", "6", "the penitent", "6SY suns", "je joue le 6 SY"])
def test_a_following_card_is_read_generously(text):
    table = snakebit("6SY 2WL", "", "", leader=3, named=S, trick="5SW")
    assert read(SNAKEBIT, table, text) == "6SY"


def test_what_cannot_be_meant_is_refused_with_a_reason():
    leading = snakebit("6MW 5SW", "", "")
    following = snakebit("6SY 2WL", "", "", leader=3, named=S, trick="5SW")
    for table, text, reason in (
        (leading, "9LK leaves", "9LK is not in your hand"),
        (leading, "5SW moons", "5SW does not show the suit that you name"),
        (
            leading,
            "6MW moons",
            "no card of this hand has shown that suit, so it may not be named yet",
        ),
        (
            following,
            "2WL",
            "you hold a card of the named suit, so you must play such a card",
        ),
        (
            following,
            "6SY wyrms",
            "only the leader of a trick names a suit: give just your card",
        ),
    ):
        with pytest.raises(IllegalMove) as refused:
            read(SNAKEBIT, table, text)
        assert str(refused.value) == reason
    with pytest.raises(NotYourTurn):
        read(SNAKEBIT, leading, "6MW", seat=2)


@pytest.mark.parametrize("text", ["", "naming suns", "5SW naming", "5SW 6MW", "5SW s w", "hello"])
def test_what_is_no_move_is_unreadable(text):
    with pytest.raises(Unreadable):
        read(SNAKEBIT, snakebit("6MW 5SW", "", ""), text)
