"""The play-by-email server."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flask import Flask

    from pbem.config import Settings


def create_app(settings: Settings | None = None) -> Flask:
    """Return the application; without settings they are read from where hosts keep them."""
    # `pbem simulate` and `pbem verify` load this package too and must start without the
    # web stack, so it is imported when an application is really wanted.
    from pbem.app import build

    return build(settings)
