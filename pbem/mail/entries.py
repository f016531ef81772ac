"""Deadlines as calendar entries: attached to a turn's letter, or as a player's private feed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from flask_babel import gettext
from sqlalchemy import select

from engine import GAMES
from pbem import clocks
from pbem.ext import db, settings
from pbem.links import Links
from pbem.mail.calendar import Entry, file
from pbem.mail.plain import others
from pbem.models import Letter, Match, Player, Seat, Turn

# So long a feed still says that an entry is cancelled, for programs that keep what they saw.
_CANCELLED_FOR: Final = timedelta(days=14)


def attached(letter: Letter) -> bytes:
    """Return the entry of a letter's turn, and that of the turn before as cancelled."""
    turn = letter.turn
    assert turn is not None, "it is about a turn"
    before = db.session.scalar(
        select(Turn).where(
            Turn.match_id == turn.match_id, Turn.seat == turn.seat, Turn.nth == turn.nth - 1
        )
    )
    return _file([turn] if before is None else [turn, before], letter.created_at)


def feed(player: Player, *, now: datetime) -> bytes:
    """Return all deadlines of a player, and those that fell away lately as cancelled."""
    lately = (
        select(Turn)
        .join(Match)
        .join(Turn.asked)
        .where(Seat.player_id == player.id, Turn.closed_at > now - _CANCELLED_FOR)
        .order_by(Turn.id)
    )
    return _file([*clocks.open_turns(player=player), *db.session.scalars(lately)], now)


def _file(turns: Sequence[Turn], now: datetime) -> bytes:
    site = settings()
    return file([_entry(turn, now) for turn in turns], name=site.site_name, domain=site.mail_domain)


def _entry(turn: Turn, now: datetime) -> Entry:
    seat, site = turn.asked, settings()
    title = GAMES[turn.match.game].title
    is_closed = turn.closed_at is not None
    return Entry(
        uid=f"turn-{turn.match.code}-{turn.seat}-{turn.nth}@{site.mail_domain}",
        # One more than any deadline had, so that a program takes the cancelling for news.
        sequence=turn.sequence + is_closed,
        starts=turn.deadline,
        summary=gettext(
            "%(title)s with %(names)s: play by now", title=title, names=", ".join(others(seat))
        ),
        description=gettext("Your move in the game %(code)s is due.", code=turn.match.code),
        url=Links().seat(seat),
        is_cancelled=is_closed,
        changed_at=turn.closed_at or now,
    )
