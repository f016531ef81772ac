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
    from collections.abc import Iterable, Mapping, Sequence

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
    """A card played at an end; ``column`` is the cross card of its column, else None.

    ``spot`` is the number of the end: an even one where its line begins (left, up), the
    next one where it ends, and half of it is the number of the line.
    """

    card: Card
    end: End
    column: Card | None = None
    spot: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Count the main line as line 0, and columns by their cross cards."""
        ends = _MAIN_ENDS if self.column is None else _COLUMN_ENDS
        line = 0 if self.column is None else 1 + self.column.index
        object.__setattr__(self, "spot", 2 * line + ends.index(self.end))


_MAIN_ENDS: Final = (End.LEFT, End.RIGHT)
_COLUMN_ENDS: Final = (End.UP, End.DOWN)


@dataclass(frozen=True, slots=True)
class Keep:
    """The card just drawn is kept in hand."""


Move: TypeAlias = Play | Keep
KEEP: Final = Keep()


# Moves and places recur at every table: each is made once.
@cache
def plays_at(spot: int) -> tuple[Play, ...]:
    """Return the plays of all cards at one end, by the card's index."""
    line, nth = divmod(spot, 2)
    if line:
        return tuple(Play(card, _COLUMN_ENDS[nth], DECK[line - 1]) for card in DECK)
    return tuple(Play(card, _MAIN_ENDS[nth]) for card in DECK)


class Place:
    """An open end: its direction, its column's cross card, and the card that ends it.

    ``takes`` is the mask of the cards that may be played there. By the card's index,
    ``plays`` are the plays of all cards there and ``legal`` those of the cards that it
    takes, else None. A place is made once and never changes.
    """

    __slots__ = ("column", "end", "legal", "neighbour", "plays", "takes")

    def __init__(self, spot: int, neighbour: Card) -> None:
        """Find what may be played there."""
        self.plays = plays_at(spot)
        self.end = self.plays[0].end
        self.column = self.plays[0].column
        self.neighbour = neighbour
        self.takes = takes = BESIDE[neighbour.index]
        self.legal = tuple([play if play.card.bit & takes else None for play in self.plays])


@cache
def _place(spot: int, neighbour: int) -> Place:
    return Place(spot, DECK[neighbour])


class Column(NamedTuple):
    """A cross card with the cards above and below it, nearest first."""

    cross: Card
    above: tuple[Card, ...]
    below: tuple[Card, ...]

    @property
    def cards(self) -> tuple[Card, ...]:
        """Return all cards from top to bottom."""
        return (*self.above[::-1], self.cross, *self.below)


@dataclass(slots=True)
class Lines:
    """The main line, where its initial card lies in it, and the columns, left to right.

    A running hand's lines grow in place; who keeps lines takes a copy.
    ``rows`` are the cards of the lines by number, from left to right or from top to bottom:
    the main line's first, then the columns'. ``places`` are all open ends by number, in the
    same order, and ``fits`` is the mask of the cards that may be played at one of them.
    """

    rows: dict[int, tuple[Card, ...]]
    start: int
    places: dict[int, Place] = field(repr=False, compare=False)
    fits: int = field(repr=False, compare=False)

    @property
    def main(self) -> tuple[Card, ...]:
        """Return the main line."""
        return self.rows[0]

    @property
    def initial(self) -> Card:
        """Return the card that began the main line."""
        return self.rows[0][self.start]

    @property
    def columns(self) -> tuple[Column, ...]:
        """Return the columns, left to right."""
        return tuple(_column(DECK[line - 1], row) for line, row in self.rows.items() if line)

    def copy(self) -> Lines:
        """Return lines that grow alone."""
        return Lines(self.rows.copy(), self.start, self.places.copy(), self.fits)

    def plays(self, cards: Iterable[Card]) -> list[Play]:
        """Return the legal plays of these cards, card by card, the main line first."""
        legal = [place.legal for place in self.places.values()]
        return [play for card in cards for row in legal if (play := row[card.index])]

    def column(self, cross: Card) -> Column:
        """Return the column of the cross card; raises LookupError where there is none."""
        return _column(cross, self.rows[1 + cross.index])

    def opens(self, play: Play) -> bool:
        """Say whether the played card becomes a cross card."""
        return play.column is None and play.card.rank is self.initial.rank

    def extended(self, play: Play) -> Lines:
        """Return the lines after the play; these stay as they are."""
        after = self.copy()
        after.grow(play)
        return after

    def grow(self, play: Play) -> None:
        """Put the played card into its line, and open its column if it is a cross card."""
        card, spot, rows = play.card, play.spot, self.rows
        row = rows[spot >> 1]
        rows[spot >> 1] = (*row, card) if spot & 1 else (card, *row)
        self.places[spot] = _place(spot, card.index)
        if spot < 2:
            self.start += 1 - spot
            if card.rank is rows[0][self.start].rank:
                self._open(card, spot)
        self.fits = _fits(self.places)

    def _open(self, cross: Card, spot: int) -> None:
        """Open the column of a new cross card, the first or the last of all."""
        main, *columns = self.rows.items()
        columns.insert(len(columns) if spot else 0, (1 + cross.index, (cross,)))
        self.rows = dict([main, *columns])
        self.places = _places(self.rows)

    def inward(self, play: Play) -> tuple[Card, ...]:
        """Return the cards that the played card meets along its line, to the other end."""
        row = self.rows[play.spot >> 1]
        return row[::-1] if play.spot & 1 else row

    def other_ends(self, play: Play) -> int:
        """Return the mask of the cards that end other lines than the play's own."""
        bits, own = 0, play.spot >> 1
        for line, row in self.rows.items():
            # A bare cross card is not a line yet.
            if line != own and len(row) > 1:
                bits |= row[0].bit | row[-1].bit
        return bits


def laid(main: tuple[Card, ...], start: int = 0, columns: Iterable[Column] = ()) -> Lines:
    """Return the lines with these cards."""
    rows = {0: main, **{1 + column.cross.index: column.cards for column in columns}}
    places = _places(rows)
    return Lines(rows, start, places, _fits(places))


def _places(rows: Mapping[int, tuple[Card, ...]]) -> dict[int, Place]:
    places = {}
    for line, row in rows.items():
        places[2 * line] = _place(2 * line, row[0].index)
        places[2 * line + 1] = _place(2 * line + 1, row[-1].index)
    return places


def _fits(places: Mapping[int, Place]) -> int:
    fits = 0
    for place in places.values():
        fits |= place.takes
    return fits


def _column(cross: Card, row: tuple[Card, ...]) -> Column:
    at = row.index(cross)
    return Column(cross, row[:at][::-1], row[at + 1 :])


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

    ``order`` is the card's place in straights, ``neighbours`` the mask of the cards that
    come right before and after it in one, ``elevens`` that of those that make eleven with it.
    """

    order: tuple[int, ...]
    neighbours: tuple[int, ...]
    elevens: tuple[int, ...]


def _ranks(*, pawns: bool, courts: bool) -> Ranks:
    extra = [Rank.PAWN] * pawns + [Rank.COURT] * courts
    row = [*list(Rank)[:9], *extra, Rank.CROWN]
    # The Excuse, and cards that are not in the deck, lie far from every rank.
    order = tuple(row.index(card.rank) if card.rank in row else 99 for card in DECK)
    neighbours = tuple(
        mask([other for other in DECK if abs(order[other.index] - own) == 1]) for own in order
    )
    elevens = tuple(
        mask(tuple(other for other in DECK if _eleven(card.rank, other.rank, extra)))
        for card in DECK
    )
    return Ranks(order, neighbours, elevens)


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


NOTHING: Final = Gain(0, 0, 0, 0, None)


def gain(lines: Lines, play: Play, ranks: Ranks) -> Gain:
    """Return what the play scores on the lines as they lie before it."""
    index, spot = play.card.index, play.spot
    row = lines.rows[spot >> 1]
    near, far = (row[-1].bit, row[0].bit) if spot & 1 else (row[0].bit, row[-1].bit)
    follows = ranks.neighbours[index] & near
    matched = ALIKE[index] & far
    eleven = ranks.elevens[index] & far
    # Each physical card counts once, at its best value: the far end is no single match too.
    single = lines.other_ends(play) & ALIKE[index] & ~far if len(lines.rows) > 1 else 0
    if not (follows or matched or eleven or single):
        return NOTHING
    return Gain(
        _straight(index, lines.inward(play), ranks.order) if follows else 0,
        1 if matched and spot < 2 else 0,
        1 if matched and spot >= 2 else 0,
        single.bit_count(),
        lines.inward(play)[-1] if eleven else None,
    )


def _straight(index: int, line: tuple[Card, ...], order: tuple[int, ...]) -> int:
    """Return the length of the run that starts with the played card and goes on in the line."""
    rank = order[index]
    step = order[line[0].index] - rank
    length = 1
    for card in line:
        if order[card.index] != rank + step * length:
            break
        length += 1
    return length


def drawers(seat: int, sizes: Sequence[int], pile: int, *, partners: bool) -> Sequence[int]:
    """Return the seats that draw a card for this seat's eleven, clockwise from its left."""
    seats = len(sizes)
    opponents = _opponents(seat, seats, partners)
    if seats == 4 and not partners:
        fewest = min([sizes[other - 1] for other in opponents])
        opponents = [other for other in opponents if sizes[other - 1] == fewest]
    return opponents[:pile]


@cache
def _opponents(seat: int, seats: int, partners: bool) -> Sequence[int]:  # noqa: FBT001 - a key
    """Return the seats that do not play with this one, clockwise from its left."""
    others = [(seat - 1 + step) % seats + 1 for step in range(1, seats)]
    return others[::2] if partners else others


def left_value(cards: Sequence[Card]) -> int:
    """Return what cards left in a hand are worth to a seat that went out."""
    return sum([_LEFT[card.index] for card in cards])


_WORTH: Final = {Rank.ACE: 1, Rank.CROWN: 1, Rank.PAWN: 3, Rank.COURT: 3, Rank.EXCUSE: 0}
_LEFT: Final = tuple(_WORTH.get(card.rank, 2) for card in DECK)  # by the card's index
