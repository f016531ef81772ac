"""Layouts and cards as PNG for mail, pasted of sprites that are drawn once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from typing import TYPE_CHECKING, Final

import resvg_py
from PIL import Image, ImageDraw

from pbem.tableau.art import GROUND, WIDTH, card_id
from pbem.tableau.drawing import HAND_HEIGHT, HAND_WIDTH, sprite_svg
from pbem.tableau.lettering import font
from pbem.tableau.palette import PAPER, flat, index, reduced, word_table
from pbem.tableau.plan import Plan, Say, plan

if TYPE_CHECKING:
    from engine.decktet import Card
    from engine.game import Layout

DENSITY: Final = 2  # pixels of the image in a CSS pixel
# A picture that would be too heavy for a mail is drawn again with fewer pixels: so many
# cards are shown smaller on a phone anyway, and none is left out.
LIGHTER: Final = (1.5, 1.0)
HEAVIEST: Final = 58_000  # in bytes
BLEED: Final = 15  # units around a card that its marks may reach
COVERS: Final = 24  # of 255: what is fainter lets the ground through
COMPRESSION: Final = 4  # a third faster than 6, for a tenth more bytes


@dataclass(frozen=True, slots=True)
class Picture:
    """A PNG and its size in CSS pixels; the image itself has twice as many."""

    data: bytes
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class _Sprite:
    """Pieces as they are pasted: colours of the palette, and where they cover the ground."""

    image: Image.Image
    mask: Image.Image


def png(layout: Layout, *, say: Say) -> Picture:
    """Return the layout as a picture for mail; the same layout gives the same bytes."""
    drawn = plan(layout, say)
    data = _encoded(_pasted(drawn, DENSITY))
    for pixels in LIGHTER:
        if len(data) <= HEAVIEST:
            break
        data = _encoded(_pasted(drawn, pixels))
    return Picture(data, drawn.width, drawn.height)


@lru_cache
def card_png(card: Card) -> Picture:
    """Return one card of a hand as a small picture for mail."""
    drawn = _rendered(card_id(card), HAND_WIDTH * DENSITY, bleed=0)
    return Picture(_encoded(_flattened(drawn, PAPER)), HAND_WIDTH, HAND_HEIGHT)


def _pasted(drawn: Plan, pixels: float) -> Image.Image:
    """Return the picture of a plan with so many pixels in a CSS pixel."""
    density = drawn.scale * pixels
    size = (round(drawn.width * pixels), round(drawn.height * pixels))
    image = Image.new("P", size, index(GROUND))
    for spot in drawn.spots:
        sprite = _sprite(spot.pieces, density, spot.turned)
        _paste(image, sprite, spot.x * density, spot.y * density)
    for words in drawn.words:
        sprite = _written(words.text, words.size * density)
        _paste(image, sprite, words.x * density, words.y * density)
    return image


def _paste(image: Image.Image, sprite: _Sprite, x: float, y: float) -> None:
    wide, high = sprite.image.size
    corner = (round(x - wide / 2), round(y - high / 2))
    image.paste(sprite.image, corner, sprite.mask)


# The cards of some tables at both sizes, each with the marks that it has there.
@lru_cache(maxsize=512)
def _sprite(pieces: tuple[str, ...], density: float, turned: bool) -> _Sprite:  # noqa: FBT001
    drawn = _piece(pieces[0], density)
    for mark in pieces[1:]:
        drawn = Image.alpha_composite(drawn, _piece(mark, density))
    if turned:
        # Pillow turns the other way round than SVG.
        drawn = drawn.transpose(Image.Transpose.ROTATE_270)
    mask = drawn.getchannel("A").point(lambda ink: 255 if ink > COVERS else 0).convert("1")
    return _Sprite(_flattened(drawn, GROUND), mask)


# Drawing is what costs: every piece of art is kept, at all sizes about 25 MB.
@lru_cache(maxsize=256)
def _piece(piece: str, density: float) -> Image.Image:
    return _rendered(piece, round((WIDTH + 2 * BLEED) * density), bleed=BLEED)


def _rendered(piece: str, width: int, *, bleed: int) -> Image.Image:
    data = resvg_py.svg_to_bytes(
        svg_string=sprite_svg(piece, bleed), width=width, skip_system_fonts=True
    )
    return Image.open(BytesIO(data)).convert("RGBA")


def _flattened(drawn: Image.Image, ground: str) -> Image.Image:
    paper = Image.new("RGBA", drawn.size, ground)
    return reduced(Image.alpha_composite(paper, drawn).convert("RGB"))


# Names and counts come again in the next letter about the same table.
@lru_cache(maxsize=512)
def _written(text: str, size: float) -> _Sprite:
    letters = font(round(size))
    wide, high = round(letters.getlength(text)) + 2, round(size * 1.5)
    ink = Image.new("L", (wide, high), 0)
    ImageDraw.Draw(ink).text((wide / 2, high / 2), text, 255, letters, anchor="mm")
    inked = Image.frombytes("P", ink.size, ink.point(word_table()).tobytes())
    return _Sprite(inked, ink.point(lambda strength: 255 if strength else 0).convert("1"))


def _encoded(image: Image.Image) -> bytes:
    image.putpalette(flat())
    out = BytesIO()
    image.save(out, "PNG", compress_level=COMPRESSION)
    return out.getvalue()
