"""The page that asks the same people to another game."""

from __future__ import annotations

from datetime import UTC, datetime

from flask import Response, request

from engine import GAMES
from pbem import rematch
from pbem.errors import PbemError
from pbem.ext import db, tokens
from pbem.links import Links
from pbem.models import Seat
from pbem.web.errors import in_words, refused
from pbem.web.opened import moved, page, token_pages
from pbem.web.security import refuse_others

pages = token_pages("rematch")


@pages.get("/r/<token>")
def ask(token: str) -> Response:
    """Show who would be asked; only the button asks them."""
    return _page(_seat(token), "", 200)


@pages.post("/r/<token>")
def play_again(token: str) -> Response:
    """Open the table, or sit down at the one that another player has opened."""
    seat, phrase = _seat(token), request.form.get("phrase", "")
    try:
        place = rematch.play_again(seat.id, phrase=phrase, now=datetime.now(UTC))
    except PbemError as error:
        return refused(_page(seat, in_words(error), 409), error, status=409)
    return moved(Links().seat(place))


def _seat(token: str) -> Seat:
    (seat_id, player_id), renewed = tokens().read_renewable("rematch", token, ids=2)
    seat = db.session.get_one(Seat, seat_id)
    refuse_others(seat, player_id, renewed)
    return seat


def _page(seat: Seat, problem: str, status: int) -> Response:
    return page(
        "web/rematch.html",
        status=status,
        match=seat.match,
        title=GAMES[seat.match.game].title,
        seat=seat,
        opened=rematch.rematch_of(seat.match),
        typed=request.form,
        problem=problem,
    )
