"""The pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem.web import (
    about,
    account,
    errors,
    fair,
    home,
    hooks,
    host,
    host_mail,
    letters,
    match,
    players,
    practice,
    rematch,
    rules,
    seat,
    security,
    sitting,
    stop,
    watch,
    you,
)

if TYPE_CHECKING:
    from flask import Flask


def add_pages(app: Flask) -> None:
    """Add all pages, their error pages and their headers."""
    for module in (
        about,
        account,
        fair,
        home,
        hooks,
        host,
        host_mail,
        letters,
        match,
        players,
        practice,
        rematch,
        rules,
        seat,
        sitting,
        stop,
        watch,
        you,
    ):
        app.register_blueprint(module.pages)
    errors.add_to(app)
    security.add_to(app)
    watch.add_to(app)
