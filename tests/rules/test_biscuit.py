from collections import Counter

import pytest
from rules.biscuit_tables import GAME, biscuit, cards, legal, played, points

from engine.biscuit_state import advance
from engine.biscuit_table import BESIDE, drawers, left_value
from engine.decktet import CARDS, DECK
from engine.errors import BadOption, IllegalMove, NotYourTurn
from engine.game import Fact, Outcome, Placed, Preview, Slot, count, say

# Hands that keep both seats busy and rarely matter.
REST = "AM CM"


def test_cards_may_lie_side_by_side_when_they_share_a_suit():
    for card in DECK:
        for other in DECK:
            shared = bool(set(card.suits) & set(other.suits)) or CARDS["EX"] in (card, other)
            assert bool(BESIDE[card.index] >> other.index & 1) == shared


def test_the_main_line_grows_at_both_ends_but_only_beside_a_shared_suit():
    table = biscuit("2SY 5SW 2WL", "6SY 4WL", REST, start=1)
    assert legal(table) == ["4WL right", "6SY left"]


def test_moves_are_listed_card_by_card_the_main_line_first():
    table = biscuit("5SW 2SY 5YK", "8YK 6SY", REST)
    assert legal(table) == [
        "6SY left",
        "6SY right",
        "6SY up 5YK",
        "6SY down 5YK",
        "8YK right",
        "8YK up 5YK",
        "8YK down 5YK",
    ]


def test_a_card_of_the_initial_rank_in_the_main_line_opens_a_column():
    after = played(biscuit("5SW 2SY", "5YK 8YK", REST), "5YK right").state
    assert [column.cross.code for column in after.lines.columns] == ["5YK"]
    assert after.lines.columns[0].cards == cards("5YK")


def test_a_column_opened_on_the_left_comes_first():
    table = biscuit("7ML 5SW 2SY 5YK", "5ML 8MS", REST, start=1)
    after = played(table, "5ML left").state
    assert [column.cross.code for column in after.lines.columns] == ["5ML", "5YK"]
    assert (after.lines.start, after.lines.initial) == (2, CARDS["5SW"])


def test_other_ranks_open_no_column():
    assert played(biscuit("5SW", "6SY 7SK", REST), "6SY right").state.lines.columns == ()


def test_a_card_of_the_initial_rank_in_a_column_opens_none():
    table = biscuit("5SW 2SY 5YK", "5ML 8YK", REST, columns={"5YK": ("6LK", "")})
    after = played(table, "5ML up 5YK").state
    assert [column.cross.code for column in after.lines.columns] == ["5YK"]


def test_the_excuse_fits_everywhere_and_everything_fits_it():
    table = biscuit("5SW", "EX AL", REST, excuse=True)
    assert legal(table) == ["EX left", "EX right"]
    after = played(table, "EX left").state
    assert after.turn == 2
    assert legal(after) == ["AM left", "CM left"]


def test_the_excuse_scores_nothing_and_breaks_a_straight():
    assert points(biscuit("4MS 5SW EX", "6SY 7SK", REST, excuse=True), "6SY right") == 0
    assert points(biscuit("5SW 6SY", "EX 7SK", REST, excuse=True), "EX right") == 0


def test_a_straight_counts_the_played_card_and_goes_inward():
    assert points(biscuit("9MS 5SW 6SY", "7SK 2SY", REST), "7SK right") == 3
    assert points(biscuit("9MS 5SW 6SY", "5YK 2SY", REST), "5YK right") == 2


def test_a_straight_keeps_one_direction():
    assert points(biscuit("6LK 5SW 6SY", "5YK 2SY", REST), "5YK right") == 2


def test_a_straight_does_not_wrap():
    assert points(biscuit("CS", "AS 9LK", "2MK 3MW"), "AS left") == 0
    assert points(biscuit("AS", "2SY 9LK", "2MK 3MW"), "2SY left") == 2
    assert points(biscuit("9MS", "CS 9LK", "2MK 3MW"), "CS left") == 2


@pytest.mark.parametrize(
    ("main", "card", "options", "scored"),
    [
        ("9MS", "CS", {}, 2),
        ("9MS", "CS", {"pawns": True}, 0),
        ("9MS", "CS", {"courts": True}, 0),
        ("9MS", "PMSL", {"pawns": True}, 2),
        ("PMSL", "CS", {"pawns": True}, 2),
        ("9MS", "TSWY", {"courts": True}, 2),
        ("9MS", "TSWY", {"courts": True, "pawns": True}, 0),
        ("9MS PMSL", "TSWY", {"courts": True, "pawns": True}, 3),
        ("9MS PMSL TSWY", "CS", {"courts": True, "pawns": True}, 4),
    ],
)
def test_pawns_and_courts_stand_between_nine_and_crown(main, card, options, scored):
    assert points(biscuit(main, f"{card} 3SK", "2MK 3MW", **options), f"{card} right") == scored


def test_a_straight_in_a_column_goes_through_the_cross_card():
    table = biscuit("5SW 2SY 5YK", "4YK 2SY 9LK", REST, columns={"5YK": ("6LK 7SK", "")})
    assert points(table, "4YK down 5YK") == 4


def test_a_hot_biscuit_scores_2_and_a_hot_cross_biscuit_4():
    assert points(biscuit("9MS 2SY 5SW", "9WY 3LY", REST, start=1), "9WY right") == 2
    table = biscuit("5SW 2SY 5YK", "9WY 3LY", REST, columns={"5YK": ("9LK", "")})
    assert points(table, "9WY down 5YK") == 4


def test_other_lines_ends_score_1_each_and_both_ends_count():
    table = biscuit("9MS 5SW 2SY 5YK 9LK", "9WY 3LY", REST, start=1)
    assert points(table, "9WY up 5YK") == 2
    table = biscuit("3SK 5SW 2SY 5YK", "9WY AK", REST, start=1, columns={"5YK": ("9LK", "9MS")})
    assert points(table, "9WY right") == 2


def test_a_bare_cross_card_is_no_line_and_matches_nothing():
    table = biscuit("3MW 5SW 2SY 5YK 8YK", "5ML 9LK", REST, start=1)
    assert points(table, "5ML left") == 0


def test_a_main_line_of_one_card_counts_once():
    table = biscuit("5SW 5YK", "5ML 7ML", REST, columns={"5YK": ("6LK", "")})
    # The straight 5-6, the column's other end 5YK at 4, the main line's left end at 1.
    assert points(table, "5ML up 5YK") == 2 + 4 + 1


@pytest.mark.parametrize(
    ("card", "far", "options", "eleven"),
    [
        ("AS", "CS", {}, True),
        ("9MS", "2SY", {}, True),
        ("6SY", "5SW", {}, True),
        ("6SY", "4MS", {}, False),
        ("PMSL", "AS", {"pawns": True}, True),
        ("PMSL", "CS", {"pawns": True}, True),
        ("PMSL", "PSWK", {"pawns": True}, True),
        ("PMSL", "9MS", {"pawns": True}, False),
        ("TSWY", "AS", {"courts": True}, True),
        ("TSWY", "CS", {"courts": True}, True),
        ("TSWY", "TSLK", {"courts": True}, True),
        ("TSWY", "PMSL", {"courts": True, "pawns": True}, True),
        ("TSWY", "TSLK", {"courts": True, "pawns": True}, False),
        ("PMSL", "PSWK", {"courts": True, "pawns": True}, False),
        ("PMSL", "AS", {"courts": True, "pawns": True}, False),
        ("TSWY", "CS", {"courts": True, "pawns": True}, False),
        ("AS", "CS", {"courts": True, "pawns": True}, True),
        ("EX", "AS", {"excuse": True, "pawns": True}, False),
    ],
)
def test_eleven_is_made_with_the_card_at_the_other_end(card, far, options, eleven):
    table = biscuit(f"{far} 3SK", f"{card} 7SK", "AM 2MK", pile="9LK 7WY", **options)
    assert ("eleven" in played(table, f"{card} right").kinds) == eleven


def test_every_opponent_draws_for_an_eleven_clockwise_as_far_as_the_pile_goes():
    hands = ("6SY CM", "7SK 8MS", "9MS")
    assert played(biscuit("5SW", *hands, pile="AM AS AW"), "6SY left").drew == {2: "AM", 3: "AS"}
    assert played(biscuit("5SW", *hands, pile="AM"), "6SY left").drew == {2: "AM"}
    assert played(biscuit("5SW", *hands), "6SY left").drew == {}


def test_who_draws_for_an_eleven():
    assert drawers(3, (2, 2, 1, 3), 9, partners=False) == [1, 2]
    assert drawers(1, (9, 3, 2, 2), 9, partners=False) == [3, 4]
    assert drawers(2, (5, 1, 6, 4), 9, partners=False) == [4]
    assert drawers(2, (5, 1, 1, 4), 9, partners=True) == [3, 1]
    assert drawers(3, (5, 1, 1), 9, partners=False) == [1, 2]
    assert drawers(2, (5, 1, 1), 1, partners=False) == [3]
    assert drawers(2, (5, 1), 0, partners=False) == []


def test_an_eleven_tells_the_drawn_card_to_the_drawer_only():
    (event,) = [
        event
        for event in played(biscuit("5SW", "6SY CM", "7SK 8MS", pile="AM"), "6SY left").events
        if event.kind == "draw"
    ]
    assert event.told(None) == event.told(1) == say("%(seat)s drew a card.", seat=2)
    assert event.told(2) == say("%(seat)s drew %(card)s.", seat=2, card=CARDS["AM"])
    assert (event.cards, event.secret_cards) == ((), cards("AM"))


def test_only_the_drawn_card_may_be_played_after_drawing():
    after = played(biscuit("5SW", "2SY 7SK", "CL CM", pile="6SY AK"), "2SY left")
    assert after.kinds == ["play", "draw"]
    assert legal(after.state) == ["6SY left", "6SY right", "keep"]
    with pytest.raises(IllegalMove):
        played(after.state, "CL left")
    view = GAME.view(after.state, 2)
    assert view.drawn == CARDS["6SY"]
    assert GAME.hint(view) == say("You drew %(card)s: play it or keep it.", card=CARDS["6SY"])
    assert GAME.view(after.state, 1).drawn is None
    assert GAME.view(after.state, None).drawn is None
    assert GAME.hint(GAME.view(after.state, 1)) is None


def test_a_kept_card_stays_in_hand_and_the_turn_goes_on():
    table = played(biscuit("5SW", "2SY 7SK", "CL CM", pile="6SY AK"), "2SY left").state
    after = played(table, "keep")
    assert after.kinds == ["keep"]
    assert (after.state.turn, after.state.drawn) == (1, None)
    assert GAME.view(after.state, 2).hand == cards("6SY CM CL")


def test_a_seat_that_cannot_play_the_drawn_card_passes_by_itself():
    after = played(biscuit("5SW", "2SY 7SK", "CL CM", pile="AM AK"), "2SY left")
    assert after.kinds == ["play", "draw", "pass"]
    assert after.state.turn == 1
    assert GAME.view(after.state, 2).hand == cards("AM CM CL")


def test_with_an_empty_pile_a_seat_passes_without_a_draw():
    after = played(biscuit("5SW", "2SY 7SK", "CL CM"), "2SY left")
    assert after.kinds == ["play", "pass"]
    assert after.state.turn == 1


def test_going_out_scores_5_and_what_the_opponents_hold():
    table = biscuit(
        "5SW 3SK",
        "9MS",
        "AM CM 7WY",
        "PMYK TMWK EX 9LK",
        start=1,
        pile="4YK",
        pawns=True,
        courts=True,
        excuse=True,
    )
    after = played(table, "9MS left")
    assert after.scores == (5 + (1 + 1 + 2) + (3 + 3 + 0 + 2), 0, 0)
    assert GAME.outcome(after.state) == Outcome((1, 2, 2), after.scores, "out")
    assert after.kinds == ["play", "out", "left", "left"]


def test_cards_drawn_for_the_last_eleven_count_for_going_out():
    after = played(biscuit("5SW", "6SY", "9LK", pile="AM 7WY"), "6SY left")
    assert after.scores == (2 + 5 + 2 + 1, 0)


def test_what_a_card_left_is_worth():
    codes = ("AM", "CM", "2MK", "9LK", "PMSL", "TMWK", "EX")
    assert [left_value(cards(code)) for code in codes] == [1, 1, 2, 2, 3, 3, 0]
    assert left_value(cards("AM 2MK EX")) == 3


def test_a_partners_cards_are_subtracted_and_both_show_the_teams_total():
    table = biscuit("5SW 3SK", "9MS", "AM", "2MK 7WY", "CM 9LK", start=1, partners=True)
    after = played(table, "9MS left")
    assert after.scores == (5 + 1 - 4 + 3, 0, 5 + 1 - 4 + 3, 0)
    assert GAME.outcome(after.state).winners == (1, 3)


def test_partners_share_what_a_play_scores():
    table = biscuit("5SW", "7SK CM", "6SY AM", "CS 2MK", "9MS 8MS", turn=2, partners=True)
    assert played(table, "6SY left").scores == (0, 2, 0, 2)


def test_a_hand_is_stale_as_soon_as_the_pile_is_empty_and_nobody_can_play():
    after = played(biscuit("5SW", "2SY CM", "CL AL"), "2SY left")
    assert after.kinds == ["play", "stale", "left", "left"]
    assert GAME.outcome(after.state) == Outcome((1, 1), (0, 0), "stale")


def test_the_last_card_of_the_pile_may_make_a_hand_stale():
    table = biscuit("5SW", "2SY CM", "CL AL", pile="CK")
    after = played(table, "2SY left")
    assert after.kinds == ["play", "draw", "pass", "stale", "left", "left"]
    assert GAME.outcome(after.state).reason == "stale"


def test_a_tie_is_shared():
    table = biscuit("5SW", "2SY CM", "CL AL")
    table.scores = [4, 4]
    assert GAME.outcome(played(table, "2SY left").state).winners == (1, 2)


def test_partners_need_four_seats():
    for seats in (2, 3):
        with pytest.raises(BadOption, match=f"option partners: it needs 4 seats, not {seats}"):
            GAME.check_options(seats, {"partners": True})
    assert GAME.check_options(4, {"partners": True})["partners"] is True


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"target": 1001}, "option target: 1001 is not possible; give a whole number"),
        ({"target": -1}, "option target"),
        ({"target": True}, "option target"),
        ({"excuse": 1}, "option excuse: 1 is not possible; give true or false"),
        ({"jokers": True}, "Biscuit has no option 'jokers'"),
    ],
)
def test_a_wrong_option_is_named(given, said):
    with pytest.raises(BadOption, match=said):
        GAME.check_options(2, given)


@pytest.mark.parametrize("seats", [1, 5])
def test_biscuit_is_for_two_to_four(seats):
    with pytest.raises(BadOption, match=f"this many seats: 2, 3, 4; not {seats}"):
        GAME.check_options(seats, {})


def test_options_have_their_defaults():
    assert list(GAME.check_options(2, {}).items()) == [
        ("excuse", False),
        ("pawns", False),
        ("courts", False),
        ("partners", False),
        ("target", 0),
    ]


@pytest.mark.parametrize(("seats", "pile"), [(2, 22), (3, 16), (4, 10)])
def test_six_cards_each_and_the_rest_is_the_pile(seats, pile):
    state, events = GAME.new_game(b"deal", seats, GAME.check_options(seats, {}))
    drawn = sum(event.kind == "draw" for event in events)
    assert len(state.pile) == pile - drawn
    assert sum(state.sizes()) == 6 * seats + drawn
    assert state.lines.main == events[0].cards


def test_an_excuse_turned_up_is_dealt_again():
    options = GAME.check_options(2, {"excuse": True})
    deals = [GAME.new_game(str(n).encode(), 2, options) for n in range(150)]
    assert all(state.lines.initial != CARDS["EX"] for state, _ in deals)
    kinds = Counter(event.kind for _, events in deals for event in events)
    assert kinds["deal"] == 150
    assert kinds["redeal"] > 0


def test_with_a_target_hands_repeat_and_the_next_seat_opens():
    table = biscuit("5SW", "6SY", "AM", "CM 7WY", target=50)
    after = played(table, "6SY left")
    assert after.kinds[:3] == ["play", "eleven", "out"]
    assert after.kinds.count("gain") == 3
    assert "deal" in after.kinds
    state = after.state
    assert (state.hand_number, GAME.outcome(state)) == (2, None)
    assert GAME.to_move(state)
    assert after.scores == (2 + 5 + 1 + 1 + 2, 0, 0)
    result = GAME.view(state, None).last_hand
    assert (result.number, result.reason, result.gains) == (1, "out", (11, 0, 0))
    assert result.left == ((), cards("AM"), cards("7WY CM"))
    assert result.lines.main == cards("6SY 5SW")


def test_the_deal_moves_left_every_hand():
    options = GAME.check_options(3, {"target": 1000})
    state, _ = GAME.new_game(b"left", 3, options)
    openers = {}
    while state.hand_number <= 6:
        seat = state.turn
        if state.hand_number not in openers and len(state.lines.main) == 1:
            # Seats before this one may have passed; that is rare and told in events.
            openers[state.hand_number] = seat
        GAME.step(state, seat, GAME.moves(GAME.view(state, seat))[0])
    assert [openers[hand] for hand in range(1, 7)] == [1, 2, 3, 1, 2, 3]


def test_the_match_ends_with_the_hand_in_which_the_target_is_reached():
    table = biscuit("5SW", "6SY", "AM", target=8)
    after = played(table, "6SY left")
    assert after.scores == (8, 0)
    assert GAME.outcome(after.state) == Outcome((1, 2), (8, 0), "out")
    assert after.kinds[-2:] == ["gain", "gain"]


def test_a_preview_tells_what_is_certain_and_nothing_else():
    table = biscuit("5SW 2SY", "5YK 6LK", "AM CM", pile="9LK")
    view = GAME.view(table, 1)
    move = GAME.canonical(view, "5YK right")
    assert GAME.preview(view, move) == Preview(
        CARDS["5YK"], say("on the right"), 2, (say("opens a column"),)
    )


def test_a_preview_tells_who_draws_for_an_eleven():
    view = GAME.view(biscuit("5SW", "6SY CM", "AM", "AS", pile="9LK"), 1)
    assert GAME.preview(view, GAME.canonical(view, "6SY left")) == Preview(
        CARDS["6SY"], say("on the left"), 2, (say("eleven: %(seat)s draws a card", seat=2),)
    )


def test_a_preview_of_going_out_counts_the_5_and_says_what_is_added():
    view = GAME.view(biscuit("5SW 3SK", "9MS", "AM CM 7WY", start=1), 1)
    assert GAME.preview(view, GAME.canonical(view, "9MS left")) == Preview(
        CARDS["9MS"], say("on the left"), 5, (say("goes out: what the others hold adds to this"),)
    )


def test_a_preview_scores_what_the_move_then_scores():
    options = GAME.check_options(4, {"pawns": True, "courts": True, "excuse": True})
    state, _ = GAME.new_game(b"preview", 4, options)
    while GAME.to_move(state):
        seat = state.turn
        view = GAME.view(state, seat)
        for move in GAME.moves(view):
            _, events = GAME.apply(state, seat, move)
            told = sum(event.points for event in events if event.kind == "play")
            out = 5 if len(view.hand) == 1 and events[0].kind == "play" else 0
            assert GAME.preview(view, move).points == told + out
        GAME.step(state, seat, GAME.moves(view)[-1])


def test_the_layout_puts_the_initial_card_at_the_origin_across_the_face_down_card():
    table = biscuit("2SY 5SW 3SK 5YK", "6LK CK", REST, start=1, columns={"5YK": ("8YK", "4YK")})
    layout = GAME.layout(GAME.view(table, 1), fresh=frozenset(cards("4YK")))
    assert layout.cards == (
        Placed(0, 0, None, turned=True),
        Placed(-1, 0, CARDS["2SY"]),
        Placed(0, 0, CARDS["5SW"], frozenset({"start"})),
        Placed(1, 0, CARDS["3SK"]),
        Placed(2, 0, CARDS["5YK"], frozenset({"open"})),
        Placed(2, -1, CARDS["8YK"]),
        Placed(2, 1, CARDS["4YK"], frozenset({"fresh"})),
    )
    assert layout.slots == (Slot(3, 0, "right"), Slot(2, -2, "up"), Slot(2, 2, "down"))
    assert layout.labels == ()


def test_an_onlookers_layout_shows_every_open_end():
    table = biscuit("5SW 2SY 5YK", "6LK CK", REST)
    assert GAME.layout(GAME.view(table, None)).slots == (
        Slot(-1, 0, "left"),
        Slot(3, 0, "right"),
        Slot(2, -1, "up"),
        Slot(2, 1, "down"),
    )


def test_a_layout_with_a_move_shows_the_card_where_it_would_lie():
    view = GAME.view(biscuit("5SW 2SY", "5YK CK", REST), 1)
    layout = GAME.layout(view, move=GAME.canonical(view, "5YK right"))
    assert layout.cards[-1] == Placed(2, 0, CARDS["5YK"], frozenset({"chosen", "open"}))
    assert layout.slots[-1] == Slot(2, 1, "down")


def test_facts_tell_the_pile_and_with_a_target_the_hand():
    plain = GAME.facts(GAME.view(biscuit("5SW", "6SY", "AM", pile="9LK"), 1))
    assert plain == (Fact(say("Draw pile"), count(1, "%(n)s card", "%(n)s cards")),)
    aimed = GAME.facts(GAME.view(biscuit("5SW", "6SY", "AM", target=30), 1))
    assert aimed == (
        Fact(say("Draw pile"), count(0, "%(n)s card", "%(n)s cards")),
        Fact(say("Hand"), say("%(number)s", number=1)),
        Fact(say("Target"), count(30, "%(n)s point", "%(n)s points")),
    )


def test_hands_are_sorted_by_rank_as_ranks_follow_in_the_deck():
    table = biscuit("5SW", "CM EX 9MS TMWK AM PMSL 2MK", "AS", pawns=True, courts=True, excuse=True)
    assert GAME.view(table, 1).hand == cards("AM 2MK 9MS PMSL TMWK CM EX")


def test_everything_is_shown_when_the_match_is_over():
    after = played(biscuit("5SW", "6SY", "AM", pile="9LK 7WY"), "6SY left").state
    view = GAME.view(after, None)
    assert view.is_over
    assert view.revealed == ((), cards("AM 9LK"))
    assert view.rest == cards("7WY")
    assert view.face_down == after.face_down
    assert GAME.layout(view).cards[0] == Placed(0, 0, after.face_down, turned=True)
    assert GAME.layout(view).slots == ()


def test_nothing_is_shown_before_that():
    view = GAME.view(biscuit("5SW", "6SY CM", "AM", pile="9LK"), None)
    assert (view.face_down, view.rest, view.revealed, view.hand) == (None, (), (), ())


def test_a_seat_that_is_not_asked_cannot_move():
    table = biscuit("5SW", "6SY CM", "AM 7SK")
    move = GAME.canonical(GAME.view(table, 1), "6SY left")
    with pytest.raises(NotYourTurn):
        GAME.apply(table, 2, move)


def test_a_match_cannot_go_on_when_it_is_stale():
    table = biscuit("5SW", "CL AL", "CM AM")
    advance(table, [])
    assert GAME.to_move(table) == frozenset()
