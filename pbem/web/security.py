"""Headers on every page, the form token of signed-in pages, and who is there."""

from __future__ import annotations

import hmac
import secrets
import time
from datetime import datetime, timedelta
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, Final

from flask import (
    Response,
    abort,
    current_app,
    g,
    make_response,
    render_template,
    request,
    session,
)

from pbem.errors import AccountGone, BadLink, ForeignSeat, ReplacedLink
from pbem.ext import db, settings, tokens
from pbem.models import Match, Player, Seat

if TYPE_CHECKING:
    from flask import Flask

_DEVICE: Final = "device"
_LASTS: Final = timedelta(days=180)  # a session, however often it is used
IDLE: Final = timedelta(days=30)  # after which an unused session ends
_REMEMBERED: Final = timedelta(days=400)  # no browser keeps a cookie for longer
_MOST_FOLLOWED: Final = 20  # seats in a session, which is a cookie
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
    app.jinja_env.globals["knows_device"] = knows_device


def signed_in() -> Player | None:
    """Return the player of this session, if there is one and the session has not ended."""
    if g.get("database_is_away"):
        return None  # the page that says so is in the browser's language
    player = db.session.get(Player, session["player"]) if "player" in session else None
    is_over = player is None or player.deleted_at is not None or _has_ended(player)
    return None if is_over else player


def sign_in(player: Player, *, now: datetime) -> None:
    """Begin a session of a player; it knows nothing of the one before."""
    session.clear()
    session["player"], session["sign_outs"] = player.id, player.sign_outs
    session["since"] = int(now.timestamp())
    session.permanent = True


def _has_ended(player: Player) -> bool:
    # One of an earlier release says neither: it ends by "sign out everywhere" and by idling.
    if session.get("sign_outs", 0) != player.sign_outs:
        return True
    return "since" in session and time.time() - session["since"] > _LASTS.total_seconds()


def source() -> str:
    """Return the network that asks, by which tries are counted: one has many addresses in it."""
    try:
        address = ip_address(request.remote_addr or "")
    except ValueError:
        return "unknown"
    address = getattr(address, "ipv4_mapped", None) or address
    return str(ip_network((address, 24 if address.version == 4 else 64), strict=False))


def is_host() -> bool:
    """Return whether the player of this session is named as a host in the settings."""
    player = signed_in()
    hosts = [address.strip().lower() for address in settings().host_addresses]
    return player is not None and not set(hosts).isdisjoint(player.every_address)


def the_host() -> Player:
    """Return the host who is signed in; for everybody else there is no such page."""
    player = signed_in()
    if player is None or not is_host():
        abort(404)
    return player


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


def knows_device() -> bool:
    """Return whether a person has acted here before, from the browser that asks."""
    return _is_remembered() or signed_in() is not None


def ask_who() -> Response | None:
    """Let nothing be done by a form whose sender may be a machine; they get one tick to set.

    Mail scanners open every link and some press what they find, but they tick nothing.
    """
    if request.method != "POST" or _is_ticked() or knows_device():
        return None
    fields = list(request.form.items(multi=True))
    return make_response(render_template("web/is_it_you.html", fields=fields), 409)


def remember_device(response: Response) -> Response:
    """Remember a browser in which the tick was set."""
    if response.status_code == 413:
        return response  # its form was too much to be read
    if request.method == "POST" and _is_ticked() and not _is_remembered():
        response.set_cookie(
            _DEVICE,
            tokens().link(_DEVICE, 1),
            max_age=_REMEMBERED,
            secure=current_app.config["SESSION_COOKIE_SECURE"],
            httponly=True,
            samesite="Lax",
        )
    return response


def _is_ticked() -> bool:
    return request.form.get("me") == "1"


def _is_remembered() -> bool:
    try:
        tokens().read_link(_DEVICE, request.cookies.get(_DEVICE, ""))
    except BadLink:
        return False
    return True


def refuse_others(seat: Seat, player_id: int, renewed: int) -> None:
    """Refuse a link to a seat that was another player's, is replaced, or that another opens."""
    if seat.player is not None and seat.player.deleted_at is not None:
        raise AccountGone
    player = signed_in()
    is_foreign = player is not None and seat.player_id not in (None, player.id)
    if is_foreign or player_id != (seat.player_id or 0):
        raise ForeignSeat
    if renewed != seat.renewed:
        raise ReplacedLink


def follow(seat: Seat) -> None:
    """Let this session see a seat's games as it saw them; no address that is shared does."""
    own = _own(seat)
    others = [one for one in session.get("seats", []) if one != own]
    session["seats"] = [*others, own][-_MOST_FOLLOWED:]


def own_seat(match: Match) -> Seat | None:
    """Return the seat whose knowledge this session may see.

    It is that of the player who is signed in. To who came by the seat's own link it is open
    as long as the seat is still that player's, and nobody else is signed in.
    """
    player = signed_in()
    # What a session that has ended was shown, it is shown no more.
    followed = [] if "player" in session else session.get("seats", [])
    for seat in match.seats:
        if seat.player_id is None or seat.number is None:
            continue
        if _own(seat) in followed:
            return seat
        if player is not None and seat.player_id == player.id:
            return seat
    return None


def _own(seat: Seat) -> list[int | None]:
    """Return what a session keeps of a seat: it holds for its player and its links of now."""
    return [seat.id, seat.player_id, seat.renewed]


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
