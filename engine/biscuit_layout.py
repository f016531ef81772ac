"""Biscuit's table as a picture: lines, open ends and the turned card on a grid."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.biscuit_table import End, Lines, Place, Play
from engine.game import Layout, Placed, Slot

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engine.decktet import Card


def table_layout(
    lines: Lines,
    plays: Sequence[Play] | None,
    *,
    face_down: Card | None,
    chosen: Play | None,
    fresh: frozenset[Card],
) -> Layout:
    """Return the lines, after the chosen play if there is one, and the open places.

    The places are those of the plays; with no plays, all that are open; with None for
    plays (the match is over), none. ``face_down`` is the card across which the initial
    card lies, once it may be shown.
    """
    after = lines if chosen is None else lines.extended(chosen)
    marked = {card: {"fresh"} for card in fresh}
    marked.setdefault(after.initial, set()).add("start")
    for column in after.columns:
        marked.setdefault(column.cross, set()).add("open")
    if chosen is not None:
        marked.setdefault(chosen.card, set()).add("chosen")
    marks = {card: frozenset(names) for card, names in marked.items()}
    placed = [Placed(0, 0, face_down, turned=True)]
    placed += [Placed(x, y, card, marks.get(card, frozenset())) for x, y, card in _positions(after)]
    if plays is None:
        return Layout(tuple(placed))
    wanted = set() if chosen is not None else {(play.end, play.column) for play in plays}
    open_places = [
        place
        for place in after.places.values()
        if not wanted or (place.end, place.column) in wanted
    ]
    return Layout(tuple(placed), tuple(_slot(after, place) for place in open_places))


def _positions(lines: Lines) -> Iterator[tuple[int, int, Card]]:
    """Yield each card with its column and row."""
    columns = {column.cross: column for column in lines.columns}
    for nth, card in enumerate(lines.main):
        x = nth - lines.start
        yield x, 0, card
        if card in columns:
            yield from ((x, -row, above) for row, above in enumerate(columns[card].above, 1))
            yield from ((x, row, below) for row, below in enumerate(columns[card].below, 1))


def _slot(lines: Lines, place: Place) -> Slot:
    if place.end is End.LEFT:
        return Slot(-lines.start - 1, 0, "left")
    if place.column is None:
        return Slot(len(lines.main) - lines.start, 0, "right")
    column = lines.column(place.column)
    x = lines.main.index(column.cross) - lines.start
    if place.end is End.UP:
        return Slot(x, -len(column.above) - 1, "up")
    return Slot(x, len(column.below) + 1, "down")
