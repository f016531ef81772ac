"""The interface that every game keeps, and what the base gives to all of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Final, Generic, TypeAlias, TypeVar

from engine.decktet import Card, Suit
from engine.errors import BadOption, IllegalMove, NotYourTurn
from engine.reading import Said

Seat: TypeAlias = int  # 1 … n, clockwise
OptionValue: TypeAlias = bool | int | str
Options: TypeAlias = Mapping[str, OptionValue]
Scores: TypeAlias = tuple[int, ...]  # by seat, seat 1 first

MOST_SEATS: Final = 4
# The one seat that is asked, by its number; 0 is nobody.
ALONE: Final = (frozenset[Seat](), *(frozenset((seat,)) for seat in range(1, MOST_SEATS + 1)))

State = TypeVar("State")
Move = TypeVar("Move")


def N_(text: str) -> str:  # noqa: N802 - the name that gettext's tools look for
    """Mark a sentence for the catalogs and return it as it is."""
    return text


@dataclass(frozen=True, slots=True)
class Phrase:
    """A sentence that waits for its language: an English pattern and what fills it.

    Patterns are gettext ids with ``%(name)s`` places. A field is a card, a suit, a
    number, a text or another phrase; a field called ``seat`` or ``other`` is a seat
    and is told by its player's name. With ``one`` the pattern for a single thing is
    given too and the field ``n`` chooses between them.
    """

    text: str
    fields: Mapping[str, FieldValue] = field(default_factory=dict, hash=False)
    one: str | None = None


FieldValue: TypeAlias = Card | Suit | int | str | Phrase


def say(text: str, /, **fields: FieldValue) -> Phrase:
    """Return a phrase of the pattern and its fields."""
    return Phrase(text, fields)


def count(n: int, one: str, many: str, /, **fields: FieldValue) -> Phrase:
    """Return a phrase that tells a number of things, as ``%(n)s``."""
    return Phrase(many, {"n": n, **fields}, one)


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened, as a past-tense fact.

    ``phrase`` and ``cards`` are for all. What only the seats in ``knows`` may read
    stands in ``secret`` and ``secret_cards``; they read it instead of the phrase.
    """

    kind: str
    phrase: Phrase
    seat: Seat | None = None
    cards: tuple[Card, ...] = ()
    points: int = 0
    knows: frozenset[Seat] = frozenset()
    secret: Phrase | None = None
    secret_cards: tuple[Card, ...] = ()

    def told(self, seat: Seat | None) -> Phrase:
        """Return what this seat, or an onlooker (None), is told."""
        if self.secret is not None and seat in self.knows:
            return self.secret
        return self.phrase


def private(kind: str, seat: Seat, phrase: Phrase, secret: Phrase, card: Card) -> Event:
    """Return an event about a card that only its seat may know: all others are told the phrase."""
    return Event(kind, phrase, seat, knows=frozenset((seat,)), secret=secret, secret_cards=(card,))


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a match ended by its rules.

    ``placings`` and ``scores`` go by seat; placing 1 is best and ties share it.
    ``reason`` is the word that stands in the record's ``ended``.
    """

    placings: tuple[int, ...]
    scores: Scores
    reason: str

    @property
    def winners(self) -> tuple[Seat, ...]:
        """Return the seats placed first."""
        return tuple(seat for seat, place in enumerate(self.placings, 1) if place == 1)


def placings(scores: Scores) -> tuple[int, ...]:
    """Return each seat's placing when the highest score is best."""
    return tuple(1 + sum(other > mine for other in scores) for mine in scores)


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a game: its name, its default, what else it may be, and a line on it.

    A default of type bool is a switch; an int lies in ``least`` … ``most``; a str is
    one of ``choices``.
    """

    name: str
    default: OptionValue
    label: str  # a gettext id: what people read beside the field
    help: str  # a gettext id: one line that explains it
    choices: tuple[str, ...] = ()
    least: int = 0
    most: int = 0

    def check(self, value: object) -> OptionValue:
        """Return the value if it is possible; raises BadOption in words."""
        # bool is an int in Python, but 1 is not a switch and true not a number.
        if type(value) is not type(self.default):
            raise self._refusal(value)
        if isinstance(value, str) and value in self.choices:
            return value
        if isinstance(value, bool) or (isinstance(value, int) and self.least <= value <= self.most):
            return value
        raise self._refusal(value)

    def _refusal(self, value: object) -> BadOption:
        told = {"name": self.name, "value": repr(value)}
        if isinstance(self.default, bool):
            text = N_("option %(name)s: %(value)s is not possible; give true or false")
            return BadOption(text, **told)
        if isinstance(self.default, int):
            text = N_(
                "option %(name)s: %(value)s is not possible;"
                " give a whole number from %(least)s to %(most)s"
            )
            return BadOption(text, **told, least=self.least, most=self.most)
        text = N_("option %(name)s: %(value)s is not possible; give one of %(choices)s")
        return BadOption(text, **told, choices=", ".join(self.choices))


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What one seat, or an onlooker (seat None), may know. Games add their own fields.

    Scores and hand sizes go by seat. ``hand`` is the seat's own, in the order in which
    people like to read it; an onlooker's is empty. ``revealed`` holds all hands once
    the match is over (empty before).
    """

    seat: Seat | None
    seats: int
    options: Options
    to_move: frozenset[Seat]
    hand_number: int
    scores: Scores
    hand: tuple[Card, ...]
    hand_sizes: tuple[int, ...]
    revealed: tuple[tuple[Card, ...], ...] = ()


ViewT = TypeVar("ViewT", bound=View)


@dataclass(frozen=True, slots=True)
class Placed:
    """A card of a layout, on a grid of card places; None is a card face down.

    ``marks`` say what a reader should see about it: ``start`` (the card that began a
    line), ``open`` (more may be played here, e.g. a cross card), ``fresh`` (new since
    the reader's last turn), ``chosen`` (the move being previewed), ``won``.
    ``turned`` lies across the others, behind the card at the same place.
    """

    column: float
    row: float
    card: Card | None
    marks: frozenset[str] = frozenset()
    turned: bool = False
    label: Phrase | None = None


@dataclass(frozen=True, slots=True)
class Slot:
    """An empty place of a layout where a card may be played; ``arrow`` is its direction."""

    column: float
    row: float
    arrow: str  # left, right, up or down; or empty


@dataclass(frozen=True, slots=True)
class Label:
    """Words in a layout; ``column`` and ``row`` are the middle of the text."""

    column: float
    row: float
    text: Phrase


@dataclass(frozen=True, slots=True)
class Layout:
    """A table as a picture: cards, open places and words on a grid, one card a unit.

    Columns grow to the right and rows downwards; either may be negative.
    """

    cards: tuple[Placed, ...] = ()
    slots: tuple[Slot, ...] = ()
    labels: tuple[Label, ...] = ()


@dataclass(frozen=True, slots=True)
class Preview:
    """What a move would do, as far as its seat can know.

    ``card`` is the card it plays (None: none), ``place`` where or how ("above the
    Merchant"), ``points`` what it scores at once (None: such a move never scores),
    ``effects`` what else is certain.
    """

    card: Card | None
    place: Phrase
    points: int | None
    effects: tuple[Phrase, ...] = ()


@dataclass(frozen=True, slots=True)
class Fact:
    """A line about the table for everybody: "Draw pile", "15 cards"."""

    name: Phrase
    value: Phrase


class Game(ABC, Generic[State, ViewT, Move]):
    """The rules of one game. Instances hold nothing that changes.

    ``wording`` tells players how to write a move in words: a gettext id that goes on
    after "the move in words:". Where a game ``has_tricks`` a suit is led to them, and it may
    be one that the leader names (``names_suit``).
    """

    name: ClassVar[str]
    title: ClassVar[str]
    version: ClassVar[int]
    seat_counts: ClassVar[tuple[int, ...]]
    options: ClassVar[tuple[Option, ...]]
    wording: ClassVar[str]
    has_tricks: ClassVar[bool] = False
    names_suit: ClassVar[bool] = False

    @abstractmethod
    def new_game(
        self, deal_key: bytes, seats: int, options: Options
    ) -> tuple[State, tuple[Event, ...]]:
        """Deal a new match. Options are complete and checked (see ``check_options``)."""

    @abstractmethod
    def copy(self, state: State) -> State:
        """Return a state that ``step`` may change without touching this one."""

    @abstractmethod
    def to_move(self, state: State) -> frozenset[Seat]:
        """Return the seats that are asked for a move; empty when the match is over."""

    @abstractmethod
    def view(self, state: State, seat: Seat | None) -> ViewT:
        """Return what the seat, or an onlooker, may know; built up, never blanked out."""

    @abstractmethod
    def moves(self, view: ViewT) -> tuple[Move, ...]:
        """Return all legal moves of the view's seat, in a fixed, sensible order."""

    @abstractmethod
    def step(self, state: State, seat: Seat, move: Move) -> tuple[Event, ...]:
        """Make a legal move in place, with all that follows by rule; return what happened."""

    @abstractmethod
    def preview(self, view: ViewT, move: Move) -> Preview:
        """Return what the move would do, from what its seat knows."""

    @abstractmethod
    def layout(
        self, view: ViewT, *, move: Move | None = None, fresh: frozenset[Card] = frozenset()
    ) -> Layout:
        """Return the table as a picture; with ``move``, as it would be after that move."""

    @abstractmethod
    def facts(self, view: ViewT) -> tuple[Fact, ...]:
        """Return the facts of the table that the picture does not show."""

    @abstractmethod
    def hint(self, view: ViewT) -> Phrase | None:
        """Return the one rule that matters now for the view's seat, if there is one."""

    def reasons(self, _view: ViewT, _move: Move) -> tuple[Phrase, ...]:
        """Return why the move scores what it does, from what its seat knows."""
        return ()

    @abstractmethod
    def all_moves(self) -> Iterable[Move]:
        """Return every move that some table allows."""

    @abstractmethod
    def format(self, move: Move) -> str:
        """Return the move in its one canonical notation."""

    @abstractmethod
    def parse(self, view: ViewT, text: str) -> Move:
        """Return the move that people's text means, read generously.

        Raises Unreadable, IllegalMove, or Ambiguous with the readings listed.
        """

    @abstractmethod
    def said(self, text: str) -> Said:
        """Return what people's text says of a move, whatever the position; raises Unreadable."""

    @abstractmethod
    def scores(self, state: State) -> Scores:
        """Return all seats' totals as they stand."""

    @abstractmethod
    def outcome(self, state: State) -> Outcome | None:
        """Return how the match ended, or None while it goes on."""

    def check_options(self, seats: int, given: Mapping[str, object]) -> dict[str, OptionValue]:
        """Return all options, the given ones checked and the others at their defaults.

        Raises BadOption, in words that name the field.
        """
        if seats not in self.seat_counts:
            counts = ", ".join(str(number) for number in self.seat_counts)
            text = N_("%(title)s is for this many seats: %(counts)s; not %(seats)s")
            raise BadOption(text, title=self.title, counts=counts, seats=seats)
        known = {option.name: option for option in self.options}
        for name in given:
            if name not in known:
                text = N_("%(title)s has no option %(name)s; it has: %(names)s")
                raise BadOption(text, title=self.title, name=repr(name), names=", ".join(known))
        return {
            option.name: option.check(given[option.name])
            if option.name in given
            else option.default
            for option in self.options
        }

    def apply(self, state: State, seat: Seat, move: Move) -> tuple[State, tuple[Event, ...]]:
        """Return the state after a move and what happened; the given state stays as it was.

        Raises NotYourTurn or IllegalMove.
        """
        if seat not in self.to_move(state):
            raise NotYourTurn
        if not self.is_legal(state, seat, move):
            raise IllegalMove
        after = self.copy(state)
        return after, self.step(after, seat, move)

    def legal_moves(self, state: State, seat: Seat) -> tuple[Move, ...]:
        """Return what ``moves`` lists for a seat.

        Whoever holds the state needs no view for it; games where that is quicker say so.
        """
        return self.moves(self.view(state, seat))

    def is_legal(self, state: State, seat: Seat, move: Move) -> bool:
        """Say whether a seat that is asked may make the move: whether ``moves`` lists it."""
        return move in self.legal_moves(state, seat)

    def led(self, view: ViewT) -> frozenset[Suit]:  # noqa: ARG002 - for games with tricks
        """Return the suits that the running trick was led with."""
        return frozenset()

    def may_come(self, view: ViewT, move: Move) -> bool:
        """Say whether a move may still be the seat's in the running hand, as far as it knows.

        It has the move's card, if there is one. A game says so where that is too simple.
        """
        card: Card | None = getattr(move, "card", None)
        return card is None or card in view.hand

    def public_moves(self, moves: Sequence[str]) -> Sequence[str]:
        """Return the moves of a running match, in notation, as anybody may read them.

        A game with moves in secret writes less of those that are not yet open.
        """
        return moves

    @cached_property
    def notation(self) -> Mapping[str, Move]:
        """Every move that some table allows, by its canonical notation."""
        return {self.format(move): move for move in self.all_moves()}

    def canonical(self, view: ViewT, text: str) -> Move:
        """Return the legal move that is written exactly so; raises IllegalMove."""
        move = self.notation.get(text)
        if move is None or move not in self.moves(view):
            raise IllegalMove(f"{text!r} is not legal now")
        return move


def cards_in(phrase: Phrase) -> frozenset[Card]:
    """Return the cards that a phrase names."""
    found: set[Card] = set()
    for value in phrase.fields.values():
        if isinstance(value, Card):
            found.add(value)
        elif isinstance(value, Phrase):
            found |= cards_in(value)
    return frozenset(found)


def following(seat: Seat, seats: int) -> Sequence[Seat]:
    """Return the other seats, clockwise from the left of this one."""
    return [(seat - 1 + step) % seats + 1 for step in range(1, seats)]
