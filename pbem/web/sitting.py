"""Pages for sitting down: invitations, and the link to a table that may be shared."""

from __future__ import annotations

from datetime import UTC, datetime

from flask import Response, request
from flask_babel import get_locale

from engine import GAMES
from pbem import cleaning, limits, lobby
from pbem.config import LANGUAGES
from pbem.errors import PbemError
from pbem.ext import db, settings, tokens
from pbem.links import Links, whose
from pbem.models import Match, Seat, Status
from pbem.web.errors import in_words, refused
from pbem.web.opened import moved, page, token_pages
from pbem.web.security import check_form, refuse_others, signed_in, source

pages = token_pages("sitting")


@pages.get("/i/<token>")
def invitation(token: str) -> Response:
    """Show the table that somebody is invited to."""
    seat, is_theirs = _invited(token)
    if is_theirs and not seat.is_vacant:
        return moved(Links().seat(seat))
    return _invitation_page(seat, token, {}, is_theirs=is_theirs)


@pages.post("/i/<token>")
def answer_invitation(token: str) -> Response:
    """Sit down, or decline."""
    (seat, is_theirs), now = _invited(token), datetime.now(UTC)
    declines = request.form.get("answer") == "decline"
    # Who has declined may press the button again.
    if not is_theirs and not (declines and seat.invited is None):
        return _invitation_page(seat, token, {}, is_theirs=False, status=409)
    if declines:
        lobby.decline(seat.id, now=now)
        return page("web/declined.html", match=seat.match)
    try:
        lobby.sit(
            seat.id,
            name=request.form.get("name", ""),
            phrase=request.form.get("phrase", ""),
            language=request.form.get("language", ""),
            zone=request.form.get("zone", ""),
            now=now,
        )
    except PbemError as error:
        return _invitation_page(seat, token, {"problem": in_words(error)}, status=409)
    return moved(Links().seat(seat))


@pages.get("/j/<token>")
def join(token: str) -> Response:
    """Show the table that this link may be shared for."""
    return _join_page(_shared_match(token), token, {})


@pages.post("/j/<token>")
def take_place(token: str) -> Response:
    """Sit down at a free place; a stranger's address is proved by a mail first."""
    match, now, player = _shared_match(token), datetime.now(UTC), signed_in()
    try:
        if player is not None:
            # This link is shared, so that it proves nothing of who sends the form.
            check_form()
            lobby.join(match.id, player, phrase=request.form.get("phrase", ""), now=now)
            return moved(Links().match(match))
        limits.try_one_more(limits.sign_ins(settings().sign_ins_an_hour), source(), now=now)
        lobby.reserve(match.id, request.form.get("address", ""), now=now)
    except PbemError as error:
        page_of_form = _join_page(match, token, {"problem": in_words(error)})
        return refused(page_of_form, error, status=409)
    return page("web/look_in_mail.html", address=request.form.get("address", ""))


def _invitation_page(
    seat: Seat,
    token: str,
    extra: dict[str, object],
    *,
    is_theirs: bool = True,
    status: int = 200,
) -> Response:
    opener = seat.match.opener
    known = lobby.find_player(seat.invited) if is_theirs and seat.invited else None
    about = known or opener
    return page(
        "web/invitation.html",
        status=status,
        match=seat.match,
        title=GAMES[seat.match.game].title,
        token=token,
        is_open=is_theirs and seat.match.status in (Status.OPEN, Status.RUNNING),
        typed=request.form,
        name=known.name if known else "",
        language=about.language if known else str(get_locale() or about.language)[:2],
        zone=about.zone,
        languages=LANGUAGES,
        zones=cleaning.zones(),
        **extra,
    )


def _join_page(
    match: Match, token: str, extra: dict[str, object], *, status: int = 200
) -> Response:
    return page(
        "web/join.html",
        status=status,
        match=match,
        title=GAMES[match.game].title,
        token=token,
        typed=request.form,
        is_open=match.status in (Status.OPEN, Status.RUNNING) and lobby.has_free_seat(match),
        **extra,
    )


def _invited(token: str) -> tuple[Seat, bool]:
    """Return the seat of an invitation, and whether it is still that of whom it was mailed to."""
    (seat_id, address), renewed = tokens().read_renewable("invitation", token, ids=2)
    seat = db.session.get_one(Seat, seat_id)
    refuse_others(seat, seat.player_id or 0, renewed)
    return seat, whose(seat.invited) == address


def _shared_match(token: str) -> Match:
    (match_id,) = tokens().read_link("join", token)
    return db.session.get_one(Match, match_id)
