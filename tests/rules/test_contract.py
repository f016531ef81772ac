"""The contract that every game keeps, for all numbers of seats and options, many seeds."""

import random
from dataclasses import dataclass, fields, is_dataclass
from functools import cache

import pytest
from rules.redeal import CARDS_OF, REDEALERS

from engine import GAMES
from engine.decktet import Card
from engine.errors import BadOption, IllegalMove, NotYourTurn
from engine.game import Layout, Phrase, cards_in
from engine.record import replay

MOST_PLIES = 3000
SEEDS = range(3)


def some_values(option):
    """The values of an option that differ from its default: both, each, or a small number."""
    if isinstance(option.default, bool):
        return [not option.default]
    if isinstance(option.default, str):
        return [choice for choice in option.choices if choice != option.default]
    return [min(option.most, 20)]


def settings(game, seats):
    """The defaults, each option changed alone, and all changed together."""
    changes = [(option.name, value) for option in game.options for value in some_values(option)]
    for given in [{}, *({name: value} for name, value in changes), dict(changes)]:
        try:
            yield game.check_options(seats, given)
        except BadOption:
            continue


CONFIGURATIONS = [
    pytest.param(name, seats, tuple(options.items()), id=f"{name}-{seats}-{nth}")
    for name, game in GAMES.items()
    for seats in game.seat_counts
    for nth, options in enumerate(settings(game, seats))
]
every_configuration = pytest.mark.parametrize(("name", "seats", "options"), CONFIGURATIONS)


@dataclass
class Ply:
    before: object
    seat: int
    move: object
    events: tuple
    after: object


@dataclass
class Playthrough:
    key: bytes
    start: object
    opening: tuple
    plies: list

    @property
    def end(self):
        return self.plies[-1].after


@cache
def played(name, seats, options, seed):
    """A match of chance moves; every move goes through ``apply``."""
    game = GAMES[name]
    chance = random.Random(f"{name} {seats} {options} {seed}")
    key = chance.randbytes(32)
    start, opening = game.new_game(key, seats, dict(options))
    state, plies = start, []
    while game.to_move(state):
        assert len(plies) < MOST_PLIES, "the match does not end"
        seat = chance.choice(sorted(game.to_move(state)))
        move = chance.choice(game.moves(game.view(state, seat)))
        after, events = game.apply(state, seat, move)
        plies.append(Ply(state, seat, move, events, after))
        state = after
    return Playthrough(key, start, opening, plies)


def matches(name, seats, options):
    return [played(name, seats, options, seed) for seed in SEEDS]


def positions(name, seats, options, *, most=25):
    """Some positions of the matches, always with the first and the last."""
    chance = random.Random(f"positions {name} {seats} {options}")
    for match in matches(name, seats, options):
        states = [match.start, *(ply.after for ply in match.plies)]
        inner = states[1:-1]
        yield from [states[0], *chance.sample(inner, min(most, len(inner))), states[-1]]


def watchers(seats):
    return [None, *range(1, seats + 1)]


def cards_within(value):
    """All cards anywhere in a view, a layout or the like."""
    if isinstance(value, Card):
        return {value}
    if isinstance(value, Phrase):
        return set(cards_in(value))
    if is_dataclass(value):
        return cards_within([getattr(value, field.name) for field in fields(value)])
    if isinstance(value, dict):
        return cards_within(list(value.values()))
    if isinstance(value, list | tuple | set | frozenset):
        return {card for item in value for card in cards_within(item)}
    return set()


def told_by(game, view):
    """All that a seat is given from its view, written out."""
    moves = game.moves(view)
    return repr(
        [
            view,
            moves,
            [game.format(move) for move in moves],
            [game.preview(view, move) for move in moves],
            [game.layout(view, move=move) for move in moves],
            game.layout(view),
            game.facts(view),
            game.hint(view),
        ]
    )


@every_configuration
def test_chance_moves_end_and_the_placings_fit_the_seats(name, seats, options):
    game = GAMES[name]
    for match in matches(name, seats, options):
        outcome = game.outcome(match.end)
        assert outcome.scores == game.scores(match.end)
        assert len(outcome.placings) == len(outcome.scores) == seats
        assert outcome.winners
        assert outcome.reason
        assert all(game.outcome(ply.before) is None for ply in match.plies)


@every_configuration
def test_exactly_the_seats_to_move_have_moves(name, seats, options):
    game = GAMES[name]
    for state in positions(name, seats, options):
        asked = game.to_move(state)
        having = {seat for seat in range(1, seats + 1) if game.moves(game.view(state, seat))}
        assert having == asked
        assert bool(asked) == (game.outcome(state) is None)
        for seat in range(1, seats + 1):
            assert game.legal_moves(state, seat) == game.moves(game.view(state, seat))
        assert game.moves(game.view(state, None)) == ()
        assert {game.view(state, seat).to_move for seat in watchers(seats)} == {asked}


@every_configuration
def test_a_move_reads_back_from_its_notation_however_it_is_typed(name, seats, options):
    game = GAMES[name]
    for state in positions(name, seats, options, most=6):
        for seat in game.to_move(state):
            view = game.view(state, seat)
            moves = game.moves(view)
            texts = [game.format(move) for move in moves]
            assert len(set(texts)) == len(texts)
            for move, text in zip(moves, texts, strict=True):
                assert game.canonical(view, text) == move
                assert game.parse(view, text) == move
                assert game.parse(view, f"  {text.upper()} ") == move
                assert game.parse(view, text.replace(" ", "  ")) == move
                assert game.parse(view, text.lower().replace(" ", "\u00a0") + "\u200b.") == move


@every_configuration
def test_a_move_leaves_the_old_state_as_it_was(name, seats, options):
    game = GAMES[name]
    for state in positions(name, seats, options, most=6):
        for seat in game.to_move(state):
            before = repr(state)
            for move in game.moves(game.view(state, seat)):
                game.apply(state, seat, move)
                assert repr(state) == before


@every_configuration
def test_what_is_not_listed_is_refused_and_changes_nothing(name, seats, options):
    game = GAMES[name]
    known = {game.format(ply.move): ply.move for ply in matches(name, seats, options)[0].plies}
    refused = 0
    for state in positions(name, seats, options, most=6):
        before = repr(state)
        asked = game.to_move(state)
        for seat in range(1, seats + 1):
            listed = game.moves(game.view(state, seat))
            expected = IllegalMove if seat in asked else NotYourTurn
            for move in known.values():
                if move not in listed:
                    refused += 1
                    with pytest.raises(expected):
                        game.apply(state, seat, move)
        assert repr(state) == before
    assert refused


@every_configuration
def test_every_card_is_in_exactly_one_place(name, seats, options):
    for state in positions(name, seats, options):
        found, deck = CARDS_OF[name](state)
        assert sorted(card.index for card in found) == [card.index for card in deck]


@every_configuration
def test_what_a_seat_cannot_see_changes_nothing_that_it_is_given(name, seats, options):
    game = GAMES[name]
    chance = random.Random("leaks")
    changed = 0
    for state in positions(name, seats, options, most=6):
        if game.outcome(state) is not None:
            continue  # all is shown then
        for seat in watchers(seats):
            given = told_by(game, game.view(state, seat))
            for _ in range(3):
                other = REDEALERS[name](state, seat, chance)
                changed += repr(other) != repr(state)
                assert told_by(game, game.view(other, seat)) == given
    assert changed


@every_configuration
def test_a_secret_goes_only_to_seats_whose_view_shows_it(name, seats, options):
    game = GAMES[name]
    for match in matches(name, seats, options):
        for ply in match.plies:
            for event in ply.events:
                assert (event.secret is None) == (event.knows == frozenset())
                assert event.told(None) == event.phrase
                if event.secret is None:
                    assert event.secret_cards == ()
                    continue
                assert cards_in(event.secret) <= set(event.secret_cards)
                if (
                    game.view(ply.before, None).hand_number
                    == game.view(ply.after, None).hand_number
                ):
                    for seat in event.knows:
                        shown = cards_within(game.view(ply.after, seat))
                        assert set(event.secret_cards) <= shown


@every_configuration
def test_a_public_event_names_only_cards_that_onlookers_have_seen(name, seats, options):
    game = GAMES[name]
    for match in matches(name, seats, options):
        view = game.view(match.start, None)
        shown = cards_within(view)
        assert all(cards_in(event.phrase) | {*event.cards} <= shown for event in match.opening)
        for ply in match.plies:
            after = game.view(ply.after, None)
            shown |= cards_within(after)
            for event in ply.events:
                assert cards_in(event.phrase) | {*event.cards} <= shown
            if after.hand_number != view.hand_number:
                shown = cards_within(after)
            view = after


@every_configuration
def test_onlookers_see_no_cards_of_hands_while_the_match_runs(name, seats, options):
    game = GAMES[name]
    for state in positions(name, seats, options):
        view = game.view(state, None)
        assert view.hand == ()
        assert bool(view.revealed) == (game.outcome(state) is not None)
        for seat in range(1, seats + 1):
            own = game.view(state, seat)
            assert len(own.hand) == own.hand_sizes[seat - 1] == view.hand_sizes[seat - 1]


@every_configuration
def test_a_replay_gives_the_same_match(name, seats, options):
    game = GAMES[name]
    for match in matches(name, seats, options):
        decisions = [(ply.seat, game.format(ply.move)) for ply in match.plies]
        again = replay(game, match.key, seats, dict(options), decisions)
        assert again.state == match.end
        assert again.opening == match.opening
        assert [ply.events for ply in again.plies] == [ply.events for ply in match.plies]


@every_configuration
def test_the_layout_shows_each_card_once_and_only_cards_of_the_view(name, seats, options):
    game = GAMES[name]
    for state in positions(name, seats, options, most=8):
        for seat in watchers(seats):
            view = game.view(state, seat)
            layout = game.layout(view)
            assert isinstance(layout, Layout)
            cards = [placed.card for placed in layout.cards if placed.card is not None]
            assert len(set(cards)) == len(cards)
            assert set(cards) <= cards_within(view)
            spots = [(placed.column, placed.row, placed.turned) for placed in layout.cards]
            assert len(set(spots)) == len(spots)
            taken = {spot[:2] for spot in spots}
            assert not taken & {(slot.column, slot.row) for slot in layout.slots}


@pytest.mark.parametrize("name", GAMES)
def test_a_game_has_all_that_the_contract_needs(name):
    game = GAMES[name]
    assert game.name == name
    assert name in CARDS_OF, f"{name} lacks its line in redeal.py"
    assert name in REDEALERS, f"{name} lacks its line in redeal.py"


@pytest.mark.parametrize("name", GAMES)
def test_no_two_moves_are_written_alike(name):
    game = GAMES[name]
    moves = list(game.all_moves())
    assert list(game.notation.values()) == moves
    assert all(game.format(move) == text for text, move in game.notation.items())
