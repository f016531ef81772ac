"""Snakebit's table as a picture: trump and curse at the left, the tricks beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from engine.game import Label, Layout, Placed, Slot, count, say
from engine.snakebit_state import Lead, best

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.decktet import Card, Suit
    from engine.game import Phrase, Seat
    from engine.snakebit import SnakebitView
    from engine.snakebit_state import Move

_TRICK: Final = 1.8  # the column of the first card of a trick
_STEP: Final = 1.2  # between cards with a name below
_HEADING: Final = -0.62  # rows from the middle of cards to the words above them
_LAST_ROW: Final = 1.3
_LINES: Final = 2.1  # the row of the first line of words below
_LINE: Final = 0.17


def table_layout(view: SnakebitView, move: Move | None, fresh: frozenset[Card]) -> Layout:
    """Return the table; after the move, if there is one."""
    marks: dict[Card, frozenset[str]] = {card: frozenset(("fresh",)) for card in fresh}
    plays, named = list(view.plays), view.named
    if move is not None and view.seat is not None:
        marks[move.card] = frozenset(("chosen",))
        plays.append((view.seat, move.card))
        named = move.suit if isinstance(move, Lead) else named
    placed = [
        Placed(0, 0, view.ace, marks.get(view.ace, frozenset()), label=say("trump")),
        Placed(0, _LAST_ROW, view.crown, marks.get(view.crown, frozenset()), label=say("cursed")),
        *_trick(view, plays, named, marks, 0),
        *_trick(view, list(view.last_plays), _last_named(view), marks, _LAST_ROW),
    ]
    return Layout(tuple(placed), _slots(view, move), tuple(_words(view, plays, named)))


def _last_named(view: SnakebitView) -> Suit | None:
    return view.tricks[-1].named if view.tricks else None


def _trick(
    view: SnakebitView,
    plays: list[tuple[Seat, Card]],
    named: Suit | None,
    marks: dict[Card, frozenset[str]],
    row: float,
) -> Iterator[Placed]:
    won = None
    if len(plays) == view.seats and named is not None:
        cards = [card for _, card in plays]
        won = cards[best(cards, view.trump, named)]
    for nth, (seat, card) in enumerate(plays):
        marked = marks.get(card, frozenset()) | (
            frozenset(("won",)) if card == won else frozenset()
        )
        yield Placed(_TRICK + nth * _STEP, row, card, marked, label=say("%(seat)s", seat=seat))


def _slots(view: SnakebitView, move: Move | None) -> tuple[Slot, ...]:
    """Return where cards of the trick are still awaited."""
    if move is not None or view.is_over:
        return ()
    return tuple(Slot(_TRICK + nth * _STEP, 0, "") for nth in range(len(view.trick), view.seats))


def _words(
    view: SnakebitView, plays: list[tuple[Seat, Card]], named: Suit | None
) -> Iterator[Label]:
    middle = _TRICK + (view.seats - 1) * _STEP / 2
    if not view.is_over:
        yield Label(middle, _HEADING, trick_title(view, plays, named))
    if view.tricks:
        yield Label(middle, _LAST_ROW + _HEADING, last_title(view))
    yield Label(0, _HEADING, naming(view, view.trump))
    yield Label(0, _LAST_ROW + _HEADING, naming(view, view.cursed))
    for nth in range(view.seats):
        yield Label(middle / 2 + 1, _LINES + nth * _LINE, taken_line(view, nth + 1))


def naming(view: SnakebitView, suit: Suit) -> Phrase:
    """Return whether trump or the cursed suit may be named already."""
    return say("not yet named") if suit in view.barred else say("free")


def trick_title(view: SnakebitView, plays: list[tuple[Seat, Card]], named: Suit | None) -> Phrase:
    """Return what stands above the trick: who leads, and the suit that was named."""
    if named is None:
        return say("%(seat)s leads", seat=view.leader)
    return say("%(seat)s named %(suit)s", seat=plays[0][0], suit=named)


def last_title(view: SnakebitView) -> Phrase:
    """Return what stands above the trick before: the suit it was led under, and who took it."""
    trick = view.tricks[-1]
    return say("Before: %(suit)s, %(seat)s took it", suit=trick.named, seat=trick.winner)


def taken_line(view: SnakebitView, seat: Seat) -> Phrase:
    """Return what a seat has taken in this hand, in words."""
    return say(
        "%(seat)s: %(tricks)s, %(bites)s",
        seat=seat,
        tricks=count(view.taken[seat - 1], "%(n)s trick", "%(n)s tricks"),
        bites=count(view.bites[seat - 1], "%(n)s cursed card", "%(n)s cursed cards"),
    )
