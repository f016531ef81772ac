"""Doing what the words of a reply ask for beside a move, and answering it.

Each is one of the use cases that pages call too. What is refused is answered with its reason,
and hinders nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import func, select

from engine import GAMES
from engine.errors import SpokenError
from engine.game import N_
from pbem import agreements, away, clocks, lobby, play, post, rematch, talk
from pbem.cleaning import clean_address
from pbem.errors import BadChoice, NotYours
from pbem.ext import db, writing
from pbem.lobby import Chair
from pbem.mail import errand, plain
from pbem.mail.errand import Errand
from pbem.mail.reply import Reply
from pbem.models import Letter, Match, Player, Seat, Status, Turn

MOST_ANSWERS: Final = 6  # to one seat in an hour
# A move is always answered, so that receipts are not among what is counted.
ANSWERS: Final = tuple(kind for kind in post.ANSWERS if kind != "receipt")
MOST_ERRANDS: Final = 5  # of one mail
MOST_UNREAD: Final = 3  # lines that are shown back
ASKED_WITHIN: Final = timedelta(days=7)  # how long a question whether to resign stands

Part = dict[str, Any]  # what an answer tells of one errand; see mail.answers


def do_all(note_id: int, seat: Seat, turn: Turn | None, read: Reply, *, now: datetime) -> bool:
    """Do what a reply says and asks for beside its move; returns False if that is nothing.

    ``turn`` is the one that the reply is about, if any.
    """
    assert seat.player is not None, "it is their mail"
    today = now.astimezone(clocks.zone_of(seat.player)).date()
    lines = [(line, errand.read(line, today=today)) for line in read.typed]
    asked = [(line, one) for line, one in lines if one is not None]
    if not asked and not read.said:
        return False
    seat_id, has_move = seat.id, read.asks_for_move
    parts = _say_all(note_id, seat_id, read, has_move=has_move, now=now)
    for line, one in list(dict.fromkeys(asked))[:MOST_ERRANDS]:
        parts += _do(one, line, seat_id, now=now)
    unread = [] if has_move else [line for line, one in lines if one is None and line.strip()]
    if parts:
        _answer(seat_id, turn, {"parts": parts, "unread": unread[:MOST_UNREAD]}, now=now)
    return True


def may_answer(seat: Seat, *kinds: str, now: datetime) -> bool:
    """Return whether another answer of these kinds may go out: robots must not talk for ever."""
    answers = select(func.count()).where(
        Letter.seat_id == seat.id,
        Letter.kind.in_(kinds),
        Letter.created_at > now - timedelta(hours=1),
    )
    return (db.session.scalar(answers) or 0) < MOST_ANSWERS


def _say_all(
    note_id: int, seat_id: int, read: Reply, *, has_move: bool, now: datetime
) -> list[Part]:
    """Say and note down what a mail says; what is done needs no words beside a move."""
    parts: list[Part] = []
    for nth, said in enumerate(read.said):
        try:
            if said.to is None:
                talk.write_note(seat_id, said.text, now=now)
            else:
                talk.say(seat_id, said.text, to=said.to, note_id=note_id, nth=nth, now=now)
        except SpokenError as error:
            parts.append(_refused(said.text, error))
            continue
        if not has_move:
            what = "noted" if said.to is None else "said"
            parts.append({"what": what, "to": said.to or ""})
    return parts


def _do(asked: Errand, line: str, seat_id: int, *, now: datetime) -> list[Part]:
    try:
        part = _ACTS[asked.what](db.session.get_one(Seat, seat_id), asked.rest, now=now)
    except SpokenError as error:
        return [_refused(line, error)]
    return [] if part is None else [part | {"what": part.get("what", asked.what)}]


def _refused(line: str, error: SpokenError) -> Part:
    fields = {name: str(what) for name, what in error.fields.items()}
    return {"what": "refused", "line": line[: plain.MOST_SHOWN], "reason": error.pattern} | {
        "fields": fields
    }


def _answer(seat_id: int, turn: Turn | None, about: dict[str, Any], *, now: datetime) -> None:
    with writing():
        seat = db.session.get_one(Seat, seat_id)
        if may_answer(seat, *ANSWERS, now=now):
            post.answer(seat, turn and db.session.get_one(Turn, turn.id), about, now=now)


def _tell(_seat: Seat, _rest: Sequence[str], **_now: datetime) -> Part:
    """Do nothing: the answer tells it as it stands."""
    return {}


def _again(seat: Seat, _rest: Sequence[str], *, now: datetime) -> Part | None:
    """Mail the open turn once more; that letter is the answer."""
    with writing():
        seat = db.session.get_one(Seat, seat.id)
        turn = play.open_turn(seat.match, seat.number or 0)
        if turn is None:
            return {"what": "not asked"}
        if may_answer(seat, "your_turn", now=now):
            post.once_more(seat, turn, is_answer=True, now=now)
    return None


def _history(seat: Seat, _rest: Sequence[str], **_now: datetime) -> Part:
    if seat.number is None:
        raise NotYours(N_("the game has not begun, so nothing has happened yet"))
    return {"ply": seat.match.ply}


def _more_time(seat: Seat, _rest: Sequence[str], *, now: datetime) -> Part:
    proposed = agreements.propose(seat.id, "more_time", {}, now=now)
    return {"is_done": proposed.closed_at is not None}


def _away(seat: Seat, days: Sequence[str], *, now: datetime) -> Part:
    assert seat.player_id is not None, "it is their mail"
    first, last = days
    absence = away.set_absence(seat.player_id, first, last, now=now)
    return {"from": absence.starts_at.isoformat(), "until": absence.ends_at.isoformat()}


def _back(seat: Seat, _rest: Sequence[str], *, now: datetime) -> Part:
    """End the absence that runs now; what comes later stands."""
    player = seat.player
    assert player is not None, "it is their mail"
    for absence in list(player.absences):
        if absence.starts_at <= now < absence.ends_at:
            away.end_absence(absence.id, player.id, now=now)
    away.come_back(player.id, now=now)
    return {}


def _resign(seat: Seat, _rest: Sequence[str], **_now: datetime) -> Part:
    """Ask whether they are sure."""
    if seat.match.status != Status.RUNNING or seat.resigned:
        raise NotYours(N_("there is no game of yours to resign here"))
    return {"seats": len(seat.match.seats)}


def _really_resign(seat: Seat, rest: Sequence[str], *, now: datetime) -> Part:
    """Resign, if they were asked lately whether they are sure; else ask."""
    lately = select(Letter).where(
        Letter.seat_id == seat.id,
        Letter.player_id == seat.player_id,
        Letter.kind == "answer",
        Letter.created_at > now - ASKED_WITHIN,
    )
    told = [part["what"] for one in db.session.scalars(lately) for part in one.about["parts"]]
    if "resign" not in told:
        return _resign(seat, rest) | {"what": "resign"}
    agreements.resign(seat.id, now=now)
    return {"what": "resigned"}


def _rematch(seat: Seat, _rest: Sequence[str], *, now: datetime) -> Part:
    if seat.match.status != Status.OVER:
        raise NotYours(N_("a rematch is for a game that is over"))
    return {"seat": rematch.play_again(seat.id, phrase="", now=now).id}


def _new(seat: Seat, rest: Sequence[str], *, now: datetime) -> Part:
    name, *addresses = rest
    if name not in GAMES:
        raise BadChoice(N_("there is no such game; there is %(games)s"), games=", ".join(GAMES))
    chairs = [Chair(address=address) for address in addresses]
    player = _player(seat)
    match = _waiting_table(player, name, addresses) or lobby.open_table(
        player, name, chairs, {}, now=now
    )
    return {"seat": match.seats[0].id}


def _waiting_table(player: Player, name: str, addresses: Sequence[str]) -> Match | None:
    """Return a table of theirs that still waits for the same people.

    A mail is sent twice where reception is bad, and read twice where the server died over it.
    """
    own = select(Match).where(
        Match.opener_id == player.id, Match.game == name, Match.status == Status.OPEN
    )
    wanted = [clean_address(address) for address in addresses]
    for match in db.session.scalars(own):
        if [seat.invited for seat in match.seats[1:]] == wanted:
            return match
    return None


def _stop(seat: Seat, _rest: Sequence[str], *, now: datetime) -> Part:
    away.stop_mails(_player(seat).address, now=now)
    return {}


def _start(seat: Seat, _rest: Sequence[str], *, now: datetime) -> Part:
    away.want_mails(_player(seat).address, now=now)
    return {}


def _mute(seat: Seat, names: Sequence[str], **_now: datetime) -> Part:
    return {"seat": talk.mute(seat.id, names[0]).id}


def _unmute(seat: Seat, names: Sequence[str], **_now: datetime) -> Part:
    return {"seat": talk.unmute(seat.id, names[0]).id}


def _player(seat: Seat) -> Player:
    assert seat.player is not None, "it is their mail"
    return seat.player


# What is done, by errand; each returns what the answer tells of it, or None if another letter
# is the answer.
_ACTS: Final[dict[str, Callable[..., Part | None]]] = {
    "help": _tell,
    "status": _tell,
    "again": _again,
    "history": _history,
    "more time": _more_time,
    "away": _away,
    "back": _back,
    "resign": _resign,
    "yes, resign": _really_resign,
    "rematch": _rematch,
    "new": _new,
    "stop": _stop,
    "start": _start,
    "mute": _mute,
    "unmute": _unmute,
}
