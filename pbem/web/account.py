"""The pages of a player's account: their addresses, all their data, and leaving.

They want them to be signed in, not only a link: letters with links get passed on.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime

from flask import (
    Blueprint,
    Response,
    make_response,
    redirect,
    render_template,
    request,
    session,
    url_for,
)
from flask_babel import gettext
from sqlalchemy import func, select
from werkzeug.wrappers import Response as Answer

from pbem import account as accounts
from pbem import export, leaving, renewal, suppression
from pbem.errors import AddressTaken, PbemError
from pbem.ext import db, tokens
from pbem.lobby import find_player
from pbem.models import Letter, Match, Player, Seat, Status
from pbem.web.errors import in_words, refused
from pbem.web.home import LINK_SECONDS
from pbem.web.security import ask_who, check_form, keep_private, remember_device, signed_in

pages = Blueprint("account", __name__)
pages.after_request(remember_device)
pages.after_request(keep_private)


@pages.get("/account")
def account() -> Answer:
    """Show a signed-in player's account."""
    player = signed_in()
    return _to_front() if player is None else _page(player, "", 200)


@pages.post("/account")
def change() -> Answer:
    """Do what one of the page's forms asks, or say at the form what is wrong."""
    check_form()
    player, now, form = signed_in(), datetime.now(UTC), request.form
    if player is None:
        return _to_front()
    address, done = form.get("address", ""), "1"
    try:
        match form.get("do"):
            case "add":
                accounts.ask_to_add(player.id, address, now=now)
                done = "sent"
            case "prefer":
                accounts.prefer(player.id, address, now=now)
            case "remove":
                accounts.remove(player.id, address)
            case "new_links":
                renewal.renew_all(player.id, now=now)
                done = "new_links"
            case "sign_out":
                accounts.sign_out_everywhere(player.id)
                session.clear()
                return _to_front()
    except PbemError as error:
        return refused(_page(player, in_words(error), 409), error, status=409)
    return redirect(url_for("account.account", done=done), code=303)


@pages.get("/account/data.json")
def download() -> Answer:
    """Hand out all data of a player to themselves."""
    player = signed_in()
    if player is None:
        return _to_front()
    text = json.dumps(export.data(player), ensure_ascii=False, indent=1) + "\n"
    name = {"Content-Disposition": 'attachment; filename="decktet-data.json"'}
    return Response(text, mimetype="application/json", headers=name)


@pages.get("/account/delete")
def leave() -> Answer:
    """Say what is deleted and what stays; only the button below does it."""
    player = signed_in()
    return _to_front() if player is None else _leave_page(player, "", 200)


@pages.post("/account/delete")
def really_leave() -> Answer:
    """Delete the account of who has set the tick."""
    check_form()
    player = signed_in()
    if player is None:
        return _to_front()
    if not request.form.get("sure"):
        return _leave_page(player, gettext("Set the tick first; nothing is deleted yet."), 409)
    leaving.delete_account(player.id, now=datetime.now(UTC))
    session.clear()
    words = gettext("Your account is deleted. Thank you for having played here.")
    page = render_template("web/message.html", heading=gettext("Good bye"), words=words)
    return make_response(page)


@pages.get("/a/<token>")
def added(token: str) -> Response:
    """Show the button that adds an address; a link alone adds none."""
    return _added_page(_letter(token), is_done=False)


@pages.post("/a/<token>")
def add(token: str) -> Response:
    """Add the address that the link was mailed to."""
    letter = _letter(token)
    asking = ask_who()
    if asking is not None:
        return asking
    accounts.add(letter.id, now=datetime.now(UTC))
    return _added_page(letter, is_done=True)


def _letter(token: str) -> Letter:
    """Return the letter whose link this is; raises BadLink, or AddressTaken."""
    letter_id = tokens().read_timed_link("address", token, seconds=LINK_SECONDS)
    letter = db.session.get_one(Letter, letter_id)
    accounts.adder(letter)
    if find_player(letter.address) is not None:
        raise AddressTaken
    return letter


def _added_page(letter: Letter, *, is_done: bool) -> Response:
    page = render_template(
        "web/add_address.html",
        address=letter.address,
        name=None if is_done else accounts.adder(letter).name,
        is_done=is_done,
    )
    return make_response(page)


def _leave_page(player: Player, problem: str, status: int) -> Response:
    running = (
        select(func.count())
        .select_from(Seat)
        .join(Match)
        .where(Seat.player_id == player.id, Match.status == Status.RUNNING)
    )
    page = render_template(
        "web/delete.html",
        problem=problem,
        running=db.session.scalar(running),
        is_suppressed=any(map(suppression.is_suppressed, player.every_address)),
    )
    return make_response(page, status)


def _to_front() -> Answer:
    return redirect(url_for("home.front"), code=303)


def _page(player: Player, problem: str, status: int) -> Response:
    page = render_template(
        "web/account.html",
        player=player,
        problem=problem,
        done=request.args.get("done"),
        typed=request.form,
        most=accounts.MOST_ADDRESSES,
    )
    return make_response(page, status)
