"""Biscuit's state: all there is to know of a match, and how it goes on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from operator import sub
from typing import Final, NamedTuple

from engine import biscuit_told as told
from engine import deal
from engine.biscuit_table import (
    NOTHING,
    OUT_POINTS,
    RANKS,
    Keep,
    Lines,
    Move,
    Play,
    Ranks,
    drawers,
    gain,
    laid,
    left_value,
)
from engine.decktet import BASIC, COURTS, DECK, EXCUSE, PAWNS, Card, Rank, cards_of, mask
from engine.game import MOST_SEATS, Event, Options, Scores, Seat

HAND_SIZE = 6
_ALL = mask(DECK)


@dataclass(frozen=True, slots=True)
class HandResult:
    """How a hand ended: its number, ``out`` or ``stale``, gains and cards left, by seat.

    ``lines`` are the lines as they lay at its end.
    """

    number: int
    reason: str
    gains: Scores
    left: tuple[tuple[Card, ...], ...]
    lines: Lines


class Sign(Enum):
    """What a seat did that tells of its hand: it lacked cards, drew one, or played one."""

    LACKED = "lacked"
    DREW = "drew"
    PLAYED = "played"


class Shown(NamedTuple):
    """One thing that everybody could see of a hand; ``cards`` is a mask.

    The seat held none of the cards, drew one of them, or played the card.
    """

    seat: Seat
    sign: Sign
    cards: int


# What is shown most often, by the seat (there is no seat 0) and the card's index.
_PLAYED: Final = tuple(
    tuple(Shown(seat, Sign.PLAYED, card.bit) for card in DECK) for seat in range(MOST_SEATS + 1)
)
_DREW: Final = tuple(Shown(seat, Sign.DREW, _ALL) for seat in range(MOST_SEATS + 1))


@dataclass(slots=True)
class BiscuitState:
    """A match of Biscuit. Hands are masks over the deck, by seat; the pile's last is its top.

    ``turn`` is the seat to move, 0 when the match is over. ``drawn`` is the card that
    this seat drew and may play or keep. ``shown`` is what all have seen of the running
    hand's cards, in order.
    """

    key: bytes
    options: Options
    ranks: Ranks
    scores: list[int]
    hand_number: int
    hands: list[int]
    pile: list[Card]
    face_down: Card
    lines: Lines
    turn: Seat
    scores_before: Scores
    drawn: Card | None = None
    last_hand: HandResult | None = None
    shown: tuple[Shown, ...] = ()

    @property
    def seats(self) -> int:
        """Return the number of seats."""
        return len(self.hands)

    @property
    def partners(self) -> bool:
        """Say whether 1+3 play against 2+4."""
        return self.options["partners"] is True

    def sizes(self) -> tuple[int, ...]:
        """Return how many cards each seat holds."""
        return tuple([hand.bit_count() for hand in self.hands])

    def copy(self) -> BiscuitState:
        """Return a state that may be changed alone."""
        return BiscuitState(
            self.key,
            self.options,
            self.ranks,
            self.scores[:],
            self.hand_number,
            self.hands[:],
            self.pile[:],
            self.face_down,
            self.lines.copy(),
            self.turn,
            self.scores_before,
            self.drawn,
            self.last_hand,
            self.shown,
        )


def new_state(key: bytes, seats: int, options: Options) -> tuple[BiscuitState, tuple[Event, ...]]:
    """Deal the first hand."""
    state = BiscuitState(
        key=key,
        options=options,
        ranks=RANKS[options["pawns"] is True, options["courts"] is True],
        scores=[0] * seats,
        hand_number=0,
        hands=[0] * seats,
        pile=[],
        face_down=EXCUSE,
        lines=laid((EXCUSE,)),
        turn=0,
        scores_before=(0,) * seats,
    )
    events: list[Event] = []
    _deal_hand(state, events)
    return state, tuple(events)


def step(state: BiscuitState, seat: Seat, move: Move) -> tuple[Event, ...]:
    """Make a legal move and all that follows by rule."""
    events: list[Event] = []
    if isinstance(move, Keep):
        events.append(told.keep(seat))
    else:
        _play(state, seat, move, events)
    state.drawn = None
    if state.hands[seat - 1]:
        state.turn = seat % len(state.hands) + 1
        advance(state, events)
    else:
        _go_out(state, seat, events)
    return tuple(events)


def _play(state: BiscuitState, seat: Seat, move: Play, events: list[Event]) -> None:
    card = move.card
    gained = gain(state.lines, move, state.ranks)
    state.hands[seat - 1] ^= card.bit
    state.shown += (_PLAYED[seat][card.index],)
    state.lines.grow(move)
    points = 0
    if gained is not NOTHING:
        points = gained.points
        _add(state, seat, points)
    events.append(told.play(seat, card.index, move.spot, points))
    if gained.eleven is not None:
        _draw_for_eleven(state, seat, card, gained.eleven, events)


def _add(state: BiscuitState, seat: Seat, points: int) -> None:
    state.scores[seat - 1] += points
    if state.partners:
        # Partners share one score: each of the two shows the team's total.
        state.scores[(seat + 1) % 4] += points


def _draw_for_eleven(
    state: BiscuitState, seat: Seat, card: Card, far: Card, events: list[Event]
) -> None:
    events.append(told.eleven(seat, card.index, far.index))
    for other in drawers(seat, state.sizes(), len(state.pile), partners=state.partners):
        events.append(told.draw(other, _draw(state, other).index))
        state.shown += (_DREW[other],)


def _draw(state: BiscuitState, seat: Seat) -> Card:
    card = state.pile.pop()
    state.hands[seat - 1] |= card.bit
    return card


def advance(state: BiscuitState, events: list[Event]) -> None:
    """Go on to the next seat that has a choice, with the draws and passes before it."""
    hands, fits = state.hands, state.lines.fits
    while not hands[state.turn - 1] & fits:
        if not state.pile and not any(hand & fits for hand in hands):
            events.append(told.stale())
            _end_hand(state, "stale", events)
            return
        if _draws_a_choice(state, events):
            return
        state.turn = state.turn % len(hands) + 1


def _draws_a_choice(state: BiscuitState, events: list[Event]) -> bool:
    """Draw for a seat that cannot play; say whether the drawn card may be played."""
    seat, fits = state.turn, state.lines.fits
    state.shown += (Shown(seat, Sign.LACKED, fits),)
    if not state.pile:
        events.append(told.no_play(seat))
        return False
    card = _draw(state, seat)
    events.append(told.draw_instead(seat, card.index))
    state.shown += (Shown(seat, Sign.DREW, fits if fits & card.bit else _ALL & ~fits),)
    if fits & card.bit:
        state.drawn = card
        return True
    events.append(told.passed(seat))
    return False


def _go_out(state: BiscuitState, seat: Seat, events: list[Event]) -> None:
    bonus = OUT_POINTS
    for other, hand in enumerate(state.hands, 1):
        sign = -1 if state.partners and other % 2 == seat % 2 else 1
        bonus += sign * left_value(cards_of(hand))
    _add(state, seat, bonus)
    events.append(told.out(seat, bonus))
    _end_hand(state, "out", events)


def _end_hand(state: BiscuitState, reason: str, events: list[Event]) -> None:
    gains = tuple(map(sub, state.scores, state.scores_before))
    left = tuple(map(cards_of, state.hands))
    state.last_hand = HandResult(state.hand_number, reason, gains, left, state.lines)
    state.turn = 0
    events += [told.left(seat, cards) for seat, cards in enumerate(left, 1) if cards]
    target = int(state.options["target"])
    if not target:
        return
    events += told.gains(state.hand_number, gains)
    if max(state.scores) < target:
        _deal_hand(state, events)


def _deal_hand(state: BiscuitState, events: list[Event]) -> None:
    state.hand_number += 1
    seats = state.seats
    opener = (state.hand_number - 1) % seats + 1
    cards = _shuffled(state, events)
    dealt = HAND_SIZE * seats
    state.hands = [0] * seats
    for nth in range(seats):
        state.hands[(opener - 1 + nth) % seats] = mask(cards[nth:dealt:seats])
    state.face_down, initial = cards[dealt : dealt + 2]
    state.pile = cards[: dealt + 1 : -1]
    state.lines = laid((initial,))
    state.turn = opener
    state.scores_before = tuple(state.scores)
    state.shown = ()
    events.append(told.deal(state.hand_number, initial.index))
    advance(state, events)


def _shuffled(state: BiscuitState, events: list[Event]) -> list[Card]:
    """Return the hand's deck, dealt again as long as the Excuse would lie face up."""
    deck = deck_of(state.options)
    face_up = HAND_SIZE * state.seats + 1
    label = f"hand/{state.hand_number}"
    cards = deal.shuffle(state.key, label, deck)
    nth = 0
    while cards[face_up].rank is Rank.EXCUSE:
        nth += 1
        events.append(told.redeal())
        cards = deal.shuffle(state.key, f"{label}/redeal/{nth}", deck)
    return cards


def deck_of(options: Options) -> tuple[Card, ...]:
    """Return the cards that the options put into the deck."""
    deck = BASIC
    if options["pawns"]:
        deck += PAWNS
    if options["courts"]:
        deck += COURTS
    if options["excuse"]:
        deck += (EXCUSE,)
    return deck
