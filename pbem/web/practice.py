"""A practice game against bots for anybody, with no account: an address for each position."""

from __future__ import annotations

import secrets
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
from werkzeug.wrappers import Response as Answer

from engine import GAMES
from pbem import practice, telling
from pbem.web.drawing import drawn

MOST: Final = 500  # moves of one player; no game asks for so many

pages = Blueprint("practice", __name__, url_prefix="/try/<game_name>")


@pages.after_request
def keep_out_of_search(response: Response) -> Response:
    """Let no search engine walk through all the games there could be."""
    response.headers["X-Robots-Tag"] = "noindex, nofollow"
    return response


@pages.post("")
def begin(game_name: str) -> Answer:
    """Deal a new practice game."""
    if game_name not in GAMES:
        abort(404)
    return _position(game_name, secrets.token_hex(4), "")


@pages.get("/<deal>", defaults={"moves": ""})
@pages.get("/<deal>/<moves>")
def position(game_name: str, deal: str, moves: str) -> Response:
    """Show a practice game after the moves that the address names."""
    if game_name not in GAMES:
        abort(404)
    table = practice.played(game_name, deal, _numbers(moves))
    told = telling.tell(table, practice.READER)
    page = render_template(
        "web/practice.html",
        telling=told,
        picture=drawn(told.layout, say=told.say, title=told.board),
        log=telling.log(table, practice.READER),
        outcome=table.outcome,
        back_url=_back(game_name, deal, moves),
    )
    return make_response(page)


@pages.post("/<deal>", defaults={"moves": ""})
@pages.post("/<deal>/<moves>")
def move(game_name: str, deal: str, moves: str) -> Answer:
    """Go on to the position after one more move."""
    chosen = request.form.get("move", "")
    if not _numbers(chosen):
        abort(404)
    return _position(game_name, deal, f"{moves}.{chosen}" if moves else chosen)


def _position(game_name: str, deal: str, moves: str) -> Answer:
    address = url_for(".position", game_name=game_name, deal=deal, moves=moves)
    return redirect(address, code=303)


def _numbers(moves: str) -> list[int]:
    """Return the numbers of an address; what no game asks for is not there."""
    found = moves.split(".") if moves else []
    if len(found) > MOST or not all(one.isdecimal() and len(one) < 4 for one in found):
        abort(404)
    return [int(one) for one in found]


def _back(game_name: str, deal: str, moves: str) -> str | None:
    """Return the address of the position before the last move, if there was one."""
    if not moves:
        return None
    earlier = moves.rpartition(".")[0]
    return url_for(".position", game_name=game_name, deal=deal, moves=earlier)
