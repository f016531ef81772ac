"""Snakebit's state: all there is to know of a match, and how it goes on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from operator import add
from typing import TYPE_CHECKING, Final, TypeAlias

from engine import deal
from engine.decktet import ACES, BASIC, CROWNS, DECK, NUMBERS, Card, Suit, mask
from engine.game import Event, Options, Scores, Seat, count, say

if TYPE_CHECKING:
    from collections.abc import Sequence

CYCLE: Final = 6  # hands, after which Aces and Crowns are shuffled afresh
LOWEST: Final = -13  # whoever stands there or lower ends a match played to minus13

SHOWS: Final = {suit: mask(tuple(c for c in NUMBERS if suit in c.suits)) for suit in Suit}

_SUITS: Final = tuple(Suit)


@dataclass(frozen=True, slots=True)
class Lead:
    """A card led to a trick, with the suit of it that is named."""

    card: Card
    suit: Suit


@dataclass(frozen=True, slots=True)
class Follow:
    """A card played to a trick that somebody else led."""

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
    """How a hand was scored: tricks won, cursed cards in them and the gains, by seat."""

    number: int
    ace: Card
    crown: Card
    tricks: tuple[Trick, ...]
    taken: tuple[int, ...]
    bites: tuple[int, ...]
    gains: Scores


@dataclass(slots=True)
class SnakebitState:
    """A match of Snakebit. Hands are masks over the deck, by seat.

    ``turn`` is the seat to move, 0 when the match is over. The ``ace`` gives trump and
    the ``crown`` the cursed suit; ``barred`` are those of the two that no card of this
    hand has shown yet. ``named`` is the suit to follow, None before a lead. ``piles``
    are the Aces and Crowns of six hands, in pairs.
    """

    key: bytes
    options: Options
    scores: Scores
    hand_number: int
    hands: list[int]
    ace: Card
    crown: Card
    turn: Seat = 0
    leader: Seat = 0
    named: Suit | None = None
    barred: tuple[Suit, ...] = ()
    trick: tuple[Card, ...] = ()
    tricks: tuple[Trick, ...] = ()
    last_hand: HandResult | None = None
    piles: tuple[tuple[Card, Card], ...] = ()

    @property
    def seats(self) -> int:
        """Return the number of seats."""
        return len(self.hands)

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
            self.turn,
            self.leader,
            self.named,
            self.barred,
            self.trick,
            self.tricks,
            self.last_hand,
            self.piles,
        )


def playable(hand: int, named: Suit | None) -> int:
    """Return the mask of a hand's cards that may be played."""
    return hand if named is None else hand & SHOWS[named] or hand


def nameable(hand: int, barred: tuple[Suit, ...]) -> tuple[Suit, ...]:
    """Return the suits that may be named by whoever holds the hand and leads."""
    if not barred:
        return _SUITS
    free, shown = _free_of(barred)
    return free if hand & shown else _SUITS


@cache
def _free_of(barred: tuple[Suit, ...]) -> tuple[tuple[Suit, ...], int]:
    """Return the suits that are not barred, and the mask of the cards that show them."""
    free = tuple(suit for suit in _SUITS if suit not in barred)
    return free, mask(card for card in NUMBERS if set(card.suits) & set(free))


def winner(leader: Seat, named: Suit, trick: Sequence[Card], trump: Suit, seats: int) -> Seat:
    """Return the seat that wins a trick, or would win it as it lies."""
    played = mask(trick)
    # Two number cards of one rank share no suit, and the deck is sorted by rank.
    best = (played & SHOWS[trump] or played & SHOWS[named]).bit_length() - 1
    return (leader - 1 + trick.index(DECK[best])) % seats + 1


def bites(cards: Sequence[Card], cursed: Suit) -> int:
    """Return how many of the cards show the cursed suit."""
    return (mask(cards) & SHOWS[cursed]).bit_count()


def is_end(options: Options, hand_number: int, scores: Scores) -> bool:
    """Say whether the match is over with the hand that was scored."""
    if options["end"] == "six":
        return hand_number == CYCLE
    return min(scores) <= LOWEST


def tally(tricks: Sequence[Trick], cursed: Suit, seats: int) -> tuple[tuple[int, int], ...]:
    """Return each seat's tricks and the cursed cards in them, by seat."""
    taken, bitten = [0] * seats, [0] * seats
    for trick in tricks:
        taken[trick.winner - 1] += 1
        bitten[trick.winner - 1] += bites(trick.cards, cursed)
    return tuple(zip(taken, bitten, strict=True))


def new_state(key: bytes, seats: int, options: Options) -> tuple[SnakebitState, tuple[Event, ...]]:
    """Deal the first hand."""
    zeros = (0,) * seats
    state = SnakebitState(key, options, zeros, 0, list(zeros), ACES[0], CROWNS[0])
    events: list[Event] = []
    _deal_hand(state, events)
    return state, tuple(events)


def step(state: SnakebitState, seat: Seat, move: Move) -> tuple[Event, ...]:
    """Make a legal move and all that follows by rule."""
    card, trick = move.card, state.trick
    # Here isinstance is quicker than match.
    if isinstance(move, Follow):
        events = [_told_play(seat, card.index)]
    else:
        state.named = move.suit
        events = [_told_lead(seat, card.index, move.suit)]
    state.hands[seat - 1] ^= card.bit
    state.trick = trick = (*trick, card)
    if state.barred:
        _free(state, card, events)
    seats = len(state.hands)
    if len(trick) < seats:
        state.turn = seat % seats + 1
    else:
        _end_trick(state, events)
    return tuple(events)


def _free(state: SnakebitState, card: Card, events: list[Event]) -> None:
    """Let the suits be named that a played card shows."""
    freed = [suit for suit in state.barred if suit in card.suits]
    if freed:
        events += [_told_free(suit) for suit in freed]
        state.barred = tuple([suit for suit in state.barred if suit not in freed])


def _end_trick(state: SnakebitState, events: list[Event]) -> None:
    assert state.named is not None
    won = winner(state.leader, state.named, state.trick, state.ace.suits[0], state.seats)
    state.tricks += (Trick(state.leader, state.named, state.trick, won),)
    events.append(_told_trick(won, bites(state.trick, state.crown.suits[0])))
    state.turn = state.leader = won
    state.named = None
    state.trick = ()
    if not any(state.hands):
        _score_hand(state, events)


# What is told of a card recurs in every match: each such event is made once.
@cache
def _told_lead(seat: Seat, index: int, suit: Suit) -> Event:
    card = BASIC[index]
    phrase = say("%(seat)s led %(card)s and named %(suit)s.", seat=seat, card=card, suit=suit)
    return Event("play", phrase, seat=seat, cards=(card,))


@cache
def _told_play(seat: Seat, index: int) -> Event:
    card = BASIC[index]
    phrase = say("%(seat)s played %(card)s.", seat=seat, card=card)
    return Event("play", phrase, seat=seat, cards=(card,))


@cache
def _told_free(suit: Suit) -> Event:
    return Event("free", say("%(suit)s may be named from now on.", suit=suit))


@cache
def _told_trick(seat: Seat, bitten: int) -> Event:
    if not bitten:
        return Event("trick", say("%(seat)s won the trick.", seat=seat), seat=seat)
    phrase = count(
        bitten,
        "%(seat)s won the trick, with one cursed card in it.",
        "%(seat)s won the trick, with %(n)s cursed cards in it.",
        seat=seat,
    )
    return Event("trick", phrase, seat=seat)


@lru_cache(maxsize=1 << 12)
def _told_score(seat: Seat, number: int, taken: int, bitten: int) -> Event:
    phrase = say(
        "%(seat)s ended hand %(number)s with %(tricks)s and %(cursed)s.",
        seat=seat,
        number=number,
        tricks=count(taken, "%(n)s trick", "%(n)s tricks"),
        cursed=count(bitten, "%(n)s cursed card", "%(n)s cursed cards"),
    )
    return Event("score", phrase, seat=seat, points=taken - bitten)


def _score_hand(state: SnakebitState, events: list[Event]) -> None:
    counted = tally(state.tricks, state.crown.suits[0], state.seats)
    taken, bitten = zip(*counted, strict=True)
    gains = tuple(tricks - bad for tricks, bad in counted)
    number = state.hand_number
    state.last_hand = HandResult(number, state.ace, state.crown, state.tricks, taken, bitten, gains)
    state.scores = tuple(map(add, state.scores, gains))
    events += [_told_score(seat, number, *pair) for seat, pair in enumerate(counted, 1)]
    if is_end(state.options, number, state.scores):
        state.turn = 0
    else:
        _deal_hand(state, events)


def _deal_hand(state: SnakebitState, events: list[Event]) -> None:
    state.hand_number += 1
    cycle, nth = divmod(state.hand_number - 1, CYCLE)
    if nth == 0:
        aces = deal.shuffle(state.key, f"aces/{cycle + 1}", ACES)
        crowns = deal.shuffle(state.key, f"crowns/{cycle + 1}", CROWNS)
        state.piles = tuple(zip(aces, crowns, strict=True))
    state.ace, state.crown = state.piles[nth]
    seats = state.seats
    state.turn = state.leader = (state.hand_number - 1) % seats + 1
    cards = deal.shuffle(state.key, f"hand/{state.hand_number}", NUMBERS)
    for nth in range(seats):
        state.hands[(state.turn - 1 + nth) % seats] = mask(cards[nth::seats])
    # One suit may be both: it is freed once then.
    state.barred = tuple(dict.fromkeys((state.ace.suits[0], state.crown.suits[0])))
    state.tricks = ()
    phrase = say(
        "Hand %(number)s was dealt: trump is %(trump)s, cursed is %(cursed)s.",
        number=state.hand_number,
        trump=state.ace.suits[0],
        cursed=state.crown.suits[0],
    )
    events.append(Event("deal", phrase, cards=(state.ace, state.crown)))
