"""Biscuit: extend a line with cards that share a suit, score runs and matching ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from engine import biscuit_state
from engine.biscuit_layout import table_layout
from engine.biscuit_reading import meant, said
from engine.biscuit_state import BiscuitState, HandResult, Shown
from engine.biscuit_table import (
    KEEP,
    OUT_POINTS,
    RANKS,
    Keep,
    Lines,
    Move,
    Play,
    Ranks,
    drawers,
    gain,
    plays_at,
)
from engine.biscuit_told import place_phrase
from engine.decktet import BASIC, CROWNS, DECK, EXCUSE, Card, Rank, cards_of, mask
from engine.errors import BadOption
from engine.game import (
    ALONE,
    N_,
    Event,
    Fact,
    Game,
    Layout,
    Option,
    Options,
    OptionValue,
    Outcome,
    Phrase,
    Preview,
    Scores,
    Seat,
    View,
    count,
    placings,
    say,
)
from engine.reading import Said

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

MOST_TARGET: Final = 1000  # points
OFF: Final = False
# Pawns and Courts, where they are in the deck, come before these.
_LAST: Final = mask((*CROWNS, EXCUSE))
_BASIC: Final = mask(BASIC)
_NAMES: Final = {
    Rank.ACE: N_("Ace"),
    Rank.CROWN: N_("Crown"),
    Rank.PAWN: N_("Pawn"),
    Rank.COURT: N_("Court"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BiscuitView(View):
    """What a seat or an onlooker may know of a match of Biscuit.

    ``pile`` is the number of cards left in it. ``drawn`` is the card that this seat
    drew and may play or keep, else None. ``last_hand`` tells the hand that ended last.
    ``shown`` is what all have seen of the running hand's cards, and ``scores_before`` are
    the scores at its start.
    Once the match is over ``face_down`` and ``rest`` show the face-down card and the pile.
    """

    lines: Lines
    pile: int
    drawn: Card | None
    last_hand: HandResult | None
    shown: tuple[Shown, ...]
    scores_before: Scores
    is_over: bool
    face_down: Card | None = None
    rest: tuple[Card, ...] = ()

    @property
    def partners(self) -> bool:
        """Say whether 1+3 play against 2+4."""
        return self.options["partners"] is True


class Biscuit(Game[BiscuitState, BiscuitView, Move]):
    """The game Biscuit, for two to four seats."""

    name = "biscuit"
    title = "Biscuit"
    version = 1
    seat_counts = (2, 3, 4)
    wording = N_("the card, then where it goes")
    options = (
        Option("excuse", OFF, N_("The Excuse"), N_("Add the Excuse, which fits anywhere.")),
        Option("pawns", OFF, N_("Pawns"), N_("Add the four Pawns.")),
        Option("courts", OFF, N_("Courts"), N_("Add the four Courts.")),
        Option(
            "partners",
            OFF,
            N_("Partners"),
            N_("Four seats in two teams: 1 and 3 against 2 and 4."),
        ),
        Option(
            "target",
            0,
            N_("Target"),
            N_("Play hands until somebody has so many points; 0 plays a single hand."),
            most=MOST_TARGET,
        ),
    )

    def check_options(self, seats: int, given: Mapping[str, object]) -> dict[str, OptionValue]:
        """Return all options; raises BadOption, also where partners lack four seats."""
        options = super().check_options(seats, given)
        if options["partners"] and seats != 4:
            raise BadOption(N_("option partners: it needs 4 seats, not %(seats)s"), seats=seats)
        return options

    def new_game(
        self, deal_key: bytes, seats: int, options: Options
    ) -> tuple[BiscuitState, tuple[Event, ...]]:
        """Deal a new match."""
        return biscuit_state.new_state(deal_key, seats, options)

    def copy(self, state: BiscuitState) -> BiscuitState:
        """Return a state that may be changed alone."""
        return state.copy()

    def to_move(self, state: BiscuitState) -> frozenset[Seat]:
        """Return the one seat to move, or none when the match is over."""
        return ALONE[state.turn]

    def view(self, state: BiscuitState, seat: Seat | None) -> BiscuitView:
        """Return what the seat, or an onlooker, may know."""
        is_over = state.turn == 0
        return BiscuitView(
            seat=seat,
            seats=state.seats,
            options=state.options,
            to_move=ALONE[state.turn],
            hand_number=state.hand_number,
            scores=tuple(state.scores),
            hand=() if seat is None else _in_order(state.hands[seat - 1]),
            hand_sizes=state.sizes(),
            revealed=tuple(_in_order(hand) for hand in state.hands) if is_over else (),
            lines=state.lines.copy(),
            pile=len(state.pile),
            drawn=state.drawn if seat == state.turn else None,
            last_hand=state.last_hand,
            shown=state.shown,
            scores_before=state.scores_before,
            is_over=is_over,
            face_down=state.face_down if is_over else None,
            rest=tuple(state.pile[::-1]) if is_over else (),
        )

    def moves(self, view: BiscuitView) -> tuple[Move, ...]:
        """Return the legal moves, card by card, the main line first, and keep last."""
        if view.seat not in view.to_move:
            return ()
        return _listed(view.lines, mask(view.hand), view.drawn)

    def legal_moves(self, state: BiscuitState, seat: Seat) -> tuple[Move, ...]:
        """Return what ``moves`` lists, without a view."""
        if seat != state.turn:
            return ()
        return _listed(state.lines, state.hands[seat - 1], state.drawn)

    def is_legal(self, state: BiscuitState, seat: Seat, move: Move) -> bool:
        """Say whether the seat may make the move."""
        if isinstance(move, Keep):
            return state.drawn is not None
        choice = state.hands[seat - 1] if state.drawn is None else state.drawn.bit
        place = state.lines.places.get(move.spot)
        return place is not None and choice & place.takes & move.card.bit != 0

    def step(self, state: BiscuitState, seat: Seat, move: Move) -> tuple[Event, ...]:
        """Make a legal move and all that follows by rule; return what happened."""
        return biscuit_state.step(state, seat, move)

    def preview(self, view: BiscuitView, move: Move) -> Preview:
        """Return what the move would score and do, from what its seat knows."""
        if isinstance(move, Keep):
            return Preview(None, say("keep the drawn card"), 0)
        gained = gain(view.lines, move, _ranks(view.options))
        effects = []
        if view.lines.opens(move):
            effects.append(say("opens a column"))
        if gained.eleven is not None and view.seat is not None:
            drawing = drawers(view.seat, view.hand_sizes, view.pile, partners=view.partners)
            effects += _eleven_effects(drawing)
        points = gained.points
        if len(view.hand) == 1:
            points += OUT_POINTS
            effects.append(_out_effect(view))
        return Preview(move.card, place_phrase(move), points, tuple(effects))

    def reasons(self, view: BiscuitView, move: Move) -> tuple[Phrase, ...]:
        """Return what the move's points are for: a run, equal ranks at ends, going out."""
        if isinstance(move, Keep):
            return ()
        gained = gain(view.lines, move, _ranks(view.options))
        found = []
        if gained.straight:
            run = (move.card, *view.lines.inward(move)[: gained.straight - 1])
            found.append(say("run of %(n)s: %(ranks)s", n=len(run), ranks=_rank_names(run)))
        if gained.hot or gained.hot_cross:
            found.append(say("the same rank as at the other end"))
        if gained.single:
            found.append(
                count(gained.single, "the same rank at %(n)s end", "the same rank at %(n)s ends")
            )
        if len(view.hand) == 1:
            found.append(say("your last card"))
        return tuple(found)

    def layout(
        self, view: BiscuitView, *, move: Move | None = None, fresh: frozenset[Card] = frozenset()
    ) -> Layout:
        """Return the lines as a picture, the initial card at column 0 and row 0."""
        chosen = move if isinstance(move, Play) else None
        plays = [play for play in self.moves(view) if isinstance(play, Play)]
        return table_layout(
            view.lines,
            None if view.is_over else plays,
            face_down=view.face_down,
            chosen=chosen,
            fresh=fresh,
        )

    def facts(self, view: BiscuitView) -> tuple[Fact, ...]:
        """Return the size of the draw pile and, with a target, the hand and the target."""
        facts = [Fact(say("Draw pile"), count(view.pile, "%(n)s card", "%(n)s cards"))]
        target = int(view.options["target"])
        if target:
            facts.append(Fact(say("Hand"), say("%(number)s", number=view.hand_number)))
            facts.append(Fact(say("Target"), count(target, "%(n)s point", "%(n)s points")))
        return tuple(facts)

    def hint(self, view: BiscuitView) -> Phrase | None:
        """Return what to do with a drawn card, or None."""
        if view.drawn is None:
            return None
        return say("You drew %(card)s: play it or keep it.", card=view.drawn)

    def all_moves(self) -> Iterator[Move]:
        """Yield every play at the main line and at columns of every card, and keep."""
        # The ends of the main line, then those above all cross cards, then those below.
        spots = range(2 + 2 * len(DECK))
        for spot in (0, 1, *spots[2::2], *spots[3::2]):
            yield from plays_at(spot)
        yield KEEP

    def format(self, move: Move) -> str:
        """Return the move as records have it: ``6SY left``, ``6SY up 5YK``, ``keep``."""
        match move:
            case Keep():
                return "keep"
            case Play(card, end, None):
                return f"{card} {end.value}"
            case Play(card, end, column):
                return f"{card} {end.value} {column}"

    def parse(self, view: BiscuitView, text: str) -> Move:
        """Return the move that the text means; raises Unreadable, IllegalMove or Ambiguous."""
        return meant(self, view, text)

    def said(self, text: str) -> Said:
        """Return what the text says, whatever the position; raises Unreadable."""
        return said(text)

    def scores(self, state: BiscuitState) -> Scores:
        """Return all seats' totals; partners both show their team's."""
        return tuple(state.scores)

    def outcome(self, state: BiscuitState) -> Outcome | None:
        """Return how the match ended, or None while it goes on."""
        if state.turn or state.last_hand is None:
            return None
        scores = self.scores(state)
        return Outcome(placings(scores), scores, state.last_hand.reason)


def _ranks(options: Options) -> Ranks:
    return RANKS[options["pawns"] is True, options["courts"] is True]


def _in_order(hand: int) -> tuple[Card, ...]:
    """Return the cards of a hand by rank, as ranks follow in this deck."""
    if hand <= _BASIC:
        return cards_of(hand)
    last = hand & _LAST
    return cards_of(hand ^ last) + cards_of(last)


def _listed(lines: Lines, hand: int, drawn: Card | None) -> tuple[Move, ...]:
    """Return the legal moves of whoever holds the hand and may have drawn a card."""
    if drawn is not None:
        return (*lines.plays((drawn,)), KEEP)
    return tuple(lines.plays(_in_order(hand & lines.fits)))


def _eleven_effects(drawing: Sequence[Seat]) -> tuple[Phrase, ...]:
    """Return in words who draws for an eleven."""
    match drawing:
        case []:
            return ()
        case [seat]:
            return (say("eleven: %(seat)s draws a card", seat=seat),)
    return (say("eleven: %(seats)s draw a card each", seats=_together(drawing)),)


def _together(seats: Sequence[Seat]) -> Phrase:
    first, *rest = seats
    if len(rest) == 1:
        return say("%(seat)s and %(other)s", seat=first, other=rest[0])
    return say("%(seat)s, %(rest)s", seat=first, rest=_together(rest))


def _rank_names(cards: Sequence[Card]) -> Phrase:
    first, *rest = cards
    rank = first.rank
    name = say(_NAMES[rank]) if rank in _NAMES else say("%(number)s", number=rank.value)
    if not rest:
        return name
    return say("%(first)s, %(second)s", first=name, second=_rank_names(rest))


def _out_effect(view: BiscuitView) -> Phrase:
    if view.partners:
        return say("goes out: the opponents' cards add to this, the partner's count against it")
    return say("goes out: what the others hold adds to this")
