"""Letters: a row becomes the bytes of a mail, in its reader's language.

One function for each kind of letter; the same row always gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from typing import Any, Final

from flask import render_template
from flask_babel import force_locale, gettext
from sqlalchemy import func, select

from engine import GAMES
from engine.record import dumps
from pbem import words
from pbem.ext import db, settings, tokens
from pbem.links import Links
from pbem.mail.flatten import flatten
from pbem.models import Letter, Match, Status, Turn
from pbem.play import seat_of
from pbem.table import load, record
from pbem.tableau import Picture, card_png, png
from pbem.telling import Telling, tell, told
from pbem.tokens import Named

# Mail stays 7 bit on the wire: some relays still break anything else.
_POLICY: Final = SMTP.clone(cte_type="7bit", max_line_length=78)


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


def is_true(letter: Letter) -> bool:
    """Return whether a letter still says what is so; one that does not is not sent."""
    if letter.kind in ("your_turn", "reminder"):
        return letter.turn is not None and letter.turn.closed_at is None
    if letter.kind == "invitation":
        seat = letter.seat
        return (
            seat is not None
            and seat.invited == letter.address
            and not seat.is_filled
            and seat.match.status == Status.OPEN
        )
    if letter.kind == "sign_in":
        return letter.player is not None and letter.player.sign_ins == letter.about["sign_ins"]
    return True


def build(letter: Letter) -> EmailMessage:
    """Return the letter as it goes out."""
    with force_locale(letter.language):
        content = KINDS[letter.kind](letter)
        values = _common(letter) | content.values
        text = render_template(f"mail/{letter.kind}/body.txt", **values)
        html = render_template(f"mail/{letter.kind}/body.html", **values)
        subject = render_template(f"mail/{letter.kind}/subject.txt", **values)
    message = _message(letter, " ".join(subject.split()), content)
    message.set_content(_tidy(text))
    message.add_alternative(html, subtype="html")
    _add_pictures(message, letter, content)
    for name, kind, data in content.files:
        main, _, sub = kind.partition("/")
        message.add_attachment(data, maintype=main, subtype=sub, filename=name)
    _fix_boundaries(message, letter)
    return message


def words_of(letter: Letter) -> str:
    """Return the words of both parts of a letter, to tell them from a reply's own."""
    with force_locale(letter.language):
        values = _common(letter) | KINDS[letter.kind](letter).values
        text = render_template(f"mail/{letter.kind}/body.txt", **values)
        return text + flatten(render_template(f"mail/{letter.kind}/body.html", **values))


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
        "match": match,
        "others": [s.name for s in match.seats if s.name and s.player_id != match.opener_id],
        "options": _options(match),
        "url": Links().invitation(seat),
        "commitment": match.commitment,
    }
    return Content(values, {}, (Named.SEAT, seat.id))


def declined(letter: Letter) -> Content:
    """Return the news for an opener that somebody will not play."""
    assert letter.match is not None, "an invitation is to a table"
    url = Links().join(letter.match)
    return Content({"who": letter.about["address"], "match": letter.match, "join_url": url}, {})


def your_turn(letter: Letter) -> Content:
    """Return the letter that asks for a move."""
    assert letter.turn is not None, "it is about a turn"
    return _asking(letter, letter.turn)


def reminder(letter: Letter) -> Content:
    """Return the letter that asks once more."""
    assert letter.turn is not None, "it is about a turn"
    return _asking(letter, letter.turn)


def not_done(letter: Letter) -> Content:
    """Return why a mail was not done, with the moves again."""
    assert letter.turn is not None, "it is about a turn"
    content = _asking(letter, letter.turn)
    content.values["why"] = _why(letter.about)
    return content


def stands(letter: Letter) -> Content:
    """Return what stands, for a mail that came when its turn was over."""
    return _showing(letter)


def receipt(letter: Letter) -> Content:
    """Return what a move by mail did, with the new table."""
    return _showing(letter)


def house_played(letter: Letter) -> Content:
    """Return the news that time ran out and the house moved."""
    return _showing(letter)


def game_over(letter: Letter) -> Content:
    """Return the end: the final table, the placings, the key, and the record attached."""
    match, seat = letter.match, letter.seat
    assert match is not None, "it is about a match"
    assert seat is not None, "it is for a seat"
    telling = tell(load(match), seat.number)
    values = _table_values(letter, telling) | {
        "winners": [telling.table.names[number - 1] for number in match.winners or ()],
        "has_won": seat.number in (match.winners or ()),
        "places": sorted(telling.standings, key=lambda standing: -standing.score),
        "key": match.server_key.hex(),
        "commitment": match.commitment,
    }
    name = f"{match.game}-{match.code}.json"
    file = (name, "application/json", (dumps(record(match)) + "\n").encode())
    return Content(values, _table_pictures(telling), files=(file,))


KINDS: Final[dict[str, Callable[[Letter], Content]]] = {
    kind.__name__: kind
    for kind in (
        sign_in,
        invitation,
        declined,
        your_turn,
        receipt,
        stands,
        not_done,
        reminder,
        house_played,
        game_over,
    )
}


def _why(about: dict[str, Any]) -> str:
    """Return in words why nothing was played; see post.not_done for what it may hold."""
    line = about.get("line", "")
    match about["why"]:
        case "illegal":
            reason = gettext(about["reason"], **about["fields"])
            return gettext(
                "You wrote “%(line)s…”, and that is not possible now: %(reason)s.",
                line=line,
                reason=reason,
            )
        case "ambiguous":
            return gettext(
                "Your mail can be read in more than one way (%(readings)s…). Say which you mean.",
                readings="…, ".join(about["readings"]),
            )
        case "stranger":
            return gettext(
                "A mail about your seat came from another address than yours. Nothing was"
                " played; if it was you, move by a link below."
            )
    if line:
        return gettext("No move was found in your mail; it began “%(line)s…”.", line=line)
    return gettext("No move was found in your mail.")


def _asking(letter: Letter, turn: Turn) -> Content:
    """Return a letter with the table, the hand and every legal move as a link."""
    seat = seat_of(turn)
    telling = tell(load(turn.match, ply=turn.ply), turn.seat)
    links = Links()
    values = _table_values(letter, telling) | {
        "deadline": words.moment(turn.deadline, letter.zone),
        "links": {choice.n: links.move(turn, choice.n) for choice in telling.choices},
        "seat_url": links.seat(seat),
        "nth": turn.ply + 1,
    }
    pictures = _table_pictures(telling)
    for holding in telling.holdings:
        pictures[f"card-{holding.card.code.lower()}"] = card_png(holding.card)
    return Content(values, pictures, (Named.TURN, turn.id))


def _showing(letter: Letter) -> Content:
    """Return a letter with the table after the ply it tells about, and no moves."""
    assert letter.match is not None, "it is about a match"
    assert letter.turn is not None, "it is about a turn"
    seat, ply = letter.seat, letter.about["ply"]
    assert seat is not None, "it is for a seat"
    telling = tell(load(letter.match, ply=ply), seat.number, since=max(ply - 1, 0))
    values = _table_values(letter, telling) | {
        "lines": told(telling.table, ply, seat.number) if ply else (),
        "seat_url": Links().seat(seat),
    }
    return Content(values, _table_pictures(telling), (Named.TURN, letter.turn.id))


def _table_values(letter: Letter, telling: Telling) -> dict[str, Any]:
    drawn = png(telling.layout, say=telling.say)
    match = telling.table.match
    return {
        "telling": telling,
        "match": match,
        "title": telling.table.game.title,
        "others": [s.name for s in telling.standings if not s.is_reader],
        "name": next((s.name for s in telling.standings if s.is_reader), ""),
        "picture": drawn,
        "history_url": Links().match(match),
        "about": letter.about,
    }


def _table_pictures(telling: Telling) -> dict[str, Picture]:
    return {"table": png(telling.layout, say=telling.say)}


def _options(match: Match) -> list[str]:
    """Return the options of a table that are not at their defaults, as label and value."""
    return [
        f"{gettext(option.label)} ({match.options[option.name]})"
        if not isinstance(option.default, bool)
        else gettext(option.label)
        for option in GAMES[match.game].options
        if match.options[option.name] != option.default
    ]


def _common(letter: Letter) -> dict[str, Any]:
    site = settings()

    def cid(name: str) -> str:
        return _content_id(letter, name)

    return {"letter": letter, "site": site.site_name, "base_url": site.base_url, "cid": cid}


def _content_id(letter: Letter, name: str) -> str:
    return f"{name}.{letter.tail}@{settings().mail_domain}"


def _message(letter: Letter, subject: str, content: Content) -> EmailMessage:
    site = settings()
    message = EmailMessage(policy=_POLICY)
    message["From"] = _mailbox(site.site_name, site.sender)
    message["To"] = _mailbox(letter.player.name if letter.player else "", letter.address)
    message["Subject"] = subject
    message["Date"] = letter.created_at.astimezone(UTC)
    message["Message-ID"] = letter.message_id(site.mail_domain)
    if content.answers is not None:
        message["Reply-To"] = Address(addr_spec=Links().reply(*content.answers))
    first = _first_letter(letter)
    if first is not None and first.id != letter.id:
        message["In-Reply-To"] = first.message_id(site.mail_domain)
        message["References"] = first.message_id(site.mail_domain)
    is_answer = letter.kind in ("receipt", "not_done", "stands")
    message["Auto-Submitted"] = "auto-replied" if is_answer else "auto-generated"
    message["X-Auto-Response-Suppress"] = "All"
    message["x-ms-reactions"] = "disallow"
    if letter.match is not None:
        message["List-Id"] = f"<{letter.match.code}.{site.mail_domain}>"
    return message


def _mailbox(name: str, address: str) -> Address:
    return Address(display_name=name, addr_spec=address)


def _first_letter(letter: Letter) -> Letter | None:
    """Return the first letter about the game to this address; the others refer to it."""
    if letter.match_id is None:
        return None
    first = select(func.min(Letter.id)).where(
        Letter.match_id == letter.match_id,
        Letter.address == letter.address,
    )
    return db.session.scalar(select(Letter).where(Letter.id == first.scalar_subquery()))


def _add_pictures(message: EmailMessage, letter: Letter, content: Content) -> None:
    payload = message.get_payload()
    assert isinstance(payload, list), "the message has its two parts"
    html = payload[1]
    assert isinstance(html, EmailMessage), "the parts are of the message's own kind"
    for name, picture in content.pictures.items():
        html.add_related(
            picture.data,
            "image",
            "png",
            cid=f"<{_content_id(letter, name)}>",
            filename=f"{name}.png",
            disposition="inline",
        )


def _fix_boundaries(message: EmailMessage, letter: Letter) -> None:
    """Name the boundaries after the letter: by default they differ at every try."""
    parts = [part for part in message.walk() if part.is_multipart()]
    for number, part in enumerate(parts):
        part.set_boundary(f"=_{letter.tail}.{number}")


def _tidy(text: str) -> str:
    """Return the text part without trailing blanks or more than one empty line together."""
    lines: list[str] = []
    for line in text.strip().splitlines():
        if line.strip() or (lines and lines[-1]):
            # The one line that ends with a blank begins a signature.
            lines.append(line if line == "-- " else line.rstrip())
    return "\n".join(lines) + "\n"
