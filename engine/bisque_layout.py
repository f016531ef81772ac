"""Bisque's table as a picture: the trick and the objectives above, the pot below."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from engine.bisque_state import SEATS, Aim, Move, Phase, Play, Pot, winner, with_card, worth
from engine.decktet import Suit
from engine.game import Label, Layout, Placed, Seat, Slot, say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.bisque import BisqueView
    from engine.decktet import Card
    from engine.game import Phrase

_ASIDE: Final = 3.9  # the column of the first objective
_STEP: Final = 1.2  # between cards with a name below
_HEADING: Final = -0.62  # rows from the middle of cards to the words above them
_POT_WIDTH: Final = 6  # cards in a row of the pot
_POT_LEFT: Final = 0.65
_POT_ROW: Final = 1.62
_WORTHS: Final = 1.26  # between the words above the pot


def table_layout(view: BisqueView, move: Move | None, fresh: frozenset[Card]) -> Layout:
    """Return the table; after the move, if there is one."""
    plays, pot = list(view.plays), view.pot
    aims = {seat: aim for seat, aim in enumerate(view.aims, 1) if seat in view.chosen}
    marks: dict[Card, frozenset[str]] = {card: frozenset(("fresh",)) for card in fresh}
    if move is not None:
        marks[move.card] = frozenset(("chosen",))
    match move:
        case Aim(card) if view.seat is not None:
            aims[view.seat] = card
        case Play(card) if view.seat is not None:
            plays.append((view.seat, card))
        case Pot(card):
            plays = [(seat, played) for seat, played in plays if played != card]
            pot = with_card(pot, card)
    placed = [*_trick(plays, marks), *_aims(aims, marks), *_pot(pot, marks)]
    return Layout(
        tuple(placed),
        _slots(view) if move is None else (),
        (*_headings(view), *_worths(pot)),
    )


def _trick(plays: list[tuple[Seat, Card]], marks: dict[Card, frozenset[str]]) -> Iterator[Placed]:
    won = None
    if len(plays) == SEATS:
        won = winner(plays[0][0], [card for _, card in plays])
    for nth, (seat, card) in enumerate(plays):
        marked = marks.get(card, frozenset()) | (
            frozenset(("won",)) if seat == won else frozenset()
        )
        yield Placed(nth * _STEP, 0, card, marked, label=say("%(seat)s", seat=seat))


def _aims(aims: dict[Seat, Card | None], marks: dict[Card, frozenset[str]]) -> Iterator[Placed]:
    """Yield the objectives in seat order; one that this seat does not know lies face down."""
    for seat, card in sorted(aims.items()):
        marked = frozenset() if card is None else marks.get(card, frozenset())
        yield Placed(_aside(seat), 0, card, marked, label=say("%(seat)s", seat=seat))


def _pot(pot: tuple[Card, ...], marks: dict[Card, frozenset[str]]) -> Iterator[Placed]:
    for nth, card in enumerate(pot):
        row, column = divmod(nth, _POT_WIDTH)
        yield Placed(_POT_LEFT + column, _POT_ROW + row, card, marks.get(card, frozenset()))


def _slots(view: BisqueView) -> tuple[Slot, ...]:
    """Return where cards are still awaited: in the trick, or objectives."""
    if view.phase is Phase.AIM:
        return tuple(Slot(_aside(seat), 0, "") for seat in sorted(view.to_move))
    if view.phase is Phase.PLAY:
        return tuple(Slot(nth * _STEP, 0, "") for nth in range(len(view.trick), SEATS))
    return ()


def _aside(seat: Seat) -> float:
    return _ASIDE + (seat - 1) * _STEP


def _headings(view: BisqueView) -> Iterator[Label]:
    yield Label(_STEP, _HEADING, trick_title(view))
    yield Label(_aside(2), _HEADING, say("Objectives"))
    yield Label(_WORTHS * 2.5, 0.66, taken_title(view))
    yield Label(_WORTHS * 2.5, 0.84, say("The pot, and its worth in each suit"))


def trick_title(view: BisqueView) -> Phrase:
    """Return what stands above the trick: who leads it, or who won it."""
    if view.phase is Phase.POT:
        (seat,) = view.to_move
        return say("Trick %(n)s: %(seat)s won it", n=len(view.tricks) + 1, seat=seat)
    if view.phase is Phase.PLAY:
        return say("Trick %(n)s: %(seat)s leads", n=len(view.tricks) + 1, seat=view.leader)
    if view.phase is Phase.AIM:
        return say("No trick yet")
    return say("All tricks are played")


def taken_title(view: BisqueView) -> Phrase:
    """Return how many tricks each seat has won in this hand, in one line."""
    first, second, third = (
        say("%(seat)s %(n)s", seat=seat, n=taken) for seat, taken in enumerate(view.taken, 1)
    )
    return say(
        "Tricks won: %(first)s, %(second)s, %(third)s", first=first, second=second, third=third
    )


def _worths(pot: tuple[Card, ...]) -> Iterator[Label]:
    for nth, suit in enumerate(Suit):
        text = say("%(suit)s %(points)s", suit=suit, points=worth(pot, suit))
        yield Label(nth * _WORTHS, _POT_ROW + _HEADING, text)
