"""Snakebit's table as a picture: the trick, trump and curse, and what each seat has taken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from engine.decktet import Suit
from engine.game import Label, Layout, Placed, Slot, following, say
from engine.snakebit_state import Lead, winner

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.decktet import Card
    from engine.game import Phrase, Seat
    from engine.snakebit import SnakebitView
    from engine.snakebit_state import Move

_STEP: Final = 1.2  # between cards with a name below
_GAP: Final = 0.5  # between the trick and the turned cards
_HEADING: Final = -0.62  # rows from the middle of cards to the words above them
_LINES: Final = 0.78  # the row of the first line below the cards
_LINE: Final = 0.17  # rows from line to line


def table_layout(view: SnakebitView, move: Move | None, fresh: frozenset[Card]) -> Layout:
    """Return the table; after the move, if there is one.

    The trick before stays on the table until somebody leads.
    """
    leader, named, cards = view.leader, view.named, view.trick
    if not cards and view.tricks and move is None:
        last = view.tricks[-1]
        leader, named, cards = last.leader, last.named, last.cards
    if move is not None:
        cards = (*cards, move.card)
        named = move.suit if isinstance(move, Lead) else named
    marks = {card: {"fresh"} for card in fresh}
    if move is not None:
        marks[move.card] = {"chosen"}
    won = _won(view, leader, named, cards)
    order = (leader, *following(leader, view.seats))
    placed = [*_trick(order, cards, won, marks), *_turned(view)]
    slots = tuple(Slot(nth * _STEP, 0, "") for nth in range(len(cards), view.seats))
    title = trick_title(view) if move is None else _named_title(order[0], named)
    return Layout(tuple(placed), slots, tuple(_labels(view, title)))


def _won(
    view: SnakebitView, leader: Seat, named: Suit | None, cards: tuple[Card, ...]
) -> Seat | None:
    if named is None or len(cards) < view.seats:
        return None
    return winner(leader, named, cards, view.trump, view.seats)


def _trick(
    order: tuple[Seat, ...],
    cards: tuple[Card, ...],
    won: Seat | None,
    marks: dict[Card, set[str]],
) -> Iterator[Placed]:
    for nth, (seat, card) in enumerate(zip(order, cards, strict=False)):
        marked = frozenset(marks.get(card, ())) | ({"won"} if seat == won else frozenset())
        yield Placed(nth * _STEP, 0, card, marked, label=say("%(seat)s", seat=seat))


def _turned(view: SnakebitView) -> Iterator[Placed]:
    for nth, card in enumerate((view.ace, view.crown)):
        label = say("%(suit)s", suit=card.suits[0])
        yield Placed(_aside(view, nth), 0, card, label=label)


def _aside(view: SnakebitView, nth: int) -> float:
    """Return the column of the Ace (0) or the Crown (1)."""
    return (view.seats + nth) * _STEP + _GAP


def trick_title(view: SnakebitView) -> Phrase:
    """Return what stands above the trick: who led it and how, or who won the last one."""
    if view.trick:
        return _named_title(view.leader, view.named)
    if view.tricks:
        return say("Won by %(seat)s", seat=view.tricks[-1].winner)
    return say("%(seat)s leads", seat=view.leader)


def _named_title(seat: Seat, named: Suit | None) -> Phrase:
    assert named is not None
    return say("%(seat)s named %(suit)s", seat=seat, suit=named)


def _labels(view: SnakebitView, title: Phrase) -> Iterator[Label]:
    yield Label((view.seats - 1) / 2 * _STEP, _HEADING, title)
    yield Label(_aside(view, 0), _HEADING, say("Trump"))
    yield Label(_aside(view, 1), _HEADING, say("Cursed"))
    lines = [barred_title(view), *view.tallies]
    middle = _aside(view, 1) / 2
    for nth, line in enumerate(lines):
        yield Label(middle, _LINES + nth * _LINE, line)


def barred_title(view: SnakebitView) -> Phrase:
    """Return which of trump and the cursed suit may be named."""
    if not view.barred:
        return say("Every suit may be named.")
    if len(view.barred) == 1:
        return say("%(suit)s may not be named yet.", suit=view.barred[0])
    trump, cursed = view.barred
    return say("Neither %(first)s nor %(second)s may be named yet.", first=trump, second=cursed)
