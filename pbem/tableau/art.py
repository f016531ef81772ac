"""Everything that a table is drawn of, as SVG around the middle of a card's place.

Each piece has an id, the same in a page's <defs> and for the sprites of a mail:
``card-5SW``, ``back``, ``mark-open``, ``slot-left``, ``cut-right``.
"""

from __future__ import annotations

from typing import Final

from engine.decktet import DECK, Card, Rank
from pbem.tableau.letters import name_art, rank_art
from pbem.tableau.suits import CREAM, placed, suit_art

WIDTH: Final = 70  # of a card, in the units of the drawing
HEIGHT: Final = 100
ROUND: Final = 7

GROUND: Final = "#e6e3d3"
INK: Final = "#22232b"
SOFT_INK: Final = "#55544c"
EDGE: Final = "#c9c4ae"
DASH: Final = "#8f8c7b"
DARK: Final = "#2b2e44"
LATTICE: Final = "#5a5e7e"
GOLD: Final = "#e0a100"
BLUE: Final = "#1f4fa3"
GREEN: Final = "#2c6e3f"
PLUM: Final = "#7d3c6b"

MARKS: Final = ("open", "won", "start", "fresh", "chosen")

_CROWN: Final = "M2.5 17.5V6.5l5 4.7L12 3.5l4.5 7.7 5-4.7v11zM2.5 19h19v2.5h-19z"
_PAWN: Final = (
    "M12 2a4.2 4.2 0 0 1 2.7 7.4H16.5v2.1h-2.2c.2 3.5 1.4 5.5 3.7 7.5V22H6v-3"
    "c2.3-2 3.5-4 3.7-7.5H7.5V9.4h1.8A4.2 4.2 0 0 1 12 2z"
)
_GATE: Final = (
    "M2.5 21.5V8.5h1.7V4.5h3.3v2.3h2.8V4.5h3.4v2.3h2.8V4.5h3.3v4h1.7v13h-6.3V17"
    "a3.2 3.2 0 0 0-6.4 0v4.5z"
)
_CAP: Final = (
    f'<path d="M5.5 17C6 12.5 4.8 9.6 1.8 10.2 3 5.2 8.3 5.2 9.6 9.2 9.8 6.5 10.5 4.6'
    f' 12 3c1.5 1.6 2.2 3.5 2.4 6.2 1.3-4 6.6-4 7.8 1-3-.6-4.2 2.3-3.7 6.8z" fill="{PLUM}"/>'
    f'<path d="M5.2 18h13.6v3H5.2z" fill="{PLUM}"/>'
    f'<g fill="{GOLD}"><circle cx="2.2" cy="11.5" r="1.8"/><circle cx="12" cy="2.7" r="1.8"/>'
    '<circle cx="21.8" cy="11.5" r="1.8"/></g>'
)
_ARROWS: Final = {"right": 0, "down": 90, "left": 180, "up": 270}
# Where the large symbols stand on a card of one, two or three suits, and their side.
_LARGE: Final = {
    0: ((), 0),
    1: (((0, 5),), 36),
    2: (((-14, -1), (13, 16)), 28),
    3: (((3, -6), (-15, 19), (15, 19)), 24),
}


def art(name: str) -> str:
    """Return the piece of this id; raises KeyError for an id that there is none of."""
    kind, _, rest = name.partition("-")
    if kind == "card":
        return _card(_BY_CODE[rest])
    if kind == "mark":
        return _MARK_ART[rest]
    if kind == "slot":
        return _slot(rest)
    if kind == "cut":
        return _chevron(rest)
    return {"back": _back}[name]()


def card_id(card: Card | None) -> str:
    """Return the id of a card's piece; of a card face down for None."""
    return "back" if card is None else f"card-{card.code}"


def _frame(fill: str, stroke: str, width: float, inset: float = 0, more: str = "") -> str:
    left, top = inset - WIDTH / 2, inset - HEIGHT / 2
    return (
        f'<rect x="{left:g}" y="{top:g}" width="{WIDTH - 2 * inset:g}"'
        f' height="{HEIGHT - 2 * inset:g}" rx="{ROUND - inset / 2:g}" fill="{fill}"'
        f' stroke="{stroke}" stroke-width="{width:g}"{more}/>'
    )


def _card(card: Card) -> str:
    spots, side = _LARGE[len(card.suits)]
    parts = [_frame(CREAM, EDGE, 1.2, 0.6), _rank(card.rank)]
    parts += [suit_art(suit, 24.5, 14 * n - 37, 12.5) for n, suit in enumerate(card.suits)]
    large = zip(card.suits, spots, strict=True)
    parts += [suit_art(suit, x, y, side) for suit, (x, y) in large]
    parts.append(name_art(_short_name(card), 0, 43, 8.6, 61, SOFT_INK))
    return "".join(parts)


def _short_name(card: Card) -> str:
    return "Ace" if card.rank is Rank.ACE else card.name.removeprefix("The ")


def _rank(rank: Rank) -> str:
    match rank:
        case Rank.CROWN:
            return placed(_shape(_CROWN), -17, -32, 26)
        case Rank.EXCUSE:
            return placed(_CAP, -18, -33, 22) + placed(_CAP, 0, 4, 46)
        case Rank.PAWN:
            return _letter(rank) + placed(_shape(_PAWN), -20, -9, 19)
        case Rank.COURT:
            return _letter(rank) + placed(_shape(_GATE), -20, -9, 19)
        case _:
            return _letter(rank)


def _letter(rank: Rank) -> str:
    return rank_art(rank.value, -28, -22, 28, INK)


def _shape(path: str) -> str:
    return f'<path d="{path}" fill="{INK}"/>'


def _slot(arrow: str) -> str:
    dashes = ' stroke-dasharray="5 3.5" stroke-linecap="butt"'
    frame = _frame("none", DASH, 1.8, 1, dashes)
    if not arrow:
        return frame
    shaft = f'fill="none" stroke="{DASH}" stroke-width="3.2" stroke-linecap="round"'
    way = f'<path d="M-9 0H8M1.5-6.5L8.5 0 1.5 6.5" {shaft} stroke-linejoin="round"/>'
    return f'{frame}<g transform="rotate({_ARROWS[arrow]})">{way}</g>'


def _chevron(side: str) -> str:
    line = f'fill="none" stroke="{SOFT_INK}" stroke-width="3" stroke-linecap="round"'
    turn = _ARROWS[side]
    # It stands in the margin beside the card where the line was cut.
    path = f'<path d="M{WIDTH / 2 + 6:g}-8l5 8-5 8" {line} stroke-linejoin="round"/>'
    return path if turn == 0 else f'<g transform="rotate({turn})">{path}</g>'


_MARK_ART: Final = {
    "open": _frame("none", GOLD, 3.6, 0.8),
    "chosen": _frame("none", BLUE, 4.2, -1, ' stroke-dasharray="11 5"'),
    "fresh": (
        f'<path d="M-5-54H6V-31L.5-36-5-31z" fill="{INK}" stroke="{CREAM}" stroke-width="1.5"/>'
    ),
    "start": (
        f'<path d="M-13 55l4-8H9l4 8z" fill="{INK}" stroke="{CREAM}" stroke-width="1.5"'
        ' stroke-linejoin="round"/>'
    ),
    "won": (
        f'<circle cx="30" cy="45" r="9" fill="{GREEN}" stroke="{CREAM}" stroke-width="1.5"/>'
        f'<path d="M25.5 45.5l3.2 3.2 5.8-6.4" fill="none" stroke="{CREAM}"'
        ' stroke-width="2.4" stroke-linecap="round" stroke-linejoin="round"/>'
    ),
}


def _back() -> str:
    lines = []
    for offset in range(-60, 61, 15):
        # Each line is cut where it would leave the inner frame.
        left, right = max(-27, -42 - offset), min(27, 42 - offset)
        lines.append(f"M{left} {left + offset}L{right} {right + offset}")
        lines.append(f"M{-left} {left + offset}L{-right} {right + offset}")
    lattice = f'<path d="{"".join(lines)}" stroke="{LATTICE}" stroke-width="1.6"/>'
    inner = f'<rect x="-27" y="-42" width="54" height="84" fill="none" stroke="{LATTICE}"'
    return f'{_frame(DARK, CREAM, 1.4, 0.7)}{lattice}{inner} stroke-width="2"/>'


_BY_CODE: Final = {card.code: card for card in DECK}
