"""Layouts and cards as SVG that stands in a page, with nothing a strict policy blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from xml.sax.saxutils import escape

from pbem.tableau.art import GROUND, HEIGHT, SOFT_INK, WIDTH, art, card_id
from pbem.tableau.lettering import one_line
from pbem.tableau.plan import Plan, Say, Spot, Words, plan

if TYPE_CHECKING:
    from engine.decktet import Card
    from engine.game import Layout

HAND_WIDTH: Final = 56  # a card of the hand, in CSS pixels
HAND_HEIGHT: Final = 80


def svg(layout: Layout, *, say: Say, title: str, prefix: str = "") -> str:
    """Return the layout as a complete <svg> element; the title says the picture in words.

    Its ids begin with the prefix.
    """
    drawn = plan(layout, say)
    pieces = dict.fromkeys(piece for spot in drawn.spots for piece in spot.pieces)
    defined = "".join(f'<g id="{prefix}{piece}">{art(piece)}</g>' for piece in pieces)
    ground = f'<rect width="100%" height="100%" rx="14" fill="{GROUND}"/>'
    body = "".join((*(_spot(spot, prefix) for spot in drawn.spots), *map(_words, drawn.words)))
    return f"{_opening(drawn, title)}<defs>{defined}</defs>{ground}{body}</svg>"


def card_svg(card: Card) -> str:
    """Return one card of a hand as a complete <svg> element.

    It has no ids, so that any number of them can stand in one page.
    """
    box = f"{-WIDTH / 2:g} {-HEIGHT / 2:g} {WIDTH} {HEIGHT}"
    name = escape(card.name)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{HAND_WIDTH}"'
        f' height="{HAND_HEIGHT}" viewBox="{box}"><title>{name}</title>{art(card_id(card))}</svg>'
    )


def sprite_svg(piece: str, bleed: float) -> str:
    """Return a piece with so much room around the card's place."""
    wide, high = WIDTH + 2 * bleed, HEIGHT + 2 * bleed
    box = f"{-wide / 2:g} {-high / 2:g} {wide:g} {high:g}"
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}">{art(piece)}</svg>'


def _opening(drawn: Plan, title: str) -> str:
    box = f"0 0 {drawn.width / drawn.scale:.6g} {drawn.height / drawn.scale:.6g}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{drawn.width}"'
        f' height="{drawn.height}" viewBox="{box}"><title>{escape(one_line(title))}</title>'
    )


def _spot(spot: Spot, prefix: str) -> str:
    turn = " rotate(90)" if spot.turned else ""
    place = f"translate({spot.x:.6g} {spot.y:.6g}){turn}"
    return "".join(f'<use href="#{prefix}{piece}" transform="{place}"/>' for piece in spot.pieces)


def _words(words: Words) -> str:
    # Letters stand on a line a third of their size below the middle.
    return (
        f'<text x="{words.x:.6g}" y="{words.y + words.size * 0.36:.6g}" text-anchor="middle"'
        f' font-family="DejaVu Sans, sans-serif" font-size="{words.size:g}" fill="{SOFT_INK}">'
        f"{escape(words.text)}</text>"
    )
