"""A player's own pages, opened by their token: times, absences, "I am back", a feed, a yes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from flask import Blueprint, Response, make_response, redirect, render_template, request, url_for
from flask_babel import force_locale, gettext
from werkzeug.wrappers import Response as Answer

from engine import GAMES
from engine.game import N_
from pbem import agreements, away, cleaning, clocks, deadlines, post, suppression, words
from pbem.config import LANGUAGES
from pbem.errors import AccountGone, PbemError, ReplacedLink
from pbem.ext import db, tokens
from pbem.links import Links
from pbem.mail import entries, plain
from pbem.models import Entries, Player, Proposal, Seat
from pbem.web import forms
from pbem.web.errors import in_words
from pbem.web.security import ask_who, keep_private, refuse_others, remember_device, signed_in

pages = Blueprint("you", __name__)
pages.before_request(ask_who)
pages.after_request(remember_device)
pages.after_request(keep_private)


# The letters that a player may do without, in their words.
MAIL_WORDS: Final = {
    "sat_down": N_("Somebody sits down at your table, or declines"),
    "started": N_("A game begins, and it is another's turn"),
    "receipt": N_("What your move by mail did"),
    "house_played": N_("Your time ran out"),
    "hand_over": N_("A hand is over, and it is another's turn"),
    "notice": N_("News of the table: who is away, pauses, more time"),
    "game_over": N_("How a game ended"),
    "talk": N_("What is said at a table, in a mail of its own; else the next letter tells it"),
}


@pages.get("/you")
def own() -> Answer:
    """Lead a signed-in player to their own page."""
    player = signed_in()
    return redirect(url_for("home.front") if player is None else Links().you(player))


@pages.get("/y/<token>")
def you(token: str) -> Response:
    """Show a player's settings and absences."""
    return _page(_player("you", token), "", 200)


@pages.post("/y/<token>")
def change(token: str) -> Response | Answer:
    """Do what one of the page's forms asks, or say at the form what is wrong."""
    player, now, form = _player("you", token), datetime.now(UTC), request.form
    try:
        match form.get("do"):
            case "settings":
                steps = form.getlist("steps")
                away.change_settings(player.id, form, steps, now=now)
            case "away":
                away.set_absence(player.id, form.get("first", ""), form.get("last", ""), now=now)
            case "end":
                away.end_absence(forms.number("absence"), player.id, now=now)
            case "mails_off":
                away.stop_mails(player.address, now=now)
            case "mails_on":
                away.want_mails(player.address, now=now)
            case "back":
                away.come_back(player.id, now=now)
    except PbemError as error:
        return _page(player, in_words(error), 409)
    return redirect(f"{Links().you(player)}?done=1", code=303)


@pages.get("/c/<token>.ics")
def feed(token: str) -> Response:
    """Hand out a player's deadlines as a calendar that programs subscribe to."""
    player = _player("feed", token)
    with force_locale(player.language):
        body = entries.feed(player, now=datetime.now(UTC))
    return Response(body, mimetype="text/calendar")


@pages.get("/p/<token>")
def proposal(token: str) -> Response:
    """Show what a player of the table would like; only the button agrees."""
    return _proposal_page(*_proposed(token), token)


@pages.post("/p/<token>")
def agree(token: str) -> Response:
    """Agree to it."""
    proposed, seat = _proposed(token)
    agreements.say_yes(proposed.id, seat.id, now=datetime.now(UTC))
    return _proposal_page(*_proposed(token), token)


def _proposed(token: str) -> tuple[Proposal, Seat]:
    (proposal_id, seat_id, player_id), renewed = tokens().read_renewable("yes", token, ids=3)
    seat = db.session.get_one(Seat, seat_id)
    refuse_others(seat, player_id, renewed)
    return db.session.get_one(Proposal, proposal_id), seat


def _proposal_page(proposed: Proposal, seat: Seat, token: str) -> Response:
    missing = [other.name for other in agreements.asked(proposed) if other.id != seat.id]
    page = render_template(
        "web/proposal.html",
        match=proposed.match,
        title=GAMES[proposed.match.game].title,
        line=plain.wish(proposed),
        token=token,
        is_open=proposed.closed_at is None,
        is_done=proposed.result == "done",
        has_agreed=seat.id in proposed.yes,
        missing=missing if proposed.kind == "end" else [],
        seat_url=Links().seat(seat),
    )
    return make_response(page)


def _player(purpose: str, token: str) -> Player:
    (player_id,), renewed = tokens().read_renewable(purpose, token)
    player = db.session.get_one(Player, player_id)
    if player.deleted_at is not None:
        raise AccountGone
    if renewed != player.renewed:
        raise ReplacedLink
    return player


def _page(player: Player, problem: str, status: int) -> Response:
    now = datetime.now(UTC)
    page = render_template(
        "web/you.html",
        player=player,
        problem=problem,
        done=request.args.get("done"),
        typed=request.form,
        languages=LANGUAGES,
        zones=cleaning.zones(),
        steps=deadlines.STEPS,
        kinds=list(Entries),
        wall=words.wall,
        feed_url=Links().feed(player),
        absences=[one for one in player.absences if one.ends_at > now],
        most=deadlines.MOST_ABSENCE,
        today=now.astimezone(clocks.zone_of(player)).date(),
        optional=post.OPTIONAL,
        wish=post.wish,
        mail_words=lambda kind: gettext(MAIL_WORDS[kind]),
        is_suppressed=suppression.is_suppressed(player.address),
        is_missed=player.unreachable_at is not None or away.is_kept_anywhere(player),
    )
    return make_response(page, status)
