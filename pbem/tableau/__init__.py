"""Draws any layout as SVG for pages and as PNG for mail, and scores as a chart."""

from __future__ import annotations

from pbem.tableau.chart import Course, chart
from pbem.tableau.drawing import card_svg, svg
from pbem.tableau.fold import Cut, Folded, fold
from pbem.tableau.picture import Picture, card_png, png

__all__ = [
    "Course",
    "Cut",
    "Folded",
    "Picture",
    "card_png",
    "card_svg",
    "chart",
    "fold",
    "png",
    "svg",
]
