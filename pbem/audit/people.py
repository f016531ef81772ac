"""What is wrong with players: addresses that are not theirs, accounts that did not go."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import exists, select

from pbem.ext import db
from pbem.models import Address, Match, Player, Seat, Status


def wrongs() -> Iterator[str]:
    """Yield a line for each player who is not as promised; no address is told."""
    own = exists().where(Address.player_id == Player.id, Address.address == Player.address)
    here = select(Player.id).where(Player.deleted_at.is_(None), ~own)
    for player_id in db.session.scalars(here.order_by(Player.id)):
        yield f"player {player_id} is mailed at an address that is not one of theirs"
    left = Player.deleted_at.is_not(None)
    kept = exists().where(Address.player_id == Player.id)
    for player_id in db.session.scalars(select(Player.id).where(left, kept).order_by(Player.id)):
        yield f"player {player_id} has left, and their addresses are still here"
    yield from _seats_of_former_players()


def _seats_of_former_players() -> Iterator[str]:
    plays = (
        select(Seat.number, Match.game, Match.code)
        .join(Match, Match.id == Seat.match_id)
        .join(Player, Player.id == Seat.player_id)
        .where(Match.status == Status.RUNNING, ~Seat.resigned, Player.deleted_at.is_not(None))
    )
    for number, game, code in db.session.execute(plays.order_by(Match.id, Seat.number)):
        yield f"{game} {code}: seat {number} is played by somebody who has left"
