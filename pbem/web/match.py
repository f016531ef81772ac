"""A game's public pages: the table, its history ply by ply, and its record and text.

A finished match's pages carry an ETag that is made from few facts, and what is rendered of
its replay is kept; see docs/decisions/0007-history.md.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

from flask import (
    Blueprint,
    Response,
    abort,
    current_app,
    make_response,
    redirect,
    render_template,
    request,
    session,
    url_for,
)
from flask_babel import get_locale
from markupsafe import Markup
from sqlalchemy import and_, select
from werkzeug.wrappers import Response as Answer

from engine import GAMES
from pbem import lobby
from pbem.ext import db, settings
from pbem.links import Links
from pbem.models import Match, Player, Seat, Status
from pbem.table import load, record_file
from pbem.waiting import waiting
from pbem.web import history
from pbem.web.edition import edition
from pbem.web.security import own_seat, signed_in

pages = Blueprint("match", __name__)

KEPT: Final = 256  # parts of pages, of 100 kB at most


@dataclass(frozen=True, slots=True)
class Finished:
    """What the replay of a finished match is shown from: if two are equal, so is the replay.

    ``people`` are name and, for who has a public page, its player's id, by seat.
    """

    match_id: int
    commitment: str  # no two matches have the same one, in any database
    language: str
    people: tuple[tuple[str, int | None], ...]


@pages.get("/g/<code>")
def table(code: str) -> str | Response:
    """Show a table: who waits for whom before it starts, then how it stands."""
    match = _match(code)
    if _has_begun(match):
        return _history(match, match.ply)
    title = GAMES[match.game].title
    may_show = match.is_listed or match.opener == signed_in()
    join = Links().join(match) if may_show and lobby.has_free_seat(match) else None
    return render_template("web/waiting.html", match=match, title=title, join_url=join)


@pages.get("/g/<code>/<int:ply>")
def ply(code: str, ply: int) -> Response | Answer:
    """Show the table as it was after a ply."""
    match = _match(code)
    if not _has_begun(match) or ply > match.ply:
        return redirect(url_for("match.table", code=code))
    return _history(match, ply)


@pages.get("/g/<code>/record.json")
def download(code: str) -> Response:
    """Hand out the record; while the match runs it keeps its secrets."""
    match = _begun(code)

    def made() -> Response:
        name, text = record_file(match)
        response = Response(text, mimetype="application/json")
        response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
        return response

    return _answer(match, "record", made)


@pages.get("/g/<code>/game.txt")
def text(code: str) -> Response:
    """Hand out the whole game as one text, as onlookers may know it."""
    match = _begun(code)

    def made() -> Response:
        is_over = match.status == Status.OVER
        text = _kept_text(_finished(match)) if is_over else history.text(load(match))
        return Response(text, mimetype="text/plain")

    return _answer(match, "text", made)


def _history(match: Match, ply: int) -> Response:
    def made() -> Response:
        seat = own_seat(match)
        page = render_template(
            "web/table.html",
            match=match,
            title=GAMES[match.game].title,
            ply=ply,
            seat=seat,
            seat_url=None if seat is None else Links().seat(seat),
            replay=_replay(match, ply, seat),
        )
        response = make_response(page)
        if seat is not None:
            response.headers["Cache-Control"] = "private, no-store"
        return response

    return _answer(match, f"ply {ply}", made)


def _replay(match: Match, ply: int, seat: Seat | None) -> Markup:
    if match.status == Status.OVER:
        # All is open to all now, so that it makes no difference who reads.
        return _kept_replay(_finished(match), ply)
    player = signed_in() if seat is None else seat.player
    zone = settings().zone if player is None else player.zone
    whole = load(match)
    return history.replay(
        whole if ply == whole.ply else load(match, ply=ply),
        whole,
        None if seat is None else seat.number,
        people=_pages_of(_people(match)),
        waiting=waiting(match, now=datetime.now(UTC), zone=zone) if ply == whole.ply else (),
        zone=zone,
    )


def _answer(match: Match, what: str, made: Callable[[], Response]) -> Response:
    """Return what is made, or of a finished match the word that the reader has it already."""
    tag = _tag(match, what) if match.status == Status.OVER else None
    has_it = tag is not None and request.if_none_match.contains_weak(tag)
    response = Response(status=304) if has_it else made()
    if tag is not None:
        response.set_etag(tag, weak=True)
    # It may be kept, but asked for again: another session, or a later moment, sees another page.
    response.headers.setdefault("Cache-Control", "private, no-cache")
    response.vary.update(("Cookie", "Accept-Language"))
    return response


def _tag(match: Match, what: str) -> str:
    """Return what changes with everything that a page of a finished match depends on."""
    site = settings()
    facts = (
        _finished(match),
        what,
        sorted(session.items()),
        (site.site_name, site.base_url),
        edition(str(current_app.template_folder)),
    )
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:32]


def _finished(match: Match) -> Finished:
    return Finished(match.id, match.commitment, str(get_locale()), _people(match))


@lru_cache(maxsize=KEPT)
def _kept_replay(finished: Finished, ply: int) -> Markup:
    match = db.session.get_one(Match, finished.match_id)
    whole = load(match)
    table = whole if ply == whole.ply else load(match, ply=ply)
    return history.replay(table, whole, None, people=_pages_of(finished.people))


@lru_cache(maxsize=KEPT)
def _kept_text(finished: Finished) -> str:
    return history.text(load(db.session.get_one(Match, finished.match_id)))


def _people(match: Match) -> tuple[tuple[str, int | None], ...]:
    """Return each seat's name, with its player's id if the player has a public page."""
    public = and_(Player.id == Seat.player_id, Player.has_page)
    found = db.session.execute(
        select(Seat.name, Player.id)
        .outerjoin(Player, public)
        .where(Seat.match_id == match.id)
        .order_by(Seat.number)
    )
    return tuple((name or "", player_id) for name, player_id in found)


def _pages_of(people: tuple[tuple[str, int | None], ...]) -> dict[int, str]:
    return {
        number: url_for("players.player", number=player_id)
        for number, (_name, player_id) in enumerate(people, 1)
        if player_id is not None
    }


def _match(code: str) -> Match:
    # PostgreSQL takes no such text at all.
    if "\0" in code:
        abort(404)
    return db.session.scalars(select(Match).where(Match.code == code)).one()


def _begun(code: str) -> Match:
    match = _match(code)
    if not _has_begun(match):
        abort(404)
    return match


def _has_begun(match: Match) -> bool:
    return match.status in (Status.RUNNING, Status.OVER)
