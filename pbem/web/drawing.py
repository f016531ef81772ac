"""Drawings within a page."""

from __future__ import annotations

from collections.abc import Callable

from markupsafe import Markup

from engine.game import Layout, Phrase
from pbem.tableau import svg


def drawn(layout: Layout, *, say: Callable[[Phrase], str], title: str, prefix: str = "") -> Markup:
    """Return a table's drawing, ready for a page; the drawing escapes what it is told.

    A page with several drawings gives each its own prefix.
    """
    # What people wrote is escaped in it.
    return Markup(svg(layout, say=say, title=title, prefix=prefix))  # noqa: S704
