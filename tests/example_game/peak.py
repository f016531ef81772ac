"""Peak, a game small enough to read at once: three cards each, the highest of a round scores.

It is no game of the server. docs/add-a-game.md shows it, and tests play it like any other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from engine import deal
from engine.decktet import BASIC, Card
from engine.errors import Ambiguous, IllegalMove, NotYourTurn, Unreadable
from engine.game import (
    Event,
    Fact,
    Game,
    Label,
    Layout,
    Options,
    Outcome,
    Phrase,
    Placed,
    Preview,
    Scores,
    Seat,
    View,
    following,
    placings,
    say,
)
from engine.reading import CardWords, Said, Vocabulary, read, vocabulary

HAND: Final = 3  # cards dealt to each seat, and so rounds
_WORDS: Final[Vocabulary[None]] = vocabulary(("play, i play, put, show", None))


@dataclass(frozen=True, slots=True)
class Show:
    """A card put face up on the table."""

    card: Card


@dataclass(slots=True)
class PeakState:
    """A match of Peak; ``shown`` are the cards of the running round, the leader's first."""

    hands: list[tuple[Card, ...]]
    scores: Scores
    leader: Seat = 1
    shown: tuple[Card, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PeakView(View):
    """What a seat knows of it: its hand, and what lies on the table."""

    leader: Seat
    shown: tuple[Card, ...]


class Peak(Game[PeakState, PeakView, Show]):
    """The rules of Peak."""

    name = "peak"
    title = "Peak"
    version = 1
    seat_counts = (2, 3)
    options = ()
    wording = "the card, by its code or its name"

    def new_game(
        self, deal_key: bytes, seats: int, options: Options
    ) -> tuple[PeakState, tuple[Event, ...]]:
        cards = deal.shuffle(deal_key, "hand/1", BASIC)
        hands = [tuple(cards[place : HAND * seats : seats]) for place in range(seats)]
        return PeakState(hands, (0,) * seats), (Event("deal", say("The cards were dealt.")),)

    def copy(self, state: PeakState) -> PeakState:
        return replace(state, hands=list(state.hands))

    def to_move(self, state: PeakState) -> frozenset[Seat]:
        seats = len(state.hands)
        asked = (state.leader - 1 + len(state.shown)) % seats + 1
        return frozenset((asked,)) if any(state.hands) else frozenset()

    def view(self, state: PeakState, seat: Seat | None) -> PeakView:
        return PeakView(
            seat=seat,
            seats=len(state.hands),
            options={},
            to_move=self.to_move(state),
            hand_number=1,
            scores=state.scores,
            hand=() if seat is None else state.hands[seat - 1],
            hand_sizes=tuple(map(len, state.hands)),
            leader=state.leader,
            shown=state.shown,
        )

    def moves(self, view: PeakView) -> tuple[Show, ...]:
        return tuple(map(Show, view.hand)) if view.seat in view.to_move else ()

    def step(self, state: PeakState, seat: Seat, move: Show) -> tuple[Event, ...]:
        state.hands[seat - 1] = tuple(card for card in state.hands[seat - 1] if card != move.card)
        state.shown += (move.card,)
        phrase = say("%(seat)s showed %(card)s.", seat=seat, card=move.card)
        played = Event("play", phrase, seat=seat, cards=(move.card,))
        if len(state.shown) < len(state.hands):
            return (played,)
        best = max(range(len(state.shown)), key=lambda nth: state.shown[nth].rank.number)
        winner = (state.leader, *following(state.leader, len(state.hands)))[best]
        state.scores = tuple(
            score + (number == winner) for number, score in enumerate(state.scores, 1)
        )
        state.leader, state.shown = winner, ()
        won = say("%(seat)s had the highest card.", seat=winner)
        return (played, Event("round", won, seat=winner, points=1))

    def preview(self, view: PeakView, move: Show) -> Preview:
        return Preview(move.card, say("onto the table"), None)

    def layout(
        self, view: PeakView, *, move: Show | None = None, fresh: frozenset[Card] = frozenset()
    ) -> Layout:
        cards = view.shown if move is None else (*view.shown, move.card)
        marked = fresh if move is None else fresh | {move.card}
        placed = tuple(
            Placed(nth, 0, card, frozenset(("fresh",)) if card in marked else frozenset())
            for nth, card in enumerate(cards)
        )
        return Layout(placed, labels=() if placed else (Label(0, 0, say("The table is empty.")),))

    def facts(self, view: PeakView) -> tuple[Fact, ...]:
        return (Fact(say("Led by"), say("%(seat)s", seat=view.leader)),)

    def hint(self, view: PeakView) -> Phrase | None:
        return say("The highest card of a round scores.") if view.seat in view.to_move else None

    def all_moves(self) -> Iterable[Show]:
        return map(Show, BASIC)

    def format(self, move: Show) -> str:
        return move.card.code

    def parse(self, view: PeakView, text: str) -> Show:
        words = self._card(text)
        if view.seat not in view.to_move:
            raise NotYourTurn
        found = [move for move in self.moves(view) if words.fits(move.card)]
        if not found:
            raise IllegalMove("%(card)s is not in your hand", card=words.text)
        if len(found) > 1:
            raise Ambiguous([self.format(move) for move in found])
        return found[0]

    def said(self, text: str) -> Said:
        return Said((self._card(text),))

    def scores(self, state: PeakState) -> Scores:
        return state.scores

    def outcome(self, state: PeakState) -> Outcome | None:
        return None if any(state.hands) else Outcome(placings(state.scores), state.scores, "rounds")

    @staticmethod
    def _card(text: str) -> CardWords:
        items = read(text, _WORDS)
        if len(items) != 1 or not isinstance(items[0], CardWords):
            raise Unreadable
        return items[0]
