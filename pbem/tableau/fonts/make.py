"""Make this folder's files anew from the DejaVu fonts; only for who changes them.

Needs fontTools, which nothing else here does: the results are committed. Run it as
``python make.py FOLDER``, with the folder that holds the DejaVu fonts.
"""

from __future__ import annotations

import itertools
import json
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).parent
UNITS: Final = 200  # glyph outlines are kept on a grid of this many units an em

# Names and small words: Latin with its accents, Greek, Cyrillic, punctuation, arrows.
LABELS: Final = (
    (0x20, 0x7E), (0xA0, 0x17F), (0x218, 0x21B), (0x386, 0x3CE), (0x400, 0x45F), (0x490, 0x491),
    (0x1E9E, 0x1E9E), (0x2010, 0x2027), (0x2030, 0x203A), (0x20AC, 0x20AC), (0x2122, 0x2122),
    (0x2190, 0x2199), (0x2212, 0x2212), (0x25A1, 0x25A1),
)  # fmt: skip
RANKS: Final = "23456789APT"
NAMES: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz "


def make(folder: Path) -> None:
    """Write the label font and the outlines of the card's letters."""
    _subset(folder / "DejaVuSans.ttf", HERE / "labels.ttf")
    outlines = {
        "ranks": _outlines(folder / "DejaVuSans-Bold.ttf", RANKS),
        "names": _outlines(folder / "DejaVuSans.ttf", NAMES),
    }
    # One letter a line, so that a change can be read.
    text = json.dumps(outlines, indent=0).replace("[\n", "[").replace(',\n"m', ', "m')
    text = text.replace("\n]", "]").replace(',\n""]', ', ""]')
    (HERE / "glyphs.json").write_text(text + "\n", encoding="utf-8")


def _subset(source: Path, target: Path) -> None:
    subset: Any = import_module("fontTools.subset")
    wanted = [code for first, last in LABELS for code in range(first, last + 1)]
    options = subset.Options(hinting=False, layout_features=["kern"], notdef_outline=True)
    options.name_IDs = ["*"]
    # The time of making would give other bytes each time.
    options.recalc_timestamp = False
    font = subset.load_font(str(source), options)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=wanted)
    subsetter.subset(font)
    subset.save_font(font, str(target), options)


def _outlines(source: Path, letters: str) -> dict[str, list[object]]:
    font: Any = import_module("fontTools.ttLib").TTFont(source)
    glyphs, names = font.getGlyphSet(), font.getBestCmap()
    scale = UNITS / font["head"].unitsPerEm
    found: dict[str, list[object]] = {}
    for letter in letters:
        glyph = glyphs[names[ord(letter)]]
        pen: Any = import_module("fontTools.pens.recordingPen").DecomposingRecordingPen(glyphs)
        glyph.draw(pen)
        found[letter] = [round(glyph.width * scale), _relative(pen.value, scale)]
    return found


def _relative(drawing: list[tuple[str, Any]], scale: float) -> str:
    """Return path data of relative commands only, so that it can start anywhere."""
    parts: list[str] = []
    here = start = (0, 0)
    for command, points in drawing:
        if command == "closePath":
            parts.append("z")
            here = start
            continue
        for letter, steps in _steps(command, points):
            grid = [(round(x * scale), round(-y * scale)) for x, y in steps]
            parts.append(letter + " ".join(f"{x - here[0]} {y - here[1]}" for x, y in grid))
            here = grid[-1]
        if command == "moveTo":
            start = here
    return "".join(parts)


def _steps(command: str, points: Any) -> list[tuple[str, list[tuple[float, float]]]]:
    if command == "moveTo":
        return [("m", list(points))]
    if command == "lineTo":
        return [("l", list(points))]
    # TrueType leaves out the points midway between two control points.
    controls, end = list(points[:-1]), points[-1]
    middles = [((a[0] + b[0]) / 2, (a[1] + b[1]) / 2) for a, b in itertools.pairwise(controls)]
    ends = [*middles, end]
    return [("q", [control, to]) for control, to in zip(controls, ends, strict=True)]


if __name__ == "__main__":
    make(Path(sys.argv[1]))
