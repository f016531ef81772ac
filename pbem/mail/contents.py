"""What each kind of letter holds: one function for each kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from flask_babel import gettext

from engine import GAMES
from pbem import words
from pbem.ext import tokens
from pbem.links import Links
from pbem.models import Letter, Match
from pbem.table import Table, load, record_file
from pbem.tableau import Picture, card_png, png
from pbem.telling import Telling, last_own, tell
from pbem.tokens import Named

MOST_QUOTED: Final = 40  # characters of a mail that are quoted back in one piece


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
    """Return the letter that asks for a move."""
    return _asking(letter, table)


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
    kind.__name__: kind for kind in (sign_in, invitation, declined)
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
    turn, links = letter.turn, Links()
    assert turn is not None, "it is about a turn"
    telling = tell(table, turn.seat, since=since)
    values = _table_values(letter, telling) | {
        "deadline": words.moment(turn.deadline, letter.zone),
        "links": {choice.n: links.move(turn, choice.n) for choice in telling.choices},
        "seat_url": links.seat(table.seat(turn.seat)),
        "nth": turn.ply + 1,
    }
    pictures = {"table": values["picture"]}
    for holding in telling.holdings:
        pictures[f"card-{holding.card.code.lower()}"] = card_png(holding.card)
    return Content(values, pictures, (Named.TURN, turn.id))


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


def _options(match: Match) -> list[str]:
    """Return the options of a table that are not at their defaults, as label and value."""
    return [
        f"{gettext(option.label)} ({match.options[option.name]})"
        if not isinstance(option.default, bool)
        else gettext(option.label)
        for option in GAMES[match.game].options
        if match.options[option.name] != option.default
    ]
