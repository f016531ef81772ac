"""A game's public pages: the table, its history ply by ply, and the record after the end."""

from __future__ import annotations

from datetime import UTC, datetime

from flask import Blueprint, Response, abort, redirect, render_template, url_for
from sqlalchemy import select
from werkzeug.wrappers import Response as Answer

from engine import GAMES
from engine.decktet import Card
from pbem import lobby, telling
from pbem.ext import db, settings
from pbem.links import Links
from pbem.models import Match, Seat, Status
from pbem.table import Table, load, record_file
from pbem.waiting import waiting
from pbem.web.drawing import drawn
from pbem.web.security import signed_in

pages = Blueprint("match", __name__)


@pages.get("/g/<code>")
def table(code: str) -> str:
    """Show a table: who waits for whom before it starts, then how it stands."""
    match = _match(code)
    if match.status in (Status.OPEN, Status.CANCELLED):
        title = GAMES[match.game].title
        may_show = match.is_listed or match.opener == signed_in()
        join = Links().join(match) if may_show and lobby.has_free_seat(match) else None
        return render_template("web/waiting.html", match=match, title=title, join_url=join)
    return _history(match, match.ply, is_now=True)


@pages.get("/g/<code>/<int:ply>")
def ply(code: str, ply: int) -> str | Answer:
    """Show the table as it was after a ply, as an onlooker may know it."""
    match = _match(code)
    if match.status in (Status.OPEN, Status.CANCELLED) or ply > match.ply:
        return redirect(url_for("match.table", code=code))
    return _history(match, ply, is_now=False)


@pages.get("/g/<code>/record.json")
def download(code: str) -> Response:
    """Hand out the record; while the match runs it keeps its secrets."""
    match = _match(code)
    if match.status in (Status.OPEN, Status.CANCELLED):
        abort(404)
    name, text = record_file(match)
    return Response(
        text,
        mimetype="application/json",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


def _history(match: Match, ply: int, *, is_now: bool) -> str:
    table = load(match, ply=ply)
    told = telling.tell(table, None, since=ply - 1)
    player = signed_in()
    zone = settings().zone if player is None else player.zone
    return render_template(
        "web/table.html",
        match=match,
        telling=told,
        picture=drawn(told.layout, say=told.say, title=told.board),
        ply=ply,
        is_now=is_now,
        waiting=waiting(match, now=datetime.now(UTC), zone=zone)
        if is_now and match.status == Status.RUNNING
        else (),
        zone=zone,
        log=telling.log(table if ply == match.ply else load(match), None),
        hands=_open_hands(table) if match.status == Status.OVER else (),
        own_url=_own_seat_url(match),
        winners=[table.names[number - 1] for number in match.winners or ()],
    )


def _open_hands(table: Table) -> tuple[tuple[str, tuple[Card, ...]], ...]:
    """Return all hands at this ply, which anybody may see once the match is over."""
    return tuple(
        (seat.name or "", tuple(table.view(number).hand))
        for number, seat in enumerate(table.seats, 1)
    )


def _own_seat_url(match: Match) -> str | None:
    player = signed_in()
    if player is None:
        return None
    seat = db.session.scalar(
        select(Seat).where(Seat.match_id == match.id, Seat.player_id == player.id)
    )
    return None if seat is None else Links().seat(seat)


def _match(code: str) -> Match:
    return db.session.scalars(select(Match).where(Match.code == code)).one()
