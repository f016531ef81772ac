"""The words in pictures: the one font that is shipped, and text that fits its room."""

from __future__ import annotations

from functools import lru_cache
from importlib import resources
from io import BytesIO
from typing import Final

from PIL import ImageFont

_MEASURE: Final = 100  # the size at which text is measured, in pixels


@lru_cache
def font(size: int) -> ImageFont.FreeTypeFont:
    """Return the shipped font at a size in pixels."""
    file = resources.files("pbem.tableau") / "fonts" / "labels.ttf"
    # Pillow's other layout engine is not there on every machine, and spaces differently.
    return ImageFont.truetype(
        BytesIO(file.read_bytes()), size, layout_engine=ImageFont.Layout.BASIC
    )


def width(text: str, size: float) -> float:
    """Return how wide the text is at this size."""
    return _length(text) * size / _MEASURE


def one_line(text: str) -> str:
    """Return the text without line breaks and without what can't be printed."""
    return "".join(sign for sign in " ".join(text.split()) if sign.isprintable())


def fitted(text: str, size: float, room: float) -> str:
    """Return the text, cut short with an ellipsis where the room is too narrow."""
    if width(text, size) <= room:
        return text
    while text and width(text + "…", size) > room:
        text = text[:-1].rstrip()
    return text + "…"


# Each letter of a match measures the same few names and counts anew.
@lru_cache(maxsize=1024)
def _length(text: str) -> float:
    return font(_MEASURE).getlength(text)
