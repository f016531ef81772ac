"""Biscuit's state: all there is to know of a match, and how it goes on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from engine import deal
from engine.biscuit_table import (
    OUT_POINTS,
    RANKS,
    End,
    Keep,
    Lines,
    Move,
    Play,
    Ranks,
    drawers,
    gain,
    left_value,
)
from engine.decktet import BASIC, COURTS, DECK, EXCUSE, PAWNS, Card, Rank, cards_of, mask
from engine.game import Event, Options, Phrase, Scores, Seat, count, say

if TYPE_CHECKING:
    from collections.abc import Iterator

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


@dataclass(slots=True)
class BiscuitState:
    """A match of Biscuit. Hands are masks over the deck, by seat; the pile's last is its top.

    ``turn`` is the seat to move, 0 when the match is over. ``drawn`` is the card that
    this seat drew and may play or keep. ``fits`` are the cards that the lines take.
    ``shown`` is what all have seen of the running hand's cards, in order.
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
    fits: int
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
            self.lines,
            self.fits,
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
        lines=Lines((EXCUSE,)),
        fits=0,
        turn=0,
        scores_before=(0,) * seats,
    )
    events: list[Event] = []
    _deal_hand(state, events)
    return state, tuple(events)


def step(state: BiscuitState, seat: Seat, move: Move) -> tuple[Event, ...]:
    """Make a legal move and all that follows by rule."""
    events: list[Event] = []
    match move:
        case Play():
            _play(state, seat, move, events)
        case Keep():
            events.append(Event("keep", say("%(seat)s kept the drawn card.", seat=seat), seat=seat))
    state.drawn = None
    if state.hands[seat - 1]:
        state.turn = seat % state.seats + 1
        advance(state, events)
    else:
        _go_out(state, seat, events)
    return tuple(events)


def place_phrase(move: Play) -> Phrase:
    """Return where a card is played, in words."""
    if move.column is None:
        return say("on the left") if move.end is End.LEFT else say("on the right")
    if move.end is End.UP:
        return say("above %(card)s", card=move.column)
    return say("below %(card)s", card=move.column)


def _play(state: BiscuitState, seat: Seat, move: Play, events: list[Event]) -> None:
    card = move.card
    gained = gain(state.lines, move, state.ranks)
    state.hands[seat - 1] ^= 1 << card.index
    state.shown += (Shown(seat, Sign.PLAYED, 1 << card.index),)
    state.lines = state.lines.extended(move)
    state.fits = state.lines.fits()
    _add(state, seat, gained.points)
    phrase = say(
        "%(seat)s played %(card)s %(place)s.", seat=seat, card=card, place=place_phrase(move)
    )
    events.append(Event("play", phrase, seat=seat, cards=(card,), points=gained.points))
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
    phrase = say("%(card)s and %(end)s made eleven.", card=card, end=far)
    events.append(Event("eleven", phrase, seat=seat, cards=(card, far)))
    drawing = drawers(seat, state.sizes(), len(state.pile), partners=state.partners)
    for other in drawing:
        drawn = _draw(state, other)
        state.shown += (Shown(other, Sign.DREW, _ALL),)
        events.append(
            Event(
                "draw",
                say("%(seat)s drew a card.", seat=other),
                seat=other,
                knows=frozenset((other,)),
                secret=say("%(seat)s drew %(card)s.", seat=other, card=drawn),
                secret_cards=(drawn,),
            )
        )


def _draw(state: BiscuitState, seat: Seat) -> Card:
    card = state.pile.pop()
    state.hands[seat - 1] |= 1 << card.index
    return card


def advance(state: BiscuitState, events: list[Event]) -> None:
    """Go on to the next seat that has a choice, with the draws and passes before it."""
    while True:
        if not state.pile and not any(hand & state.fits for hand in state.hands):
            phrase = say("The pile was empty and nobody could play.")
            events.append(Event("stale", phrase))
            _end_hand(state, "stale", events)
            return
        if state.hands[state.turn - 1] & state.fits or _draws_a_choice(state, events):
            return
        state.turn = state.turn % state.seats + 1


def _draws_a_choice(state: BiscuitState, events: list[Event]) -> bool:
    """Draw for a seat that cannot play; say whether the drawn card may be played."""
    seat = state.turn
    state.shown += (Shown(seat, Sign.LACKED, state.fits),)
    if not state.pile:
        events.append(Event("pass", say("%(seat)s could not play.", seat=seat), seat=seat))
        return False
    card = _draw(state, seat)
    events.append(
        Event(
            "draw",
            say("%(seat)s could not play and drew a card.", seat=seat),
            seat=seat,
            knows=frozenset((seat,)),
            secret=say("%(seat)s could not play and drew %(card)s.", seat=seat, card=card),
            secret_cards=(card,),
        )
    )
    fits = state.fits >> card.index & 1
    state.shown += (Shown(seat, Sign.DREW, state.fits if fits else _ALL & ~state.fits),)
    if fits:
        state.drawn = card
        return True
    events.append(Event("pass", say("%(seat)s passed.", seat=seat), seat=seat))
    return False


def _go_out(state: BiscuitState, seat: Seat, events: list[Event]) -> None:
    bonus = OUT_POINTS
    for other, hand in enumerate(state.hands, 1):
        sign = -1 if state.partners and other % 2 == seat % 2 else 1
        bonus += sign * left_value(cards_of(hand))
    _add(state, seat, bonus)
    events.append(Event("out", say("%(seat)s went out.", seat=seat), seat=seat, points=bonus))
    _end_hand(state, "out", events)


def _end_hand(state: BiscuitState, reason: str, events: list[Event]) -> None:
    gains = tuple(
        now - before for now, before in zip(state.scores, state.scores_before, strict=True)
    )
    left = tuple(cards_of(hand) for hand in state.hands)
    state.last_hand = HandResult(state.hand_number, reason, gains, left, state.lines)
    state.turn = 0
    events.extend(_told_left(state.last_hand))
    target = int(state.options["target"])
    if not target:
        return
    for seat, points in enumerate(gains, 1):
        phrase = say("%(seat)s ended hand %(number)s.", seat=seat, number=state.hand_number)
        events.append(Event("gain", phrase, seat=seat, points=points))
    if max(state.scores) < target:
        _deal_hand(state, events)


def _told_left(result: HandResult) -> Iterator[Event]:
    for seat, cards in enumerate(result.left, 1):
        if cards:
            phrase = count(
                len(cards),
                "%(seat)s was left with one card.",
                "%(seat)s was left with %(n)s cards.",
                seat=seat,
            )
            yield Event("left", phrase, seat=seat, cards=cards)


def _deal_hand(state: BiscuitState, events: list[Event]) -> None:
    state.hand_number += 1
    opener = (state.hand_number - 1) % state.seats + 1
    cards = _shuffled(state, events)
    dealt = HAND_SIZE * state.seats
    state.hands = [0] * state.seats
    for nth, card in enumerate(cards[:dealt]):
        state.hands[(opener - 1 + nth) % state.seats] |= 1 << card.index
    state.face_down, initial = cards[dealt : dealt + 2]
    state.pile = cards[: dealt + 1 : -1]
    state.lines = Lines((initial,))
    state.fits = state.lines.fits()
    state.turn = opener
    state.scores_before = tuple(state.scores)
    state.shown = ()
    phrase = say(
        "Hand %(number)s was dealt with %(card)s as the initial card.",
        number=state.hand_number,
        card=initial,
    )
    events.append(Event("deal", phrase, cards=(initial,)))
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
        phrase = say("The Excuse was turned up, so the cards were dealt again.")
        events.append(Event("redeal", phrase))
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
