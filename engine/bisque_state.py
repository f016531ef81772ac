"""Bisque's state: all there is to know of a match, and how it goes on."""

from __future__ import annotations

from bisect import bisect
from dataclasses import dataclass
from enum import Enum
from functools import cache
from operator import add
from typing import TYPE_CHECKING, Final, TypeAlias

from engine import deal
from engine.decktet import BASIC, Card, Rank, Suit, mask
from engine.game import Event, Options, Scores, Seat, following, private, say

if TYPE_CHECKING:
    from collections.abc import Sequence

SEATS: Final = 3
HAND_SIZE: Final = 12
TRICKS: Final = 11  # in a hand: the objective never enters a trick
_EVERYBODY: Final = range(1, SEATS + 1)


class Phase(Enum):
    """What is asked for: an objective, a card to the trick, a card for the pot, or nothing."""

    AIM = "aim"
    PLAY = "play"
    POT = "pot"
    OVER = "over"

    # Each phase is one object; Enum's own hash of its name is slow.
    __hash__ = object.__hash__


@dataclass(frozen=True, slots=True)
class Aim:
    """A card put face down as the objective."""

    card: Card


@dataclass(frozen=True, slots=True)
class Play:
    """A card played to the trick."""

    card: Card


@dataclass(frozen=True, slots=True)
class Pot:
    """A card of the trick put into the pot by its winner."""

    card: Card


Move: TypeAlias = Aim | Play | Pot


@dataclass(frozen=True, slots=True)
class Trick:
    """A trick that is done: its cards in the order in which they were played."""

    leader: Seat
    cards: tuple[Card, ...]
    winner: Seat
    potted: Card


@dataclass(frozen=True, slots=True)
class HandResult:
    """How a hand was scored: its objectives, their suits' totals and the gains, by seat."""

    number: int
    aims: tuple[Card, ...]
    totals: tuple[tuple[int, int], ...]
    gains: Scores
    pot: tuple[Card, ...]


@dataclass(slots=True)
class BisqueState:
    """A match of Bisque. Hands are masks over the deck, by seat; ``aims`` are the objectives.

    ``phase`` is what is asked for. ``turn`` is the seat to play or to fill the pot, 0
    while objectives are chosen and when the match is over. The pot lies sorted by suit.
    """

    key: bytes
    options: Options
    scores: Scores
    hand_number: int
    hands: list[int]
    aims: list[Card | None]
    phase: Phase = Phase.AIM
    turn: Seat = 0
    leader: Seat = 0
    trick: tuple[Card, ...] = ()
    tricks: tuple[Trick, ...] = ()
    pot: tuple[Card, ...] = ()
    last_hand: HandResult | None = None

    def copy(self) -> BisqueState:
        """Return a state that may be changed alone."""
        return BisqueState(
            self.key,
            self.options,
            self.scores,
            self.hand_number,
            self.hands[:],
            self.aims[:],
            self.phase,
            self.turn,
            self.leader,
            self.trick,
            self.tricks,
            self.pot,
            self.last_hand,
        )


_TWO_SUITS: Final = mask(tuple(card for card in BASIC if len(card.suits) == 2))
_HEIGHT: Final = tuple(card.rank.number for card in BASIC)
_WORTH: Final = tuple(
    {Rank.ACE: 5, Rank.CROWN: 10}.get(card.rank, card.rank.number) for card in BASIC
)


# Enum looks its members up slowly, and this one is asked for at every move.
_PLAY: Final = Phase.PLAY


def allowed(state: BisqueState, seat: Seat) -> int:
    """Return the mask of the cards among which the seat chooses; 0 if it is not asked."""
    if state.turn == seat:
        if state.phase is _PLAY:
            return state.hands[seat - 1]
        own = state.trick[(seat - state.leader) % SEATS]
        return mask(state.trick) ^ own.bit
    if state.turn or state.aims[seat - 1] is not None:
        return 0
    return state.hands[seat - 1] & _TWO_SUITS


def best(trick: Sequence[Card]) -> int:
    """Return which card of a trick wins it, counted from 0: the first of the highest rank."""
    heights = [_HEIGHT[card.index] for card in trick]
    return heights.index(max(heights))


def winner(leader: Seat, trick: Sequence[Card]) -> Seat:
    """Return the seat that wins a trick, or would win it as it lies."""
    return (leader - 1 + best(trick)) % SEATS + 1


def is_void(hand: int) -> bool:
    """Say whether a hand has no card that could be an objective, so that the deal is void."""
    return not hand & _TWO_SUITS


def worth(pot: Sequence[Card], suit: Suit) -> int:
    """Return what the pot's cards that show the suit add up to."""
    return sum([_WORTH[card.index] for card in pot if suit in card.suits])


def totals(pot: Sequence[Card], aim: Card) -> tuple[int, int]:
    """Return what the pot is worth in the two suits of an objective; the lower one scores."""
    first, second = aim.suits
    return worth(pot, first), worth(pot, second)


def with_card(pot: tuple[Card, ...], card: Card) -> tuple[Card, ...]:
    """Return the pot with one more card, sorted by suit."""
    at = bisect(pot, _PLACES[card.index], key=lambda other: _PLACES[other.index])
    return (*pot[:at], card, *pot[at:])


_SUITS: Final = list(Suit)
_SORTED: Final = sorted(BASIC, key=lambda card: [_SUITS.index(suit) for suit in card.suits])
_PLACES: Final = tuple(_SORTED.index(card) for card in BASIC)  # by the card's index


def new_state(key: bytes, options: Options) -> tuple[BisqueState, tuple[Event, ...]]:
    """Deal the first hand."""
    state = BisqueState(key, options, (0,) * SEATS, 0, [0] * SEATS, [None] * SEATS)
    events: list[Event] = []
    _deal_hand(state, events)
    return state, tuple(events)


def step(state: BisqueState, seat: Seat, move: Move) -> tuple[Event, ...]:
    """Make a legal move and all that follows by rule."""
    events: list[Event] = []
    # Plays are most of the moves, and isinstance is quicker than match.
    if isinstance(move, Play):
        _play(state, seat, move.card, events)
    elif isinstance(move, Pot):
        _fill_pot(state, seat, move.card, events)
    else:
        _aim(state, seat, move.card, events)
    return tuple(events)


def _aim(state: BisqueState, seat: Seat, card: Card, events: list[Event]) -> None:
    state.hands[seat - 1] ^= card.bit
    state.aims[seat - 1] = card
    events.append(_told_aim(seat, card.index))
    if None not in state.aims:
        state.phase = Phase.PLAY
        state.turn = state.leader = _opener(state.hand_number)


def _play(state: BisqueState, seat: Seat, card: Card, events: list[Event]) -> None:
    state.hands[seat - 1] ^= card.bit
    trick = state.trick
    events.append((_told_play if trick else _told_lead)(seat, card.index))
    trick = state.trick = (*trick, card)
    if len(trick) < SEATS:
        state.turn = seat % SEATS + 1
        return
    state.phase = Phase.POT
    state.turn = winner(state.leader, trick)
    events.append(_told_trick(state.turn))


def _fill_pot(state: BisqueState, seat: Seat, card: Card, events: list[Event]) -> None:
    state.pot = with_card(state.pot, card)
    state.tricks += (Trick(state.leader, state.trick, seat, card),)
    state.trick = ()
    state.phase = _PLAY
    state.leader = seat
    events.append(_told_pot(seat, card.index))
    if len(state.tricks) == TRICKS:
        _score_hand(state, events)


# What is told of a card recurs in every match: each such event is made once.
@cache
def _told_aim(seat: Seat, index: int) -> Event:
    card = BASIC[index]
    secret = say("%(seat)s chose %(card)s as the objective.", seat=seat, card=card)
    return private("aim", seat, say("%(seat)s chose an objective.", seat=seat), secret, card)


@cache
def _told_lead(seat: Seat, index: int) -> Event:
    card = BASIC[index]
    phrase = say("%(seat)s led %(card)s.", seat=seat, card=card)
    return Event("play", phrase, seat=seat, cards=(card,))


@cache
def _told_play(seat: Seat, index: int) -> Event:
    card = BASIC[index]
    phrase = say("%(seat)s played %(card)s.", seat=seat, card=card)
    return Event("play", phrase, seat=seat, cards=(card,))


@cache
def _told_trick(seat: Seat) -> Event:
    return Event("trick", say("%(seat)s won the trick.", seat=seat), seat=seat)


@cache
def _told_pot(seat: Seat, index: int) -> Event:
    card = BASIC[index]
    phrase = say("%(seat)s put %(card)s into the pot.", seat=seat, card=card)
    return Event("pot", phrase, seat=seat, cards=(card,))


def _score_hand(state: BisqueState, events: list[Event]) -> None:
    aims = tuple(aim for aim in state.aims if aim is not None)
    reached = tuple(totals(state.pot, aim) for aim in aims)
    gains = tuple(min(pair) for pair in reached)
    state.last_hand = HandResult(state.hand_number, aims, reached, gains, state.pot)
    state.phase = Phase.OVER
    state.turn = 0
    state.scores = tuple(map(add, state.scores, gains))
    for seat, aim, pair, gain in zip(_EVERYBODY, aims, reached, gains, strict=True):
        phrase = say(
            "%(seat)s had aimed at %(card)s: %(first)s %(low)s, %(second)s %(high)s.",
            seat=seat,
            card=aim,
            first=aim.suits[0],
            low=pair[0],
            second=aim.suits[1],
            high=pair[1],
        )
        events.append(Event("score", phrase, seat=seat, cards=(aim,), points=gain))
    if state.hand_number < int(state.options["rounds"]):
        _deal_hand(state, events)


def _deal_hand(state: BisqueState, events: list[Event]) -> None:
    state.hand_number += 1
    state.hands = _dealt(state, events)
    state.aims = [None] * SEATS
    state.phase = Phase.AIM
    state.leader = 0
    state.tricks = ()
    state.pot = ()
    events.append(Event("deal", say("Hand %(number)s was dealt.", number=state.hand_number)))


def _dealt(state: BisqueState, events: list[Event]) -> list[int]:
    """Return the hands, dealt again as long as somebody could choose no objective."""
    label = f"hand/{state.hand_number}"
    hands = _hands(deal.shuffle(state.key, label, BASIC), state.hand_number)
    nth = 0
    while any(is_void(hand) for hand in hands):
        nth += 1
        phrase = say("Somebody held nothing but Aces and Crowns, so the cards were dealt again.")
        events.append(Event("redeal", phrase))
        cards = deal.shuffle(state.key, f"{label}/redeal/{nth}", BASIC)
        hands = _hands(cards, state.hand_number)
    return hands


def _hands(cards: Sequence[Card], hand_number: int) -> list[int]:
    opener = _opener(hand_number)
    order = (opener, *following(opener, SEATS))
    piles = {seat: mask(tuple(cards[nth::SEATS])) for nth, seat in enumerate(order)}
    return [piles[seat] for seat in _EVERYBODY]


def _opener(hand_number: int) -> Seat:
    return (hand_number - 1) % SEATS + 1
