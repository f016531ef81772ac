"""What the letters hold that show no table: before a game, and of what happens beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from flask_babel import format_decimal, gettext

from engine import GAMES
from engine.game import N_
from pbem import account, hearing, telling, words
from pbem.ext import db, tokens
from pbem.links import Links
from pbem.lobby import find_player
from pbem.mail.quoting import harmless
from pbem.models import Letter, Proposal, Seat, Talk, Turn, shown_name
from pbem.tableau import Picture
from pbem.talk import note_of
from pbem.tokens import Named

# Characters of talk in one letter; a single line of it is told whole.
MOST_TALK: Final = 3000
MOST_SHOWN: Final = 120  # characters of a mail's line that are shown back to its writer


@dataclass(frozen=True, slots=True)
class Content:
    """What one letter holds beside its words.

    ``values`` go to the templates, ``pictures`` by Content-ID to the HTML part, ``files``
    (name, type, bytes) are attached, and a reply to ``answers`` is understood.
    """

    values: dict[str, Any]
    pictures: dict[str, Picture]
    answers: tuple[Named, int] | None = None
    files: tuple[tuple[str, str, bytes], ...] = ()


def sign_in(letter: Letter) -> Content:
    """Return the letter with the link that signs its reader in."""
    token = tokens().timed_link("sign-in", letter.id)
    return Content({"url": Links().sign_in(token)}, {})


def add_address(letter: Letter) -> Content:
    """Return the letter by which an address becomes one of a player's, or says that it is not."""
    token = tokens().timed_link("address", letter.id)
    values = {
        "url": Links().add_address(token),
        "name": account.adder(letter).name,
        "address": letter.address,
        "is_taken": find_player(letter.address) is not None,
    }
    return Content(values, {})


def invitation(letter: Letter) -> Content:
    """Return the invitation to a seat, with the deal's commitment."""
    seat = letter.seat
    assert seat is not None, "an invitation is to a seat"
    match = seat.match
    values = {
        "opener": match.opener.name,
        "title": GAMES[match.game].title,
        "match": match,
        "others": [s.name for s in match.seats if s.name and s.player_id != match.opener_id],
        "options": telling.options(match),
        "url": Links().invitation(seat),
        "rules_url": Links().rules(match),
        "commitment": match.commitment,
    }
    return Content(values, {}, (Named.SEAT, seat.id))


def declined(letter: Letter) -> Content:
    """Return the news for an opener that somebody will not play."""
    assert letter.match is not None, "an invitation is to a table"
    url = Links().join(letter.match)
    values = {
        "who": shown_name(letter.about["address"]),
        "match": letter.match,
        "join_url": url,
        "history_url": Links().match(letter.match),
    }
    return Content(values, {})


def came_back(letter: Letter) -> Content:
    """Return the news for an opener that an invitation could not be delivered."""
    found = declined(letter)
    found.values["reason"] = letter.about["reason"]
    return found


def sat_down(letter: Letter) -> Content:
    """Return the news for an opener that somebody has sat down, while the table waits."""
    match = letter.match
    assert match is not None, "it is about a table"
    vacant = [seat for seat in match.seats if seat.is_vacant]
    values = {
        "who": shown_name(letter.about["name"]),
        "match": match,
        "title": GAMES[match.game].title,
        "missing": len(vacant),
        "join_url": Links().join(match) if any(not seat.invited for seat in vacant) else None,
        "history_url": Links().match(match),
    }
    return Content(values, {})


def for_host(letter: Letter) -> Content:
    """Return what a host should look after."""
    about = letter.about
    fields = {name: str(value) for name, value in about.items()}
    if "hours" in about:
        fields["hours"] = format_decimal(about["hours"])
    return Content({"line": gettext(HOST_NEWS[about["what"]], **fields)}, {})


# What the hosts are told, by what happened; see post.for_host.
HOST_NEWS: Final = {
    "standstill": N_(
        "Nobody kept time for %(hours)s hours: no worker ran. All open deadlines have moved by"
        " that time, so no player lost any."
    ),
    "letter": N_(
        "Letter %(letter)s (%(kind)s) was given up: %(error)s. Look at the host's page and the log."
    ),
}


def orders(letter: Letter) -> Content:
    """Return the orders of a player that wait, and how to write them."""
    match, seat, turn = letter.match, letter.seat, letter.turn
    assert match is not None, "it is about a table"
    assert seat is not None, "it is for a seat"
    assert turn is not None, "it answers a mail about a turn"
    values = {
        "match": match,
        "title": GAMES[match.game].title,
        "others": others(seat),
        "orders": letter.about["orders"],
        "orders_help": telling.ORDERS_HELP,
        "seat_url": Links().seat(seat),
        "history_url": Links().match(match),
    }
    return Content(values, {}, (Named.TURN, turn.id))


@dataclass(frozen=True, slots=True)
class Said:
    """Something that was said: who said it and when, and its lines as a letter shows them."""

    head: str
    lines: tuple[str, ...]


def talk(letter: Letter) -> Content:
    """Return what was said at a table, for whoever wants to read it at once."""
    seat, match = letter.seat, letter.match
    assert seat is not None, "it is for a seat"
    assert match is not None, "it is about a table"
    told = talk_values(letter, seat)
    values = {
        "match": match,
        "title": GAMES[match.game].title,
        "others": others(seat),
        # As the daily mail tells it.
        "line": " ".join(f"{one.head} {' '.join(one.lines)}" for one in told["said"]),
        "seat_url": Links().seat(seat),
        "history_url": Links().match(match),
        **told,
    }
    return Content(values, {}, (Named.SEAT, seat.id))


def talk_values(letter: Letter, seat: Seat) -> dict[str, Any]:
    """Return what a letter tells a seat of the talk, and its player's own note.

    Of more than a letter holds it is the newest.
    """
    told, length = hearing.told(letter, seat), 0
    shown: list[Said] = []
    for one in reversed(told):
        length += len(one.text)
        if shown and length > MOST_TALK:
            break
        shown.append(Said(said_by(one, seat, letter.zone), tuple(harmless(one.text))))
    return {
        "said": shown[::-1],
        "is_more": len(shown) < len(told),
        "noted": harmless(note_of(seat)),
    }


def said_by(one: Talk, seat: Seat, zone: str) -> str:
    """Return who said something, to whom if not to all, and when, as a seat reads it."""
    by = one.seat.name if one.seat.player_id == one.player_id else one.player.name
    at = words.moment(one.at, zone)
    if one.to is None:
        return gettext("%(name)s, %(time)s:", name=by, time=at)
    if one.player_id != seat.player_id:
        return gettext("%(name)s, only to you, %(time)s:", name=by, time=at)
    return gettext("%(name)s, only to %(to)s, %(time)s:", name=by, to=one.to.name, time=at)


def notice(letter: Letter) -> Content:
    """Return what happened at a table beside the game."""
    match, seat, about = letter.match, letter.seat, letter.about
    assert match is not None, "it is about a table"
    assert seat is not None, "it is for a seat"
    values = {
        "match": match,
        "title": GAMES[match.game].title,
        "others": others(seat),
        "line": notice_line(about["what"], about, letter.zone),
        "join_url": Links().join(match)
        if about["what"] == "free" and match.opener_id == letter.player_id
        else None,
        "seat_url": Links().seat(seat),
        "history_url": Links().match(match),
    }
    return Content(values, {}, (Named.SEAT, seat.id))


def notice_line(what: str, about: Mapping[str, Any], zone: str) -> str:
    """Return in words what happened beside the game, its times in a reader's zone."""
    fields = {name: shown_name(about.get(name) or gettext("the host")) for name in ("name", "by")}
    if "until" in about:
        fields["until"] = words.moment(datetime.fromisoformat(about["until"]), zone)
    return gettext(NOTICES[what], **fields)


# What a notice says, by what happened; see post.notice.
NOTICES: Final = {
    "absent": N_("%(name)s is away until %(until)s. Their clock stands still until then."),
    "unreachable": N_(
        "Mail to %(name)s comes back. Their clock stands still until mail reaches them again,"
        " for three days at most and once in a game."
    ),
    "kept": N_(
        "%(name)s let the time run out twice in a row. The house plays for them until they"
        " come back."
    ),
    "free": N_(
        "%(name)s let the time run out twice in a row. The house plays for them until they"
        " come back, or until somebody takes the seat by the table's link."
    ),
    "taken_back": N_("%(name)s took a move back."),
    "back": N_("%(name)s is back and plays again."),
    "resigned": N_("%(name)s has resigned. The house plays their seat on to the end."),
    "paused": N_("The game is paused, as %(by)s asked. No clock runs until it is resumed."),
    "resumed": N_("The game goes on, as %(by)s asked. Deadlines have moved by the pause."),
    "more_time": N_("%(name)s has more time now: until %(until)s."),
    "replaced": N_(
        "The seat of %(name)s is offered to somebody else, as %(by)s asked. Until they sit down"
        " the house plays."
    ),
    "taken_over": N_("%(name)s has sat down at a seat of this game and plays on there."),
    "hidden": N_("A line of what %(name)s said was hidden, as %(by)s asked."),
    "mailed": N_("The turn of %(name)s was mailed once more, as %(by)s asked."),
    "restored": N_(
        "The server had to be set back to how things stood at %(until)s. What was done later is"
        " gone: look whether it is your turn again."
    ),
    "ended": N_("The game was ended as it stands, as %(by)s asked."),
    "cancelled": N_("This table did not fill within three weeks, so it is closed."),
    "closed": N_("Who opened this table has deleted their account, so it is closed."),
}


def proposal(letter: Letter) -> Content:
    """Return what another player would like, with the link that agrees."""
    wanted, seat = proposed(letter), letter.seat
    assert seat is not None, "it is for a seat"
    match = wanted.match
    values = {
        "match": match,
        "title": GAMES[match.game].title,
        "others": others(seat),
        "line": wish(wanted),
        "yes_url": Links().yes(wanted, seat),
        "seat_url": Links().seat(seat),
        "history_url": Links().match(match),
    }
    return Content(values, {}, (Named.SEAT, seat.id))


def proposed(letter: Letter) -> Proposal:
    """Return what a proposal letter is about."""
    return db.session.get_one(Proposal, letter.about["proposal"])


def wish(proposed: Proposal) -> str:
    """Return in words what a proposal asks for."""
    match, about = proposed.match, proposed.about
    hours = about.get("hours", match.pace_hours)
    fields = {"name": proposed.seat.name, "time": words.span(hours * 3600)}
    if "turn" in about:
        turn = db.session.get_one(Turn, about["turn"])
        fields["who"] = next(seat.name for seat in match.seats if seat.number == turn.seat)
    if "place" in about:
        fields["who"] = next(seat.name for seat in match.seats if seat.place == about["place"])
    return gettext(WISHES[proposed.kind], **fields)


WISHES: Final = {
    "more_time": N_("%(name)s asks for more time for this move: %(time)s on top."),
    "deadline": N_("%(name)s would like to give %(who)s %(time)s more for this move."),
    "pause": N_("%(name)s would like to pause the game."),
    "resume": N_("%(name)s would like the game to go on."),
    "replace": N_("%(name)s would like to offer the seat of %(who)s to somebody else."),
    "end": N_("%(name)s would like to end the game as it stands. Everybody must agree."),
}


def others(seat: Seat) -> list[str]:
    """Return the names at the other seats of a table."""
    return [other.name for other in seat.match.seats if other.id != seat.id and other.name]
