"""The pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.web import errors, home, host, match, rules, seat, security, you

if TYPE_CHECKING:
    from flask import Flask


def add_pages(app: Flask) -> None:
    """Add all pages, their error pages and their headers."""
    for blueprint in (home.pages, host.pages, match.pages, rules.pages, seat.pages, you.pages):
        app.register_blueprint(blueprint)
    errors.add_to(app)
    security.add_to(app)
