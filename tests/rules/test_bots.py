import random

import pytest
from rules.biscuit_tables import GAME, biscuit, cards
from rules.biscuit_tables import played as after
from rules.redeal import CARDS_OF, REDEALERS
from rules.test_contract import every_configuration, played
from rules.trick_tables import BISQUE, SNAKEBIT, bisque, snakebit
from rules.trick_tables import played as tricks_after

from engine import GAMES
from engine.bots import BOTS
from engine.bots.biscuit import _could_hold
from engine.bots.skills import SKILLS
from engine.bots.strong import Strong
from engine.bots.unseen import deal_out
from engine.decktet import cards_of, mask
from engine.game import following

FEW = 6  # iterations: these tests are of the rules, bench/bots.py is of the strength


def bot_of(name, seed):
    return Strong(seed, FEW) if name == "strong" else BOTS[name](seed)


def match_of(name, bots, seed):
    """The moves and scores of a match, which is short where the options allow it."""
    game, seats = GAMES[name], len(bots)
    players = {seat: bot_of(bot, f"{seed} {seat}") for seat, bot in enumerate(bots, 1)}
    short = {"rounds": 1} if name == "bisque" else {}
    state, _ = game.new_game(seed.encode(), seats, game.check_options(seats, short))
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
    bots = [bot] + ["greedy" if bot == "strong" else bot] * (seats - 1)
    first = match_of(name, bots, "a")
    assert first == match_of(name, bots, "a")
    assert len(first[1]) == seats


@pytest.mark.parametrize("name", GAMES)
def test_a_game_has_all_that_bots_need(name):
    assert name in SKILLS, f"{name} lacks its line in engine/bots/skills.py"
    assert SKILLS[name].iterations > 0


def test_every_bot_has_words_for_people():
    assert {bot.title for bot in BOTS.values()} == {"careless", "easy", "strong"}
    assert all(bot.about for bot in BOTS.values())


# What is imagined.


def asked(name, seats, options, *, most):
    """Some positions of chance play, with a seat that is asked in each."""
    chance = random.Random(f"asked {name} {seats} {options}")
    states = [ply.before for seed in range(2) for ply in played(name, seats, options, seed).plies]
    for state in chance.sample(states, min(most, len(states))):
        yield state, chance.choice(sorted(GAMES[name].to_move(state)))


@every_configuration
def test_an_imagined_state_cannot_be_told_from_the_true_one(name, seats, options):
    game, chance = GAMES[name], random.Random("imagined")
    for state, seat in asked(name, seats, options, most=12):
        view = game.view(state, seat)
        world = SKILLS[name].imagine(view, chance)
        assert game.view(world, seat) == view
        found, deck = CARDS_OF[name](world)
        assert sorted(card.index for card in found) == [card.index for card in deck]


@every_configuration
def test_play_goes_on_from_an_imagined_state_to_the_end(name, seats, options):
    game, chance = GAMES[name], random.Random("goes on")
    for state, seat in asked(name, seats, options, most=3):
        world = SKILLS[name].imagine(game.view(state, seat), chance)
        while game.to_move(world):
            mover = min(game.to_move(world))
            world, _ = game.apply(world, mover, chance.choice(game.legal_moves(world, mover)))
        assert game.outcome(world).winners


@every_configuration
def test_a_bot_knows_nothing_that_its_seat_cannot_see(name, seats, options):
    game, chance = GAMES[name], random.Random("cheats")
    for state, seat in asked(name, seats, options, most=3):
        other = REDEALERS[name](state, seat, chance)
        views = [game.view(table, seat) for table in (state, other)]
        imagined, again = (SKILLS[name].imagine(view, random.Random("one")) for view in views)
        assert repr(imagined) == repr(again)
        for bot in BOTS:
            chosen, repeated = (bot_of(bot, "one").choose(game, view) for view in views)
            assert chosen == repeated


@pytest.mark.parametrize("seats", [2, 3, 4])
def test_the_true_hands_of_biscuit_are_among_those_imagined(seats):
    options = GAME.check_options(seats, {"excuse": True, "pawns": True})
    for state, seat in asked("biscuit", seats, tuple(options.items()), most=60):
        view = GAME.view(state, seat)
        for other in following(seat, seats):
            hand = state.hands[other - 1]
            held = deal_out(hand, _could_hold(view, other), random.Random(1))
            assert mask(tuple(held)) == hand


def imagined_hands(game, state, seat, other):
    """The hands that a seat gives to another one."""
    view, chance = game.view(state, seat), random.Random("hands")
    worlds = [SKILLS[game.name].imagine(view, chance) for _ in range(60)]
    return [set(cards_of(world.hands[other - 1])) for world in worlds]


def test_who_could_not_play_holds_nothing_that_fitted_then():
    # Bob could not play at 6LK 8YK, drew a card that did not fit either, and passed.
    start = biscuit("6LK", "8YK AK 9LK", "AM AS", pile="AW CM 2MK")
    table = after(start, "8YK right").state
    assert table.turn == 1
    fitting = set(cards_of(table.lines.fits))
    hands = imagined_hands(GAME, table, 1, 2)
    assert {len(hand) for hand in hands} == {3}
    assert not set.union(*hands) & fitting
    assert len(set.union(*hands)) > 10


def test_of_a_hand_with_a_kept_card_just_one_fitted():
    start = biscuit("6LK", "8YK AK 9LK", "AM AS", pile="5YK CM 2MK")
    choosing = after(start, "8YK right").state
    fitting = set(cards_of(choosing.lines.fits))
    kept = after(choosing, "keep").state
    assert {len(hand & fitting) for hand in imagined_hands(GAME, kept, 1, 2)} == {1}
    # Once he has played it the others are cards that did not fit.
    played_later = after(after(kept, "AK left").state, "5YK right").state
    hands = imagined_hands(GAME, played_later, 1, 2)
    assert {len(hand) for hand in hands} == {2}
    assert not set.union(*hands) & fitting


@pytest.mark.parametrize("seats", [3, 4])
@pytest.mark.parametrize("seed", range(4))
def test_an_imagined_hand_of_snakebit_could_have_followed_as_it_did(seats, seed):
    options = tuple(SNAKEBIT.check_options(seats, {}).items())
    chance = random.Random(seed)
    for ply in played("snakebit", seats, options, seed % 3).plies[seed::5]:
        view = SNAKEBIT.view(ply.before, ply.seat)
        world = SKILLS["snakebit"].imagine(view, chance)
        for seat in range(1, seats + 1):
            hand = set(cards_of(world.hands[seat - 1]))
            hand |= {card for holder, card in view.plays if holder == seat}
            for trick in reversed(view.tricks):
                order = (trick.leader, *following(trick.leader, seats))
                card = trick.cards[order.index(seat)]
                if trick.named not in card.suits:
                    assert all(trick.named not in held.suits for held in hand)
                hand.add(card)


def test_who_names_a_barred_suit_holds_no_card_that_shows_a_free_one():
    # Moons are trump and Suns cursed; no card has shown either, but Bob names Moons.
    start = snakebit("8WL 3LY", "4MS 8MS", "6LK 7SK", flip="AM CS", turn=2)
    table, _ = tricks_after(SNAKEBIT, start, "4MS moons")
    hands = imagined_hands(SNAKEBIT, table, 3, 2)
    assert set.union(*hands) == set(cards("8MS 9MS"))


def test_objectives_are_imagined_where_they_were_chosen_and_have_two_suits():
    start = bisque("AM 2MK 3MW", "AS 2SY 9MS", "AW 2WL 8YK")
    table, _ = tricks_after(BISQUE, start, "aim 2MK")
    view, chance = BISQUE.view(table, 3), random.Random("aims")
    aims = [SKILLS["bisque"].imagine(view, chance).aims for _ in range(60)]
    assert {len(first.suits) for first, _, _ in aims} == {2}
    assert len({first for first, _, _ in aims}) > 10
    assert {tuple(others) for _, *others in aims} == {(None, None)}


def test_an_objective_is_imagined_the_likelier_the_better_it_fits_the_pot():
    # Bob won twice and potted Moons and Suns, where he could have potted Leaves and Knots.
    start = bisque("AM 4MS 5ML 3MW", "2SY CM CS 7WY", "9LK 6LK AW 2WL", aims="- - -")
    table, _ = tricks_after(
        BISQUE, start, "aim 3MW", "aim 7WY", "aim 2WL",
        "play 4MS", "play CM", "play 9LK", "pot 4MS",
        "play CS", "play 6LK", "play 5ML", "pot 5ML",
        "play 2SY",
    )  # fmt: skip
    view, chance = BISQUE.view(table, 3), random.Random("aims")
    aims = [SKILLS["bisque"].imagine(view, chance).aims[1].code for _ in range(400)]
    assert aims.count("9MS") > 3 * aims.count("8YK")
    assert aims.count("8YK") > 0


@pytest.mark.parametrize("nth", range(2))
def test_unseen_cards_are_dealt_in_every_way_alike_often(nth):
    # Two places, the second takes all that the first takes: four ways.
    chance = random.Random(nth)
    places = [0b0011, 0b0111][:: 1 - 2 * nth]
    ways = [tuple(deal_out(0b0111, places, chance)) for _ in range(4000)]
    assert all(900 < ways.count(way) < 1100 for way in set(ways))
    assert len(set(ways)) == 4


def test_a_place_gives_its_card_up_to_one_that_has_no_other():
    places = [0b011, 0b110, 0b101]
    for seed in range(20):
        dealt = deal_out(0b111, places, random.Random(seed))
        assert sorted(card.index for card in dealt) == [0, 1, 2]
        assert all(place >> card.index & 1 for place, card in zip(places, dealt, strict=True))


# What is chosen.


def test_another_seed_makes_the_random_bot_play_otherwise():
    table = biscuit("5SW", "6SY 7SK 8MS 9WY", "AM CM")
    view = GAME.view(table, 1)
    chosen = {BOTS["random"](str(seed)).choose(GAME, view) for seed in range(60)}
    assert chosen == set(GAME.moves(view))


def greedy(game, state, seat=None):
    """What the greedy bot does, as it is written."""
    view = game.view(state, seat or min(game.to_move(state)))
    return game.format(BOTS["greedy"]("x").choose(game, view))


def test_the_greedy_bot_takes_the_most_points():
    assert greedy(GAME, biscuit("5SW 6SY", "7WY 4MS 2SY", "AM CM")) == "4MS left"


def test_the_greedy_bot_rids_itself_of_the_dearest_of_equal_cards():
    # An Ace left in the hand costs 1, a number card 2; neither scores here.
    assert greedy(GAME, biscuit("5SW", "AS 8MS", "AM CM")) == "8MS left"


def test_the_greedy_bot_takes_the_first_of_equal_moves():
    assert greedy(GAME, biscuit("5SW", "9MS 8MS", "AM CM")) == "8MS left"


def test_the_greedy_bot_plays_a_drawn_card():
    table = after(biscuit("6LK", "8YK AK", "AM AS", pile="5YK"), "8YK right").state
    assert table.drawn == cards("5YK")[0]
    assert greedy(GAME, table) == "5YK left"


def test_partners_are_no_rivals():
    view = GAME.view(biscuit("6LK", "5YK", "AK", "AM", "AS", partners=True, turn=2), 2)
    assert SKILLS["biscuit"].rivals(view) == [3, 1]
    view = GAME.view(biscuit("6LK", "5YK", "AK", "AM", "AS", turn=2), 2)
    assert SKILLS["biscuit"].rivals(view) == [3, 4, 1]
