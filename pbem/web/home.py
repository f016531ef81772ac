"""The front page, signing in, and opening a table."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

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
from flask_babel import get_locale
from markupsafe import Markup
from sqlalchemy import select
from sqlalchemy.orm import selectinload
from werkzeug.wrappers import Response

from engine import GAMES
from engine.bots import BOTS
from engine.errors import BadOption
from engine.game import N_, Game, Option
from pbem import account, clocks, deadlines, limits, lobby, words
from pbem.config import LANGUAGES
from pbem.errors import BadSeats, OldLink, PbemError
from pbem.examples import NAMES, example, examples
from pbem.ext import db, settings, tokens
from pbem.lengths import Length, lengths
from pbem.lobby import Chair
from pbem.models import Letter, Match, Player, Policy, Seat
from pbem.web import security
from pbem.web.drawing import drawn
from pbem.web.errors import in_words, refused
from pbem.web.security import (
    ask_who,
    check_form,
    keep_private,
    remember_device,
    signed_in,
    source,
)

LINK_SECONDS = 30 * 60  # so long is a link that signs in good, from when it was sent

pages = Blueprint("home", __name__)
pages.after_request(remember_device)


@pages.get("/")
def front() -> str:
    """Show what this is, and to a player their tables."""
    return _front_page()


@pages.post("/sign-in")
def ask_to_sign_in() -> Response:
    """Mail the address a link; the answer never tells whether it is known."""
    check_form()
    address, now = request.form.get("address", ""), datetime.now(UTC)
    try:
        _count_sign_in(now)
        account.ask_to_sign_in(address, language=_language(), now=now)
    except PbemError as error:
        page = _front_page(problem=in_words(error), address=address)
        return refused(page, error, status=400)
    return make_response(render_template("web/look_in_mail.html", address=address))


@pages.get("/sign-in/<token>")
def sign_in(token: str) -> Page:
    """Show the button; a link alone signs nobody in."""
    try:
        _letter_id(token)
    except OldLink as error:
        return _another_link(error)
    return keep_private(make_response(render_template("web/sign_in.html", token=token)))


@pages.post("/sign-in/<token>")
def really_sign_in(token: str) -> Page | Response:
    """Sign in; the link is used up then."""
    now = datetime.now(UTC)
    _count_sign_in(now)
    try:
        letter_id = _letter_id(token)
        asking = ask_who()
        if asking is not None:
            return keep_private(asking)
        player = account.sign_in(letter_id, now=now)
    except OldLink as error:
        return _another_link(error)
    security.sign_in(player, now=now)
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
            is_listed=bool(request.form.get("is_listed")),
            allows_whispers=bool(request.form.get("allows_whispers")),
            phrase=request.form.get("phrase", ""),
            now=datetime.now(UTC),
        )
    except (PbemError, BadOption) as error:
        return refused(_new_page(game_name, in_words(error)), error, status=400)
    return redirect(url_for("match.table", code=match.code), code=303)


def _front_page(**values: object) -> str:
    player = signed_in()
    return render_template(
        "web/front.html",
        games=[(game, *_shown(game.name, str(get_locale()))) for game in GAMES.values()],
        titles={game.name: game.title for game in GAMES.values()},
        tables=lobby.listed(now=datetime.now(UTC)),
        matches=() if player is None else _matches(player),
        asked={turn.match_id for turn in clocks.open_turns(player=player)} if player else (),
        **values,
    )


# The engine plays and draws the example, which is the same for all who read this language.
@lru_cache(maxsize=64)
def _shown(game_name: str, _language: str) -> tuple[Markup, str]:
    """Return a picture of a game, and what it shows in words."""
    shown = example(game_name, next(iter(examples(game_name))))
    told = " ".join(shown.lines)
    say = words.speaker(NAMES)
    return drawn(shown.layout, say=say, title=told, prefix=f"{game_name}-"), told


def _new_page(game_name: str, problem: str) -> str:
    if game_name not in GAMES:
        abort(404)
    game = GAMES[game_name]
    return render_template(
        "web/new.html",
        game=game,
        lengths=_lengths(game),
        bots={name: bot for name, bot in BOTS.items() if name != "random"},
        most=max(game.seat_counts),
        typed=request.form,
        problem=problem,
        pace=deadlines.DEFAULT_PACE,
        bank=deadlines.DEFAULT_BANK,
        least_pace=deadlines.LEAST_PACE,
        most_pace=deadlines.MOST_PACE,
    )


def _lengths(game: Game[Any, Any, Any]) -> list[Length]:
    """Return how long a game takes as the form stands; what is wrong in it is at its default."""
    options = {option.name: option.default for option in game.options}
    for option in game.options if request.method == "POST" else ():
        with suppress(BadOption):
            options[option.name] = option.check(_value(option))
    pace = request.form.get("pace_hours", type=int, default=deadlines.DEFAULT_PACE)
    possible = deadlines.LEAST_PACE <= pace <= deadlines.MOST_PACE
    return lengths(game.name, options, pace if possible else deadlines.DEFAULT_PACE)


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


def _letter_id(token: str) -> int:
    """Return the letter whose link this is; raises BadLink, or OldLink once it is no good."""
    letter_id = tokens().read_timed_link("sign-in", token, seconds=LINK_SECONDS)
    if not account.may_sign_in(db.session.get_one(Letter, letter_id)):
        raise OldLink
    return letter_id


def _count_sign_in(now: datetime) -> None:
    limits.try_one_more(limits.sign_ins(settings().sign_ins_an_hour), source(), now=now)


def _another_link(error: OldLink) -> Page:
    """Say that a link is used up or too old, above the form that asks for another one."""
    return keep_private(make_response(_front_page(problem=in_words(error)), 404))


def _language() -> str:
    """Return the language that the reader's browser asks for."""
    language = str(get_locale())[:2]
    return language if language in LANGUAGES else settings().language


def _matches(player: Player) -> list[Match]:
    return list(
        db.session.scalars(
            select(Match)
            .join(Seat, Seat.match_id == Match.id)
            .where(Seat.player_id == player.id)
            .order_by(Match.id.desc())
            .limit(100)
            .options(selectinload(Match.seats))
        )
    )
