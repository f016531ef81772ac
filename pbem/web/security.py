"""Headers on every page, the form token of signed-in pages, and who is signed in."""

from __future__ import annotations

import hmac
import secrets
from typing import TYPE_CHECKING

from flask import Response, abort, request, session

from pbem.ext import db, settings
from pbem.models import Player

if TYPE_CHECKING:
    from flask import Flask

_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; font-src 'self';"
    " frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'self'"
)


def add_to(app: Flask) -> None:
    """Give every answer its headers and every template the form token."""
    app.after_request(_protect)
    app.jinja_env.globals["form_token"] = form_token
    app.jinja_env.globals["signed_in"] = signed_in
    app.jinja_env.globals["is_host"] = is_host


def signed_in() -> Player | None:
    """Return the player of this session, if there is one."""
    return db.session.get(Player, session["player"]) if "player" in session else None


def is_host() -> bool:
    """Return whether the player of this session is named as a host in the settings."""
    player = signed_in()
    hosts = [address.strip().lower() for address in settings().host_addresses]
    return player is not None and player.address in hosts


def form_token() -> str:
    """Return the token that forms of this session carry, made at the first need."""
    if "form" not in session:
        session["form"] = secrets.token_urlsafe(24)
    token: str = session["form"]
    return token


def check_form() -> None:
    """Refuse a form that does not come from a page of this session."""
    given, wanted = request.form.get("form_token", ""), session.get("form", "")
    if not wanted or not hmac.compare_digest(given.encode(), wanted.encode()):
        abort(400, "form")


def keep_private(response: Response) -> Response:
    """Mark a page that a token opens: nothing stores, indexes or passes it on."""
    response.headers["Cache-Control"] = "no-store"
    response.headers["Referrer-Policy"] = "no-referrer"
    response.headers["X-Robots-Tag"] = "noindex, nofollow"
    return response


def _protect(response: Response) -> Response:
    response.headers.setdefault("Content-Security-Policy", _POLICY)
    response.headers.setdefault("X-Content-Type-Options", "nosniff")
    response.headers.setdefault("Referrer-Policy", "same-origin")
    return response
