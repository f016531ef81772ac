"""What each kind of letter holds: one function for each kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from flask import render_template
from flask_babel import gettext

from pbem import words
from pbem.ext import db
from pbem.links import Links
from pbem.mail import answers, entries, plain
from pbem.mail.plain import Content
from pbem.models import Entries, Letter, Turn, shown_name
from pbem.table import Table, load, record_file
from pbem.tableau import Picture, card_png, png
from pbem.telling import Choice, Telling, choice_words, how_it_ended, last_own, tell, with_hints
from pbem.tokens import Named
from pbem.waiting import terms

# Moves and cards of all games in one letter: more would come near the 102 KB of HTML at
# which Gmail clips a mail.
MOST_IN_DIGEST: Final = 90


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


def confirm(letter: Letter, table: Table) -> Content:
    """Return the move that a mail of doubtful origin asks for, with the link that plays it."""
    turn, links = letter.turn, Links()
    assert turn is not None, "it is about a turn"
    telling, seat = tell(table, turn.seat), table.seat(turn.seat)
    values = {
        "match": table.match,
        "title": table.game.title,
        "others": plain.others(seat),
        "name": seat.name,
        "nth": turn.ply + 1,
        "line": _doubt(letter.about["why"]),
        "move": choice_words(telling.choice(letter.about["move"])),
        "confirm_url": links.confirm(letter),
        "seat_url": links.seat(seat),
        "history_url": links.match(table.match),
    }
    return Content(values, {}, (Named.TURN, turn.id))


def stands(letter: Letter, table: Table) -> Content:
    """Return what stands, for a mail that came when its turn was over."""
    content = _showing(letter, table)
    content.values["why"] = _why(letter.about) if "why" in letter.about else ""
    return content


def digest(letter: Letter) -> Content:
    """Return a player's open turns of the day, and the news that were gathered for it."""
    found = _several(letter)
    found.values["told"] = [_summary(letter_id) for letter_id in letter.about.get("told", ())]
    return found


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
    content = (_asking if is_asking else _showing)(letter, table, since=letter.about["since"])
    content.values["is_asking"] = is_asking
    return content


def started(letter: Letter, table: Table) -> Content:
    """Return the beginning of a game, for a player who is not asked at once."""
    return _showing(letter, table, since=-1)


def hand_over(letter: Letter, table: Table) -> Content:
    """Return how a hand ended, with what all had aimed for and scored, and the next one."""
    return _showing(letter, table, since=letter.about["since"])


def house_played(letter: Letter, table: Table) -> Content:
    """Return the news that time ran out and the house moved."""
    return _showing(letter, table)


def taken_back(letter: Letter, table: Table) -> Content:
    """Return the news that the move before a player's turn was taken back."""
    content = _showing(letter, table, since=table.ply)
    content.values["who"] = shown_name(letter.about["name"])
    return content


def game_over(letter: Letter, table: Table) -> Content:
    """Return the end: the final table, the placings, the key, and the record attached."""
    match, seat = table.match, letter.seat
    assert seat is not None, "it is for a seat"
    # Who made the last move hears of it too: it is how the game ended.
    since = table.ply - 1 if last_own(table, seat.number) == table.ply else None
    telling = tell(table, seat.number, since=since)
    values = _table_values(letter, telling) | {
        "how": how_it_ended(match),
        "winners": [telling.table.names[number - 1] for number in match.winners or ()],
        "has_won": seat.number in (match.winners or ()),
        "places": sorted(telling.standings, key=lambda standing: -standing.score),
        "key": match.server_key.hex(),
        "commitment": match.commitment,
        "rematch_url": Links().rematch(seat),
    }
    name, text = record_file(match)
    file = (name, "application/json", text.encode())
    return Content(values, {"table": values["picture"]}, (Named.SEAT, seat.id), (file,))


PLAIN: Final[dict[str, Callable[[Letter], Content]]] = {
    kind.__name__: kind
    for kind in (
        plain.sign_in,
        plain.add_address,
        plain.invitation,
        plain.declined,
        plain.came_back,
        plain.sat_down,
        plain.notice,
        plain.orders,
        plain.proposal,
        plain.for_host,
        plain.talk,
        answers.answer,
        digest,
        reminders,
    )
}
AT_TABLE: Final[dict[str, Callable[[Letter, Table], Content]]] = {
    kind.__name__: kind
    for kind in (
        started,
        your_turn,
        reminder,
        not_done,
        confirm,
        receipt,
        stands,
        house_played,
        hand_over,
        taken_back,
        game_over,
    )
}


def content(letter: Letter) -> Content:
    """Return what a letter of any kind holds, from the table as it was when it became true."""
    if letter.kind in PLAIN:
        return PLAIN[letter.kind](letter)
    assert letter.match is not None, "it is about a match"
    ply = letter.about.get("ply", letter.turn.ply if letter.turn else None)
    return AT_TABLE[letter.kind](letter, load(letter.match, ply=ply))


def _summary(letter_id: int) -> tuple[str, str]:
    """Return a gathered letter in one line, with the page that tells more."""
    letter = db.session.get_one(Letter, letter_id)
    values = content(letter).values
    subject = render_template(f"mail/{letter.kind}/subject.txt", letter=letter, **values)
    line = " ".join(subject.split())
    url = values["seat_url"] if "seat_url" in values else values["history_url"]
    return (f"{line}. {values['line']}" if "line" in values else f"{line}.", url)


def _why(about: dict[str, Any]) -> str:
    """Return in words why nothing was played; see post.not_done for what it may hold."""
    line = words.quoted(about.get("line", ""))
    match about["why"]:
        case "illegal":
            reason = gettext(
                about["reason"],
                **{name: words.quoted(what) for name, what in about["fields"].items()},
            )
            return gettext(
                "You wrote %(line)s, and that is not possible now: %(reason)s.",
                line=line,
                reason=reason,
            )
        case "ambiguous":
            return gettext(
                "Your mail can be read in more than one way (%(readings)s). Say which you mean.",
                readings=", ".join(words.quoted(reading) for reading in about["readings"]),
            )
        case "stranger":
            return gettext(
                "A mail about your seat came from another address than yours. Nothing was"
                " played; if it was you, move by a link below."
            )
        case "unproven":
            return gettext(
                "A mail about your seat came in your name, but it may be forged. Nothing was"
                " played; if it was you, move by a link below."
            )
    help_ = gettext("A reply that says ‹help› gets a list of all that can be said.")
    found = gettext("No move was found in your mail.")
    if about.get("line"):
        found = gettext("No move was found in your mail; it began %(line)s.", line=line)
    return f"{found} {help_}"


def _doubt(why: str) -> str:
    """Return in words why a mail may not be the player's."""
    if why == "stranger":
        return gettext(
            "A mail about your seat came from another address than yours. It asks for this move:"
        )
    return gettext(
        "A mail about your seat came in your name, but it may be forged. It asks for this move:"
    )


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
    if seat.player is not None and seat.player.wants_hints:
        telling = with_hints(telling)
    values = _table_values(letter, telling) | {
        "prefix": prefix,
        "turn": turn,
        "deadline": words.moment(turn.deadline, letter.zone),
        "terms": terms(turn, seat, now=letter.created_at, zone=letter.zone),
        "links": {choice.n: _link(letter, turn, choice) for choice in telling.choices},
        "seat_url": links.seat(seat),
        "reply_to": links.reply(Named.TURN, turn.id),
        "nth": turn.ply + 1,
    }
    pictures = {f"{prefix}table": values["picture"]}
    for holding in telling.holdings:
        pictures[f"{prefix}card-{holding.card.code.lower()}"] = card_png(holding.card)
    return values, pictures


def _link(letter: Letter, turn: Turn, choice: Choice) -> str:
    """Return the link that leads to a move: to its page, or to a reply that is ready-made."""
    if letter.player is not None and letter.player.moves_by_mail:
        return Links().move_by_mail(turn, choice.text)
    return Links().move(turn, choice.n)


def _showing(letter: Letter, table: Table, *, since: int | None = None) -> Content:
    """Return a letter with the table after the ply it tells about, and no moves."""
    turn, seat = letter.turn, letter.seat
    assert seat is not None, "it is for a seat"
    telling = tell(table, seat.number, since=table.ply - 1 if since is None else since)
    values = _table_values(letter, telling) | {
        "seat_url": Links().seat(seat),
        "asked": [standing.name for standing in telling.standings if standing.is_asked],
    }
    answers = (Named.SEAT, seat.id) if turn is None else (Named.TURN, turn.id)
    return Content(values, {"table": values["picture"]}, answers)


def _table_values(letter: Letter, telling: Telling) -> dict[str, Any]:
    match, number = telling.table.match, telling.view.seat
    assert number is not None, "letters are for seats"
    seat = telling.table.seat(number)
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
        **plain.talk_values(letter, seat),
    }
