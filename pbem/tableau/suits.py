"""The six suit symbols as SVG, each on a square of 24 units, told apart by shape."""

from __future__ import annotations

from typing import Final

from engine.decktet import Suit

SIDE: Final = 24
COLOURS: Final = {
    Suit.MOONS: "#3b3f9e",
    Suit.SUNS: "#c98a00",
    Suit.WAVES: "#0b7fab",
    Suit.LEAVES: "#2f8f3a",
    Suit.WYRMS: "#c0392b",
    Suit.KNOTS: "#7a4a1e",
}
CREAM: Final = "#fffdf6"

_RAYS: Final = (
    "M12 1.8V4.2M12 19.8v2.4M1.8 12h2.4M19.8 12h2.4"
    "M4.79 4.79l1.7 1.7M17.51 17.51l1.7 1.7M4.79 19.21l1.7-1.7M17.51 6.49l1.7-1.7"
)
_WAVE: Final = "q2.5-3.4 5 0t5 0 5 0 5 0"
_SHAPES: Final = {
    Suit.MOONS: '<path d="M15.5 2.6A9.6 9.6 0 1 0 21.4 17 8.3 8.3 0 0 1 15.5 2.6z" fill="{ink}"/>',
    Suit.SUNS: (
        '<circle cx="12" cy="12" r="4.9" fill="{ink}"/>'
        f'<path d="{_RAYS}" stroke="{{ink}}" stroke-width="2.3" stroke-linecap="round"/>'
    ),
    Suit.WAVES: (
        f'<path d="M2 7.2{_WAVE}M2 12.8{_WAVE}M2 18.4{_WAVE}" fill="none" stroke="{{ink}}"'
        ' stroke-width="2.4" stroke-linecap="round"/>'
    ),
    Suit.LEAVES: (
        '<path d="M21.2 2.8C9.4 2.6 3.6 7.6 4 15.2c.1 1.6.6 2.9 1.3 3.9 1 .8 2.4 1.2 4 1.2'
        'C17 20.4 21.5 14.6 21.2 2.8z" fill="{ink}"/>'
        f'<path d="M2.4 22C6 16.5 10.5 11.5 16 8" fill="none" stroke="{CREAM}"'
        ' stroke-width="1.5" stroke-linecap="round"/>'
        '<path d="M2.4 22l3-4" stroke="{ink}" stroke-width="2" stroke-linecap="round"/>'
    ),
    Suit.WYRMS: (
        '<path d="M17.5 4.5C12 1.8 6.5 4 6.8 7.8 7.2 12 17 11 17.3 15.4 17.6 19.6 10.5 21.5'
        ' 4.5 18.2" fill="none" stroke="{ink}" stroke-width="3.2" stroke-linecap="round"/>'
        '<path d="M15.8 1.6l6.2 3.1-5.4 3.6c1-1.7 1-4.5-.8-6.7z'
        'M5.8 15.3L1.6 17.4l3.3 4z" fill="{ink}"/>'
    ),
    Suit.KNOTS: (
        '<g fill="none" stroke="{ink}" stroke-width="2.5"><circle cx="12" cy="8" r="5"/>'
        '<circle cx="8.4" cy="14.6" r="5"/><circle cx="15.6" cy="14.6" r="5"/></g>'
    ),
}


def suit_art(suit: Suit, x: float, y: float, side: float) -> str:
    """Return the symbol with its middle at x, y and its side as long as asked."""
    shape = _SHAPES[suit].format(ink=COLOURS[suit])
    return placed(shape, x, y, side)


def placed(shape: str, x: float, y: float, side: float) -> str:
    """Return a shape drawn on 24 units, moved to its middle and scaled to its side."""
    left, top = x - side / 2, y - side / 2
    return f'<g transform="translate({left:g} {top:g}) scale({side / SIDE:.4g})">{shape}</g>'
