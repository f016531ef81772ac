"""What the answers to words in replies say, errand by errand; see errands for what they hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from flask_babel import gettext
from sqlalchemy import select

from engine import GAMES
from engine.game import N_
from pbem import telling, waiting, words
from pbem.ext import db
from pbem.links import Links
from pbem.mail import plain
from pbem.mail.plain import Content
from pbem.mail.quoting import harmless
from pbem.models import Letter, Match, Player, Seat, Status
from pbem.table import load
from pbem.tokens import Named

MOST_PLIES: Final = 30  # of a history in a letter
MOST_GAMES: Final = 40  # in the list of a player's games


@dataclass(frozen=True, slots=True)
class Part:
    """What is told of one errand: its lines, and the link that leads on with its words."""

    lines: tuple[str, ...]
    url: str | None = None
    link: str = ""


def answer(letter: Letter) -> Content:
    """Return the answer to what words in a reply asked for."""
    seat, match = letter.seat, letter.match
    assert seat is not None, "it is for a seat"
    assert match is not None, "it is about a table"
    parts: list[Part] = []
    for told in letter.about["parts"]:
        parts += _told(told, letter, seat)
    values = {
        "match": match,
        "title": GAMES[match.game].title,
        "others": plain.others(seat),
        "parts_told": parts,
        "unread": [_in_marks(line) for line in letter.about["unread"]],
        "is_help": any(told["what"] == "help" for told in letter.about["parts"]),
        "seat_url": Links().seat(seat),
        "history_url": Links().match(match),
    }
    named = (Named.SEAT, seat.id) if letter.turn is None else (Named.TURN, letter.turn.id)
    return Content(values, {}, named)


def _told(part: Mapping[str, Any], letter: Letter, seat: Seat) -> list[Part]:
    what = part["what"]
    if what in _BY_KIND:
        return _BY_KIND[what](part, letter, seat)
    return [Part((gettext(_DONE[what]),))]


# What needs no more words than these.
_DONE: Final = {
    "not asked": N_("It is not your turn now. You are mailed when it is."),
    "noted": N_("Your note to yourself is kept; each letter of this game shows it to you alone."),
    "back": N_("You are back: no absence runs, and the house plays for you nowhere."),
    "resigned": N_("You have resigned."),
    "start": N_("Mails go to you again."),
    "renewed": N_(
        "Your links of this game, and those to your settings and your calendar, were made anew,"
        " as your page was asked for it. Those of earlier letters open nothing any more, and a"
        " reply to an earlier letter of this game does nothing."
    ),
    "replaced": N_(
        "A mail came to an address of this game that was replaced since, so nothing of it was"
        " done. Reply to this letter, or to a newer one."
    ),
}


def _said(part: Mapping[str, Any], _letter: Letter, _seat: Seat) -> list[Part]:
    if part["to"]:
        return [Part((gettext("It is told to %(name)s alone.", name=_in_marks(part["to"])),))]
    return [Part((gettext("It is told to the table."),))]


def _refused(part: Mapping[str, Any], _letter: Letter, _seat: Seat) -> list[Part]:
    fields = {
        name: what if what.isdecimal() else _in_marks(what) for name, what in part["fields"].items()
    }
    reason = gettext(part["reason"], **fields)
    line = _in_marks(part["line"])
    return [Part((gettext("You wrote %(line)s. Not done: %(why)s.", line=line, why=reason),))]


def _help(_part: Mapping[str, Any], _letter: Letter, _seat: Seat) -> list[Part]:
    lines = [f"‹{gettext(said)}› – {gettext(what)};" for said, what in WORDS]
    return [Part((gettext("Each of these is a line of its own in a reply:"), *lines))]


# What can be said in a reply, and what it does.
WORDS: Final = (
    (N_("help"), N_("this list")),
    (N_("status"), N_("all your games, and whom they wait for")),
    (N_("again"), N_("the letter of your turn once more")),
    (N_("undo"), N_("takes your last move back, while nobody has seen more by it")),
    (N_("history"), N_("what happened in this game")),
    (N_("say: …"), N_("the rest of your mail is told to the table")),
    (N_("say NAME: …"), N_("to one player alone, where the table allows it")),
    (N_("note: …"), N_("a note to yourself, in place of the one before; nobody else reads it")),
    (N_("mute NAME"), N_("you read no more of what that player says; ‹unmute NAME› undoes it")),
    (N_("then …"), N_("a move for a later turn of yours, such as ‹then lowest›")),
    (N_("orders"), N_("the moves that wait for later turns; ‹cancel orders› ends them")),
    (N_("more time"), N_("asks the others for more time for this move")),
    (N_("away 24 Dec to 2 Jan"), N_("your clocks stand still on these days")),
    (N_("I am back"), N_("ends the absence that runs, and takes your seats back")),
    (N_("resign"), N_("gives up; you are asked once more")),
    (N_("rematch"), N_("after the end: the same game with the same people")),
    (N_("new biscuit with ADDRESS, ADDRESS"), N_("opens a table and invites these people")),
    (N_("stop"), N_("no more mails; ‹start mails› turns them on again")),
)


def _status(_part: Mapping[str, Any], letter: Letter, seat: Seat) -> list[Part]:
    assert seat.player is not None, "it is their letter"
    own = _games(seat.player)
    if not own:
        return [Part((gettext("You have no game that goes on."),))]
    return [
        Part((_standing(one, letter),), Links().seat(one), gettext("Open your seat")) for one in own
    ]


def _games(player: Player) -> list[Seat]:
    running = (Status.RUNNING, Status.OPEN)
    mine = (
        select(Seat)
        .join(Match)
        .where(Seat.player_id == player.id, Match.status.in_(running))
        .order_by(Match.id)
        .limit(MOST_GAMES)
    )
    return list(db.session.scalars(mine))


def _standing(seat: Seat, letter: Letter) -> str:
    """Return in words whom one of the reader's games waits for."""
    match = seat.match
    fields = {"title": GAMES[match.game].title, "code": match.code}
    if match.status == Status.OPEN:
        return gettext("%(title)s, game %(code)s: it waits for players.", **fields)
    waits = waiting.waiting(match, now=letter.created_at, zone=letter.zone)
    for one in waits:
        if one.seat.id == seat.id:
            due = words.moment(one.turn.deadline, letter.zone)
            return gettext("%(title)s, game %(code)s: your turn, due %(time)s.", time=due, **fields)
    names = words.listed([one.name for one in waits])
    return gettext("%(title)s, game %(code)s: it waits for %(names)s.", names=names, **fields)


def _history(part: Mapping[str, Any], _letter: Letter, seat: Seat) -> list[Part]:
    log = telling.log(load(seat.match, ply=part["ply"]), seat.number)
    lines = [f"{ply}: {' '.join(told)}" for ply, told in log[-MOST_PLIES:]]
    if len(log) > MOST_PLIES:
        lines.insert(0, gettext("The last moves; the page has them all."))
    return [Part(tuple(lines), Links().match(seat.match), gettext("The game so far"))]


def _more_time(part: Mapping[str, Any], _letter: Letter, _seat: Seat) -> list[Part]:
    if part["is_done"]:
        return [Part((gettext("You have more time now."),))]
    return [Part((gettext("The others are asked whether you may have more time."),))]


def _away(part: Mapping[str, Any], letter: Letter, _seat: Seat) -> list[Part]:
    first, until = (
        words.moment(datetime.fromisoformat(part[name]), letter.zone) for name in ("from", "until")
    )
    line = gettext(
        "You are away from %(first)s until %(until)s. No clock of yours runs then.",
        first=first,
        until=until,
    )
    return [Part((line,))]


def _resign(part: Mapping[str, Any], _letter: Letter, _seat: Seat) -> list[Part]:
    if part["seats"] == 2:
        line = gettext("Do you really resign? The game ends then and the other player wins.")
    else:
        line = gettext(
            "Do you really resign? The house then plays your seat on to the end, and you are not"
            " among the winners."
        )
    return [Part((line, gettext("To resign, reply with this line: ‹yes, resign›.")))]


def _opened(part: Mapping[str, Any], _letter: Letter, _seat: Seat) -> list[Part]:
    seat = db.session.get_one(Seat, part["seat"])
    line = gettext("Your table %(code)s is open.", code=seat.match.code)
    return [Part((line,), Links().seat(seat), gettext("Open your seat"))]


def _stop(_part: Mapping[str, Any], letter: Letter, _seat: Seat) -> list[Part]:
    lines = (
        gettext("This is the last mail to you. Your games go on and their clocks run."),
        gettext("To turn mails on again, reply with this line: ‹start mails›. Or open:"),
    )
    return [Part(lines, Links().stop(letter), gettext("Mail me again"))]


def _mute(part: Mapping[str, Any], _letter: Letter, _seat: Seat) -> list[Part]:
    name = db.session.get_one(Seat, part["seat"]).name
    if part["what"] == "mute":
        line = gettext("You read no more of what %(name)s says.", name=name)
    else:
        line = gettext("You read again what %(name)s says.", name=name)
    return [Part((line,))]


_BY_KIND: Final[dict[str, Callable[[Mapping[str, Any], Letter, Seat], list[Part]]]] = {
    "said": _said,
    "refused": _refused,
    "help": _help,
    "status": _status,
    "history": _history,
    "more time": _more_time,
    "away": _away,
    "resign": _resign,
    "rematch": _opened,
    "new": _opened,
    "stop": _stop,
    "mute": _mute,
    "unmute": _mute,
}


def _in_marks(text: str) -> str:
    """Return a piece of somebody's words in which nothing reads as a move."""
    return " ".join(harmless(text[: plain.MOST_SHOWN])) or "‹›"
