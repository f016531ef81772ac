"""Draws any layout: as SVG for pages, as PNG for mail."""

from __future__ import annotations

from pbem.tableau.drawing import card_svg, svg
from pbem.tableau.fold import Cut, Folded, fold
from pbem.tableau.picture import Picture, card_png, png

__all__ = ["Cut", "Folded", "Picture", "card_png", "card_svg", "fold", "png", "svg"]
