"""The words on the cards as outlines, so that they look the same without any font."""

from __future__ import annotations

import json
from functools import lru_cache
from importlib import resources
from typing import Final

UNITS: Final = 200  # the outlines' grid: units an em (see fonts/make.py)

Glyphs = dict[str, tuple[int, str]]


def rank_art(letter: str, x: float, baseline: float, size: float, ink: str) -> str:
    """Return a rank's bold letter that starts at x."""
    width, path = _letters("ranks")[letter]
    bearing = x - 0.06 * width * size / UNITS
    return _path(path, bearing, baseline, size / UNITS, ink)


def name_art(text: str, x: float, baseline: float, size: float, room: float, ink: str) -> str:
    """Return a name with its middle at x, smaller where the room is too narrow for it."""
    glyphs = [_letters("names")[letter] for letter in text]
    width = sum(advance for advance, _ in glyphs)
    scale = min(size / UNITS, room / width)
    path, pen = [], 0
    for advance, outline in glyphs:
        path.append(f"M{pen} 0{outline}" if outline else "")
        pen += advance
    return _path("".join(path), x - width * scale / 2, baseline, scale, ink)


def _path(data: str, x: float, y: float, scale: float, ink: str) -> str:
    place = f"translate({x:.4g} {y:g}) scale({scale:.4g})"
    return f'<path transform="{place}" d="{data}" fill="{ink}"/>'


@lru_cache
def _letters(face: str) -> Glyphs:
    file = resources.files("pbem.tableau") / "fonts" / "glyphs.json"
    faces: dict[str, dict[str, list[object]]] = json.loads(file.read_text(encoding="utf-8"))
    return {letter: (int(str(width)), str(path)) for letter, (width, path) in faces[face].items()}
