"""The host's page: what waits and for whom, what mail failed, and what only the host may do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from flask import (
    Blueprint,
    Response,
    make_response,
    redirect,
    render_template,
    request,
    url_for,
)
from sqlalchemy import select
from werkzeug.wrappers import Response as Answer

from engine import GAMES
from engine.game import N_
from pbem import agreements, health, hearing, talk
from pbem.errors import BadChoice, PbemError
from pbem.ext import db
from pbem.mail.plain import notice_line, wish
from pbem.models import Match, Player, Proposal, Status, Talk
from pbem.waiting import Waiting, waiting
from pbem.web import forms
from pbem.web.errors import in_words
from pbem.web.host_mail import given_up, not_understood
from pbem.web.security import check_form, keep_private, the_host

ACTS: Final = (*agreements.OPENERS, "end", "mail_again", "hide")

pages = Blueprint("host", __name__)
pages.after_request(keep_private)


@dataclass(frozen=True, slots=True)
class Running:
    """A running match as its host sees it; ``kept`` are seats of the house not asked now."""

    match: Match
    title: str
    waiting: tuple[Waiting, ...]
    kept: tuple[str, ...]
    proposals: tuple[tuple[str, Proposal], ...]
    notices: tuple[tuple[datetime, str], ...]
    said: tuple[Talk, ...]

    @property
    def is_late(self) -> bool:
        """Return whether somebody's time has run out."""
        return any(one.is_late for one in self.waiting)


@pages.get("/host")
def games() -> Response:
    """Show the host all that waits."""
    return _page(the_host(), "", 200)


@pages.post("/host/<code>")
def act(code: str) -> Response | Answer:
    """Do what a form asks for a game, or say what is wrong with it."""
    host = the_host()
    check_form()
    match = db.session.scalars(select(Match).where(Match.code == code)).one()
    do = request.form.get("do", "")
    try:
        if do not in ACTS:
            raise BadChoice
        if do == "end" and not request.form.get("sure"):
            raise BadChoice(N_("tick that you are sure; the end of a game can't be undone"))
        if do == "hide":
            talk.hide(forms.number("talk"), match, now=datetime.now(UTC))
        else:
            agreements.as_host(match.id, do, forms.about(), now=datetime.now(UTC))
    except PbemError as error:
        return _page(host, in_words(error), 400, code=code)
    return redirect(url_for("host.games"), code=303)


def running(*, now: datetime, zone: str) -> list[Running]:
    """Return all running matches, the late ones first, then the first deadline first."""
    found = [
        _running(match, now, zone)
        for match in db.session.scalars(
            select(Match).where(Match.status == Status.RUNNING).order_by(Match.id)
        )
    ]
    return sorted(found, key=lambda one: (not one.is_late, [w.turn.deadline for w in one.waiting]))


def unreachable() -> Sequence[Player]:
    """Return the players to whom no mail comes through, the longest known first."""
    return db.session.scalars(
        select(Player)
        .where(Player.unreachable_at.is_not(None))
        .order_by(Player.unreachable_at, Player.id)
    ).all()


def _running(match: Match, now: datetime, zone: str) -> Running:
    waits = waiting(match, now=now, zone=zone)
    asked = {one.seat.id for one in waits}  # of these it is told already why they wait
    return Running(
        match,
        GAMES[match.game].title,
        waits,
        tuple(
            seat.name or ""
            for seat in match.seats
            if (seat.is_kept or seat.resigned) and seat.id not in asked
        ),
        tuple((wish(one), one) for one in agreements.open_proposals(match)),
        tuple((one.at, notice_line(one.what, one.about, zone)) for one in match.notices),
        tuple(hearing.open_talk(match)),
    )


def _open_tables() -> list[tuple[str, Match, int]]:
    """Return the tables that wait, with their titles and how many players are missing."""
    found = db.session.scalars(
        select(Match).where(Match.status == Status.OPEN).order_by(Match.opened_at, Match.id)
    )
    return [
        (GAMES[match.game].title, match, sum(not seat.is_filled for seat in match.seats))
        for match in found
    ]


def _page(host: Player, problem: str, status: int, *, code: str = "") -> Response:
    now = datetime.now(UTC)
    found = health.look(now)
    page = render_template(
        "web/host.html",
        problem=problem,
        troubles=[in_words(trouble) for trouble in found.troubles],
        refused=code,
        zone=host.zone,
        games=running(now=now, zone=host.zone),
        tables=_open_tables(),
        unreachable=unreachable(),
        given_up=len(given_up(now=now)),
        late=found.unsent + found.refused,
        not_understood=len(not_understood(now=now)),
    )
    return make_response(page, status)
