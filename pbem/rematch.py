"""The same game once more: its people are asked by whoever presses the button first."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from pbem import lobby
from pbem.errors import NotYours, PbemError, SeatTaken
from pbem.ext import db
from pbem.lobby import Chair
from pbem.models import Match, Player, Seat, Status


def play_again(seat_id: int, *, phrase: str, now: datetime) -> Seat:
    """Return the place of a seat's player at the rematch; the first to ask opens it.

    Asked once more it is the same place. Raises NotYours if the game is not over, SeatTaken
    if others have all the places, or what lobby.open_table and lobby.sit raise.
    """
    seat = db.session.get_one(Seat, seat_id)
    match, player = seat.match, seat.player
    if player is None or match.status != Status.OVER:
        raise NotYours
    found = rematch_of(match)
    if found is None:
        try:
            return _opened(seat, player, phrase, now=now).seats[0]
        except IntegrityError:
            # Somebody else at the table was quicker by a moment.
            found, player = rematch_of(match), db.session.get_one(Player, player.id)
    assert found is not None, "one can't be opened, so there is one"
    return _sat_down(found, player, phrase, now=now)


def rematch_of(match: Match) -> Match | None:
    """Return the match that asks the players of another once more, if there is one."""
    return db.session.scalar(select(Match).where(Match.rematch_of == match.id))


def _opened(seat: Seat, player: Player, phrase: str, *, now: datetime) -> Match:
    match = seat.match
    around = sorted(match.seats, key=lambda other: other.number or 0)
    at = around.index(seat)
    return lobby.open_table(
        player,
        match.game,
        [_chair(other, now=now) for other in around[at + 1 :] + around[:at]],
        match.options,
        pace_hours=match.pace_hours,
        bank_hours=match.bank_hours,
        weekends=match.weekends,
        policy=match.policy,
        draws_seats=match.draws_seats,
        allows_whispers=match.allows_whispers,
        rematch_of=match,
        phrase=phrase,
        now=now,
    )


def _chair(seat: Seat, *, now: datetime) -> Chair:
    if seat.player is None:
        return Chair(bot=seat.bot)
    if seat.player.deleted_at is not None:
        return Chair()
    try:
        lobby.check_invited(seat.player.address, now=now)
    except PbemError:
        # Whoever opens the table must not read the address, so its link has to do.
        return Chair()
    return Chair(address=seat.player.address)


def _sat_down(match: Match, player: Player, phrase: str, *, now: datetime) -> Seat:
    for seat in match.seats:
        if seat.player_id == player.id:
            return seat
    for seat in match.seats:
        if seat.is_vacant and seat.invited in player.every_address:
            lobby.sit(
                seat.id,
                name=player.name,
                phrase=phrase,
                language=player.language,
                zone=player.zone,
                now=now,
            )
            return seat
    if not lobby.has_free_seat(match):
        raise SeatTaken
    lobby.join(match.id, player, phrase=phrase, now=now)
    return _sat_down(match, player, phrase, now=now)
