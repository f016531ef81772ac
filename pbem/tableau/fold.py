"""Wide layouts cut into strips, one below the other, as a paragraph wraps its words."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, replace
from math import ceil, floor
from typing import TYPE_CHECKING, Final, TypeAlias

from engine.game import Label, Layout, Placed, Slot

if TYPE_CHECKING:
    from collections.abc import Sequence

Item: TypeAlias = Placed | Slot | Label

GAP: Final = 0.2  # between two strips, in rows
LABEL_REACH: Final = 0.15  # from the middle of words to their upper edge, in rows


@dataclass(frozen=True, slots=True)
class Cut:
    """A place beside which a line was cut: at its right it goes on, at its left it began."""

    column: float
    row: float
    side: str  # left or right


@dataclass(frozen=True, slots=True)
class Folded:
    """A layout that is narrow enough, and where it was cut."""

    layout: Layout
    cuts: tuple[Cut, ...] = ()


def fold(layout: Layout, columns: int) -> Folded:
    """Return the layout in strips of at most so many columns (two or more), none lost."""
    items = items_of(layout)
    if not items or _width(items) <= columns:
        return Folded(layout)
    line = _line(layout)
    moved: list[Item] = []
    cuts: list[Cut] = []
    strips = _strips(items, columns)
    top = 0.0
    for number, (left, strip) in enumerate(strips):
        first = min(item.row - _reach(item) for item in strip)
        last = max(item.row + _reach(item) for item in strip)
        down = top - first
        moved += [replace(item, column=item.column - left, row=item.row + down) for item in strip]
        row = min(max(line, first + 0.5), last - 0.5) + down
        used = [item.column - left for item in strip]
        cuts += [Cut(min(used), row, "left")] if number > 0 else []
        cuts += [Cut(max(used), row, "right")] if number < len(strips) - 1 else []
        top += last - first + GAP
    return Folded(_layout(moved), tuple(cuts))


def items_of(layout: Layout) -> tuple[Item, ...]:
    """Return all that stands in a layout."""
    return (*layout.cards, *layout.slots, *layout.labels)


def _width(items: Sequence[Item]) -> float:
    columns = [item.column for item in items]
    return max(columns) - min(columns) + 1


def _reach(item: Item) -> float:
    return LABEL_REACH if isinstance(item, Label) else 0.5


def _line(layout: Layout) -> float:
    """Return the row with the most cards: the line that people read from strip to strip."""
    rows = Counter(placed.row for placed in layout.cards)
    return rows.most_common(1)[0][0] if rows else 0.0


def _strips(items: Sequence[Item], columns: int) -> list[tuple[float, list[Item]]]:
    """Return left edge and items of the fewest strips, about as wide as each other."""
    start, total = min(item.column for item in items), _width(items)
    number = ceil(total / columns)
    while True:
        edges = [floor(n * total / number + 0.5) for n in range(number + 1)]
        strips = [(start + edge, list[Item]()) for edge in edges[:-1]]
        for item in items:
            strips[bisect_right(edges, item.column - start, hi=number) - 1][1].append(item)
        filled = [strip for strip in strips if strip[1]]
        # A card between two columns may reach over its strip's edge.
        if all(max(i.column for i in strip) - left + 1 <= columns for left, strip in filled):
            return filled
        number += 1


def _layout(items: Sequence[Item]) -> Layout:
    return Layout(
        tuple(item for item in items if isinstance(item, Placed)),
        tuple(item for item in items if isinstance(item, Slot)),
        tuple(item for item in items if isinstance(item, Label)),
    )
