"""The few colours of mail pictures: what the art uses and the steps where two of them meet."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from PIL import Image, ImageColor

from pbem.tableau import art
from pbem.tableau.suits import COLOURS, CREAM

PAPER: Final = "#fefefd"  # the ground of a single card, as white as the mail around it
WORD_STEPS: Final = 4
MOST: Final = 64

# Two colours that meet, and in how many steps an edge goes from the first to the second.
_EDGES: Final = (
    *((CREAM, ink, 4) for ink in COLOURS.values()),
    (art.GROUND, art.SOFT_INK, WORD_STEPS),
    (CREAM, art.INK, 4),
    (CREAM, art.SOFT_INK, 3),
    (art.GROUND, art.DASH, 3),
    (CREAM, art.EDGE, 2),
    (art.GROUND, art.EDGE, 2),
    (art.GROUND, CREAM, 2),
    (CREAM, art.DARK, 3),
    (art.DARK, art.LATTICE, 2),
    (CREAM, art.GOLD, 2),
    (art.GROUND, art.GOLD, 2),
    (CREAM, art.BLUE, 2),
    (art.GROUND, art.BLUE, 2),
    (CREAM, art.GREEN, 3),
    (CREAM, art.PLUM, 3),
    (CREAM, PAPER, 1),
)

Rgb = tuple[int, int, int]


@lru_cache
def colours() -> tuple[Rgb, ...]:
    """Return the palette, without repeats."""
    steps = [between(a, b, n / count) for a, b, count in _EDGES for n in range(count + 1)]
    return tuple(dict.fromkeys(steps))


def between(first: str, second: str, part: float) -> Rgb:
    """Return the colour that has gone this part of the way from the first to the second."""
    a, b = ImageColor.getrgb(first), ImageColor.getrgb(second)
    red, green, blue = (round(x + (y - x) * part) for x, y in zip(a[:3], b[:3], strict=True))
    return red, green, blue


def index(colour: str) -> int:
    """Return a colour's place in the palette."""
    return colours().index(between(colour, colour, 0))


@lru_cache
def word_table() -> tuple[int, ...]:
    """Return, for each strength of a letter's ink on the ground, the place in the palette."""
    places = [
        colours().index(between(art.GROUND, art.SOFT_INK, n / WORD_STEPS))
        for n in range(WORD_STEPS + 1)
    ]
    return tuple(places[round(ink / 255 * WORD_STEPS)] for ink in range(256))


def reduced(image: Image.Image) -> Image.Image:
    """Return an RGB image in the palette's colours, each pixel in the nearest one."""
    return image.quantize(palette=_palette_image(), dither=Image.Dither.NONE)


def flat() -> list[int]:
    """Return the palette as Pillow takes it."""
    return [part for colour in colours() for part in colour]


@lru_cache
def _palette_image() -> Image.Image:
    holder = Image.new("P", (1, 1))
    # Unused places repeat the first colour: else Pillow fills them with greys of its own.
    holder.putpalette(flat() + list(colours()[0]) * (256 - len(colours())))
    return holder
