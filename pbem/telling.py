"""What a table tells one reader, in words: letters and pages are made from the same telling.

Everything here comes from a view and from events as its seat was told them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from flask import render_template
from flask_babel import gettext, ngettext

from engine import GAMES
from engine.decktet import Card
from engine.game import N_, Event, Layout, Phrase, View
from engine.record import Ply
from pbem import words
from pbem.models import Match
from pbem.table import Table, load

# Moves that were played for their player, who reads of them like of any other's.
UNASKED: Final = ("forced", "order")
_COLON: Final = Phrase(N_(":"))


# How orders are written, for letters and pages. In a mail no line of it may be an order, so
# nothing breaks within one, and a sign is glued on at its end.
ORDERS_HELP: Final = N_(
    "An order is a move (“then\u00a08WL\u00a0up”), a move with a condition"
    " (“then\u00a08WL\u00a0up\u00a0if\u00a0it\u00a0scores\u00a02\u00a0or\u00a0more”), or a rule"
    " (“then\u00a0lowest”, “then\u00a0highest\u00a0of\u00a0suns”,"
    " “then\u00a0lowest\u00a0of\u00a0the\u00a0named\u00a0suit”,"
    " “if\u00a0suns\u00a0led:\u00a0lowest”, “then\u00a0whatever\u00a0is\u00a0forced”)."
    " Each counts once, and only in this hand."
)


@dataclass(frozen=True, slots=True)
class Choice:
    """One legal move in words; ``text`` is its canonical notation, ``n`` its number.

    ``card`` is the card it plays and ``line`` says the rest: "left: +2, opens a column".
    """

    n: int
    text: str
    card: Card | None
    line: str


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

    def choice(self, text: str) -> Choice:
        """Return the legal move of this canonical text."""
        return next(choice for choice in self.choices if choice.text == text)

    @property
    def is_for_hand(self) -> bool:
        """Return whether a card of the hand is asked for; else it only lies beside."""
        return any(holding.choices for holding in self.holdings)


def tell(table: Table, seat: int | None, *, since: int | None = None) -> Telling:
    """Return what the seat, or an onlooker, is told.

    News are what happened after the seat's own last move; with ``since`` they are the
    moves after that ply, where -1 takes in the deal.
    """
    view = table.view(seat)
    say = words.speaker(table.names)
    start = last_own(table, seat) if since is None else since
    choices = _choices(table, view, say)
    hint = table.game.hint(view)
    return Telling(
        table=table,
        view=view,
        say=say,
        news=_news(table, seat, say) if since is None else _since(table, since, seat, say),
        board=board(table, view, say),
        layout=table.game.layout(view, fresh=_fresh(table, start)),
        holdings=_holdings(view, choices),
        others=tuple(choice for choice in choices if choice.card not in view.hand),
        standings=tuple(_standing(table, view, seat) for seat in range(1, view.seats + 1)),
        facts=tuple((say(fact.name), say(fact.value)) for fact in table.game.facts(view)),
        hint=None if hint is None else say(hint),
    )


def with_hints(telling: Telling) -> Telling:
    """Return the same with the moves marked that score most now, and why they do."""
    hinted = {choice.n: choice for choice in _hinted(telling)}
    if not hinted:
        return telling
    return replace(
        telling,
        others=tuple(hinted.get(one.n, one) for one in telling.others),
        holdings=tuple(
            replace(
                holding,
                choices=tuple(hinted.get(one.n, one) for one in holding.choices),
            )
            for holding in telling.holdings
        ),
    )


def _hinted(telling: Telling) -> list[Choice]:
    """Return the choices that score most, marked; none where all score the same, or nothing."""
    game, view = telling.table.game, telling.view
    moves = dict(enumerate(game.moves(view), 1))
    points = {n: game.preview(view, move).points or 0 for n, move in moves.items()}
    most = max(points.values(), default=0)
    if most <= 0 or min(points.values()) == most:
        return []
    found = []
    for choice in telling.choices:
        if points[choice.n] == most:
            why = [telling.say(one) for one in game.reasons(view, moves[choice.n])]
            mark = gettext("★ scores most now")
            told = f"{gettext(':')} ".join([mark, "; ".join(why)] if why else [mark])
            found.append(replace(choice, line=f"{choice.line}. {told}"))
    return found


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
    """Return a choice with its card: "9 of Leaves and Knots, left: +2, opens a column"."""
    if choice.card is None:
        return choice.line
    return f"{words.card_title(choice.card)}, {choice.line}"


def sentence(event: Event, seat: int | None, say: Callable[[Phrase], str]) -> str:
    """Return an event as a sentence, with the points that it made."""
    line = say(event.told(seat))
    line = line[:1].upper() + line[1:]
    if not event.points:
        return line
    return f"{line.removesuffix('.')}{say(_COLON)} {words.points(event.points)}."


def log(table: Table, seat: int | None) -> tuple[tuple[int, tuple[str, ...]], ...]:
    """Return all that was told, ply by ply; ply 0 is the deal."""
    say = words.speaker(table.names)
    opening = tuple(sentence(event, seat, say) for event in table.opening)
    told = [(ply.number, _ply_lines(table, ply, seat, say)) for ply in table.plies]
    return ((0, opening), *told)


def told(table: Table, ply: int, seat: int | None) -> tuple[str, ...]:
    """Return what one ply, counted from 1, told a seat or an onlooker."""
    return _ply_lines(table, table.plies[ply - 1], seat, words.speaker(table.names))


def options(match: Match) -> list[str]:
    """Return the options of a table that are not at their defaults, as label and value."""
    return [
        f"{gettext(option.label)} ({match.options[option.name]})"
        if not isinstance(option.default, bool)
        else gettext(option.label)
        for option in GAMES[match.game].options
        if match.options[option.name] != option.default
    ]


def how_it_ended(match: Match) -> str:
    """Return why a game ended before its rules would have ended it; else nothing."""
    if match.ended == "resigned":
        who = next(seat.name for seat in match.seats if seat.resigned)
        return gettext("%(name)s has resigned.", name=who)
    if match.ended == "stopped":
        return gettext("The game was ended as it stands.")
    return ""


def last_own(table: Table, seat: int | None) -> int:
    """Return the ply of the last move that the seat's player made themselves, or 0."""
    moves = zip(table.plies, table.match.moves, strict=False)
    own = [ply.number for ply, move in moves if ply.seat == seat and move.by not in UNASKED]
    return own[-1] if own else 0


def _news(table: Table, seat: int | None, say: Callable[[Phrase], str]) -> tuple[str, ...]:
    own = last_own(table, seat)
    if own == 0:
        return _since(table, -1, seat, say)
    # What followed from the reader's own move is news; the move itself is not.
    followed = [sentence(event, seat, say) for event in table.plies[own - 1].events[1:]]
    return (*followed, *_since(table, own, seat, say))


def _since(
    table: Table, since: int, seat: int | None, say: Callable[[Phrase], str]
) -> tuple[str, ...]:
    opening = table.opening if since < 0 else ()
    lines = [sentence(event, seat, say) for event in opening]
    for ply in table.plies[max(since, 0) :]:
        lines += _ply_lines(table, ply, seat, say)
    return tuple(lines)


def _ply_lines(
    table: Table, ply: Ply, seat: int | None, say: Callable[[Phrase], str]
) -> tuple[str, ...]:
    lines = [sentence(event, seat, say) for event in ply.events]
    match table.match.moves[ply.number - 1].by:
        case "timeout":
            lines[0] += " " + gettext("(Time had run out; the house chose this move.)")
        case "forced" if ply.seat == seat:
            # Nobody else may know: it tells what the hand holds.
            lines[0] += " " + gettext("(You had no choice, so it was played for you.)")
        case "order" if ply.seat == seat:
            lines[0] += " " + _by_order(table, ply, say)
    return tuple(lines)


def _by_order(table: Table, ply: Ply, say: Callable[[Phrase], str]) -> str:
    """Return that a move was made by its player's order, and what they could have played."""
    before = load(table.match, ply=ply.number - 1)
    choices = _choices(before, before.view(ply.seat), say)
    others = [choice_words(choice) for choice in choices if choice.text != ply.move]
    if not others:
        return gettext("(Played by your order. You had no other choice.)")
    return gettext(
        "(Played by your order. Your other choices were: %(moves)s.)", moves="; ".join(others)
    )


def _fresh(table: Table, since: int) -> frozenset[Card]:
    return frozenset(
        card for ply in table.plies[max(since, 0) :] for event in ply.events for card in event.cards
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
    gains = [] if preview.points is None else [words.points(preview.points)]
    gains += [say(effect) for effect in preview.effects]
    line = f"{gettext(':')} ".join(part for part in (say(preview.place), ", ".join(gains)) if part)
    return Choice(number, table.game.format(move), preview.card, line)


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
