"""Snakebit's state: all there is to know of a match, and how it goes on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from operator import add, sub
from typing import TYPE_CHECKING, Final, TypeAlias

from engine import deal
from engine.decktet import BASIC, DECK, Card, Rank, Suit, cards_of, mask
from engine.game import Event, Options, Scores, Seat, count, following, say

if TYPE_CHECKING:
    from collections.abc import Sequence

ACES: Final = tuple(card for card in BASIC if card.rank is Rank.ACE)
CROWNS: Final = tuple(card for card in BASIC if card.rank is Rank.CROWN)
NUMBERS: Final = tuple(card for card in BASIC if len(card.suits) == 2)
PILE: Final = len(ACES)  # hands until the piles are shuffled afresh
MOST_HANDS: Final = 6  # of a match that ends with six
LOWEST: Final = -13  # the score that ends the other kind


@dataclass(frozen=True, slots=True)
class Lead:
    """A card led, with the suit that is named."""

    card: Card
    suit: Suit


@dataclass(frozen=True, slots=True)
class Follow:
    """A card played to a trick that another seat led."""

    card: Card


Move: TypeAlias = Lead | Follow


@dataclass(frozen=True, slots=True)
class Trick:
    """A trick that is done: its cards in the order in which they were played."""

    leader: Seat
    named: Suit
    cards: tuple[Card, ...]
    winner: Seat


@dataclass(frozen=True, slots=True)
class HandResult:
    """How a hand was scored: tricks and cursed cards taken, and gains, by seat."""

    number: int
    ace: Card
    crown: Card
    taken: tuple[int, ...]
    bites: tuple[int, ...]
    gains: Scores


@dataclass(slots=True)
class SnakebitState:
    """A match of Snakebit. Hands are masks over the deck, by seat.

    The Ace turned up gives the trump suit and the Crown the cursed suit; ``barred`` are
    those of the two that may not be named yet. ``turn`` is the seat to move, 0 when the
    match is over. ``bites`` are the cursed cards in the tricks that each seat has taken.
    """

    key: bytes
    options: Options
    scores: Scores
    hand_number: int
    hands: list[int]
    ace: Card
    crown: Card
    barred: tuple[Suit, ...] = ()
    turn: Seat = 0
    leader: Seat = 0
    named: Suit | None = None
    trick: tuple[Card, ...] = ()
    tricks: tuple[Trick, ...] = ()
    taken: tuple[int, ...] = ()
    bites: tuple[int, ...] = ()
    last_hand: HandResult | None = None

    @property
    def seats(self) -> int:
        """Return the number of seats."""
        return len(self.hands)

    @property
    def trump(self) -> Suit:
        """Return the suit that wins tricks."""
        return self.ace.suits[0]

    @property
    def cursed(self) -> Suit:
        """Return the suit that costs points."""
        return self.crown.suits[0]

    def copy(self) -> SnakebitState:
        """Return a state that may be changed alone."""
        return SnakebitState(
            self.key,
            self.options,
            self.scores,
            self.hand_number,
            self.hands[:],
            self.ace,
            self.crown,
            self.barred,
            self.turn,
            self.leader,
            self.named,
            self.trick,
            self.tricks,
            self.taken,
            self.bites,
            self.last_hand,
        )


# The mask of the cards that show a suit.
SHOWING: Final = {suit: mask(tuple(card for card in BASIC if suit in card.suits)) for suit in Suit}
_FOLLOWS: Final = tuple(Follow(card) for card in BASIC)
_LEADS: Final = tuple(tuple(Lead(card, suit) for suit in card.suits) for card in BASIC)


def playable(hand: int, named: Suit | None) -> int:
    """Return the mask of the cards of a hand that may be played."""
    return hand if named is None else hand & SHOWING[named] or hand


def listed(cards: int, named: Suit | None, barred: Sequence[Suit]) -> tuple[Move, ...]:
    """Return the moves with these cards, by rank; a lead once for each suit it may name."""
    if named is not None:
        return tuple([_FOLLOWS[card.index] for card in cards_of(cards)])
    leads = [lead for card in cards_of(cards) for lead in _LEADS[card.index]]
    free = [lead for lead in leads if lead.suit not in barred]
    return tuple(free or leads)


def best(trick: Sequence[Card], trump: Suit, named: Suit) -> int:
    """Return which card of a trick wins it, counted from 0."""
    bits = mask(tuple(trick))
    # Within a suit a higher rank stands later in the deck.
    strongest = (bits & SHOWING[trump] or bits & SHOWING[named]).bit_length() - 1
    return trick.index(DECK[strongest])


def cursed_in(cards: Sequence[Card], cursed: Suit) -> int:
    """Return how many of the cards show the cursed suit."""
    return len([card for card in cards if cursed in card.suits])


def is_last(end: str, hand_number: int, scores: Scores) -> bool:
    """Say whether the match ends with the hand that was just scored."""
    return hand_number == MOST_HANDS if end == "six" else min(scores) <= LOWEST


def new_state(key: bytes, seats: int, options: Options) -> tuple[SnakebitState, tuple[Event, ...]]:
    """Deal the first hand."""
    nobody = (0,) * seats
    state = SnakebitState(key, options, nobody, 0, [0] * seats, ACES[0], CROWNS[0])
    events: list[Event] = []
    _deal_hand(state, events)
    return state, tuple(events)


def step(state: SnakebitState, seat: Seat, move: Move) -> tuple[Event, ...]:
    """Make a legal move and all that follows by rule."""
    card = move.card
    events = [_told_move(seat, move)]
    state.hands[seat - 1] ^= 1 << card.index
    state.trick += (card,)
    if state.barred:
        _free(state, card, events)
    if isinstance(move, Lead):
        state.named = move.suit
    if len(state.trick) < len(state.hands):
        state.turn = seat % len(state.hands) + 1
    else:
        _end_trick(state, events)
    return tuple(events)


def _free(state: SnakebitState, card: Card, events: list[Event]) -> None:
    """Let the suits be named that a played card shows."""
    events += [_told_freed(suit) for suit in state.barred if suit in card.suits]
    state.barred = tuple([suit for suit in state.barred if suit not in card.suits])


def _end_trick(state: SnakebitState, events: list[Event]) -> None:
    assert state.named is not None, "a trick was led"
    won = best(state.trick, state.trump, state.named)
    seat = (state.leader - 1 + won) % state.seats + 1
    bites = cursed_in(state.trick, state.cursed)
    state.tricks += (Trick(state.leader, state.named, state.trick, seat),)
    state.taken = _raised(state.taken, seat, 1)
    state.bites = _raised(state.bites, seat, bites)
    state.trick = ()
    state.named = None
    state.leader = state.turn = seat
    events.append(_told_trick(seat, bites))
    if not any(state.hands):
        _score_hand(state, events)


def _raised(counts: tuple[int, ...], seat: Seat, by: int) -> tuple[int, ...]:
    return (*counts[: seat - 1], counts[seat - 1] + by, *counts[seat:])


# What is told of a card recurs in every match: each such event is made once.
@cache
def _told_play(seat: Seat, index: int) -> Event:
    card = BASIC[index]
    phrase = say("%(seat)s played %(card)s.", seat=seat, card=card)
    return Event("play", phrase, seat=seat, cards=(card,))


@cache
def _told_lead(seat: Seat, index: int, nth: int) -> Event:
    card = BASIC[index]
    phrase = say(
        "%(seat)s led %(card)s, naming %(suit)s.", seat=seat, card=card, suit=card.suits[nth]
    )
    return Event("play", phrase, seat=seat, cards=(card,))


@cache
def _told_trick(seat: Seat, bites: int) -> Event:
    if not bites:
        return Event("trick", say("%(seat)s took the trick.", seat=seat), seat=seat)
    phrase = count(
        bites,
        "%(seat)s took the trick, with one cursed card.",
        "%(seat)s took the trick, with %(n)s cursed cards.",
        seat=seat,
    )
    return Event("trick", phrase, seat=seat)


def _told_move(seat: Seat, move: Move) -> Event:
    if isinstance(move, Lead):
        return _told_lead(seat, move.card.index, move.card.suits.index(move.suit))
    return _told_play(seat, move.card.index)


def _told_freed(suit: Suit) -> Event:
    return Event("freed", say("That freed %(suit)s for naming.", suit=suit))


def _score_hand(state: SnakebitState, events: list[Event]) -> None:
    gains = tuple(map(sub, state.taken, state.bites))
    state.scores = tuple(map(add, state.scores, gains))
    state.last_hand = HandResult(
        state.hand_number, state.ace, state.crown, state.taken, state.bites, gains
    )
    for seat, gain in enumerate(gains, 1):
        phrase = say(
            "%(seat)s had %(tricks)s and %(bites)s.",
            seat=seat,
            tricks=count(state.taken[seat - 1], "%(n)s trick", "%(n)s tricks"),
            bites=count(state.bites[seat - 1], "%(n)s cursed card", "%(n)s cursed cards"),
        )
        events.append(Event("score", phrase, seat=seat, points=gain))
    if is_last(str(state.options["end"]), state.hand_number, state.scores):
        state.turn = 0
    else:
        _deal_hand(state, events)


def _deal_hand(state: SnakebitState, events: list[Event]) -> None:
    state.hand_number += 1
    _turn_up(state, events)
    opener = (state.hand_number - 1) % state.seats + 1
    cards = deal.shuffle(state.key, f"hand/{state.hand_number}", NUMBERS)
    for nth, seat in enumerate((opener, *following(opener, state.seats))):
        state.hands[seat - 1] = mask(tuple(cards[nth :: state.seats]))
    state.turn = state.leader = opener
    # One suit may be both, and is freed once then.
    state.barred = tuple(dict.fromkeys((state.trump, state.cursed)))
    state.tricks = ()
    state.taken = state.bites = (0,) * state.seats
    phrase = say(
        "Hand %(number)s was dealt: trump %(trump)s, cursed %(cursed)s.",
        number=state.hand_number,
        trump=state.trump,
        cursed=state.cursed,
    )
    events.append(Event("deal", phrase, cards=(state.ace, state.crown)))


def _turn_up(state: SnakebitState, events: list[Event]) -> None:
    """Turn up the next Ace and the next Crown, from fresh piles after every six hands."""
    pile, nth = divmod(state.hand_number - 1, PILE)
    if pile and nth == 0:
        events.append(Event("piles", say("The Aces and the Crowns were shuffled afresh.")))
    state.ace = deal.shuffle(state.key, f"aces/{pile + 1}", ACES)[nth]
    state.crown = deal.shuffle(state.key, f"crowns/{pile + 1}", CROWNS)[nth]
