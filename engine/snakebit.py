"""Snakebit: a trick game with a trump suit and a cursed suit, new in every hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from engine import snakebit_state
from engine.decktet import Card, Suit, cards_of
from engine.game import (
    N_,
    Event,
    Fact,
    Game,
    Layout,
    Option,
    Options,
    Outcome,
    Phrase,
    Preview,
    Scores,
    Seat,
    View,
    count,
    following,
    placings,
    say,
)
from engine.snakebit_layout import table_layout, taken_line
from engine.snakebit_reading import meant
from engine.snakebit_state import (
    LOWEST,
    MOST_HANDS,
    NUMBERS,
    Follow,
    HandResult,
    Lead,
    Move,
    SnakebitState,
    Trick,
    best,
    cursed_in,
    listed,
    playable,
)

SIX: Final = "six"
MINUS_13: Final = "minus13"
_ALONE: Final = tuple(frozenset((seat,) if seat else ()) for seat in range(5))


@dataclass(frozen=True, slots=True, kw_only=True)
class SnakebitView(View):
    """What a seat or an onlooker may know of a match of Snakebit.

    The Ace's suit is trump and the Crown's suit cursed; ``barred`` may not be named yet.
    ``playable`` is the mask of the cards that this seat may play. ``tricks`` are those of
    the running hand, ``trick`` the one on the table and ``named`` the suit it was led
    under. ``taken`` and ``bites`` are the tricks and the cursed cards taken, by seat.
    """

    ace: Card
    crown: Card
    barred: tuple[Suit, ...]
    playable: int
    leader: Seat
    named: Suit | None
    trick: tuple[Card, ...]
    tricks: tuple[Trick, ...]
    taken: tuple[int, ...]
    bites: tuple[int, ...]
    last_hand: HandResult | None
    is_over: bool

    @property
    def trump(self) -> Suit:
        """Return the suit that wins tricks."""
        return self.ace.suits[0]

    @property
    def cursed(self) -> Suit:
        """Return the suit that costs points."""
        return self.crown.suits[0]

    @property
    def plays(self) -> tuple[tuple[Seat, Card], ...]:
        """Return who played what to the trick on the table."""
        order = (self.leader, *following(self.leader, self.seats))
        return tuple(zip(order, self.trick, strict=False))

    @property
    def last_plays(self) -> tuple[tuple[Seat, Card], ...]:
        """Return who played what to the trick before, in this hand."""
        if not self.tricks:
            return ()
        trick = self.tricks[-1]
        order = (trick.leader, *following(trick.leader, self.seats))
        return tuple(zip(order, trick.cards, strict=True))

    @property
    def lines(self) -> tuple[Phrase, ...]:
        """Return what each seat has taken in this hand, in words."""
        return tuple(taken_line(self, seat) for seat in range(1, self.seats + 1))

    def who(self, seat: Seat) -> Phrase:
        """Return a seat's name, for the board in words."""
        return say("%(seat)s", seat=seat)

    def suit(self, suit: Suit) -> Phrase:
        """Return a suit's name, for the board in words."""
        return say("%(suit)s", suit=suit)


class Snakebit(Game[SnakebitState, SnakebitView, Move]):
    """The game Snakebit, for three or four seats."""

    name = "snakebit"
    title = "Snakebit"
    version = 1
    seat_counts = (3, 4)
    options = (
        Option(
            "end",
            SIX,
            N_("End"),
            N_("After six hands, or when somebody stands at -13 or lower after a hand."),
            (SIX, MINUS_13),
        ),
    )

    def new_game(
        self, deal_key: bytes, seats: int, options: Options
    ) -> tuple[SnakebitState, tuple[Event, ...]]:
        """Deal a new match."""
        return snakebit_state.new_state(deal_key, seats, options)

    def copy(self, state: SnakebitState) -> SnakebitState:
        """Return a state that may be changed alone."""
        return state.copy()

    def to_move(self, state: SnakebitState) -> frozenset[Seat]:
        """Return the one seat to move, or none when the match is over."""
        return _ALONE[state.turn]

    def view(self, state: SnakebitState, seat: Seat | None) -> SnakebitView:
        """Return what the seat, or an onlooker, may know."""
        is_over = state.turn == 0
        is_asked = seat is not None and seat == state.turn
        return SnakebitView(
            seat=seat,
            seats=state.seats,
            options=state.options,
            to_move=_ALONE[state.turn],
            hand_number=state.hand_number,
            scores=state.scores,
            hand=() if seat is None else cards_of(state.hands[seat - 1]),
            hand_sizes=tuple(map(int.bit_count, state.hands)),
            revealed=tuple(cards_of(hand) for hand in state.hands) if is_over else (),
            ace=state.ace,
            crown=state.crown,
            barred=state.barred,
            playable=playable(state.hands[state.turn - 1], state.named) if is_asked else 0,
            leader=state.leader,
            named=state.named,
            trick=state.trick,
            tricks=state.tricks,
            taken=state.taken,
            bites=state.bites,
            last_hand=state.last_hand,
            is_over=is_over,
        )

    def moves(self, view: SnakebitView) -> tuple[Move, ...]:
        """Return the legal moves, by rank; leads in the order of the card's suits."""
        return listed(view.playable, view.named, view.barred)

    def legal_moves(self, state: SnakebitState, seat: Seat) -> tuple[Move, ...]:
        """Return what ``moves`` lists, without a view."""
        if seat != state.turn:
            return ()
        return listed(playable(state.hands[seat - 1], state.named), state.named, state.barred)

    def step(self, state: SnakebitState, seat: Seat, move: Move) -> tuple[Event, ...]:
        """Make a legal move and all that follows by rule; return what happened."""
        return snakebit_state.step(state, seat, move)

    def preview(self, view: SnakebitView, move: Move) -> Preview:
        """Return what the move would do, from what its seat knows."""
        if isinstance(move, Lead):
            return Preview(move.card, say("naming %(suit)s", suit=move.suit), 0)
        return _follow_preview(view, move.card)

    def layout(
        self, view: SnakebitView, *, move: Move | None = None, fresh: frozenset[Card] = frozenset()
    ) -> Layout:
        """Return trump, curse, the trick and the one before as a picture."""
        return table_layout(view, move, fresh)

    def facts(self, view: SnakebitView) -> tuple[Fact, ...]:
        """Return the hand and the trick, and what ends the match."""
        most = len(NUMBERS) // view.seats
        trick = say("%(n)s of %(most)s", n=min(len(view.tricks) + 1, most), most=most)
        if view.options["end"] == SIX:
            hand = say("%(n)s of %(most)s", n=view.hand_number, most=MOST_HANDS)
            return (Fact(say("Hand"), hand), Fact(say("Trick"), trick))
        hand = say("%(number)s", number=view.hand_number)
        ends = Fact(say("Ends at"), say("%(points)s or lower", points=LOWEST))
        return (Fact(say("Hand"), hand), Fact(say("Trick"), trick), ends)

    def hint(self, view: SnakebitView) -> Phrase | None:
        """Return the rule that matters for what is asked now."""
        if view.seat not in view.to_move:
            return None
        if view.named is None:
            return _leading_hint(self.moves(view), view.barred)
        if any(view.named in card.suits for card in view.hand):
            return say("You must follow %(suit)s.", suit=view.named)
        return say("You have no %(suit)s: any card may be played.", suit=view.named)

    def format(self, move: Move) -> str:
        """Return the move as records have it: ``5SW suns`` leads, ``5SW`` follows."""
        match move:
            case Lead(card, suit):
                return f"{card} {suit.word}"
            case Follow(card):
                return card.code

    def parse(self, view: SnakebitView, text: str) -> Move:
        """Return the move that the text means; raises Unreadable, IllegalMove or Ambiguous."""
        return meant(self, view, text)

    def scores(self, state: SnakebitState) -> Scores:
        """Return all seats' totals."""
        return state.scores

    def outcome(self, state: SnakebitState) -> Outcome | None:
        """Return how the match ended, or None while it goes on."""
        if state.turn:
            return None
        return Outcome(placings(state.scores), state.scores, str(state.options["end"]))


def _leading_hint(moves: tuple[Move, ...], barred: tuple[Suit, ...]) -> Phrase:
    if not barred:
        return say("You lead, and name one of the card's suits.")
    if any(isinstance(move, Lead) and move.suit in barred for move in moves):
        return say("You may name any suit, as you hold no other than those barred.")
    if len(barred) == 1:
        return say("You may not name %(suit)s yet.", suit=barred[0])
    return say(
        "Neither %(suit)s nor %(second)s may be named yet.", suit=barred[0], second=barred[1]
    )


def _follow_preview(view: SnakebitView, card: Card) -> Preview:
    """Return what following does; the last card of a trick decides it."""
    place = say("to the trick")
    trick = (*view.trick, card)
    if len(trick) < view.seats or view.named is None or view.seat is None:
        return Preview(card, place, 0)
    won = best(trick, view.trump, view.named)
    seat = (view.leader - 1 + won) % view.seats + 1
    bites = cursed_in(trick, view.cursed)
    is_own = seat == view.seat
    effects = [say("takes it") if is_own else say("%(seat)s takes it", seat=seat)]
    if bites:
        effects.append(count(bites, "%(n)s cursed card", "%(n)s cursed cards"))
    if len(view.hand) > 1:
        return Preview(card, place, 0, tuple(effects))
    # The hand ends with this card, so what it brings is certain.
    before = view.taken[view.seat - 1] - view.bites[view.seat - 1]
    return Preview(card, place, before + (1 - bites if is_own else 0), tuple(effects))
