"""Use cases of a player's account: signing in, and the addresses that are theirs."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import func, select, update
from sqlalchemy.exc import IntegrityError

from engine.game import N_
from pbem import away, post, suppression
from pbem.cleaning import clean_address
from pbem.errors import AddressTaken, BadAddress, BadChoice, OldLink, TooMany
from pbem.ext import db, settings, writing
from pbem.lobby import MOST_SIGN_INS, find_player, mailed_lately, new_player
from pbem.models import Address, Letter, LetterState, Player

MOST_ADDRESSES: Final = 5  # of one player


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
        state = _state("sign_in", address, is_unwanted=is_unwanted, now=now)
        post.sign_in(address, player, language=language, state=state, now=now)


def may_sign_in(letter: Letter) -> bool:
    """Return whether the link of a letter is still good: it is, until one signs in."""
    player = find_player(letter.address)
    is_unused = letter.about["sign_ins"] == (player.sign_ins if player else 0)
    # Without its address it was that of somebody who deleted their account.
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


def sign_out_everywhere(player_id: int) -> None:
    """End all sessions of a player, and use up the links that would sign them in."""
    with writing():
        db.session.execute(
            update(Player)
            .where(Player.id == player_id)
            .values(sign_outs=Player.sign_outs + 1, sign_ins=Player.sign_ins + 1)
        )


def ask_to_add(player_id: int, address: str, *, now: datetime) -> None:
    """Mail an address the link by which it becomes one of a player's.

    What is said and done is the same for an address that is somebody's; only the mail tells.
    Raises BadAddress or TooMany.
    """
    address = clean_address(address)
    with writing():
        player = db.session.get_one(Player, player_id)
        if address in player.every_address:
            raise BadAddress(N_("that address is yours already"))
        _refuse_more(player)
        if _asked_lately(player, now=now) >= MOST_SIGN_INS:
            raise TooMany
        is_unwanted = suppression.is_suppressed(address)
        state = _state("add_address", address, is_unwanted=is_unwanted, now=now)
        post.add_address(address, player, state=state, now=now)


def may_add(letter: Letter) -> bool:
    """Return whether an address waits for its button: it was not added, and its asker is there."""
    asker = db.session.get_one(Player, letter.about["player"])
    return asker.deleted_at is None and "used" not in letter.about


def adder(letter: Letter) -> Player:
    """Return the player who asked for an address; raises OldLink if it waits no more."""
    if not may_add(letter):
        raise OldLink
    return db.session.get_one(Player, letter.about["player"])


def add(letter_id: int, *, now: datetime) -> Player:
    """Make the address of a letter one of its asker's, as somebody who reads mail there wants.

    Raises OldLink, AddressTaken or TooMany.
    """
    try:
        with writing():
            letter = db.session.get_one(Letter, letter_id)
            player = adder(letter)
            if find_player(letter.address) is not None:
                raise AddressTaken
            _refuse_more(player)
            player.addresses.append(Address(address=letter.address, added_at=now))
            letter.about = letter.about | {"used": True}
            return player
    except IntegrityError:
        # Somebody else was as fast.
        raise AddressTaken from None


def prefer(player_id: int, address: str, *, now: datetime) -> None:
    """Mail a player at another of their addresses from now on; what waits goes there too.

    Raises BadChoice.
    """
    with writing():
        player = db.session.get_one(Player, player_id)
        if address not in player.every_address:
            raise BadChoice
        db.session.execute(
            update(Letter)
            .where(
                Letter.player_id == player.id,
                Letter.address == player.address,
                Letter.kind != "sign_in",
                Letter.state.in_((LetterState.QUEUED, LetterState.RETRY, LetterState.GATHERED)),
            )
            .values(address=address)
        )
        if address != player.address:
            player.address = address
            away.reached(player, now=now)


def remove(player_id: int, address: str) -> None:
    """Let an address be a player's no more; the preferred one stays. Raises BadChoice."""
    with writing():
        player = db.session.get_one(Player, player_id)
        if address == player.address:
            raise BadChoice(N_("letters go to this address; choose another one for them first"))
        player.addresses[:] = [one for one in player.addresses if one.address != address]


def _state(kind: str, address: str, *, is_unwanted: bool, now: datetime) -> LetterState:
    """Return how a letter with a link begins: one that is not to go out is stale at once."""
    is_one_more = mailed_lately(address, kind, now=now) < MOST_SIGN_INS
    return LetterState.QUEUED if is_one_more and not is_unwanted else LetterState.STALE


def _new(letter: Letter, *, now: datetime) -> Player:
    return new_player(
        letter.address, name="", language=letter.language, zone=settings().zone, now=now
    )


def _refuse_more(player: Player) -> None:
    # Held, so that two that are added at once count each other.
    db.session.execute(select(Player.id).where(Player.id == player.id).with_for_update())
    held = select(func.count()).where(Address.player_id == player.id)
    if (db.session.scalar(held) or 0) >= MOST_ADDRESSES:
        raise TooMany(
            N_("a player has at most %(most)s addresses; remove one first"), most=MOST_ADDRESSES
        )


def _asked_lately(player: Player, *, now: datetime) -> int:
    """Return how many addresses a player has asked for within a day."""
    lately = select(func.count()).where(
        Letter.kind == "add_address",
        Letter.about["player"].as_integer() == player.id,
        Letter.created_at > now - timedelta(days=1),
    )
    return db.session.scalar(lately) or 0
