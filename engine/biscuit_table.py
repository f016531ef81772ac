"""Biscuit's table: its lines, what may be played where, and what a card scores there.

All of it is pure and public knowledge, so that states, views and previews share it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from engine.decktet import DECK, EXCUSE, Card, Rank, mask

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

OUT_POINTS: Final = 5


class End(Enum):
    """Where a line grows: the main line at left and right, a column up and down."""

    LEFT = "left"
    RIGHT = "right"
    UP = "up"
    DOWN = "down"

    # Each end is one object; Enum's own hash of its name is slow.
    __hash__ = object.__hash__


@dataclass(frozen=True, slots=True)
class Play:
    """A card played at an end; ``column`` is the cross card of its column, else None."""

    card: Card
    end: End
    column: Card | None = None


@dataclass(frozen=True, slots=True)
class Keep:
    """The card just drawn is kept in hand."""


Move: TypeAlias = Play | Keep
KEEP: Final = Keep()


# Moves and places recur at every table: each is made once.
@cache
def plays_at(end: End, column: Card | None) -> tuple[Play, ...]:
    """Return the plays of all cards at one end, by the card's index."""
    return tuple(Play(card, end, column) for card in DECK)


@dataclass(frozen=True, slots=True)
class Place:
    """An open end: its direction, its column's cross card, and the card that ends it.

    ``takes`` is the mask of the cards that may be played there, ``plays`` are the plays
    of all cards there, by the card's index.
    """

    end: End
    column: Card | None
    neighbour: Card
    takes: int
    plays: tuple[Play, ...]


@cache
def _place(end: End, column: int | None, neighbour: int) -> Place:
    cross = None if column is None else DECK[column]
    return Place(end, cross, DECK[neighbour], BESIDE[neighbour], plays_at(end, cross))


@dataclass(frozen=True, slots=True)
class Column:
    """A cross card with the cards above and below it, nearest first.

    ``cards`` are all of them from top to bottom, ``places`` the open ends and ``fits`` is
    the mask of the cards that may be played there.
    """

    cross: Card
    above: tuple[Card, ...] = ()
    below: tuple[Card, ...] = ()
    cards: tuple[Card, ...] = field(init=False, repr=False, compare=False)
    places: tuple[Place, Place] = field(init=False, repr=False, compare=False)
    fits: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Find what is asked for many times."""
        cards = (*self.above[::-1], self.cross, *self.below)
        cross = self.cross.index
        up = _place(End.UP, cross, cards[0].index)
        down = _place(End.DOWN, cross, cards[-1].index)
        object.__setattr__(self, "cards", cards)
        object.__setattr__(self, "places", (up, down))
        object.__setattr__(self, "fits", up.takes | down.takes)

    def grown(self, play: Play) -> Column:
        """Return the column after the play."""
        if play.end is End.UP:
            return Column(self.cross, (*self.above, play.card), self.below)
        return Column(self.cross, self.above, (*self.below, play.card))


@dataclass(frozen=True, slots=True)
class Lines:
    """The main line, where its initial card lies in it, and the columns, left to right.

    ``places`` are all open ends, the main line's first, and ``fits`` is the mask of the
    cards that may be played at one of them.
    """

    main: tuple[Card, ...]
    start: int = 0
    columns: tuple[Column, ...] = ()
    places: tuple[Place, ...] = field(init=False, repr=False, compare=False)
    fits: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Find the open ends and what fits there; both are asked for many times."""
        left, right = self.main[0].index, self.main[-1].index
        places: tuple[Place, ...] = (_place(End.LEFT, None, left), _place(End.RIGHT, None, right))
        fits = BESIDE[left] | BESIDE[right]
        for column in self.columns:
            places += column.places
            fits |= column.fits
        object.__setattr__(self, "places", places)
        object.__setattr__(self, "fits", fits)

    @property
    def initial(self) -> Card:
        """Return the card that began the main line."""
        return self.main[self.start]

    def plays(self, cards: Iterable[Card]) -> list[Play]:
        """Return the legal plays of these cards, card by card, the main line first."""
        places = self.places
        return [
            place.plays[card.index] for card in cards for place in places if place.takes & card.bit
        ]

    def take(self, play: Play) -> bool:
        """Say whether the play is legal for whoever may play its card."""
        for place in self.places:
            if place.end is play.end and place.column is play.column:
                return bool(place.takes & play.card.bit)
        return False

    def column(self, cross: Card | None) -> Column:
        """Return the column of the cross card; raises LookupError where there is none."""
        for column in self.columns:
            if column.cross is cross:
                return column
        raise LookupError(cross)

    def opens(self, play: Play) -> bool:
        """Say whether the played card becomes a cross card."""
        return play.column is None and play.card.rank is self.main[self.start].rank

    def extended(self, play: Play) -> Lines:
        """Return the lines after the play."""
        card = play.card
        if play.column is not None:
            columns = [
                column.grown(play) if column.cross is play.column else column
                for column in self.columns
            ]
            return Lines(self.main, self.start, tuple(columns))
        opened = (Column(card),) if self.opens(play) else ()
        if play.end is End.LEFT:
            return Lines((card, *self.main), self.start + 1, opened + self.columns)
        return Lines((*self.main, card), self.start, self.columns + opened)

    def inward(self, play: Play) -> tuple[Card, ...]:
        """Return the cards that the played card meets along its line, to the other end."""
        line = self.main if play.column is None else self.column(play.column).cards
        return line[::-1] if play.end in _FROM_THE_LAST else line

    def other_ends(self, play: Play) -> int:
        """Return the mask of the cards that end other lines than the play's own."""
        bits = 0
        if play.column is not None:
            bits = self.main[0].bit | self.main[-1].bit
        for column in self.columns:
            cards = column.cards
            # A bare cross card is not a line yet.
            if len(cards) > 1 and column.cross is not play.column:
                bits |= cards[0].bit | cards[-1].bit
        return bits


_FROM_THE_LAST: Final = (End.RIGHT, End.DOWN)


def _beside(card: Card) -> int:
    """Return the mask of the cards that may lie beside this one in a line."""
    if card.rank is Rank.EXCUSE:
        return mask(DECK)
    return mask(tuple(other for other in DECK if set(card.suits) & set(other.suits))) | mask(
        (EXCUSE,)
    )


def _alike(card: Card) -> int:
    """Return the mask of the cards of this one's rank; the Excuse matches nothing."""
    if card.rank is Rank.EXCUSE:
        return 0
    return mask(tuple(other for other in DECK if other.rank is card.rank))


BESIDE: Final = tuple(_beside(card) for card in DECK)
ALIKE: Final = tuple(_alike(card) for card in DECK)


@dataclass(frozen=True, slots=True)
class Ranks:
    """How ranks follow and add up with the add-ons in the deck; both by the card's index.

    ``order`` is the card's place in straights, ``elevens`` the mask of the cards that
    make eleven with it.
    """

    order: tuple[int, ...]
    elevens: tuple[int, ...]


def _ranks(*, pawns: bool, courts: bool) -> Ranks:
    extra = [Rank.PAWN] * pawns + [Rank.COURT] * courts
    row = [*list(Rank)[:9], *extra, Rank.CROWN]
    # The Excuse, and cards that are not in the deck, lie far from every rank.
    order = tuple(row.index(card.rank) if card.rank in row else 99 for card in DECK)
    elevens = tuple(
        mask(tuple(other for other in DECK if _eleven(card.rank, other.rank, extra)))
        for card in DECK
    )
    return Ranks(order, elevens)


def _eleven(one: Rank, other: Rank, extra: list[Rank]) -> bool:
    if Rank.EXCUSE in (one, other):
        return False
    if len(extra) == 2 and {one, other} & set(extra):
        return {one, other} == set(extra)
    return any(a + b == 11 for a in _values(one, extra) for b in _values(other, extra))


def _values(rank: Rank, extra: list[Rank]) -> tuple[int, ...]:
    if rank in (Rank.PAWN, Rank.COURT):
        return (1, 10) if rank in extra else ()
    return (rank.number,)


RANKS: Final = {
    (pawns, courts): _ranks(pawns=pawns, courts=courts)
    for pawns in (False, True)
    for courts in (False, True)
}


class Gain(NamedTuple):
    """What a play scores: the straight's points, and how many cards match at 2, 4 and 1.

    ``eleven`` is the card at the other end with which it makes eleven, else None.
    """

    straight: int
    hot: int
    hot_cross: int
    single: int
    eleven: Card | None

    @property
    def points(self) -> int:
        """Return the points for placing the card."""
        return self.straight + 2 * self.hot + 4 * self.hot_cross + self.single


def gain(lines: Lines, play: Play, ranks: Ranks) -> Gain:
    """Return what the play scores on the lines as they lie before it."""
    index = play.card.index
    line = lines.inward(play)
    far = line[-1]
    alike = ALIKE[index]
    matched = 1 if alike & far.bit else 0
    is_main = play.column is None
    single = 0
    if lines.columns:
        # Each physical card counts once, at its best value: the far end is no single match too.
        single = (lines.other_ends(play) & alike & ~far.bit).bit_count()
    return Gain(
        _straight(index, line, ranks.order),
        matched if is_main else 0,
        0 if is_main else matched,
        single,
        far if ranks.elevens[index] & far.bit else None,
    )


def _straight(index: int, line: tuple[Card, ...], order: tuple[int, ...]) -> int:
    """Return the length of the run that starts with the played card, or 0 below two."""
    rank = order[index]
    step = order[line[0].index] - rank
    if step not in (1, -1):
        return 0
    length = 1
    for card in line:
        if order[card.index] != rank + step * length:
            break
        length += 1
    return length


def drawers(seat: int, sizes: Sequence[int], pile: int, *, partners: bool) -> list[int]:
    """Return the seats that draw a card for this seat's eleven, clockwise from its left."""
    seats = len(sizes)
    opponents = [(seat - 1 + step) % seats + 1 for step in range(1, seats)]
    if partners:
        opponents = opponents[::2]
    elif seats == 4:
        fewest = min(sizes[other - 1] for other in opponents)
        opponents = [other for other in opponents if sizes[other - 1] == fewest]
    return opponents[:pile]


def left_value(cards: Sequence[Card]) -> int:
    """Return what cards left in a hand are worth to a seat that went out."""
    return sum([_LEFT[card.index] for card in cards])


_WORTH: Final = {Rank.ACE: 1, Rank.CROWN: 1, Rank.PAWN: 3, Rank.COURT: 3, Rank.EXCUSE: 0}
_LEFT: Final = tuple(_WORTH.get(card.rank, 2) for card in DECK)  # by the card's index
