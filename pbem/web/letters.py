"""The host's page of sample letters, and the way to be sent a true one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
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
    url_for,
)
from sqlalchemy import select
from werkzeug.wrappers import Response as Answer

from engine import GAMES
from engine.game import N_
from pbem import lobby
from pbem.config import LANGUAGES
from pbem.ext import db
from pbem.lobby import Chair
from pbem.models import Letter, LetterState, Match, Player
from pbem.samples import Sample, Shelf, story
from pbem.web.security import check_form, keep_private, the_host

LATEST: Final = 5  # so many of the host's own letters are told of
STATES: Final = {
    LetterState.QUEUED: N_("waits to leave"),
    LetterState.SENDING: N_("is on its way"),
    LetterState.SENT: N_("was taken by the mail server"),
    LetterState.RETRY: N_("did not get through yet and is tried again"),
    LetterState.UNKNOWN: N_("may have arrived: the line broke at the very end"),
    LetterState.FAILED: N_("was given up"),
    LetterState.STALE: N_("was not needed any more"),
    LetterState.GATHERED: N_("waits for the daily mail"),
    LetterState.TOLD: N_("was told of in the daily mail"),
}
# The letter's own styles are wanted, scripts and foreign addresses are not.
_LETTER_POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; frame-ancestors 'self';"
    " base-uri 'none'; form-action 'none'"
)

pages = Blueprint("letters", __name__, url_prefix="/host/letters")
pages.after_request(keep_private)


@pages.get("")
def kinds() -> str:
    """List the kinds of letters, and say what became of the host's own."""
    host = the_host()
    return render_template(
        "web/host_letters.html",
        language=_language(host),
        languages=LANGUAGES,
        of_site=tuple(story.OF_SITE),
        of_table=tuple(story.OF_TABLE),
        games=GAMES.values(),
        opened=_opened(host),
        latest=_latest(host),
        states=STATES,
        zone=host.zone,
    )


@pages.post("")
def send() -> Answer:
    """Open a practice table of the host against bots; its letters go the way of all letters."""
    host = the_host()
    check_form()
    game = GAMES.get(request.form.get("game", ""))
    if game is None:
        abort(404)
    bots = [Chair(bot="greedy")] * (min(game.seat_counts) - 1)
    match = lobby.open_table(host, game.name, bots, {}, now=datetime.now(UTC))
    return redirect(url_for("letters.kinds", opened=match.code), code=303)


@pages.get("/<name>")
def sample(name: str) -> str:
    """Show a sample as a mail program would, with its text below."""
    found, language = _sample(name)
    return render_template("web/host_letter.html", sample=found, language=language)


@pages.get("/<name>/html")
def html(name: str) -> Response:
    """Return the HTML part for a frame, its pictures from this sample."""
    found, language = _sample(name)

    def local(match: re.Match[str]) -> str:
        return url_for("letters.picture", name=name, content_id=match[1], lang=language)

    response = make_response(re.sub(r"cid:([^\"']+)", local, found.html))
    response.headers["Content-Security-Policy"] = _LETTER_POLICY
    return response


@pages.get("/<name>/picture/<content_id>")
def picture(name: str, content_id: str) -> Response:
    """Return a picture of a sample."""
    found, _language = _sample(name)
    data = found.pictures.get(content_id)
    if data is None:
        abort(404)
    return Response(data, mimetype="image/png")


def _sample(name: str) -> tuple[Sample, str]:
    """Return a sample and its language, for the host only."""
    language = _language(the_host())
    shelf: Shelf = current_app.extensions["pbem.samples"]
    found = shelf.samples(language).get(name)
    if found is None:
        abort(404)
    return found, language


def _language(host: Player) -> str:
    asked = request.args.get("lang", "")
    return asked if asked in LANGUAGES else host.language


def _opened(host: Player) -> Match | None:
    """Return the practice table that was just opened, if one was."""
    code = request.args.get("opened", "")
    return db.session.scalar(select(Match).where(Match.code == code, Match.opener_id == host.id))


def _latest(host: Player) -> Sequence[Letter]:
    return db.session.scalars(
        select(Letter).where(Letter.player_id == host.id).order_by(Letter.id.desc()).limit(LATEST)
    ).all()
