"""Where everything of a layout stands in its picture, in the drawing's units."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Final, TypeAlias

from engine.game import Label, Layout, Phrase, Placed
from pbem.tableau.art import HEIGHT, MARKS, WIDTH, card_id
from pbem.tableau.fold import Folded, Item, fold, items_of
from pbem.tableau.lettering import fitted, one_line, width

Say: TypeAlias = Callable[[Phrase], str]

COLUMN: Final = WIDTH + 8  # from the middle of a card to that of the next one
ROW: Final = HEIGHT + 10
MARGIN: Final = 20  # room for what peeks out of a card that lies across, and for marks
CAPTION: Final = 18  # the room for words under the cards, in layouts that have such
WORDS: Final = 15  # the size of the letters of labels
SMALL_WORDS: Final = 12.5  # and of words under a card
MOST_COLUMNS: Final = 9
WIDEST: Final = 560  # in CSS pixels, the width of a mail
NARROWEST: Final = 320
LARGE: Final = 0.9  # CSS pixels a unit
SMALL: Final = 0.75


@dataclass(frozen=True, slots=True)
class Spot:
    """Pieces of art that lie one on the other, with their middle at x, y."""

    x: float
    y: float
    pieces: tuple[str, ...]
    turned: bool = False


@dataclass(frozen=True, slots=True)
class Words:
    """A line of words with its middle at x, y and letters of this size."""

    x: float
    y: float
    text: str
    size: float


@dataclass(frozen=True, slots=True)
class Plan:
    """A picture's size in CSS pixels, its pixels a unit, and what stands in it, in units."""

    width: int
    height: int
    scale: float
    spots: tuple[Spot, ...]
    words: tuple[Words, ...]


@dataclass(frozen=True, slots=True)
class _Grid:
    """How grid places become points of the picture."""

    left: float
    top: float
    row: float

    def point(self, column: float, row: float) -> tuple[float, float]:
        return self.left + column * COLUMN, self.top + row * self.row


def plan(layout: Layout, say: Say) -> Plan:
    """Return the picture's plan, folded where the layout is too wide for a mail."""
    folded = fold(layout, MOST_COLUMNS)
    items = items_of(folded.layout)
    columns = [item.column for item in items] or [0.0]
    row = ROW + (CAPTION if any(placed.label for placed in folded.layout.cards) else 0)
    top = min((item.row * row - _above(item) for item in items), default=0.0)
    bottom = max((item.row * row + _below(item) for item in items), default=0.0)
    needed = (max(columns) - min(columns)) * COLUMN + WIDTH + 2 * MARGIN
    scale = LARGE if needed * LARGE <= WIDEST else SMALL
    across = max(ceil(needed * scale), NARROWEST)
    down = ceil((bottom - top + 2 * MARGIN) * scale)
    left = across / scale / 2 - (max(columns) + min(columns)) / 2 * COLUMN
    grid = _Grid(left, MARGIN - top, row)
    return Plan(
        across, down, scale, _spots(folded, grid), _words(folded, grid, say, across / scale)
    )


def _above(item: Item) -> float:
    return WORDS if isinstance(item, Label) else HEIGHT / 2


def _below(item: Item) -> float:
    captioned = isinstance(item, Placed) and item.label is not None
    return _above(item) + (CAPTION if captioned else 0)


def _spots(folded: Folded, grid: _Grid) -> tuple[Spot, ...]:
    """Return all spots, those that lie below others first."""
    layout = folded.layout
    slots = [Spot(*grid.point(s.column, s.row), (f"slot-{s.arrow}",)) for s in layout.slots]
    cuts = [Spot(*grid.point(c.column, c.row), (f"cut-{c.side}",)) for c in folded.cuts]
    # A card that lies across lies behind the others: False sorts before True.
    cards = sorted(layout.cards, key=lambda placed: not placed.turned)
    laid = [Spot(*grid.point(p.column, p.row), _pieces(p), p.turned) for p in cards]
    return (*slots, *cuts, *laid)


def _pieces(placed: Placed) -> tuple[str, ...]:
    marks = [f"mark-{mark}" for mark in MARKS if mark in placed.marks]
    return (card_id(placed.card), *marks)


def _words(folded: Folded, grid: _Grid, say: Say, across: float) -> tuple[Words, ...]:
    captioned = [placed for placed in folded.layout.cards if placed.label is not None]
    found = []
    for placed in captioned:
        x, y = grid.point(placed.column, placed.row)
        below = Words(x, y + HEIGHT / 2 + CAPTION * 0.6, _said(say, placed.label), SMALL_WORDS)
        found.append(_settled(below, _room(placed, captioned, across), across))
    for label in folded.layout.labels:
        x, y = grid.point(label.column, label.row)
        words = Words(x, y, _said(say, label.text), WORDS)
        found.append(_settled(words, across - MARGIN, across))
    return tuple(found)


def _said(say: Say, phrase: Phrase | None) -> str:
    return "" if phrase is None else one_line(say(phrase))


def _room(placed: Placed, captioned: Sequence[Placed], across: float) -> float:
    """Return how wide the words under a card may be beside those of its neighbours."""
    beside = [
        abs(other.column - placed.column)
        for other in captioned
        if abs(other.row - placed.row) < 1 and other.column != placed.column
    ]
    return min([distance * COLUMN - 4 for distance in beside] + [across - MARGIN])


def _settled(words: Words, room: float, across: float) -> Words:
    """Return words short enough for their room, and moved in where they would stick out."""
    text = fitted(words.text, words.size, room)
    half = width(text, words.size) / 2 + MARGIN / 4
    return replace(words, text=text, x=min(max(words.x, half), across - half))
