"""Use cases before play: opening a table, inviting, sitting down, declining, starting."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import func, select
from sqlalchemy.orm import selectinload

from engine import GAMES, deal
from engine.bots import BOTS
from engine.game import N_
from pbem import deadlines, limits, play, post, suppression
from pbem.cleaning import clean_address, clean_name, clean_phrase, clean_zone
from pbem.config import LANGUAGES
from pbem.errors import (
    BadAddress,
    BadChoice,
    BadPace,
    BadSeats,
    SeatedAlready,
    SeatTaken,
    TableClosed,
    TooMany,
)
from pbem.ext import db, settings, writing
from pbem.models import Address, Letter, LetterState, Match, Player, Policy, Seat, Status

MOST_INVITED: Final = 10  # invitations to one address in a day
MOST_SIGN_INS: Final = 10  # mails with a link that signs in, to one address in a day
MOST_LISTED: Final = 50  # tables on the front page
WAITS: Final = timedelta(days=21)  # how long a table waits for its players
_CODE_FIRST: Final = """
    amber blue brave bright calm clear cosy deep early fair fine gentle golden green happy
    hidden high idle kind late light little long merry mild misty modest noble old open pale
    patient plain proud quick quiet rapid rare red ripe round shy silent silver slow small
    soft still sunny sweet tall tidy velvet warm white wide wild wise young
""".split()  # noqa: SIM905 - a list of words is easier to read
_CODE_SECOND: Final = """
    anchor apple arrow barley basket bay beacon bell birch bridge brook canal candle castle
    cedar chapel cherry clover coast copper corner dune ember falcon feather fern ferry
    field forest fountain garden gate glade harbour harvest hazel heron hill inn island
    ivory lake lantern lark maple market meadow mill moor orchard otter pebble pine plum
    pond quarry reed ridge river robin rose sail sparrow spring stone swan tower valley
    village willow
""".split()  # noqa: SIM905 - a list of words is easier to read


@dataclass(frozen=True, slots=True)
class Chair:
    """What a table's opener wants of one seat: a bot, an address, or (neither) left open."""

    bot: str | None = None
    address: str | None = None


def open_table(
    opener: Player,
    game_name: str,
    chairs: Sequence[Chair],
    options: Mapping[str, object],
    *,
    pace_hours: int = deadlines.DEFAULT_PACE,
    bank_hours: int = deadlines.DEFAULT_BANK,
    weekends: bool = False,
    policy: str = Policy.HOUSE,
    draws_seats: bool = False,
    is_listed: bool = False,
    allows_whispers: bool = False,
    rematch_of: Match | None = None,
    phrase: str = "",
    now: datetime,
) -> Match:
    """Open a table at which the opener takes the first place and the chairs follow.

    Raises BadOption, BadSeats, BadPace, BadPhrase, BadAddress, TooMany or TooOften; nothing is
    stored then.
    """
    game = GAMES[game_name]
    checked = game.check_options(1 + len(chairs), options)
    _check_times(pace_hours, bank_hours, policy)
    wanted = _checked_chairs(opener, chairs)
    server_key = secrets.token_bytes(32)
    with writing():
        match = Match(
            code=_new_code(),
            game=game_name,
            options=checked,
            opener_id=opener.id,
            draws_seats=draws_seats,
            is_listed=is_listed,
            allows_whispers=allows_whispers,
            rematch_of=None if rematch_of is None else rematch_of.id,
            server_key=server_key,
            commitment=deal.commitment(server_key),
            pace_hours=pace_hours,
            bank_hours=bank_hours,
            weekends=weekends,
            policy=policy,
            opened_at=now,
        )
        match.seats.append(_opener_seat(opener, clean_phrase(phrase), now=now))
        match.seats += [_seat(place, chair, now=now) for place, chair in enumerate(wanted, 2)]
        limits.one_more(limits.tables(settings().tables_a_day), f"player {opener.id}", now=now)
        db.session.add(match)
        db.session.flush()
        _invite_all(match, now=now)
        _start_if_full(match, now=now)
    return match


def sit(
    seat_id: int, *, name: str, phrase: str, language: str, zone: str, now: datetime
) -> tuple[Match, Player]:
    """Seat the person whom the seat was reserved for; the last one starts the match.

    Sitting down twice changes nothing. Raises TableClosed, SeatTaken, SeatedAlready,
    BadPhrase or BadZone.
    """
    phrase, zone = clean_phrase(phrase), clean_zone(zone)
    with writing():
        seat = _locked(seat_id)
        if seat.player is not None and seat.invited in seat.player.every_address:
            return seat.match, seat.player
        if seat.match.status not in (Status.OPEN, Status.RUNNING):
            raise TableClosed
        if not seat.is_vacant or seat.invited is None:
            raise SeatTaken
        player = find_player(seat.invited) or new_player(
            seat.invited, name=name, language=language, zone=zone, now=now
        )
        _take(seat, player, phrase, name=name, now=now)
        _start_or_tell(seat, now=now)
        return seat.match, player


def join(match_id: int, player: Player, *, phrase: str, now: datetime) -> Match:
    """Seat a player at the first place that is free for anybody.

    Raises TableClosed, SeatTaken (all places are gone), SeatedAlready or BadPhrase.
    """
    phrase = clean_phrase(phrase)
    with writing():
        match = _locked_match(match_id)
        if any(seat.player_id == player.id for seat in match.seats):
            raise SeatedAlready
        seat = _free_seat(match)
        _take(seat, db.session.get_one(Player, player.id), phrase, name=player.name, now=now)
        _start_or_tell(seat, now=now)
        return match


def reserve(match_id: int, address: str, *, now: datetime) -> None:
    """Hold a free place for an address and mail it the invitation, which proves it.

    Whoever asks may be a stranger, and is not told who sits or is invited here, or wants no
    mail: one who sits here is mailed the link that signs in, one who is invited the same
    invitation again. Raises BadAddress, TooMany, TableClosed or SeatTaken.
    """
    address = clean_address(address)
    with writing():
        match = _locked_match(match_id)
        free, player = _free_seat(match), find_player(address)
        _check_day(match.opener, 1, now=now)
        if player is not None and any(seat.player_id == player.id for seat in match.seats):
            if mailed_lately(address, "sign_in", now=now) < MOST_SIGN_INS:
                post.sign_in(address, player, language=player.language, now=now)
            return
        try:
            check_invited(address, now=now)
        except (BadAddress, TooMany):
            return
        held = [seat for seat in match.seats if seat.invited == address and seat.is_vacant]
        seat = held[0] if held else free
        seat.invited = address
        post.invitation(seat, match.opener, now=now)


def change_phrase(seat_id: int, phrase: str, *, now: datetime) -> None:
    """Give a seat's deal another phrase, until the match starts.

    Raises TableClosed, or BadPhrase.
    """
    phrase = clean_phrase(phrase)
    with writing():
        seat = _locked(seat_id)
        if seat.match.status != Status.OPEN:
            raise TableClosed(N_("the cards are dealt already; the phrase stays as it was"))
        seat.phrase, seat.phrase_at = phrase, now


def decline(seat_id: int, *, now: datetime) -> Match:
    """Give back a reserved place; the opener is told and the place is free for anybody.

    Declining twice changes nothing. Raises SeatTaken if the person sat down before.
    """
    with writing():
        seat = _locked(seat_id)
        if not seat.is_vacant:
            raise SeatTaken(N_("you sit at this table already, so there is nothing to decline"))
        if seat.invited is not None:
            post.declined(seat.match, seat.invited, now=now)
            seat.invited = None
        return seat.match


def take_back(seat: Seat, address: str, reason: str, *, now: datetime) -> None:
    """Free a place whose invitation came back, and tell the opener.

    The caller holds the transaction.
    """
    play.lock(seat.match)
    db.session.refresh(seat)
    if seat.is_vacant and seat.invited == address:
        seat.invited = None
        post.came_back(seat.match, address, reason, now=now)


def listed(*, now: datetime) -> list[Match]:
    """Return the tables that everybody may sit down at, the newest first."""
    found = db.session.scalars(
        select(Match)
        .where(Match.is_listed, Match.status == Status.OPEN, Match.opened_at > now - WAITS)
        .order_by(Match.opened_at.desc())
        .limit(MOST_LISTED)
        .options(selectinload(Match.seats))
    )
    return [match for match in found if has_free_seat(match)]


def has_free_seat(match: Match) -> bool:
    """Return whether anybody may still sit down, with no invitation."""
    return any(seat.is_vacant and seat.invited is None for seat in match.seats)


def expire(match_id: int, *, now: datetime) -> bool:
    """Close a table that never filled, and tell who sits or was invited there.

    Returns False if it has started or was closed before.
    """
    with writing():
        match = _locked_match(match_id)
        if match.status != Status.OPEN or match.opened_at + WAITS > now:
            return False
        match.status = Status.CANCELLED
        match.rematch_of = None  # its players may try once more
        post.notice(match, "cancelled", {}, now=now)
        return True


def find_player(address: str) -> Player | None:
    """Return the player whose address this is, preferred or not, if there is one."""
    return db.session.scalar(select(Player).join(Address).where(Address.address == address))


def every_address(address: str) -> list[str]:
    """Return all addresses of the person whose address this is; a stranger's is the only one."""
    player = find_player(address)
    return [address] if player is None else player.every_address


def new_player(address: str, *, name: str, language: str, zone: str, now: datetime) -> Player:
    """Add a player; an empty name becomes the part of the address before the @."""
    player = Player(
        address=address,
        name=clean_name(name) or clean_name(address.split("@", maxsplit=1)[0]),
        language=language if language in LANGUAGES else settings().language,
        zone=clean_zone(zone),
        created_at=now,
    )
    player.addresses.append(Address(address=address, added_at=now))
    db.session.add(player)
    db.session.flush()
    return player


def check_invitations(opener: Player, addresses: Sequence[str], *, now: datetime) -> None:
    """Keep the server from mailing who does not want it, or too many, in an opener's name.

    Raises BadAddress or TooMany.
    """
    _check_day(opener, len(addresses), now=now)
    for address in addresses:
        check_invited(address, now=now)


def _check_day(opener: Player, more: int, *, now: datetime) -> None:
    """Raise TooMany for an opener who would have invited too many within a day."""
    # Held, so that two tables opened at once count each other.
    db.session.execute(select(Player.id).where(Player.id == opener.id).with_for_update())
    sent = (
        select(func.count())
        .select_from(Letter)
        .join(Match)
        .where(Letter.kind == "invitation", Letter.created_at > now - timedelta(days=1))
        .where(Match.opener_id == opener.id)
    )
    most = settings().invitations_a_day
    if more and (db.session.scalar(sent) or 0) + more > most:
        raise TooMany(N_("that makes more than %(most)s invitations in a day"), most=most)


def check_invited(address: str, *, now: datetime) -> None:
    """Keep an address from mail that it does not want, or too much; raises BadAddress or TooMany.

    Their words name the address.
    """
    if suppression.is_suppressed(address):
        raise BadAddress(
            N_("%(address)s takes no mail from this server; pass the table's link on"),
            address=address,
        )
    if mailed_lately(address, "invitation", now=now) >= MOST_INVITED:
        raise TooMany(
            N_("%(address)s was invited often enough today; pass the table's link on"),
            address=address,
        )


def mailed_lately(address: str, kind: str, *, now: datetime) -> int:
    """Return how many letters of a kind went, or go, to an address within a day."""
    lately = select(func.count()).where(
        Letter.address == address,
        Letter.turn_id.is_(None),
        Letter.kind == kind,
        Letter.state != LetterState.STALE,
        Letter.created_at > now - timedelta(days=1),
    )
    return db.session.scalar(lately) or 0


def _check_times(pace_hours: int, bank_hours: int, policy: str) -> None:
    if not deadlines.LEAST_PACE <= pace_hours <= deadlines.MOST_PACE:
        raise BadPace
    if not 0 <= bank_hours <= deadlines.MOST_PACE:
        raise BadPace(N_("the bank for late moves is a whole number of hours, from 0 to 720"))
    if policy not in list(Policy):
        raise BadChoice


def _checked_chairs(opener: Player, chairs: Sequence[Chair]) -> list[Chair]:
    wanted = [_checked_chair(chair) for chair in chairs]
    invited = [chair.address for chair in wanted if chair.address]
    # That two addresses of somebody else are one person's is not for the opener to learn.
    if len({*opener.every_address, *invited}) != len(opener.every_address) + len(invited):
        raise BadSeats(N_("each person has one seat: give every address once, and not your own"))
    return wanted


def _invite_all(match: Match, *, now: datetime) -> None:
    """Mail the invitations of a new table."""
    held = [(seat, seat.invited) for seat in match.seats if seat.invited]
    check_invitations(match.opener, [address for _seat, address in held], now=now)
    for seat, _address in held:
        post.invitation(seat, match.opener, now=now)


def _checked_chair(chair: Chair) -> Chair:
    if chair.bot is not None and chair.bot not in BOTS:
        raise BadSeats(
            N_("there is no bot called %(bot)s; there is %(bots)s"),
            bot=chair.bot,
            bots=", ".join(BOTS),
        )
    return Chair(chair.bot, clean_address(chair.address) if chair.address else None)


def _opener_seat(opener: Player, phrase: str, *, now: datetime) -> Seat:
    return Seat(
        place=1,
        player_id=opener.id,
        name=opener.name,
        phrase=phrase,
        phrase_at=now,
        joined_at=now,
    )


def _seat(place: int, chair: Chair, *, now: datetime) -> Seat:
    if chair.bot is None:
        return Seat(place=place, invited=chair.address)
    return Seat(place=place, bot=chair.bot, name=f"Bot {place - 1}", joined_at=now)


def _new_code() -> str:
    # The tail keeps a table that is not listed from being guessed.
    tail = secrets.token_hex(3)
    return f"{secrets.choice(_CODE_FIRST)}-{secrets.choice(_CODE_SECOND)}-{tail}"


def _locked(seat_id: int) -> Seat:
    seat = db.session.get_one(Seat, seat_id)
    _locked_match(seat.match_id)
    db.session.refresh(seat)
    return seat


def _locked_match(match_id: int) -> Match:
    return db.session.scalars(
        select(Match)
        .where(Match.id == match_id)
        .with_for_update()
        .execution_options(populate_existing=True)
    ).one()


def _free_seat(match: Match) -> Seat:
    if match.status not in (Status.OPEN, Status.RUNNING):
        raise TableClosed
    for seat in match.seats:
        if seat.invited is None and seat.is_vacant:
            return seat
    if match.status == Status.RUNNING:
        raise TableClosed
    raise SeatTaken(N_("all places at this table are taken or reserved"))


def _take(seat: Seat, player: Player, phrase: str, *, name: str, now: datetime) -> None:
    if any(other.player_id == player.id for other in seat.match.seats):
        raise SeatedAlready
    name = clean_name(name) or player.name
    if seat.match.status == Status.RUNNING:
        play.take_over(seat, player, name, now=now)
        return
    seat.player, seat.name = player, name
    seat.phrase, seat.phrase_at = phrase, now
    seat.joined_at = now


def _start_if_full(match: Match, *, now: datetime) -> None:
    db.session.flush()
    if match.status == Status.OPEN and all(seat.is_filled for seat in match.seats):
        play.start(match, now=now)


def _start_or_tell(seat: Seat, *, now: datetime) -> None:
    """Start the match of a seat that was just taken, or tell its opener who has sat down."""
    _start_if_full(seat.match, now=now)
    if seat.match.status == Status.OPEN:
        post.sat_down(seat, now=now)
