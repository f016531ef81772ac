"""The page that says how a game's cards were dealt, and how to check it with nothing of ours."""

from __future__ import annotations

from flask import Blueprint, render_template
from sqlalchemy import select

from engine import GAMES
from pbem.ext import db
from pbem.models import Match
from pbem.table import in_joining_order

pages = Blueprint("fair", __name__)


@pages.get("/g/<code>/deal")
def deal(code: str) -> str:
    """Show a game's commitment, its phrases as they arrived, and after the end the key."""
    match = db.session.scalars(select(Match).where(Match.code == code)).one()
    given = [seat for seat in match.seats if seat.phrase_at is not None and seat.is_filled]
    return render_template(
        "web/deal.html",
        match=match,
        title=GAMES[match.game].title,
        arrived=sorted(given, key=lambda seat: (seat.phrase_at, seat.place)),
        seats=sorted(match.seats, key=lambda seat: seat.number or seat.place),
        joined=[seat.name for seat in in_joining_order(match)],
    )
