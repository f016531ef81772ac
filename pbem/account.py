"""Use cases of a player's account: signing in, and the addresses that are theirs."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from sqlalchemy import update
from sqlalchemy.exc import IntegrityError

from pbem import post, suppression
from pbem.cleaning import clean_address
from pbem.errors import OldLink
from pbem.ext import db, settings, writing
from pbem.lobby import find_player, mailed_lately, new_player
from pbem.models import Letter, LetterState, Player

MOST_SIGN_INS: Final = 10  # mails with a link that signs in, to one address in a day


def ask_to_sign_in(address: str, *, language: str, now: datetime) -> None:
    """Mail an address the link that signs it in; a stranger's is in the given language.

    Who wants no mail and is no player gets none, and nobody gets many. The same is done
    for every address, so that neither the answer nor its time tells which are known: what
    is not to go out is stored all the same. Raises BadAddress.
    """
    address = clean_address(address)
    with writing():
        player = find_player(address)
        is_unwanted = suppression.is_suppressed(address) and player is None
        is_one_more = mailed_lately(address, "sign_in", now=now) < MOST_SIGN_INS
        post.sign_in(
            address,
            player,
            language=language,
            state=LetterState.QUEUED if is_one_more and not is_unwanted else LetterState.STALE,
            now=now,
        )


def may_sign_in(letter: Letter) -> bool:
    """Return whether the link of a letter is still good: it is, until one signs in."""
    player = find_player(letter.address)
    is_unused = letter.about["sign_ins"] == (player.sign_ins if player else 0)
    # Without its address it was that of somebody who has deleted their account.
    return is_unused and letter.address != ""


def sign_in(letter_id: int, *, now: datetime) -> Player:
    """Return the player whom a letter's link signs in; it and all older ones are used up then.

    A new address becomes a player. Raises OldLink.
    """
    try:
        with writing():
            letter = db.session.get_one(Letter, letter_id)
            if not may_sign_in(letter):
                raise OldLink
            player = find_player(letter.address) or _new(letter, now=now)
            claimed = db.session.scalars(
                update(Player)
                .where(Player.id == player.id, Player.sign_ins == letter.about["sign_ins"])
                .values(sign_ins=Player.sign_ins + 1)
                .returning(Player.id)
            ).all()
            if not claimed:
                raise OldLink
            return player
    except IntegrityError:
        # A second press of a new address's link was at work at the same time.
        raise OldLink from None


def _new(letter: Letter, *, now: datetime) -> Player:
    return new_player(
        letter.address, name="", language=letter.language, zone=settings().zone, now=now
    )
