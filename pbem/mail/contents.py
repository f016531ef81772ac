"""What each kind of letter holds: one function for each kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from flask_babel import gettext

from engine import GAMES
from engine.game import N_
from pbem import words
from pbem.ext import db, tokens
from pbem.links import Links
from pbem.mail import entries
from pbem.models import Entries, Letter, Match, Proposal, Seat, Turn
from pbem.table import Table, load, record_file
from pbem.tableau import Picture, card_png, png
from pbem.telling import Telling, last_own, tell
from pbem.tokens import Named
from pbem.waiting import terms

MOST_QUOTED: Final = 40  # characters of a mail that are quoted back in one piece
# Moves and cards of all games in one letter: more would come near the 102 KB of HTML at
# which Gmail clips a mail.
MOST_IN_DIGEST: Final = 90


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
    player = letter.player
    assert player is not None, "only players sign in"
    token = tokens().timed_link("sign-in", player.id, letter.about["sign_ins"])
    return Content({"url": Links().sign_in(token)}, {})


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
        "options": _options(match),
        "url": Links().invitation(seat),
        "rules_url": Links().rules(match),
        "commitment": match.commitment,
    }
    return Content(values, {}, (Named.SEAT, seat.id))


def declined(letter: Letter) -> Content:
    """Return the news for an opener that somebody will not play."""
    assert letter.match is not None, "an invitation is to a table"
    url = Links().join(letter.match)
    values = {"who": letter.about["address"], "match": letter.match, "join_url": url}
    return Content(values, {})


def your_turn(letter: Letter, table: Table) -> Content:
    """Return the letter that asks for a move, with its calendar entry if that is wanted."""
    content = _asking(letter, table)
    assert letter.player is not None, "bots get no letters"
    content.values["offers_absence"] = letter.about.get("offers_absence", False)
    if letter.player.entries != Entries.ATTACHED:
        return content
    file = ("deadline.ics", "text/calendar", entries.attached(letter))
    return replace(content, files=(file,))


def reminder(letter: Letter, table: Table) -> Content:
    """Return the letter that asks once more."""
    return _asking(letter, table)


def not_done(letter: Letter, table: Table) -> Content:
    """Return why a mail was not done, with the moves again."""
    content = _asking(letter, table)
    content.values["why"] = _why(letter.about)
    return content


def stands(letter: Letter, table: Table) -> Content:
    """Return what stands, for a mail that came when its turn was over."""
    return _showing(letter, table)


def notice(letter: Letter) -> Content:
    """Return what happened at a table beside the game."""
    match, seat, about = letter.match, letter.seat, letter.about
    assert match is not None, "it is about a table"
    assert seat is not None, "it is for a seat"
    fields = {name: about.get(name) or gettext("the host") for name in ("name", "by")}
    if "until" in about:
        fields["until"] = words.moment(datetime.fromisoformat(about["until"]), letter.zone)
    values = {
        "match": match,
        "title": GAMES[match.game].title,
        "others": _others(seat),
        "line": gettext(NOTICES[about["what"]], **fields),
        "join_url": Links().join(match)
        if about["what"] == "free" and match.opener_id == letter.player_id
        else None,
        "seat_url": Links().seat(seat),
        "history_url": Links().match(match),
    }
    return Content(values, {}, (Named.SEAT, seat.id))


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
    "cancelled": N_("This table did not fill within three weeks, so it is closed."),
}


def proposal(letter: Letter) -> Content:
    """Return what another player would like, with the link that agrees."""
    wanted, seat = proposed(letter), letter.seat
    assert seat is not None, "it is for a seat"
    match = wanted.match
    values = {
        "match": match,
        "title": GAMES[match.game].title,
        "others": _others(seat),
        "line": wish(wanted),
        "yes_url": Links().yes(wanted, seat),
        "seat_url": Links().seat(seat),
        "history_url": Links().match(match),
    }
    return Content(values, {}, (Named.SEAT, seat.id))


def proposed(letter: Letter) -> Proposal:
    """Return what a proposal letter is about."""
    return db.session.get_one(Proposal, letter.about["proposal"])


def digest(letter: Letter) -> Content:
    """Return a player's open turns of the day, each with its table, hand and moves."""
    return _several(letter)


def reminders(letter: Letter) -> Content:
    """Return several open turns that are due soon, each with its table, hand and moves."""
    return _several(letter)


def open_turns(letter: Letter) -> list[Turn]:
    """Return the turns of a letter about several that are still open."""
    found = [db.session.get_one(Turn, turn_id) for turn_id in letter.about["turns"]]
    return [turn for turn in found if turn.closed_at is None]


def receipt(letter: Letter, table: Table) -> Content:
    """Return what a move by mail did; the new table, or the next moves if there are any."""
    turn, moved = letter.turn, letter.about["moved"]
    assert turn is not None, "it is about a turn"
    is_asking = turn.ply >= moved
    content = (_asking if is_asking else _showing)(letter, table, since=moved - 1)
    content.values["is_asking"] = is_asking
    return content


def house_played(letter: Letter, table: Table) -> Content:
    """Return the news that time ran out and the house moved."""
    return _showing(letter, table)


def game_over(letter: Letter, table: Table) -> Content:
    """Return the end: the final table, the placings, the key, and the record attached."""
    match, seat = table.match, letter.seat
    assert seat is not None, "it is for a seat"
    # Who made the last move hears of it too: it is how the game ended.
    since = table.ply - 1 if last_own(table, seat.number) == table.ply else None
    telling = tell(table, seat.number, since=since)
    values = _table_values(letter, telling) | {
        "how": _how_it_ended(match),
        "winners": [telling.table.names[number - 1] for number in match.winners or ()],
        "has_won": seat.number in (match.winners or ()),
        "places": sorted(telling.standings, key=lambda standing: -standing.score),
        "key": match.server_key.hex(),
        "commitment": match.commitment,
    }
    name, text = record_file(match)
    file = (name, "application/json", text.encode())
    return Content(values, {"table": values["picture"]}, files=(file,))


PLAIN: Final[dict[str, Callable[[Letter], Content]]] = {
    kind.__name__: kind
    for kind in (sign_in, invitation, declined, notice, proposal, digest, reminders)
}
AT_TABLE: Final[dict[str, Callable[[Letter, Table], Content]]] = {
    kind.__name__: kind
    for kind in (your_turn, reminder, not_done, receipt, stands, house_played, game_over)
}


def content(letter: Letter) -> Content:
    """Return what a letter of any kind holds, from the table as it was when it became true."""
    if letter.kind in PLAIN:
        return PLAIN[letter.kind](letter)
    assert letter.match is not None, "it is about a match"
    ply = letter.about.get("ply", letter.turn.ply if letter.turn else None)
    return AT_TABLE[letter.kind](letter, load(letter.match, ply=ply))


def _why(about: dict[str, Any]) -> str:
    """Return in words why nothing was played; see post.not_done for what it may hold."""
    line = _quoted(about.get("line", ""))
    match about["why"]:
        case "illegal":
            reason = gettext(
                about["reason"], **{name: _quoted(what) for name, what in about["fields"].items()}
            )
            return gettext(
                "You wrote %(line)s, and that is not possible now: %(reason)s.",
                line=line,
                reason=reason,
            )
        case "ambiguous":
            return gettext(
                "Your mail can be read in more than one way (%(readings)s). Say which you mean.",
                readings=", ".join(_quoted(reading) for reading in about["readings"]),
            )
        case "stranger":
            return gettext(
                "A mail about your seat came from another address than yours. Nothing was"
                " played; if it was you, move by a link below."
            )
    if about.get("line"):
        return gettext("No move was found in your mail; it began %(line)s.", line=line)
    return gettext("No move was found in your mail.")


def _quoted(words: str) -> str:
    """Return words of a mail so that they can't be read as a move where they are quoted.

    Nothing breaks within them, and a sign is glued on at both ends.
    """
    return f"‹{words[:MOST_QUOTED]}›".replace(" ", "\u00a0")


def _asking(letter: Letter, table: Table, *, since: int | None = None) -> Content:
    """Return a letter with the table, the hand and every legal move as a link."""
    turn = letter.turn
    assert turn is not None, "it is about a turn"
    values, pictures = _section(letter, turn, tell(table, turn.seat, since=since), "")
    return Content(values, pictures, (Named.TURN, turn.id))


def _several(letter: Letter) -> Content:
    """Return a letter about several turns; what would not fit is left to its link."""
    turns = open_turns(letter)
    sections: list[dict[str, Any]] = []
    pictures: dict[str, Picture] = {}
    choices = 0
    for nth, turn in enumerate(turns):
        telling = tell(load(turn.match, ply=turn.ply), turn.seat)
        values, drawn = _section(letter, turn, telling, f"game-{nth + 1}-")
        choices += len(telling.choices) + len(telling.holdings)
        values["is_whole"] = nth == 0 or choices <= MOST_IN_DIGEST
        sections.append(values)
        if values["is_whole"]:
            pictures |= drawn
    answers = (Named.TURN, turns[0].id) if len(turns) == 1 else None
    return Content({"sections": sections}, pictures, answers)


def _section(
    letter: Letter, turn: Turn, telling: Telling, prefix: str
) -> tuple[dict[str, Any], dict[str, Picture]]:
    """Return what a letter says of one turn, with its pictures by their names."""
    links, seat = Links(), telling.table.seat(turn.seat)
    values = _table_values(letter, telling) | {
        "prefix": prefix,
        "turn": turn,
        "deadline": words.moment(turn.deadline, letter.zone),
        "terms": terms(turn, seat, now=letter.created_at, zone=letter.zone),
        "links": {choice.n: links.move(turn, choice.n) for choice in telling.choices},
        "seat_url": links.seat(seat),
        "reply_to": links.reply(Named.TURN, turn.id),
        "nth": turn.ply + 1,
    }
    pictures = {f"{prefix}table": values["picture"]}
    for holding in telling.holdings:
        pictures[f"{prefix}card-{holding.card.code.lower()}"] = card_png(holding.card)
    return values, pictures


def _showing(letter: Letter, table: Table, *, since: int | None = None) -> Content:
    """Return a letter with the table after the ply it tells about, and no moves."""
    turn, seat = letter.turn, letter.seat
    assert turn is not None, "it is about a turn"
    assert seat is not None, "it is for a seat"
    telling = tell(table, seat.number, since=table.ply - 1 if since is None else since)
    values = _table_values(letter, telling) | {
        "seat_url": Links().seat(seat),
    }
    return Content(values, {"table": values["picture"]}, (Named.TURN, turn.id))


def _table_values(letter: Letter, telling: Telling) -> dict[str, Any]:
    match = telling.table.match
    return {
        "telling": telling,
        "match": match,
        "title": telling.table.game.title,
        "others": [s.name for s in telling.standings if not s.is_reader],
        "name": next((s.name for s in telling.standings if s.is_reader), ""),
        "picture": png(telling.layout, say=telling.say),
        "history_url": Links().match(match),
        "rules_url": Links().rules(match),
        "about": letter.about,
    }


def _how_it_ended(match: Match) -> str:
    """Return why a game ended before its rules would have ended it; else nothing."""
    if match.ended == "resigned":
        who = next(seat.name for seat in match.seats if seat.resigned)
        return gettext("%(name)s has resigned.", name=who)
    if match.ended == "stopped":
        return gettext("The game was ended as it stands.")
    return ""


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


def _others(seat: Seat) -> list[str]:
    return [other.name for other in seat.match.seats if other.id != seat.id and other.name]


def _options(match: Match) -> list[str]:
    """Return the options of a table that are not at their defaults, as label and value."""
    return [
        f"{gettext(option.label)} ({match.options[option.name]})"
        if not isinstance(option.default, bool)
        else gettext(option.label)
        for option in GAMES[match.game].options
        if match.options[option.name] != option.default
    ]
