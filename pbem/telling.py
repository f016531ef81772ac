"""What a table tells one reader, in words: letters and pages are made from the same telling.

Everything here comes from a view and from events as its seat was told them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flask import render_template
from flask_babel import gettext, ngettext

from engine.decktet import Card
from engine.game import Event, Layout, Phrase, View
from engine.record import Ply
from pbem import words
from pbem.table import Table


@dataclass(frozen=True, slots=True)
class Choice:
    """One legal move in words; ``text`` is its canonical notation, ``n`` its number."""

    n: int
    text: str
    card: Card | None
    place: str
    points: str
    effects: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Holding:
    """A card of the reader's hand with the choices that play it."""

    card: Card
    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class Standing:
    """A seat's line in the list of scores; ``hand`` shows its cards once they are open."""

    number: int
    name: str
    score: int
    cards: str
    is_reader: bool
    is_asked: bool
    hand: tuple[Card, ...] = ()


@dataclass(frozen=True, slots=True)
class Telling:
    """All that a letter or a page says about a table to one seat or to an onlooker.

    ``news`` is what happened since the reader's last move; ``board`` is the table as
    text; ``choices`` that play no card of the hand stand alone in ``others``.
    """

    table: Table
    view: View
    say: Callable[[Phrase], str]
    news: tuple[str, ...]
    board: str
    layout: Layout
    holdings: tuple[Holding, ...]
    others: tuple[Choice, ...]
    standings: tuple[Standing, ...]
    facts: tuple[tuple[str, str], ...]
    hint: str | None

    @property
    def choices(self) -> tuple[Choice, ...]:
        """Return all legal moves, in the order of their numbers."""
        found = [choice for holding in self.holdings for choice in holding.choices]
        return tuple(sorted([*found, *self.others], key=lambda choice: choice.n))


def tell(table: Table, seat: int | None, *, since: int | None = None) -> Telling:
    """Return what the seat, or an onlooker, is told.

    News start after ply ``since``; without it, after the seat's own last move.
    """
    view = table.view(seat)
    say = words.speaker(table.names)
    since = last_own(table, seat) if since is None else since
    choices = _choices(table, view, say)
    hint = table.game.hint(view)
    return Telling(
        table=table,
        view=view,
        say=say,
        news=_news(table, seat, since, say),
        board=board(table, view, say),
        layout=table.game.layout(view, fresh=_fresh(table, since)),
        holdings=_holdings(view, choices),
        others=tuple(choice for choice in choices if choice.card not in view.hand),
        standings=tuple(_standing(table, view, seat) for seat in range(1, view.seats + 1)),
        facts=tuple((say(fact.name), say(fact.value)) for fact in table.game.facts(view)),
        hint=None if hint is None else say(hint),
    )


def board(table: Table, view: View, say: Callable[[Phrase], str]) -> str:
    """Return the table as text, in lines of at most 72 columns."""
    text = render_template(f"games/{table.game.name}.txt", view=view, say=say)
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def preview_layout(telling: Telling, choice: Choice) -> Layout:
    """Return the table as it would be after the choice."""
    game = telling.table.game
    layout: Layout = game.layout(telling.view, move=game.canonical(telling.view, choice.text))
    return layout


def choice_words(choice: Choice) -> str:
    """Return a choice in one line: "9 of Leaves and Knots, left: +2, opens a column"."""
    what = choice.place
    if choice.card is not None:
        what = f"{words.card_title(choice.card)}, {choice.place}"
    return ": ".join([what, ", ".join([choice.points, *choice.effects])])


def log(table: Table, seat: int | None) -> tuple[tuple[int, tuple[str, ...]], ...]:
    """Return all that was told, ply by ply; ply 0 is the deal."""
    say = words.speaker(table.names)
    opening = tuple(_sentence(event, seat, say) for event in table.opening)
    told = [(ply.number, _ply_lines(table, ply, seat, say)) for ply in table.plies]
    return ((0, opening), *told)


def told(table: Table, ply: int, seat: int | None) -> tuple[str, ...]:
    """Return what one ply, counted from 1, told a seat or an onlooker."""
    return _ply_lines(table, table.plies[ply - 1], seat, words.speaker(table.names))


def last_own(table: Table, seat: int | None) -> int:
    """Return the ply of the seat's own last move, or 0."""
    own = [ply.number for ply in table.plies if ply.seat == seat]
    return own[-1] if own else 0


def _news(
    table: Table, seat: int | None, since: int, say: Callable[[Phrase], str]
) -> tuple[str, ...]:
    lines: list[str] = []
    if since == 0:
        lines += [_sentence(event, seat, say) for event in table.opening]
    elif table.plies[since - 1].seat == seat:
        # What followed from the reader's own move is news; the move itself is not.
        after = table.plies[since - 1].events[1:]
        lines += [_sentence(event, seat, say) for event in after]
    for ply in table.plies[since:]:
        lines += _ply_lines(table, ply, seat, say)
    return tuple(lines)


def _ply_lines(
    table: Table, ply: Ply, seat: int | None, say: Callable[[Phrase], str]
) -> tuple[str, ...]:
    lines = [_sentence(event, seat, say) for event in ply.events]
    if table.match.moves[ply.number - 1].by == "timeout":
        lines[0] += " " + gettext("(Time had run out; the house chose this move.)")
    return tuple(lines)


def _sentence(event: Event, seat: int | None, say: Callable[[Phrase], str]) -> str:
    """Return an event as a sentence, with the points that it made."""
    line = say(event.told(seat))
    line = line[:1].upper() + line[1:]
    return f"{line.removesuffix('.')}: {words.points(event.points)}." if event.points else line


def _fresh(table: Table, since: int) -> frozenset[Card]:
    return frozenset(
        card for ply in table.plies[since:] for event in ply.events for card in event.cards
    )


def _choices(table: Table, view: View, say: Callable[[Phrase], str]) -> tuple[Choice, ...]:
    return tuple(
        _choice(number, table, view, move, say)
        for number, move in enumerate(table.game.moves(view), 1)
    )


def _choice(
    number: int, table: Table, view: View, move: Any, say: Callable[[Phrase], str]
) -> Choice:
    preview = table.game.preview(view, move)
    return Choice(
        n=number,
        text=table.game.format(move),
        card=preview.card,
        place=say(preview.place),
        points=words.points(preview.points),
        effects=tuple(say(effect) for effect in preview.effects),
    )


def _holdings(view: View, choices: tuple[Choice, ...]) -> tuple[Holding, ...]:
    return tuple(
        Holding(card, tuple(choice for choice in choices if choice.card == card))
        for card in view.hand
    )


def _standing(table: Table, view: View, number: int) -> Standing:
    size = view.hand_sizes[number - 1]
    return Standing(
        number=number,
        name=table.names[number - 1],
        score=view.scores[number - 1],
        cards=ngettext("%(num)d card", "%(num)d cards", size),
        is_reader=number == view.seat,
        is_asked=number in view.to_move,
        hand=view.revealed[number - 1] if view.revealed else (),
    )
