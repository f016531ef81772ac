"""What a game's history shows: the table after a ply, hands, scores, and the whole as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from flask import render_template
from flask_babel import gettext
from markupsafe import Markup

from engine.decktet import Card
from engine.game import Layout, Scores
from engine.game import Seat as SeatNumber
from pbem import telling, words
from pbem.links import Links
from pbem.models import Status
from pbem.table import Table
from pbem.tableau import Course, chart
from pbem.telling import Telling
from pbem.waiting import Waiting
from pbem.web.drawing import drawn


@dataclass(frozen=True, slots=True)
class Hand:
    """A hand of the game: its number, and all that was told from the ply that dealt it."""

    number: int
    log: tuple[tuple[int, tuple[str, ...]], ...]

    @property
    def first(self) -> int:
        """Return the ply after which it lay on the table."""
        return self.log[0][0]


@dataclass(frozen=True, slots=True)
class OpenHand:
    """What a seat held once, and what of it lay face down: for all to see after the end."""

    name: str
    cards: tuple[Card, ...]
    face_down: tuple[Card, ...]


def replay(
    table: Table,
    whole: Table,
    seat: SeatNumber | None,
    *,
    people: Mapping[SeatNumber, str],
    waiting: Sequence[Waiting] = (),
    zone: str = "UTC",
) -> Markup:
    """Return the table as it was, with the way to every other ply, as the seat may know it.

    ``whole`` is the same match up to its last move. ``people`` are addresses of players'
    pages, by seat.
    """
    told = telling.tell(table, seat, since=table.ply - 1)
    is_over = table.match.status == Status.OVER
    hands = _hands(whole, seat)
    totals = _totals(whole)
    page = render_template(
        "web/replay.html",
        match=table.match,
        ply=table.ply,
        telling=told,
        picture=drawn(told.layout, say=told.say, title=told.board),
        is_marked=any("fresh" in placed.marks for placed in told.layout.cards),
        people=people,
        waiting=waiting,
        zone=zone,
        hands=hands,
        hand=next(hand for hand in reversed(hands) if hand.first <= table.ply),
        open_hands=_open_hands(table) if is_over else (),
        how=telling.how_it_ended(table.match),
        winners=_winners(table),
        chart=_chart(told, totals),
        totals=_changes(totals),
    )
    # The template has escaped all that people wrote.
    return Markup(page)  # noqa: S704


def text(whole: Table) -> str:
    """Return the whole game as a text of at most 72 columns, as onlookers may know it."""
    told = telling.tell(whole, None)
    return render_template(
        "web/game.txt",
        match=whole.match,
        telling=told,
        options=telling.options(whole.match),
        hands=_hands(whole, None),
        how=telling.how_it_ended(whole.match),
        winners=_winners(whole),
        record_url=Links().record(whole.match),
    )


def _hands(whole: Table, seat: SeatNumber | None) -> tuple[Hand, ...]:
    """Return the hands of the game so far; the ply that deals one is its first."""
    dealt = [ply.number for ply in whole.plies if any(event.kind == "deal" for event in ply.events)]
    log = telling.log(whole, seat)
    groups = groupby(log, key=lambda entry: 1 + sum(first <= entry[0] for first in dealt))
    return tuple(Hand(number, tuple(entries)) for number, entries in groups)


def _totals(whole: Table) -> tuple[Scores, ...]:
    """Return all seats' totals after the deal and after each ply."""
    return ((0,) * len(whole.seats), *(ply.scores for ply in whole.plies))


def _changes(totals: Sequence[Scores]) -> list[tuple[int, Scores]]:
    """Return the plies that changed a total, with all totals after them."""
    return [
        (ply, after) for ply, (before, after) in enumerate(pairwise(totals), 1) if after != before
    ]


def _chart(told: Telling, totals: Sequence[Scores]) -> Markup:
    names = told.table.names
    now = told.table.ply
    standing = [
        f"{name}{gettext(':')} {words.total(total)}"
        for name, total in zip(names, totals[now], strict=True)
    ]
    title = gettext(
        "The scores, move by move. After move %(nth)s: %(scores)s.",
        nth=now,
        scores=words.listed(standing),
    )
    courses = [
        Course(name, tuple(scores[nth] for scores in totals)) for nth, name in enumerate(names)
    ]
    # The drawing escapes the names.
    return Markup(chart(courses, now=now, title=title))  # noqa: S704


def _open_hands(table: Table) -> tuple[OpenHand, ...]:
    """Return all hands at this ply, which anybody may see once the match is over."""
    return tuple(
        OpenHand(name, tuple(table.view(seat).hand), _face_down(table, seat))
        for seat, name in enumerate(table.names, 1)
    )


def _face_down(table: Table, seat: SeatNumber) -> tuple[Card, ...]:
    """Return the cards that lay face down for all but this seat."""
    hidden = {place for place, card in _cards(table, None).items() if card is None}
    own = _cards(table, seat)
    return tuple(card for place, card in own.items() if place in hidden and card is not None)


def _cards(table: Table, seat: SeatNumber | None) -> dict[tuple[float, float], Card | None]:
    layout: Layout = table.game.layout(table.view(seat))
    return {(placed.column, placed.row): placed.card for placed in layout.cards}


def _winners(table: Table) -> list[str]:
    return [table.names[number - 1] for number in table.match.winners or ()]
