"""The scores of a match, move by move, as a small SVG that stands in a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final
from xml.sax.saxutils import escape

from engine.decktet import Suit
from pbem.tableau.art import BLUE, DASH, EDGE, GROUND, INK, PLUM, SOFT_INK
from pbem.tableau.lettering import fitted, one_line
from pbem.tableau.suits import COLOURS, CREAM

WIDTH: Final = 440  # in CSS pixels, as are all lengths here
HEIGHT: Final = 210
LEFT: Final = 40  # room for the numbers of the scale
RIGHT: Final = 128  # and for the names at the ends of the lines
TOP: Final = 16
BOTTOM: Final = 26
WORDS: Final = 14
LINE: Final = 17  # from one name to the next
STEPS: Final = (1, 2, 5)

# A seat is told by its name at the end, its dashes and its sign; its colour only helps.
_STYLES: Final = (
    (BLUE, "", "circle"),
    (COLOURS[Suit.WYRMS], "7 4", "square"),
    (COLOURS[Suit.LEAVES], "2 3", "triangle"),
    (PLUM, "11 4 2 4", "diamond"),
)
_SIGNS: Final = {
    "circle": '<circle r="4.2"/>',
    "square": '<path d="M-4-4H4V4H-4z"/>',
    "triangle": '<path d="M0-5L5 4H-5z"/>',
    "diamond": '<path d="M0-5.5L5.5 0 0 5.5-5.5 0z"/>',
}


@dataclass(frozen=True, slots=True)
class Course:
    """A seat's name and its totals, from before the first move to after the last."""

    name: str
    totals: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Scale:
    """How moves and points become places in the drawing."""

    moves: int
    least: int
    most: int

    def x(self, move: int) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * move / max(self.moves, 1)

    def y(self, points: float) -> float:
        span = max(self.most - self.least, 1)
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (points - self.least) / span


def chart(courses: Sequence[Course], *, now: int, title: str) -> str:
    """Return the courses as a complete <svg> element; a line stands at the move ``now``."""
    every = [total for course in courses for total in course.totals]
    scale = _Scale(len(courses[0].totals) - 1, min(0, *every), max(1, *every))
    ends = _ends(courses, scale)
    body = "".join(
        (
            f'<rect width="100%" height="100%" rx="14" fill="{GROUND}"/>',
            *_grid(scale),
            f'<path d="M{scale.x(now):.5g} {TOP}V{HEIGHT - BOTTOM}" stroke="{INK}"/>',
            *(_line(nth, course, scale) for nth, course in enumerate(courses)),
            *(_sign(nth, course, scale, now) for nth, course in enumerate(courses)),
            *(_end(nth, course, scale, y) for nth, (course, y) in enumerate(ends)),
        )
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{WIDTH}" height="{HEIGHT}"'
        f' viewBox="0 0 {WIDTH} {HEIGHT}"><title>{escape(one_line(title))}</title>'
        f'<g font-family="DejaVu Sans, sans-serif" font-size="{WORDS}">{body}</g></svg>'
    )


def _grid(scale: _Scale) -> list[str]:
    """Return the lines of the scale with their numbers; that of zero is the darker one."""
    step = _step(scale.most - scale.least)
    first = -(-scale.least // step) * step
    drawn = []
    for points in range(first, scale.most + 1, step):
        y, ink = scale.y(points), DASH if points == 0 else EDGE
        number = f"{points}".replace("-", "−")
        drawn.append(
            f'<path d="M{LEFT} {y:.5g}H{WIDTH - RIGHT}" stroke="{ink}"/>'
            f'<text x="{LEFT - 7}" y="{y + WORDS * 0.36:.5g}" text-anchor="end"'
            f' fill="{SOFT_INK}">{number}</text>'
        )
    drawn += [_move_number(0, scale, "start")]
    drawn += [_move_number(scale.moves, scale, "end")] if scale.moves else []
    return drawn


def _step(span: int) -> int:
    """Return the round number that makes five lines or fewer of a span."""
    power = 1
    while True:
        for step in STEPS:
            if span <= 5 * step * power:
                return step * power
        power *= 10


def _move_number(move: int, scale: _Scale, anchor: str) -> str:
    return (
        f'<text x="{scale.x(move):.5g}" y="{HEIGHT - 8}" text-anchor="{anchor}"'
        f' fill="{SOFT_INK}">{move}</text>'
    )


def _line(nth: int, course: Course, scale: _Scale) -> str:
    """Return the totals as stairs: between two moves a score stands still."""
    ink, dashes, _sign = _STYLES[nth % len(_STYLES)]
    path = f"M{scale.x(0):.5g} {scale.y(course.totals[0]):.5g}"
    for move, (before, total) in enumerate(pairwise(course.totals), 1):
        if total != before:
            path += f"H{scale.x(move):.5g}V{scale.y(total):.5g}"
    path += f"H{scale.x(scale.moves):.5g}"
    return (
        f'<path d="{path}" fill="none" stroke="{ink}" stroke-width="2.4"'
        f' stroke-dasharray="{dashes or "none"}"/>'
    )


def _sign(nth: int, course: Course, scale: _Scale, now: int) -> str:
    return _placed_sign(nth, scale.x(now), scale.y(course.totals[now]))


def _placed_sign(nth: int, x: float, y: float) -> str:
    ink, _dashes, sign = _STYLES[nth % len(_STYLES)]
    return (
        f'<g transform="translate({x:.5g} {y:.5g})" fill="{ink}" stroke="{CREAM}"'
        f' stroke-width="1.2">{_SIGNS[sign]}</g>'
    )


def _ends(courses: Sequence[Course], scale: _Scale) -> list[tuple[Course, float]]:
    """Return where each name stands: beside its line's end, and no two on one another."""
    order = sorted(range(len(courses)), key=lambda nth: -courses[nth].totals[-1])
    places: dict[int, float] = {}
    lowest = TOP - LINE / 2
    for nth in order:
        lowest = max(scale.y(courses[nth].totals[-1]), lowest + LINE)
        places[nth] = lowest
    too_low = max(0.0, lowest - (HEIGHT - BOTTOM))
    return [(course, places[nth] - too_low) for nth, course in enumerate(courses)]


def _end(nth: int, course: Course, scale: _Scale, y: float) -> str:
    ink = _STYLES[nth % len(_STYLES)][0]
    x = scale.x(scale.moves)
    thread = f'<path d="M{x + 2:.5g} {scale.y(course.totals[-1]):.5g}L{x + 10:.5g} {y:.5g}"'
    name = fitted(one_line(course.name), WORDS, RIGHT - 34)
    return (
        f'{thread} stroke="{ink}"/>{_placed_sign(nth, x + 16, y)}'
        f'<text x="{x + 26:.5g}" y="{y + WORDS * 0.36:.5g}" fill="{INK}">{escape(name)}</text>'
    )
