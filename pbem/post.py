"""What to tell whom after a change: letters, as rows of the change's own transaction."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import update

from pbem.ext import db
from pbem.models import Letter, LetterState, Match, Move, Player, Proposal, Seat, Turn
from pbem.table import Table


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


def receipt(table: Table, turn: Turn, move: Move, again: Turn | None, *, now: datetime) -> None:
    """Tell the player who moved by mail what was done and what followed at once.

    Where they are asked ``again`` it shows the moves, and so is that turn's notice too.
    """
    about = {"moved": move.ply, "ply": table.ply}
    _tell(table.seat(turn.seat), "receipt", again or turn, about, now=now)


def stands(turn: Turn, seat: Seat, *, now: datetime) -> None:
    """Tell a player whose mail is about a turn that is over what stands."""
    _tell(seat, "stands", turn, {"ply": turn.match.ply}, now=now)


def not_done(turn: Turn, seat: Seat, about: dict[str, Any], *, now: datetime) -> None:
    """Tell a player why their mail was not done, with the moves again.

    ``about`` holds ``why`` (illegal, ambiguous, unreadable or stranger) and may hold the
    ``line`` that was read, the ``reason`` (a pattern) with its ``fields``, the ``readings``.
    """
    _tell(seat, "not_done", turn, about, now=now)


def reminder(turn: Turn, seat: Seat, *, now: datetime) -> None:
    """Remind a player of an open turn."""
    _tell(seat, "reminder", turn, now=now)


def reminders(player: Player, turns: Sequence[Turn], *, now: datetime) -> None:
    """Remind a player of several open turns in one letter."""
    _queue("reminders", player, now, about={"turns": [turn.id for turn in turns]})


def digest(player: Player, turns: Sequence[Turn], *, now: datetime) -> None:
    """Mail a player all their open turns of the day in one letter."""
    _queue("digest", player, now, about={"turns": [turn.id for turn in turns]})


def house_played(turn: Turn, seat: Seat, move: Move, *, now: datetime) -> None:
    """Tell a player that time ran out and the house made their move."""
    about = {"ply": move.ply, "is_kept": seat.is_kept}
    _tell(seat, "house_played", turn, about, now=now)


def notice(
    match: Match, what: str, about: dict[str, Any], *, but: Seat | None = None, now: datetime
) -> None:
    """Tell a table's players, but one, what happened beside the game; see contents.notice."""
    for seat in match.seats:
        if but is None or seat.id != but.id:
            _tell(seat, "notice", about={"what": what, **about}, now=now)


def proposal(proposed: Proposal, seat: Seat, *, now: datetime) -> None:
    """Ask a player for their yes to what another player wants."""
    _tell(seat, "proposal", about={"proposal": proposed.id}, now=now)


def game_over(table: Table, *, now: datetime) -> None:
    """Tell all players how the match ended; notices of turns that are over go stale."""
    for seat in table.seats:
        _tell(seat, "game_over", now=now)


def invitation(seat: Seat, opener: Player, *, now: datetime) -> None:
    """Invite an address to a seat, in the language and zone of the opener."""
    db.session.add(
        Letter(
            kind="invitation",
            tail=_tail(),
            address=seat.invited,
            language=opener.language,
            zone=opener.zone,
            match=seat.match,
            seat=seat,
            about={},
            due_at=now,
            wanted_at=now,
            created_at=now,
        )
    )


def declined(match: Match, address: str, *, now: datetime) -> None:
    """Tell the opener that somebody whom they invited will not play."""
    _queue("declined", match.opener, now, match=match, about={"address": address})


def sign_in(player: Player, *, now: datetime) -> None:
    """Mail a player the link that signs them in."""
    _queue("sign_in", player, now, about={"sign_ins": player.sign_ins})


def drop_notices(turn: Turn) -> None:
    """Drop what still waits to be told about a turn that is over."""
    db.session.execute(
        update(Letter)
        .where(
            Letter.turn_id == turn.id,
            Letter.kind.in_(("your_turn", "reminder")),
            Letter.state.in_((LetterState.QUEUED, LetterState.RETRY)),
        )
        .values(state=LetterState.STALE)
    )


def _tell(
    seat: Seat,
    kind: str,
    turn: Turn | None = None,
    about: dict[str, Any] | None = None,
    *,
    now: datetime,
    due_at: datetime | None = None,
) -> None:
    """Queue a letter to a seat's player; a bot needs none."""
    if seat.player is not None:
        _queue(
            kind,
            seat.player,
            now,
            match=seat.match,
            seat=seat,
            turn=turn,
            about=about,
            due_at=due_at,
        )


def _queue(
    kind: str,
    player: Player,
    now: datetime,
    *,
    match: Match | None = None,
    seat: Seat | None = None,
    turn: Turn | None = None,
    about: dict[str, Any] | None = None,
    due_at: datetime | None = None,
) -> None:
    db.session.add(
        Letter(
            kind=kind,
            tail=_tail(),
            player=player,
            address=player.address,
            language=player.language,
            zone=player.zone,
            match=match,
            seat=seat,
            turn=turn,
            about=about or {},
            due_at=due_at or now,
            wanted_at=due_at or now,
            created_at=now,
        )
    )


def _tail() -> str:
    return secrets.token_hex(8)
