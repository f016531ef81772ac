"""Use cases that a table agrees on: more time, pause, another deadline, another player, the end.

Who asks makes a proposal; the other players say yes by one link. The host needs nobody's.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import select

from engine.game import N_
from pbem import clocks, lobby, play, post
from pbem.cleaning import clean_address
from pbem.errors import BadChoice, BadPace, MatchOver, NotYours
from pbem.ext import db, writing
from pbem.models import Match, Proposal, Seat, Status, Turn

_log = logging.getLogger(__name__)

# Who may ask, and how many of the others must say yes.
OPENERS: Final = ("pause", "resume", "deadline", "replace")
KINDS: Final = ("more_time", *OPENERS, "end")
LONGEST: Final = timedelta(days=30)  # how far a deadline may be moved


def resign(seat_id: int, *, now: datetime) -> None:
    """Give up: of two the other wins, among more the house plays the seat on to the end.

    Resigning twice changes nothing. Raises MatchOver.
    """
    with writing():
        give_up(_locked(seat_id), now=now)


def give_up(seat: Seat, *, now: datetime) -> None:
    """Do what resigning does. The caller holds the transaction and the match's lock."""
    if seat.resigned:
        return
    seat.resigned = True
    if len(seat.match.seats) == 2:
        play.stop(seat.match, "resigned", now=now)
    elif not _persons(seat.match):
        play.stop(seat.match, "stopped", now=now)
    else:
        post.notice(seat.match, "resigned", {"name": seat.stored_name}, but=seat, now=now)
        _leave_to_house(seat)


def propose(seat_id: int, kind: str, about: dict[str, Any], *, now: datetime) -> Proposal:
    """Ask the table for something; with nobody else to ask it is done at once.

    ``about`` holds `turn` and `hours` (deadline), or `place` and `address` (replace).
    Raises NotYours, BadChoice, BadPace, BadAddress or MatchOver.
    """
    if kind not in KINDS:
        raise BadChoice
    with writing():
        seat = _locked(seat_id)
        match = seat.match
        if kind in OPENERS and match.opener_id != seat.player_id:
            raise NotYours(N_("only the opener of the table can ask for that"))
        about = _checked(match, seat, kind, about, now=now)
        proposed = Proposal(
            match_id=match.id, seat_id=seat.id, kind=kind, about=about, yes=[], made_at=now
        )
        db.session.add(proposed)
        db.session.flush()
        _void_others(proposed, now=now)
        others = _voters(match, seat)
        if not others:
            _do(proposed, now=now)
        for other in others:
            post.proposal(proposed, other, now=now)
        return proposed


def say_yes(proposal_id: int, seat_id: int, *, now: datetime) -> Proposal:
    """Agree to a proposal; once enough have, it is done. A closed one stays as it is.

    Raises NotYours for a seat that is not asked.
    """
    with writing():
        proposed = db.session.get_one(Proposal, proposal_id)
        play.lock(proposed.match)
        db.session.refresh(proposed)
        voters = _voters(proposed.match, proposed.seat)
        if seat_id not in [seat.id for seat in voters]:
            raise NotYours
        if proposed.closed_at is not None:
            return proposed
        proposed.yes = sorted({*proposed.yes, seat_id})
        needed = len(voters) if proposed.kind == "end" else 1
        if len(proposed.yes) >= needed:
            _do(proposed, now=now)
        return proposed


def as_host(match_id: int, kind: str, about: dict[str, Any], *, now: datetime) -> None:
    """Do what only the host may do alone; see ``propose`` for what it takes."""
    if kind not in _ACTS:
        raise BadChoice
    with writing():
        match = db.session.get_one(Match, match_id)
        play.lock(match)
        if match.status != Status.RUNNING:
            raise MatchOver
        about = _checked(match, None, kind, about, now=now)
        _ACTS[kind](match, about, "", now=now)
        _log.info("match %s: a host did %s", match.id, kind)


def open_proposals(match: Match) -> Sequence[Proposal]:
    """Return the proposals that wait for somebody's yes."""
    return db.session.scalars(
        select(Proposal)
        .where(Proposal.match_id == match.id, Proposal.closed_at.is_(None))
        .order_by(Proposal.id)
    ).all()


def asked(proposed: Proposal) -> list[Seat]:
    """Return the seats whose yes is still missing."""
    return [seat for seat in _voters(proposed.match, proposed.seat) if seat.id not in proposed.yes]


def _do(proposed: Proposal, *, now: datetime) -> None:
    proposed.closed_at, proposed.result = now, "done"
    _ACTS[proposed.kind](proposed.match, proposed.about, proposed.seat.name or "", now=now)


def _give_time(match: Match, about: dict[str, Any], by: str, *, now: datetime) -> None:
    """Add hours to an open turn, by default as many as the pace gives."""
    turn = db.session.get_one(Turn, about["turn"])
    if turn.closed_at is not None:
        return
    turn.extra += about.get("hours", match.pace_hours) * 3600
    clocks.refresh(turn, now=now)
    told = {"by": by, "name": turn.asked.name, "until": turn.deadline.isoformat()}
    post.notice(match, "more_time", told, now=now)


def _pause(match: Match, _about: dict[str, Any], by: str, *, now: datetime) -> None:
    """Stop all clocks of a match."""
    if match.paused_at is None:
        match.paused_at = now
        post.notice(match, "paused", {"by": by}, now=now)


def _resume(match: Match, _about: dict[str, Any], by: str, *, now: datetime) -> None:
    """Let the clocks run again."""
    if match.paused_at is None:
        return
    for turn in clocks.open_turns(match=match):
        clocks.stop(turn, "paused", max(match.paused_at, turn.opened_at), now, now=now)
    match.paused_at = None
    post.notice(match, "resumed", {"by": by}, now=now)


def _replace(match: Match, about: dict[str, Any], by: str, *, now: datetime) -> None:
    """Invite an address to a seat; till it sits the house plays."""
    seat = next(seat for seat in match.seats if seat.place == about["place"])
    lobby.check_invitations(match.opener, [about["address"]], now=now)
    seat.is_kept = seat.is_free = True
    seat.invited = about["address"]
    _leave_to_house(seat)
    post.invitation(seat, match.opener, now=now)
    post.notice(match, "replaced", {"by": by, "name": seat.name}, now=now)


def _stop(match: Match, _about: dict[str, Any], by: str, *, now: datetime) -> None:
    """End a match as it stands; the letters of the end tell it."""
    post.note_down(match, "ended", {"by": by}, now=now)
    play.stop(match, "stopped", now=now)


def _mail_again(match: Match, about: dict[str, Any], by: str, *, now: datetime) -> None:
    """Mail an open turn to its player once more."""
    turn = db.session.get_one(Turn, about["turn"])
    post.once_more(turn.asked, turn, now=now)
    post.note_down(match, "mailed", {"by": by, "name": turn.asked.name}, now=now)


# What is done, by kind, with what `propose` has checked and the name of whose wish it was.
# Each is called within the transaction, with the match locked.
_ACTS: Final[dict[str, Callable[..., None]]] = {
    "more_time": _give_time,
    "deadline": _give_time,
    "pause": _pause,
    "resume": _resume,
    "replace": _replace,
    "end": _stop,
    "mail_again": _mail_again,
}


def _checked(
    match: Match, seat: Seat | None, kind: str, about: dict[str, Any], *, now: datetime
) -> dict[str, Any]:
    """Return what a kind needs, checked."""
    if kind == "more_time":
        turn = None if seat is None else play.open_turn(match, seat.number or 0)
        if turn is None:
            raise NotYours(N_("more time is for whose turn it is"))
        return {"turn": turn.id}
    if kind == "mail_again":
        return {"turn": _asked_turn(match, about).id}
    if kind == "deadline":
        turn, hours = _asked_turn(match, about), about.get("hours", 0)
        if not 1 <= hours <= LONGEST.total_seconds() // 3600:
            raise BadPace
        return {"turn": turn.id, "hours": hours}
    if kind == "replace":
        place = about.get("place", 0)
        found = [one for one in match.seats if one.place == place and one.bot is None]
        if not found or found[0].resigned:
            raise BadChoice
        address = clean_address(str(about.get("address", "")))
        if any(one.player and one.player.address == address for one in match.seats):
            raise BadChoice(N_("that person has a seat at this table already"))
        lobby.check_invitations(match.opener, [address], now=now)
        return {"place": place, "address": address}
    return {}


def _asked_turn(match: Match, about: dict[str, Any]) -> Turn:
    """Return the open turn of a match that is meant; raises BadChoice."""
    turn = db.session.get(Turn, about.get("turn", 0))
    if turn is None or turn.match_id != match.id or turn.closed_at is not None:
        raise BadChoice
    return turn


def _void_others(proposed: Proposal, *, now: datetime) -> None:
    """Let a new proposal of a kind take the place of the same seat's older one."""
    for older in open_proposals(proposed.match):
        if older.id != proposed.id and (older.kind, older.seat_id) == (
            proposed.kind,
            proposed.seat_id,
        ):
            older.closed_at, older.result = now, "void"


def _leave_to_house(seat: Seat) -> None:
    """Let the house make the move of a seat's open turn: its player isn't asked any more."""
    turn = play.open_turn(seat.match, seat.number or 0)
    if turn is not None:
        turn.is_house = True
        post.drop_notices(turn)


def _persons(match: Match) -> list[Seat]:
    return [seat for seat in match.seats if seat.is_asked_by_mail]


def _voters(match: Match, seat: Seat) -> list[Seat]:
    return [other for other in _persons(match) if other.id != seat.id]


def _locked(seat_id: int) -> Seat:
    seat = db.session.get_one(Seat, seat_id)
    play.lock(seat.match)
    db.session.refresh(seat)
    if seat.match.status != Status.RUNNING:
        raise MatchOver
    return seat
