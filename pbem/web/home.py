"""The front page, signing in, and opening a table."""

from __future__ import annotations

from datetime import UTC, datetime

from flask import (
    Blueprint,
    abort,
    make_response,
    redirect,
    render_template,
    request,
    session,
    url_for,
)
from flask import Response as Page
from sqlalchemy import select
from werkzeug.wrappers import Response

from engine import GAMES
from engine.bots import BOTS
from engine.errors import BadOption
from engine.game import N_, Option
from pbem import deadlines, lobby
from pbem.errors import BadLink, BadSeats, PbemError
from pbem.ext import db, tokens, writing
from pbem.lobby import Chair
from pbem.models import Match, Player, Policy, Seat, Status
from pbem.web.errors import in_words
from pbem.web.security import ask_who, check_form, keep_private, remember_device, signed_in

SIGN_IN_SECONDS = 30 * 60

pages = Blueprint("home", __name__)
pages.after_request(remember_device)


@pages.get("/")
def front() -> str:
    """Show what this is, and to a player their tables."""
    player = signed_in()
    matches = () if player is None else _matches(player)
    return render_template("web/front.html", games=GAMES, matches=matches, status=Status)


@pages.post("/sign-in")
def ask_to_sign_in() -> Response:
    """Mail the address a link; the answer never tells whether it is known."""
    check_form()
    address = request.form.get("address", "")
    try:
        lobby.sign_up(address, now=datetime.now(UTC))
    except PbemError as error:
        page = render_template(
            "web/front.html", games=GAMES, matches=(), problem=in_words(error), address=address
        )
        return make_response(page, 400)
    return make_response(render_template("web/look_in_mail.html", address=address))


@pages.get("/sign-in/<token>")
def sign_in(token: str) -> Page:
    """Show the button; a link alone signs nobody in."""
    _signing_in(token)
    return keep_private(make_response(render_template("web/sign_in.html", token=token)))


@pages.post("/sign-in/<token>")
def really_sign_in(token: str) -> Response:
    """Sign in; the link is used up then."""
    player = _signing_in(token)
    asking = ask_who()
    if asking is not None:
        return keep_private(asking)
    with writing():
        db.session.get_one(Player, player.id).sign_ins += 1
    session.clear()
    session["player"] = player.id
    session.permanent = True
    return redirect(url_for("home.front"), code=303)


@pages.post("/sign-out")
def sign_out() -> Response:
    """Forget who this is."""
    check_form()
    session.clear()
    return redirect(url_for("home.front"), code=303)


@pages.get("/new/<game_name>")
def new(game_name: str) -> str:
    """Show the form that opens a table."""
    return _new_page(game_name, "")


@pages.post("/new/<game_name>")
def open_table(game_name: str) -> Response:
    """Open the table, or say at the form what is wrong with it."""
    check_form()
    player = signed_in()
    if player is None or game_name not in GAMES:
        abort(404)
    try:
        match = lobby.open_table(
            player,
            game_name,
            _chairs(),
            {option.name: _value(option) for option in GAMES[game_name].options},
            pace_hours=request.form.get("pace_hours", type=int, default=0),
            bank_hours=_hours("bank_hours"),
            weekends=bool(request.form.get("weekends")),
            policy=request.form.get("policy", Policy.HOUSE),
            draws_seats=bool(request.form.get("draws_seats")),
            phrase=request.form.get("phrase", ""),
            now=datetime.now(UTC),
        )
    except (PbemError, BadOption) as error:
        return make_response(_new_page(game_name, in_words(error)), 400)
    return redirect(url_for("match.table", code=match.code), code=303)


def _new_page(game_name: str, problem: str) -> str:
    if game_name not in GAMES:
        abort(404)
    game = GAMES[game_name]
    return render_template(
        "web/new.html",
        game=game,
        bots={name: bot for name, bot in BOTS.items() if name != "random"},
        most=max(game.seat_counts),
        typed=request.form,
        problem=problem,
        pace=deadlines.DEFAULT_PACE,
        bank=deadlines.DEFAULT_BANK,
        least_pace=deadlines.LEAST_PACE,
        most_pace=deadlines.MOST_PACE,
    )


def _chairs() -> list[Chair]:
    """Return what the form says of the other places; "none" is a place that is not there."""
    chairs = []
    for place in range(2, 9):
        kind = request.form.get(f"place_{place}", "none")
        address = request.form.get(f"address_{place}", "").strip()
        if kind == "none":
            continue
        if kind == "invite" and not address:
            raise BadSeats(
                N_("place %(place)s: give the address of the person whom you invite"), place=place
            )
        chairs.append(
            Chair(
                bot=kind.removeprefix("bot-") if kind.startswith("bot-") else None,
                address=address if kind == "invite" else None,
            )
        )
    return chairs


def _hours(name: str) -> int:
    """Return a field of hours; what is no number is out of every range."""
    typed = request.form.get(name, str(deadlines.DEFAULT_BANK)).strip()
    return int(typed) if typed.isdecimal() and len(typed) < 6 else -1


def _value(option: Option) -> object:
    typed = request.form.get(f"option_{option.name}", "")
    if isinstance(option.default, bool):
        return bool(typed)
    if isinstance(option.default, int):
        try:
            return int(typed or option.default)
        except ValueError:
            return typed
    return typed or option.default


def _signing_in(token: str) -> Player:
    player_id, nth = tokens().read_timed_link("sign-in", token, seconds=SIGN_IN_SECONDS)
    player = db.session.get(Player, player_id)
    if player is None or player.sign_ins != nth:
        raise BadLink(N_("this link was used already, or is too old; ask for another one"))
    return player


def _matches(player: Player) -> list[Match]:
    return list(
        db.session.scalars(
            select(Match)
            .join(Seat, Seat.match_id == Match.id)
            .where(Seat.player_id == player.id)
            .order_by(Match.id.desc())
            .limit(100)
        )
    )
