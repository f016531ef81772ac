"""Making links anew: those that got into other hands open nothing any more.

See docs/decisions/0011-revoking.md.
"""

from __future__ import annotations

import logging
from datetime import datetime

from sqlalchemy import select

from engine.game import N_
from pbem import limits, play, post
from pbem.errors import TooMany
from pbem.ext import db, writing
from pbem.models import Player, Seat, Status
from pbem.tokens import MOST_RENEWED

_log = logging.getLogger(__name__)


def renew_seat(seat_id: int, *, now: datetime) -> None:
    """Replace all links and reply addresses of a seat, and mail its player the new ones.

    Those to the player's own pages go too: every letter holds them, and their calendar leads
    to the seat. Raises TooOften or TooMany.
    """
    with writing():
        seat = db.session.get_one(Seat, seat_id)
        limits.one_more(limits.RENEWALS, f"seat {seat.id}", now=now)
        if seat.player_id is not None:
            _renew_own(seat.player_id)
        _renew(seat, now=now)


def renew_all(player_id: int, *, now: datetime) -> None:
    """Replace the links to a player's own pages and to all their seats, and mail the new ones.

    Raises TooOften or TooMany.
    """
    with writing():
        limits.one_more(limits.RENEWALS, f"player {player_id}", now=now)
        _renew_own(player_id)
        mine = select(Seat).where(Seat.player_id == player_id).order_by(Seat.match_id)
        for seat in db.session.scalars(mine).all():
            _renew(seat, now=now)


def _renew_own(player_id: int) -> None:
    # Held before any match, so that two renewals wait for each other in one order.
    db.session.get_one(Player, player_id, with_for_update=True).renewed += 1
    _log.info("player %s has new links", player_id)


def _renew(seat: Seat, *, now: datetime) -> None:
    play.lock(seat.match)
    db.session.refresh(seat)
    if seat.renewed == MOST_RENEWED:
        raise TooMany(N_("the links of this game were made anew as often as can be; ask the host"))
    seat.renewed += 1
    _log.info("match %s: seat %s has new links", seat.match_id, seat.id)
    if seat.match.status not in (Status.OPEN, Status.RUNNING):
        return
    post.answer(seat, None, {"parts": [{"what": "renewed"}], "unread": []}, now=now)
    turn = None if seat.number is None else play.open_turn(seat.match, seat.number)
    if turn is not None:
        post.once_more(seat, turn, now=now)
