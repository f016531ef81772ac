"""The page that says what this is, and whose games are played here."""

from __future__ import annotations

from flask import Blueprint, render_template

pages = Blueprint("about", __name__)


@pages.get("/about")
def about() -> str:
    """Show what this is, with its credits and licences."""
    return render_template("web/about.html")
