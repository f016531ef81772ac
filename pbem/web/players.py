"""Players' public pages, for who wants one: their results by game, and how quickly they move."""

from __future__ import annotations

from flask import Blueprint, abort, render_template
from flask_babel import gettext

from engine import GAMES
from pbem import words
from pbem.ext import db
from pbem.models import Player
from pbem.results import results, usual_seconds

pages = Blueprint("players", __name__)


# No database numbers its rows higher.
@pages.get(f"/players/<int(max={2**31 - 1}):number>")
def player(number: int) -> str:
    """Show a player's page; of who wants none nobody learns that they are here."""
    found = db.session.get(Player, number)
    if found is None or not found.has_page:
        abort(404)
    return render_template(
        "web/player.html",
        player=found,
        results=results(found),
        titles={name: game.title for name, game in GAMES.items()},
        pace=_pace(usual_seconds(found)),
    )


def _pace(seconds: int | None) -> str:
    if seconds is None:
        return ""
    if seconds < 60:
        return gettext("Half of the moves come within a minute.")
    return gettext("Half of the moves come within %(time)s.", time=words.span(seconds))
