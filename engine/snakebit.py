"""Snakebit: tricks with a trump suit to win by and a cursed suit to keep out of."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Final

from engine import snakebit_state
from engine.decktet import BASIC, NUMBERS, Card, Suit, cards_of, mask, picker
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
    count,
    following,
    placings,
    say,
)
from engine.reading import Said
from engine.snakebit_layout import barred_title, table_layout
from engine.snakebit_reading import meant, said
from engine.snakebit_state import (
    CYCLE,
    LOWEST,
    SHOWS,
    Follow,
    HandResult,
    Lead,
    Move,
    SnakebitState,
    Trick,
    bites,
    nameable,
    playable,
    tally,
    winner,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# The moves by the card's index.
_LEADS: Final = tuple(tuple(Lead(card, suit) for suit in card.suits) for card in BASIC)
_FOLLOWS: Final = tuple(Follow(card) for card in BASIC)
_leads: Final = picker(_LEADS)
_follows: Final = picker(_FOLLOWS)


@dataclass(frozen=True, slots=True, kw_only=True)
class SnakebitView(View):
    """What a seat or an onlooker may know of a match of Snakebit.

    The ``ace`` gives trump and the ``crown`` the cursed suit; ``barred`` are those of the
    two that may not be named yet. ``named`` is the suit to follow, None before a lead.
    ``trick`` is the one on the table and ``tricks`` are those of the running hand.
    ``last_hand`` tells the hand scored last. ``turned`` are the Aces and Crowns turned over
    since they were shuffled, in pairs.
    """

    ace: Card
    crown: Card
    barred: tuple[Suit, ...]
    leader: Seat
    named: Suit | None
    trick: tuple[Card, ...]
    tricks: tuple[Trick, ...]
    last_hand: HandResult | None
    turned: tuple[tuple[Card, Card], ...]

    @property
    def is_over(self) -> bool:
        """Say whether the match is over."""
        return not self.to_move

    @property
    def trump(self) -> Suit:
        """Return the trump suit."""
        return self.ace.suits[0]

    @property
    def cursed(self) -> Suit:
        """Return the cursed suit."""
        return self.crown.suits[0]

    @property
    def plays(self) -> tuple[tuple[Seat, Card], ...]:
        """Return who played what to the trick on the table."""
        return by_seat(self.leader, self.trick, self.seats)

    @property
    def counted(self) -> tuple[tuple[int, int], ...]:
        """Return each seat's tricks of the hand and the cursed cards in them, by seat."""
        return tally(self.tricks, self.cursed, self.seats)

    @property
    def naming(self) -> Phrase:
        """Return which of trump and the cursed suit may not be named yet, in words."""
        return barred_title(self)

    @property
    def tallies(self) -> tuple[Phrase, ...]:
        """Return what each seat has taken in the hand, in words."""
        return tuple(_tally(seat, *pair) for seat, pair in enumerate(self.counted, 1))

    def who(self, seat: Seat) -> Phrase:
        """Return a seat's name, for the board in words."""
        return say("%(seat)s", seat=seat)

    def called(self, suit: Suit) -> Phrase:
        """Return a suit's name, for the board in words."""
        return say("%(suit)s", suit=suit)


class Snakebit(Game[SnakebitState, SnakebitView, Move]):
    """The game Snakebit, for three or four seats."""

    name = "snakebit"
    title = "Snakebit"
    version = 1
    seat_counts = (3, 4)
    wording = N_("the card, and the suit that you name if you lead")
    has_tricks = names_suit = True
    options = (
        Option(
            "end",
            "six",
            N_("End"),
            N_("six: after six hands; minus13: once somebody stands at −13 or lower."),
            ("six", "minus13"),
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
        return ALONE[state.turn]

    def view(self, state: SnakebitState, seat: Seat | None) -> SnakebitView:
        """Return what the seat, or an onlooker, may know."""
        trump = state.ace.suits[0]
        hands = state.hands
        return SnakebitView(
            seat=seat,
            seats=state.seats,
            options=state.options,
            to_move=ALONE[state.turn],
            hand_number=state.hand_number,
            scores=state.scores,
            hand=() if seat is None else _in_order(hands[seat - 1], trump),
            hand_sizes=tuple(map(int.bit_count, hands)),
            revealed=() if state.turn else tuple(_in_order(hand, trump) for hand in hands),
            ace=state.ace,
            crown=state.crown,
            barred=state.barred,
            leader=state.leader,
            named=state.named,
            trick=state.trick,
            tricks=state.tricks,
            last_hand=state.last_hand,
            turned=state.piles[: (state.hand_number - 1) % CYCLE + 1],
        )

    def moves(self, view: SnakebitView) -> tuple[Move, ...]:
        """Return the legal moves in the order of the hand."""
        if view.seat not in view.to_move:
            return ()
        return _listed(mask(view.hand), view.named, view.barred, view.trump)

    def legal_moves(self, state: SnakebitState, seat: Seat) -> tuple[Move, ...]:
        """Return what ``moves`` lists, without a view."""
        if seat != state.turn:
            return ()
        return _listed(state.hands[seat - 1], state.named, state.barred, state.ace.suits[0])

    def is_legal(self, state: SnakebitState, seat: Seat, move: Move) -> bool:
        """Say whether the seat may make the move."""
        hand = state.hands[seat - 1]
        if not playable(hand, state.named) & move.card.bit:
            return False
        if isinstance(move, Follow):
            return state.named is not None
        is_shown = move.suit in move.card.suits
        return state.named is None and is_shown and move.suit in nameable(hand, state.barred)

    def step(self, state: SnakebitState, seat: Seat, move: Move) -> tuple[Event, ...]:
        """Make a legal move and all that follows by rule; return what happened."""
        return snakebit_state.step(state, seat, move)

    def led(self, view: SnakebitView) -> frozenset[Suit]:
        """Return the suit that was named."""
        return frozenset() if view.named is None else frozenset((view.named,))

    def preview(self, view: SnakebitView, move: Move) -> Preview:
        """Return what the move would do, from what its seat knows."""
        match move:
            case Lead(card, suit):
                return Preview(card, say("naming %(suit)s", suit=suit), None)
            case Follow(card):
                return _follow_preview(view, card)

    def layout(
        self, view: SnakebitView, *, move: Move | None = None, fresh: frozenset[Card] = frozenset()
    ) -> Layout:
        """Return the trick, the turned cards and what each seat has taken as a picture."""
        return table_layout(view, move, fresh)

    def facts(self, view: SnakebitView) -> tuple[Fact, ...]:
        """Return the hand, the trick and, where that is the end, the lowest score."""
        number: Phrase = say("%(number)s", number=view.hand_number)
        if view.options["end"] == "six":
            number = say("%(n)s of %(most)s", n=view.hand_number, most=CYCLE)
        facts = [Fact(say("Hand"), number)]
        if not view.is_over:
            nth, most = len(view.tricks) + 1, len(NUMBERS) // view.seats
            facts.append(Fact(say("Trick"), say("%(n)s of %(most)s", n=nth, most=most)))
        if view.options["end"] == "minus13":
            lowest = f"−{-LOWEST}"
            ends = say("once somebody stands at %(points)s or lower", points=lowest)
            facts.append(Fact(say("End"), ends))
        return tuple(facts)

    def hint(self, view: SnakebitView) -> Phrase | None:
        """Return the rule that matters for the card asked for now."""
        if view.seat not in view.to_move:
            return None
        if view.named is None:
            return _lead_hint(view)
        if mask(view.hand) & SHOWS[view.named]:
            return say("You must follow %(suit)s.", suit=view.named)
        return say("You have no %(suit)s: any card may be played.", suit=view.named)

    def all_moves(self) -> Iterator[Move]:
        """Yield every number card with each suit to lead, and to follow."""
        for card in NUMBERS:
            yield from _LEADS[card.index]
            yield _FOLLOWS[card.index]

    def format(self, move: Move) -> str:
        """Return the move as records have it: ``5SW suns`` to lead, ``5SW`` to follow."""
        match move:
            case Lead(card, suit):
                return f"{card} {suit.word}"
            case Follow(card):
                return card.code

    def parse(self, view: SnakebitView, text: str) -> Move:
        """Return the move that the text means; raises Unreadable, IllegalMove or Ambiguous."""
        return meant(self, view, text)

    def said(self, text: str) -> Said:
        """Return what the text says, whatever the position; raises Unreadable."""
        return said(text)

    def scores(self, state: SnakebitState) -> Scores:
        """Return all seats' totals."""
        return state.scores

    def outcome(self, state: SnakebitState) -> Outcome | None:
        """Return how the match ended, or None while it goes on."""
        if state.turn:
            return None
        return Outcome(placings(state.scores), state.scores, str(state.options["end"]))


def by_seat(leader: Seat, trick: Sequence[Card], seats: int) -> tuple[tuple[Seat, Card], ...]:
    """Return who played what to a trick."""
    return tuple(zip((leader, *following(leader, seats)), trick, strict=False))


def _in_order(hand: int, trump: Suit) -> tuple[Card, ...]:
    """Return the cards of a hand by rank, trumps last."""
    trumps = hand & SHOWS[trump]
    return cards_of(hand ^ trumps) + cards_of(trumps)


def _listed(
    hand: int, named: Suit | None, barred: tuple[Suit, ...], trump: Suit
) -> tuple[Move, ...]:
    """Return the legal moves of whoever holds the hand."""
    cards = playable(hand, named)
    trumps = cards & SHOWS[trump]
    if named is not None:
        is_mixed = trumps not in (0, cards)
        return _follows(cards ^ trumps) + _follows(trumps) if is_mixed else _follows(cards)
    leads = chain.from_iterable(_leads(cards ^ trumps) + _leads(trumps))
    if not barred:
        return tuple(leads)
    suits = nameable(hand, barred)
    return tuple([lead for lead in leads if lead.suit in suits])


def _follow_preview(view: SnakebitView, card: Card) -> Preview:
    """Return who wins the trick, if the card is its last, and the score if it ends the hand."""
    place = say("to the trick")
    cards = (*view.trick, card)
    if len(cards) < view.seats or view.named is None:
        return Preview(card, place, None)
    seat = winner(view.leader, view.named, cards, view.trump, view.seats)
    bitten = bites(cards, view.cursed)
    effects = [say("wins the trick") if seat == view.seat else say("%(seat)s wins it", seat=seat)]
    if bitten:
        effects.append(count(bitten, "%(n)s cursed card in it", "%(n)s cursed cards in it"))
    points = None
    if len(view.hand) == 1 and view.seat is not None:
        tricks = (*view.tricks, Trick(view.leader, view.named, cards, seat))
        taken, bad = tally(tricks, view.cursed, view.seats)[view.seat - 1]
        points = taken - bad
    return Preview(card, place, points, tuple(effects))


def _lead_hint(view: SnakebitView) -> Phrase:
    if not view.barred:
        return say("You lead: name either suit of your card.")
    if all(suit in view.barred for card in view.hand for suit in card.suits):
        return say("You hold nothing else, so you may name any suit.")
    return barred_title(view)


def _tally(seat: Seat, taken: int, bitten: int) -> Phrase:
    return say(
        "%(seat)s: %(tricks)s, %(cursed)s",
        seat=seat,
        tricks=count(taken, "%(n)s trick", "%(n)s tricks"),
        cursed=count(bitten, "%(n)s cursed card", "%(n)s cursed cards"),
    )
