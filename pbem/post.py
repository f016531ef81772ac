"""What to tell whom after a change: letters, as rows of the change's own transaction."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import bindparam, select, update

from pbem import hearing, suppression
from pbem.ext import db, run, settings
from pbem.models import (
    Letter,
    LetterState,
    Match,
    Move,
    Notice,
    Player,
    Proposal,
    Seat,
    Turn,
    Wanted,
)
from pbem.table import Table

# Letters that the game does not need: each is wanted now, in the daily mail, or not at all.
OPTIONAL: Final = (
    "sat_down",
    "started",
    "receipt",
    "house_played",
    "hand_over",
    "notice",
    "game_over",
    "talk",
)
# What answers a player's own mail about a turn.
ANSWERS: Final = ("receipt", "not_done", "confirm", "stands", "orders", "answer")
# What is said comes with the next letter, if its reader has not chosen otherwise.
_UNASKED: Final = {"talk": Wanted.OFF}
# Letters that tell what was said since the last one.
_TELL_TALK: Final = (
    "your_turn",
    "reminder",
    "receipt",
    "started",
    "hand_over",
    "house_played",
    "stands",
    "not_done",
    "game_over",
    "talk",
)
_DROP_NOTICES: Final = (
    update(Letter)
    .where(
        Letter.turn_id == bindparam("of_turn"),
        Letter.kind.in_(("your_turn", "reminder")),
        Letter.state.in_((LetterState.QUEUED, LetterState.RETRY)),
    )
    .values(state=LetterState.STALE)
)
# News of the same sort follow one wish.
_WISH: Final = {"declined": "sat_down"}


def your_turn(seat: Seat, turn: Turn, *, now: datetime, due_at: datetime | None = None) -> None:
    """Tell a seat's player that it is their turn, at once or later; or leave it to the digest."""
    player = seat.player
    if player is None or not seat.is_asked_by_mail or player.digest_at is not None:
        return
    about = {}
    if player.offers_absence:
        # An automatic answer told that they are away; once is enough to offer it.
        about, player.offers_absence = {"offers_absence": True}, False
    _tell(seat, "your_turn", turn, about, now=now, due_at=due_at)


def receipt(
    table: Table,
    turn: Turn,
    move: Move,
    again: Turn | None,
    *,
    kept: Sequence[str] = (),
    now: datetime,
) -> bool:
    """Tell the player who moved by mail what was done and what followed at once.

    ``kept`` are their orders that wait.

    Where they are asked ``again`` it shows the moves, and so is that turn's notice too.
    It takes up an earlier one that still waits, as when one mail holds several moves.
    Returns False if none goes out now, since the player wants it otherwise.
    """
    about: dict[str, Any] = {"moved": move.ply, "since": _untold(turn, move), "ply": table.ply}
    if kept:
        about["orders"] = list(kept)
    return _tell(table.seat(turn.seat), "receipt", again or turn, about, now=now)


def _untold(turn: Turn, move: Move) -> int:
    """Return the ply after which nothing is told yet; drops the receipt that would have told it."""
    earlier = db.session.scalar(
        select(Letter).where(
            Letter.turn_id == turn.id,
            Letter.kind == "receipt",
            Letter.state == LetterState.QUEUED,
        )
    )
    if earlier is None:
        return move.ply - 1
    earlier.state = LetterState.STALE
    since: int = earlier.about["since"]
    return since


def started(seat: Seat, *, now: datetime) -> None:
    """Tell a player who is not asked at once that the game has begun."""
    _tell(seat, "started", about={"ply": seat.match.ply}, now=now)


def hand_over(seat: Seat, since: int, *, now: datetime) -> None:
    """Tell a player who is not asked at once how a hand ended; ``since`` the ply before."""
    _tell(seat, "hand_over", about={"ply": seat.match.ply, "since": since}, now=now)


def stands(turn: Turn, seat: Seat, about: dict[str, Any] | None = None, *, now: datetime) -> None:
    """Tell a player whose mail is about a turn that is over what stands.

    Where it asked for what is not possible, ``about`` says so as for ``not_done``.
    """
    _tell(seat, "stands", turn, {"ply": turn.match.ply, **(about or {})}, now=now)


def not_done(turn: Turn, seat: Seat, about: dict[str, Any], *, now: datetime) -> None:
    """Tell a player why their mail was not done, with the moves again.

    ``about`` holds ``why`` (illegal, ambiguous, unreadable, stranger or unproven) and may hold the
    ``line`` that was read, the ``reason`` (a pattern) with its ``fields``, the ``readings``.
    """
    _tell(seat, "not_done", turn, about, now=now)


def confirm(turn: Turn, seat: Seat, move: str, doubt: str, *, now: datetime) -> None:
    """Ask a player whether a mail was theirs; nothing is played until they say so.

    ``move`` is what it asks for, in canonical text; ``doubt`` is stranger or unproven.
    """
    _tell(seat, "confirm", turn, {"move": move, "why": doubt}, now=now)


def reminder(turn: Turn, seat: Seat, *, now: datetime) -> None:
    """Remind a player of an open turn."""
    _tell(seat, "reminder", turn, now=now)


def reminders(player: Player, turns: Sequence[Turn], *, now: datetime) -> None:
    """Remind a player of several open turns in one letter."""
    _queue("reminders", player, now, about={"turns": [turn.id for turn in turns]})


def digest(
    player: Player, turns: Sequence[Turn], gathered: Sequence[Letter], *, now: datetime
) -> None:
    """Mail a player all their open turns of the day, and what was gathered, in one letter."""
    about = {"turns": [turn.id for turn in turns], "told": [letter.id for letter in gathered]}
    if _queue("digest", player, now, about=about):
        for letter in gathered:
            letter.state = LetterState.TOLD


def gathered(player: Player) -> Sequence[Letter]:
    """Return the letters that wait for a player's daily mail."""
    waiting = select(Letter).where(
        Letter.player_id == player.id, Letter.state == LetterState.GATHERED
    )
    return db.session.scalars(waiting.order_by(Letter.id)).all()


def house_played(turn: Turn, seat: Seat, move: Move, *, now: datetime) -> None:
    """Tell a player that time ran out and the house made their move.

    That it now plays on for them they must know, whatever they want.
    """
    about = {"ply": move.ply, "is_kept": seat.is_kept}
    _tell(seat, "house_played", turn, about, now=now, is_needed=seat.is_kept)


def notice(
    match: Match, what: str, about: dict[str, Any], *, but: Seat | None = None, now: datetime
) -> None:
    """Tell a table's players, but one, what happened beside the game; see plain.notice."""
    note_down(match, what, about, now=now)
    for seat in match.seats:
        if but is None or seat.id != but.id:
            _tell(seat, "notice", about={"what": what, **about}, now=now)


def note_down(match: Match, what: str, about: dict[str, Any], *, now: datetime) -> None:
    """Keep what happened beside the game for the table's pages, and mail it to nobody."""
    db.session.add(Notice(match_id=match.id, what=what, about=about, at=now))


def proposal(proposed: Proposal, seat: Seat, *, now: datetime) -> None:
    """Ask a player for their yes to what another player wants."""
    _tell(seat, "proposal", about={"proposal": proposed.id}, now=now)


def game_over(table: Table, *, now: datetime) -> None:
    """Tell all players how the match ended; notices of turns that are over go stale."""
    for seat in table.seats:
        _tell(seat, "game_over", now=now)


def taken_back(seat: Seat, mover: Seat, *, now: datetime) -> None:
    """Tell a player who was asked that the move before was taken back."""
    _tell(seat, "taken_back", about={"ply": seat.match.ply, "name": mover.stored_name}, now=now)


def orders(seat: Seat, turn: Turn, kept: Sequence[str], *, now: datetime) -> None:
    """Answer a player's mail about orders with those that wait now."""
    _tell(seat, "orders", turn, {"orders": list(kept)}, now=now)


def invitation(seat: Seat, opener: Player, *, now: datetime) -> None:
    """Invite an address to a seat, in the language and zone of the opener."""
    assert seat.invited is not None, "an invitation is to an address"
    _add(
        "invitation",
        seat.invited,
        opener.language,
        opener.zone,
        now,
        match=seat.match,
        seat=seat,
    )


def sat_down(seat: Seat, *, now: datetime) -> None:
    """Tell the opener of a table that still waits who has sat down."""
    _queue("sat_down", seat.match.opener, now, match=seat.match, about={"name": seat.name})


def declined(match: Match, address: str, *, now: datetime) -> None:
    """Tell the opener that somebody whom they invited will not play."""
    _queue("declined", match.opener, now, match=match, about={"address": address})


def came_back(match: Match, address: str, reason: str, *, now: datetime) -> None:
    """Tell the opener that an invitation could not be delivered."""
    about = {"address": address, "reason": reason}
    _queue("came_back", match.opener, now, match=match, about=about)


def for_host(what: str, about: dict[str, Any], *, now: datetime) -> None:
    """Tell the hosts that something needs their eye; the same thing once a day at most."""
    site = settings()
    addresses = [address.strip().lower() for address in site.host_addresses]
    lately = select(Letter.about).where(
        Letter.address.in_(addresses),
        Letter.created_at > now - timedelta(days=1),
        Letter.turn_id.is_(None),
        Letter.kind == "for_host",
    )
    if any(told["what"] == what for told in db.session.scalars(lately)):
        return
    for address in addresses:
        _add("for_host", address, site.language, site.zone, now, about={"what": what, **about})


def sign_in(
    address: str,
    player: Player | None,
    *,
    language: str,
    state: LetterState = LetterState.QUEUED,
    now: datetime,
) -> None:
    """Mail an address the link that signs in its player, or a new one.

    One that is stale from the start never leaves; see account.ask_to_sign_in.
    """
    _add(
        "sign_in",
        address,
        player.language if player else language,
        player.zone if player else settings().zone,
        now,
        player=player,
        about={"sign_ins": player.sign_ins if player else 0},
        state=state,
    )


def add_address(address: str, player: Player, *, state: LetterState, now: datetime) -> None:
    """Mail an address the link by which it becomes one of a player's.

    It is no letter of the player: a stranger may read it, and it must lead to nothing of theirs.
    """
    about = {"player": player.id}
    _add("add_address", address, player.language, player.zone, now, about=about, state=state)


def talk(seat: Seat, *, now: datetime) -> None:
    """Tell a player at once what was said at their table, if they have chosen that."""
    player = seat.player
    if player is not None and wish(player, "talk") != Wanted.OFF and hearing.has_untold(seat):
        _tell(seat, "talk", now=now)


def answer(seat: Seat, turn: Turn | None, about: dict[str, Any], *, now: datetime) -> None:
    """Answer what a player asked for by words in a reply; see mail.answers for ``about``.

    It is added even where its reader wants no mails from now on: that answer is the last one.
    """
    player = seat.player
    if player is None or player.deleted_at is not None:
        return
    _add(
        "answer",
        player.address,
        player.language,
        player.zone,
        now,
        player=player,
        match=seat.match,
        seat=seat,
        turn=turn,
        about=about,
    )


def once_more(seat: Seat, turn: Turn, *, is_answer: bool = False, now: datetime) -> None:
    """Mail a seat's player an open turn again, as somebody asked; no digest waits for it.

    It is an answer if the player asked for it by mail.
    """
    about = {"is_answer": True} if is_answer else {}
    _tell(seat, "your_turn", turn, about, now=now, is_needed=True)


def is_answer(letter: Letter) -> bool:
    """Return whether a letter answers a player's own mail."""
    return letter.kind in ANSWERS or bool(letter.about.get("is_answer"))


def wish(player: Player, kind: str) -> str:
    """Return how a player wants letters of a kind."""
    return player.mails.get(kind, unasked(kind))


def unasked(kind: str) -> str:
    """Return how letters of a kind come to whoever has not said how they want them."""
    return _UNASKED.get(kind, Wanted.NOW)


def drop_notices(turn: Turn) -> None:
    """Drop what still waits to be told about a turn that is over."""
    run(_DROP_NOTICES, of_turn=turn.id)


def drop_receipts(turn: Turn, ply: int) -> None:
    """Drop what still waits to be told to a seat about its move that was taken back."""
    waiting = select(Letter).where(
        Letter.seat_id == turn.asked.id,
        Letter.kind == "receipt",
        Letter.state.in_((LetterState.QUEUED, LetterState.RETRY, LetterState.GATHERED)),
    )
    for letter in db.session.scalars(waiting):
        if letter.about["moved"] == ply:
            letter.state = LetterState.STALE


def _tell(
    seat: Seat,
    kind: str,
    turn: Turn | None = None,
    about: dict[str, Any] | None = None,
    *,
    now: datetime,
    due_at: datetime | None = None,
    is_needed: bool = False,
) -> bool:
    """Queue a letter to a seat's player; a bot needs none. Returns whether it goes out."""
    return seat.player is not None and _queue(
        kind,
        seat.player,
        now,
        match=seat.match,
        seat=seat,
        turn=turn,
        about=about,
        due_at=due_at,
        is_needed=is_needed,
    )


def _queue(
    kind: str, player: Player, now: datetime, *, is_needed: bool = False, **more: Any
) -> bool:
    """Queue a letter to a player, as they want its kind. Returns whether it goes out by itself."""
    wanted = Wanted.NOW if is_needed else wish(player, _WISH.get(kind, kind))
    if player.deleted_at is not None or wanted == Wanted.OFF:
        return False
    if suppression.is_suppressed(player.address):
        return False
    is_gathered = wanted == Wanted.DAILY and player.digest_at is not None
    letter = _add(
        kind,
        player.address,
        player.language,
        player.zone,
        now,
        player=player,
        state=LetterState.GATHERED if is_gathered else LetterState.QUEUED,
        **more,
    )
    if kind in _TELL_TALK and "seat" in more:
        hearing.tell_untold(letter, more["seat"])
    for turn_id in letter.about.get("turns", ()) if kind == "digest" else ():
        hearing.tell_untold(letter, db.session.get_one(Turn, turn_id).asked)
    return not is_gathered


def _add(
    kind: str,
    address: str,
    language: str,
    zone: str,
    now: datetime,
    *,
    about: dict[str, Any] | None = None,
    due_at: datetime | None = None,
    **more: Any,
) -> Letter:
    """Add a letter's row; ``more`` are columns by name."""
    letter = Letter(
        kind=kind,
        tail=secrets.token_hex(8),
        address=address,
        language=language,
        zone=zone,
        about=about or {},
        due_at=due_at or now,
        wanted_at=due_at or now,
        created_at=now,
        **more,
    )
    db.session.add(letter)
    return letter
