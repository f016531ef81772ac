"""The host's page of mail: what waits, was given up, was not understood, and who is blocked."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from flask import (
    Blueprint,
    Response,
    abort,
    make_response,
    redirect,
    render_template,
    request,
    url_for,
)
from sqlalchemy import func, select
from sqlalchemy.orm import defer
from werkzeug.wrappers import Response as Answer

from pbem import health, suppression
from pbem.cleaning import clean_address
from pbem.errors import PbemError
from pbem.ext import db, writing
from pbem.mail import inbox, outbox
from pbem.mail.note import MAIL
from pbem.models import Letter, LetterState, Match, Note, Player, Seat, Status
from pbem.web import forms
from pbem.web.errors import in_words
from pbem.web.security import check_form, keep_private, the_host

GIVEN_UP_WITHIN: Final = timedelta(days=7)
MOST: Final = 50  # rows of a list: a flood need not fill the page
LATE_AFTER: Final = health.OVERDUE  # a letter that is due for longer than this
WAITING: Final = (
    LetterState.QUEUED,
    LetterState.RETRY,
    LetterState.SENDING,
    LetterState.UNKNOWN,
)
# Mails of which nothing came, and whose writer may not know why.
NOT_UNDERSTOOD: Final = ("unparseable", "failed", "unknown", "stranger", "blocked")

pages = Blueprint("host_mail", __name__, url_prefix="/host/mail")
pages.after_request(keep_private)


@pages.get("")
def mail() -> Response:
    """Show the host how the mail goes, both ways."""
    return _page(the_host(), "", 200)


@pages.post("")
def act() -> Response | Answer:
    """Send a letter once more, block an address or let it be mailed again."""
    host = the_host()
    check_form()
    now, form = datetime.now(UTC), request.form
    try:
        match form.get("do"):
            case "again":
                outbox.try_again(forms.number("letter"), now=now)
            case "block":
                address = clean_address(form.get("address", ""))
                with writing():
                    suppression.block(address, now=now)
            case "unblock":
                with writing():
                    suppression.unblock(form.get("address", ""))
    except PbemError as error:
        return _page(host, in_words(error), 400)
    return redirect(url_for("host_mail.mail"), code=303)


@pages.get("/<int:note_id>")
def note(note_id: int) -> Response:
    """Show a mail as it came; of a running game in which the host sits, its headers only."""
    host = the_host()
    found = db.session.get(Note, note_id)
    if found is None:
        abort(404)
    head, _, body = found.raw[:MAIL].replace(b"\r\n", b"\n").partition(b"\n\n")
    is_own = _is_of_own_game(found, host)
    page = render_template(
        "web/host_note.html",
        note=found,
        zone=host.zone,
        head=head.decode("utf-8", "replace"),
        body=None if is_own else body.decode("utf-8", "replace"),
    )
    return make_response(page)


def given_up(*, now: datetime) -> Sequence[Letter]:
    """Return the letters of the last days that were given up, the newest first."""
    return db.session.scalars(
        select(Letter)
        .where(Letter.state == LetterState.FAILED, Letter.created_at > now - GIVEN_UP_WITHIN)
        .order_by(Letter.id.desc())
        .limit(MOST)
    ).all()


def waiting() -> Sequence[Letter]:
    """Return the letters that have yet to leave, those that are due first at the top."""
    return db.session.scalars(
        select(Letter)
        .where(Letter.state.in_(WAITING))
        .order_by(Letter.due_at, Letter.id)
        .limit(MOST)
    ).all()


def not_understood(*, now: datetime) -> Sequence[Note]:
    """Return the mails of the last days that came to nothing, the newest first."""
    return db.session.scalars(
        select(Note)
        .where(Note.verdict.in_(NOT_UNDERSTOOD), Note.received_at > now - GIVEN_UP_WITHIN)
        .order_by(Note.id.desc())
        .limit(MOST)
        .options(defer(Note.raw))
    ).all()


def _is_of_own_game(note: Note, host: Player) -> bool:
    """Return whether a mail may tell a host of the cards of a game that they play themselves."""
    match_id = inbox.match_of(note)
    return (
        match_id is not None
        and db.session.scalar(
            select(Seat.id)
            .join(Match, Seat.match_id == Match.id)
            .where(Match.id == match_id, Match.status == Status.RUNNING, Seat.player_id == host.id)
        )
        is not None
    )


def _page(host: Player, problem: str, status: int) -> Response:
    now = datetime.now(UTC)
    page = render_template(
        "web/host_mail.html",
        problem=problem,
        typed=request.form,
        zone=host.zone,
        counts=_counts(now=now),
        waiting=waiting(),
        late_since=now - LATE_AFTER,
        given_up=given_up(now=now),
        not_understood=not_understood(now=now),
        blocked=suppression.blocked(),
    )
    return make_response(page, status)


def _counts(*, now: datetime) -> list[tuple[str, int]]:
    """Return how many letters of the last days are in which state."""
    return [
        (state, number)
        for state, number in db.session.execute(
            select(Letter.state, func.count())
            .where(Letter.created_at > now - GIVEN_UP_WITHIN)
            .group_by(Letter.state)
            .order_by(Letter.state)
        )
    ]
