"""Bisque: three cooks, a trick game without trumps, and one pot that pays secret suits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from engine import bisque_state
from engine.bisque_layout import table_layout
from engine.bisque_reading import meant, said
from engine.bisque_state import (
    SEATS,
    TRICKS,
    Aim,
    BisqueState,
    HandResult,
    Move,
    Phase,
    Play,
    Pot,
    Trick,
    allowed,
    totals,
    winner,
    with_card,
    worth,
)
from engine.decktet import BASIC, Card, Suit, cards_of, picker
from engine.game import (
    ALONE,
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
    following,
    placings,
    say,
)
from engine.reading import Said

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MOST_ROUNDS: Final = 12
PLIES: Final = SEATS + TRICKS * (SEATS + 1)  # decisions in a hand
# The moves by what is asked for and by the card's index.
_MOVES: Final[dict[Phase, tuple[Move, ...]]] = {
    Phase.AIM: tuple(Aim(card) for card in BASIC),
    Phase.PLAY: tuple(Play(card) for card in BASIC),
    Phase.POT: tuple(Pot(card) for card in BASIC),
    Phase.OVER: (),
}
_PICKED: Final = {phase: picker(moves) for phase, moves in _MOVES.items()}
_KINDS: Final[dict[Phase, type[Move] | tuple[()]]] = {
    Phase.AIM: Aim,
    Phase.PLAY: Play,
    Phase.POT: Pot,
    Phase.OVER: (),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BisqueView(View):
    """What a seat or an onlooker may know of a match of Bisque.

    ``allowed`` is the mask of the cards among which this seat chooses. ``aims`` are the
    objectives that it knows, by seat: its own, and all of them once the match is over.
    ``tricks`` are those of the running hand, ``trick`` the one on the table and ``pot``
    lies sorted by suit. ``last_hand`` tells the hand scored last.
    """

    phase: Phase
    allowed: int
    aims: tuple[Card | None, ...]
    leader: Seat
    trick: tuple[Card, ...]
    tricks: tuple[Trick, ...]
    pot: tuple[Card, ...]
    last_hand: HandResult | None

    @property
    def is_over(self) -> bool:
        """Say whether the match is over."""
        return self.phase is Phase.OVER

    @property
    def aim(self) -> Card | None:
        """Return the seat's own objective, once it is chosen."""
        return None if self.seat is None else self.aims[self.seat - 1]

    @property
    def chosen(self) -> tuple[Seat, ...]:
        """Return the seats that have chosen their objectives."""
        asked = self.to_move if self.phase is Phase.AIM else ()
        return tuple(seat for seat in range(1, SEATS + 1) if seat not in asked)

    @property
    def plays(self) -> tuple[tuple[Seat, Card], ...]:
        """Return who played what to the trick on the table."""
        order = (self.leader, *following(self.leader, SEATS))
        return tuple(zip(order, self.trick, strict=False))

    @property
    def taken(self) -> tuple[int, ...]:
        """Return how many tricks of the hand each seat has won, by seat."""
        winners = [trick.winner for trick in self.tricks]
        return tuple(winners.count(seat) for seat in range(1, SEATS + 1))

    @property
    def worths(self) -> tuple[Phrase, ...]:
        """Return what the pot is worth in each suit, in words."""
        return tuple(
            say("%(suit)s %(points)s", suit=suit, points=worth(self.pot, suit)) for suit in Suit
        )

    def who(self, seat: Seat) -> Phrase:
        """Return a seat's name, for the board in words."""
        return say("%(seat)s", seat=seat)


class Bisque(Game[BisqueState, BisqueView, Move]):
    """The game Bisque, for exactly three seats."""

    name = "bisque"
    title = "Bisque"
    version = 1
    seat_counts = (SEATS,)
    wording = N_("the card")
    has_tricks = True
    options = (
        Option("rounds", 6, N_("Hands"), N_("How many hands are played."), (), 1, MOST_ROUNDS),
    )

    def new_game(
        self,
        deal_key: bytes,
        seats: int,  # noqa: ARG002 - it is always three
        options: Options,
    ) -> tuple[BisqueState, tuple[Event, ...]]:
        """Deal a new match."""
        return bisque_state.new_state(deal_key, options)

    def copy(self, state: BisqueState) -> BisqueState:
        """Return a state that may be changed alone."""
        return state.copy()

    def to_move(self, state: BisqueState) -> frozenset[Seat]:
        """Return the seats that are asked: all that still lack an objective, or one, or none."""
        if state.turn:
            return ALONE[state.turn]
        return frozenset([seat for seat, aim in enumerate(state.aims, 1) if aim is None])

    def view(self, state: BisqueState, seat: Seat | None) -> BisqueView:
        """Return what the seat, or an onlooker, may know."""
        phase = state.phase
        is_over = phase is Phase.OVER
        return BisqueView(
            seat=seat,
            seats=SEATS,
            options=state.options,
            to_move=self.to_move(state),
            hand_number=state.hand_number,
            scores=state.scores,
            hand=() if seat is None else cards_of(state.hands[seat - 1]),
            hand_sizes=tuple(map(int.bit_count, state.hands)),
            revealed=tuple(cards_of(hand) for hand in state.hands) if is_over else (),
            phase=phase,
            allowed=0 if seat is None else allowed(state, seat),
            aims=tuple(state.aims) if is_over else _own(state, seat),
            leader=state.leader,
            trick=state.trick,
            tricks=state.tricks,
            pot=state.pot,
            last_hand=state.last_hand,
        )

    def moves(self, view: BisqueView) -> tuple[Move, ...]:
        """Return the legal moves, by the ranks of their cards."""
        return _PICKED[view.phase](view.allowed)

    def legal_moves(self, state: BisqueState, seat: Seat) -> tuple[Move, ...]:
        """Return what ``moves`` lists, without a view."""
        return _PICKED[state.phase](allowed(state, seat))

    def is_legal(self, state: BisqueState, seat: Seat, move: Move) -> bool:
        """Say whether the seat may make the move."""
        is_asked = isinstance(move, _KINDS[state.phase])
        return is_asked and allowed(state, seat) & move.card.bit != 0

    def step(self, state: BisqueState, seat: Seat, move: Move) -> tuple[Event, ...]:
        """Make a legal move and all that follows by rule; return what happened."""
        return bisque_state.step(state, seat, move)

    def led(self, view: BisqueView) -> frozenset[Suit]:
        """Return the suits of the card that was led, while the trick runs."""
        is_running = view.phase is Phase.PLAY and view.trick
        return frozenset(view.trick[0].suits) if is_running else frozenset()

    def may_come(self, view: BisqueView, move: Move) -> bool:
        """Say whether a move may still be the seat's: into the pot goes another's card."""
        match move:
            case Aim(card):
                return view.phase is Phase.AIM and card in view.hand
            case Play(card):
                return card in view.hand
            case Pot(card):
                return card not in view.hand and all(card not in t.cards for t in view.tricks)

    def preview(self, view: BisqueView, move: Move) -> Preview:
        """Return what the move would do, from what its seat knows."""
        match move:
            case Aim(card):
                return Preview(card, say("as your objective"), None)
            case Play(card):
                return Preview(card, say("to the trick"), None, _trick_effect(view, card))
            case Pot(card):
                return _pot_preview(view, card)

    def layout(
        self, view: BisqueView, *, move: Move | None = None, fresh: frozenset[Card] = frozenset()
    ) -> Layout:
        """Return the trick, the objectives and the pot as a picture."""
        return table_layout(view, move, fresh)

    def facts(self, view: BisqueView) -> tuple[Fact, ...]:
        """Return the hand and the trick, and how the seat's own objective stands."""
        hand = say("%(n)s of %(most)s", n=view.hand_number, most=int(view.options["rounds"]))
        facts = [Fact(say("Hand"), hand)]
        if view.phase in (Phase.PLAY, Phase.POT):
            nth = len(view.tricks) + 1
            facts.append(Fact(say("Trick"), say("%(n)s of %(most)s", n=nth, most=TRICKS)))
        if view.aim is not None and not view.is_over:
            facts.append(Fact(say("Your suits in the pot"), _standing(view.pot, view.aim)))
        return tuple(facts)

    def hint(self, view: BisqueView) -> Phrase | None:
        """Return the rule that matters for what is asked now."""
        if view.seat not in view.to_move:
            return None
        match view.phase:
            case Phase.AIM:
                return say("Choose your objective: a card with two suits.")
            case Phase.POT:
                return say("You won the trick: choose the card that goes into the pot.")
            case _ if view.trick:
                return say("Any card may be played: the highest rank wins, the first of equals.")
            case _:
                return say("You lead, with any card.")

    def all_moves(self) -> Iterator[Move]:
        """Yield every card as objective, to the trick and for the pot."""
        for moves in _MOVES.values():
            yield from moves

    def format(self, move: Move) -> str:
        """Return the move as records have it: ``aim 8MS``, ``play 9MS``, ``pot 4MS``."""
        match move:
            case Aim(card):
                return f"aim {card}"
            case Play(card):
                return f"play {card}"
            case Pot(card):
                return f"pot {card}"

    def parse(self, view: BisqueView, text: str) -> Move:
        """Return the move that the text means; raises Unreadable, IllegalMove or Ambiguous."""
        return meant(self, view, text)

    def said(self, text: str) -> Said:
        """Return what the text says, whatever the position; raises Unreadable."""
        return said(text)

    def public_moves(self, moves: Sequence[str]) -> tuple[str, ...]:
        """Return the moves of a running match without the objectives of the running hand."""
        scored = len(moves) - len(moves) % PLIES
        running = ["aim" if move.startswith("aim ") else move for move in moves[scored:]]
        return (*moves[:scored], *running)

    def scores(self, state: BisqueState) -> Scores:
        """Return all seats' totals."""
        return state.scores

    def outcome(self, state: BisqueState) -> Outcome | None:
        """Return how the match ended, or None while it goes on."""
        if state.phase is not Phase.OVER:
            return None
        scores = self.scores(state)
        return Outcome(placings(scores), scores, "rounds")


def _own(state: BisqueState, seat: Seat | None) -> tuple[Card | None, ...]:
    """Return the objectives with nobody's but the seat's own."""
    aims: list[Card | None] = [None] * SEATS
    if seat is not None:
        aims[seat - 1] = state.aims[seat - 1]
    return tuple(aims)


def _trick_effect(view: BisqueView, card: Card) -> tuple[Phrase, ...]:
    """Return who wins the trick, if the card is its last."""
    trick = (*view.trick, card)
    if len(trick) < SEATS:
        return ()
    seat = winner(view.leader, trick)
    return (say("wins the trick") if seat == view.seat else say("%(seat)s wins it", seat=seat),)


def _pot_preview(view: BisqueView, card: Card) -> Preview:
    # The card is nobody's any more, so it is named in the words.
    place = say("put %(card)s into the pot", card=card)
    if view.aim is None:
        return Preview(None, place, None)
    pot = with_card(view.pot, card)
    is_last = len(pot) == TRICKS
    points = min(totals(pot, view.aim)) if is_last else None
    return Preview(None, place, points, (_standing(pot, view.aim),))


def _standing(pot: Sequence[Card], aim: Card) -> Phrase:
    first, second = (
        say("%(suit)s %(points)s", suit=suit, points=worth(pot, suit)) for suit in aim.suits
    )
    return say("%(first)s, %(second)s", first=first, second=second)
