"""A mail's picture, pasted of palette sprites, beside resvg's drawing of the whole scene."""

from __future__ import annotations

import random
from collections.abc import Iterator
from importlib import resources
from io import BytesIO
from statistics import fmean
from typing import Final

import resvg_py
from PIL import Image, ImageChops, ImageStat

from bench.measure import Asked, Bar, compare, cost, judge
from engine import GAMES
from engine.decktet import Card, Suit
from engine.game import FieldValue, Layout, Phrase
from pbem import tableau
from pbem.tableau.art import GROUND
from pbem.tableau.picture import DENSITY

CARDS: Final = 20
FASTER: Final = 10  # times as fast as the peer, at least
LIGHTER: Final = 0.5  # of the peer's bytes, at most
# Of 255. Over all pixels the palette's steps at the edges, and sprites and letters that lie on
# whole pixels, cost 1.4 to 2.5; a table with all cards at wrong places costs 5.9 to 14.
DIFFERENCE: Final = 3.0
# Over squares that are as small as a suit's sign the edges cancel out: the worst square
# differs by 3 to 8, and by 44 to 89 where one card lacks or is another.
SQUARE: Final = 32  # pixels
SQUARE_DIFFERENCE: Final = 20
NAMES: Final = ("Ada", "Bob", "Cleo", "Dan")
FONT: Final = str(resources.files("pbem.tableau") / "fonts" / "labels.ttf")


def run(asked: Asked) -> Iterator[Bar]:
    """Compare time, bytes and pixels for a position of each game."""
    for name in GAMES:
        yield from _compared(name, position(name), asked)


def position(name: str) -> Layout:
    """Return a table of simulated play with twenty cards, or the fullest one below."""
    return max(_layouts(name), key=lambda layout: (len(layout.cards) <= CARDS, len(layout.cards)))


def _layouts(name: str) -> Iterator[Layout]:
    game, chance = GAMES[name], random.Random(name)
    seats = game.seat_counts[-1]
    state, _ = game.new_game(bytes(32), seats, game.check_options(seats, {}))
    while asked := game.to_move(state):
        seat = min(asked)
        view = game.view(state, seat)
        yield game.layout(view, fresh=frozenset())
        game.step(state, seat, chance.choice(game.moves(view)))


def _compared(name: str, layout: Layout, asked: Asked) -> Iterator[Bar]:
    cold = cost(lambda: tableau.png(layout, say=say_plainly))
    picture = tableau.png(layout, say=say_plainly)
    scene = tableau.svg(layout, say=say_plainly, title=name)
    peer = _drawn(scene, picture.width * DENSITY)
    size = f"{picture.width * DENSITY}x{picture.height * DENSITY}"
    yield judge(
        f"picture {name}, {len(layout.cards)} cards, {size}, the first time {cold:.0f} ms",
        "a second",
        compare(
            lambda: tableau.png(layout, say=say_plainly),
            lambda: _drawn(scene, picture.width * DENSITY),
            asked,
        ),
        peer="resvg",
        least=FASTER,
        goal=2 * FASTER,
    )
    share = len(picture.data) / len(peer)
    yield Bar(
        f"picture {name}: {len(picture.data)} bytes, resvg {len(peer)}:"
        f" {share:.2f} of it (at most {LIGHTER})",
        share <= LIGHTER,
    )
    apart = difference(picture.data, peer)
    yield Bar(
        f"picture {name}: pixels differ by {apart:.2f} of 255 (at most {DIFFERENCE})",
        apart <= DIFFERENCE,
    )
    worst = square_difference(picture.data, peer)
    yield Bar(
        f"picture {name}: the worst square differs by {worst} of 255 (at most {SQUARE_DIFFERENCE})",
        worst <= SQUARE_DIFFERENCE,
    )


def say_plainly(phrase: Phrase) -> str:
    """Return a phrase in English, with the codes of its cards."""
    return phrase.text % {name: _field(name, what) for name, what in phrase.fields.items()}


def _field(name: str, what: FieldValue) -> object:
    if name in ("seat", "other") and isinstance(what, int):
        return NAMES[what - 1]
    match what:
        case Phrase():
            return say_plainly(what)
        case Card():
            return what.code
        case Suit():
            return what.name.title()
    return what


def _drawn(scene: str, width: int) -> bytes:
    data: bytes = resvg_py.svg_to_bytes(
        svg_string=scene, width=width, font_files=[FONT], skip_system_fonts=True
    )
    return data


def difference(one: bytes, other: bytes) -> float:
    """Return by how much two pictures differ in the mean; raises if their sizes do."""
    return fmean(ImageStat.Stat(_apart(_opaque(one), _opaque(other))).mean)


def square_difference(one: bytes, other: bytes) -> int:
    """Return by how much two pictures differ in the square where they do most."""
    apart = _apart(_opaque(one).reduce(SQUARE), _opaque(other).reduce(SQUARE))
    return max(apart.tobytes())


def _apart(one: Image.Image, other: Image.Image) -> Image.Image:
    if one.size != other.size:
        raise ValueError(f"{one.size} is not {other.size}")
    return ImageChops.difference(one, other)


def _opaque(data: bytes) -> Image.Image:
    drawn = Image.open(BytesIO(data)).convert("RGBA")
    # A page's picture has round corners.
    return Image.alpha_composite(Image.new("RGBA", drawn.size, GROUND), drawn).convert("RGB")
