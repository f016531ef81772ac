"""The page behind "no more mails": GET shows it, POST acts at once, as RFC 8058 has it."""

from __future__ import annotations

from datetime import UTC, datetime

from flask import Blueprint, Response, make_response, render_template, request

from pbem import away, suppression
from pbem.errors import AccountGone
from pbem.ext import db, tokens
from pbem.lobby import find_player
from pbem.models import Letter
from pbem.web.security import ask_who, keep_private, remember_device

pages = Blueprint("stop", __name__)
pages.after_request(remember_device)
pages.after_request(keep_private)


@pages.before_request
def _ask_who() -> Response | None:
    # The one click of a mail program brings no cookie and sets no tick, and must do.
    return None if _is_one_click() else ask_who()


@pages.get("/u/<token>")
def stop(token: str) -> Response:
    """Show whether the address of a letter is mailed, with the button that changes it."""
    return _page(_address(token))


@pages.post("/u/<token>")
def change(token: str) -> Response:
    """Mail the address no more; or again, if its owner asks for that."""
    address, now = _address(token), datetime.now(UTC)
    if request.form.get("do") == "again" and not _is_one_click():
        away.want_mails(address, now=now)
    else:
        away.stop_mails(address, now=now)
    return _page(address)


def _is_one_click() -> bool:
    return request.form.get("List-Unsubscribe") == "One-Click"


def _address(token: str) -> str:
    (letter_id,) = tokens().read_link("stop", token)
    address = db.session.get_one(Letter, letter_id).address
    if not address:
        raise AccountGone
    return address


def _page(address: str) -> Response:
    local, _, domain = address.rpartition("@")
    page = render_template(
        "web/stop.html",
        # Whoever got the mail passed on need not learn the whole address.
        address=f"{local[:1]}…@{domain}",
        is_off=suppression.is_suppressed(address),
        is_player=find_player(address) is not None,
    )
    return make_response(page)
