"""Letters: a row becomes the bytes of a mail, in its reader's language.

The same row always gives the same bytes, save that links which are good for half an hour are
fresh at each try, that a player's own note is shown as it stands, that answers tell how their
games stand, and that talk is left out once a host has hidden it.
"""

from __future__ import annotations

from base64 import encodebytes
from binascii import b2a_qp
from collections.abc import Iterator
from datetime import UTC
from email.headerregistry import Address, HeaderRegistry, UnstructuredHeader
from email.message import EmailMessage
from email.policy import EmailPolicy, Policy
from email.utils import format_datetime
from functools import lru_cache
from typing import Any, Final

from flask import render_template
from flask_babel import force_locale
from sqlalchemy import select
from sqlalchemy.orm import joinedload

from pbem import account, post, suppression
from pbem.ext import db, settings
from pbem.links import Links
from pbem.mail import contents, plain
from pbem.mail.flatten import flatten
from pbem.mail.smtp import Parcel
from pbem.models import Letter, Status


class _Verbatim(UnstructuredHeader):
    """A long header of plain signs, on a line of its own; the library would encode it."""

    name: str

    def fold(self, *, policy: Policy) -> str:
        """Return the header as it stands in the mail."""
        return f"{self.name}:{policy.linesep} {self}{policy.linesep}"


class _Headers(HeaderRegistry):
    """Makes each header once: while a mail is written, the types of its parts are read often."""

    def __init__(self) -> None:
        super().__init__()
        for name in ("in-reply-to", "references", "list-id", "list-unsubscribe"):
            self.map_to_type(name, _Verbatim)  # type: ignore[arg-type]

    __getitem__ = lru_cache(maxsize=64)(HeaderRegistry.__getitem__)
    __call__ = lru_cache(maxsize=256)(HeaderRegistry.__call__)


class _Policy(EmailPolicy):
    """Keeps plain headers as they are: the library would parse each only to write it again."""

    def header_store_parse(self, name: str, value: Any) -> tuple[str, Any]:
        """Return a header as it is stored; line breaks are for the library to refuse."""
        if isinstance(value, str) and value.isascii() and value.isprintable():
            return name, value
        return super().header_store_parse(name, value)


# Mail stays 7 bit on the wire: some relays still break anything else.
_POLICY: Final = _Policy(
    cte_type="7bit",
    max_line_length=78,
    linesep="\r\n",
    header_factory=_Headers(),
)


def read(letter_id: int) -> Letter:
    """Return a letter, read with the rows that it is about."""
    about = (Letter.player, Letter.match, Letter.seat, Letter.turn)
    return db.session.get_one(Letter, letter_id, options=[joinedload(one) for one in about])


def is_true(letter: Letter) -> bool:
    """Return whether a letter still says what is so; one that does not is not sent."""
    if not letter.address:
        return False  # its player has deleted their account
    if suppression.is_suppressed(letter.address) and (
        not _is_asked_for(letter) or suppression.is_blocked(letter.address)
    ):
        return False
    if letter.kind in ("your_turn", "reminder", "confirm"):
        return letter.turn is not None and letter.turn.closed_at is None
    if letter.kind in ("digest", "reminders"):
        return bool(contents.open_turns(letter) or letter.about.get("told"))
    if letter.kind in ("sat_down", "declined", "came_back"):
        return letter.match is not None and letter.match.status == Status.OPEN
    if letter.kind == "proposal":
        return plain.proposed(letter).closed_at is None
    if letter.kind == "invitation":
        seat = letter.seat
        return (
            seat is not None
            and seat.invited == letter.address
            and seat.is_vacant
            and seat.match.status in (Status.OPEN, Status.RUNNING)
        )
    if letter.kind == "add_address":
        return account.may_add(letter)
    if letter.kind == "sign_in":
        return account.may_sign_in(letter)
    return True


def _is_asked_for(letter: Letter) -> bool:
    """Return whether a letter goes to an address that wants no mails: its owner asked for it."""
    if letter.kind == "answer":
        return any(part["what"] in ("stop", "renewed") for part in letter.about["parts"])
    return letter.kind == "sign_in"


def build(letter: Letter) -> EmailMessage:
    """Return the letter as it goes out."""
    with force_locale(letter.language):
        content = contents.content(letter)
        return compose(letter, content)


def parcel(letter: Letter) -> Parcel:
    """Return the letter as the relay gets it; raises what the library raises for a bad one."""
    return Parcel(build(letter), recipient=letter.address)


def compose(letter: Letter, content: plain.Content) -> EmailMessage:
    """Return the mail of a letter with this content, in the running language."""
    values = _common(letter) | content.values
    text = render_template(f"mail/{letter.kind}/body.txt", **values)
    html = render_template(f"mail/{letter.kind}/body.html", **values)
    subject = render_template(f"mail/{letter.kind}/subject.txt", **values)
    message = _message(letter, " ".join(subject.split()), content)
    shown = [_text("plain", _tidy(text)), _with_pictures(letter, _text("html", html), content)]
    if not content.files:
        return _made_of(message, "alternative", letter, shown)
    files = (_binary(kind, name, data, "attachment") for name, kind, data in content.files)
    both = _made_of(_part(), "alternative", letter, shown)
    return _made_of(message, "mixed", letter, [both, *files])


def words_of(letter: Letter) -> str:
    """Return the words of both parts of a letter, to tell them from a reply's own."""
    with force_locale(letter.language):
        values = _common(letter) | contents.content(letter).values
        text = render_template(f"mail/{letter.kind}/body.txt", **values)
        return text + flatten(render_template(f"mail/{letter.kind}/body.html", **values))


def _common(letter: Letter) -> dict[str, Any]:
    site = settings()

    def cid(name: str) -> str:
        return _content_id(letter, name)

    return {
        "letter": letter,
        "site": site.site_name,
        "base_url": site.base_url,
        "you_url": Links().you(letter.player) if letter.player else None,
        "stop_url": Links().stop(letter),
        "cid": cid,
    }


def _content_id(letter: Letter, name: str) -> str:
    return f"{name}.{letter.tail}@{settings().mail_domain}"


def _message(letter: Letter, subject: str, content: plain.Content) -> EmailMessage:
    site = settings()
    message = _part()
    message["From"] = _mailbox(site.site_name, site.sender)
    message["To"] = _mailbox(letter.player.name if letter.player else "", letter.address)
    message["Subject"] = _literal(subject)
    message["Date"] = format_datetime(letter.created_at.astimezone(UTC))
    message["Message-ID"] = letter.message_id(site.mail_domain)
    message["MIME-Version"] = "1.0"
    if content.answers is not None:
        message["Reply-To"] = Links().reply(*content.answers)
    first = _first_letter(letter)
    if first is not None and first.id != letter.id:
        message["In-Reply-To"] = first.message_id(site.mail_domain)
        message["References"] = first.message_id(site.mail_domain)
    message["Auto-Submitted"] = "auto-replied" if post.is_answer(letter) else "auto-generated"
    message["X-Auto-Response-Suppress"] = "All"
    message["x-ms-reactions"] = "disallow"
    # RFC 8058: a mail program may offer one click; the request alone must do it.
    message["List-Unsubscribe"] = f"<{Links().stop(letter)}>"
    message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    if letter.match is not None:
        message["List-Id"] = f"<{letter.match.code}.{site.mail_domain}>"
    return message


def _mailbox(name: str, address: str) -> str:
    username, _, domain = address.rpartition("@")
    return str(Address(_literal(name), username, domain))


def _literal(text: str) -> str:
    """Return words of people in which the library finds no encoded word that it would decode."""
    return text.replace("=?", "= ?")


def _first_letter(letter: Letter) -> Letter | None:
    """Return the first letter about the game to this address; the others refer to it."""
    if letter.match_id is None:
        return None
    about = select(Letter).where(
        Letter.match_id == letter.match_id, Letter.address == letter.address
    )
    return db.session.scalar(about.order_by(Letter.id).limit(1))


def _with_pictures(letter: Letter, html: EmailMessage, content: plain.Content) -> EmailMessage:
    if not content.pictures:
        return html
    return _made_of(_part(), "related", letter, [html, *_pictures(letter, content)])


def _pictures(letter: Letter, content: plain.Content) -> Iterator[EmailMessage]:
    for name, picture in content.pictures.items():
        part = _binary("image/png", f"{name}.png", picture.data, "inline")
        part["Content-ID"] = f"<{_content_id(letter, name)}>"
        yield part


# The parts are made by hand: the library's own way is right for any text, and takes as long
# as all the rest of a letter.
def _made_of(
    whole: EmailMessage, kind: str, letter: Letter, parts: list[EmailMessage]
) -> EmailMessage:
    # By default boundaries differ at every try. The headers of most parts fit into a line.
    whole["Content-Type"] = f'multipart/{kind}; boundary="=_{letter.tail}.{kind[0]}"'
    whole.set_payload([*parts])
    return whole


def _text(kind: str, text: str) -> EmailMessage:
    part = _part()
    part["Content-Type"] = f'text/{kind}; charset="utf-8"'
    part["Content-Transfer-Encoding"] = "quoted-printable"
    part.set_payload(b2a_qp(text.encode()).decode("ascii"))
    return part


def _binary(kind: str, name: str, data: bytes, disposition: str) -> EmailMessage:
    part = _part()
    part["Content-Type"] = kind
    part["Content-Transfer-Encoding"] = "base64"
    part["Content-Disposition"] = f'{disposition}; filename="{name}"'
    part.set_payload(encodebytes(data).decode("ascii"))
    return part


def _part() -> EmailMessage:
    return EmailMessage(policy=_POLICY)


def _tidy(text: str) -> str:
    """Return the text part without trailing blanks or more than one empty line together."""
    lines: list[str] = []
    for line in text.strip().splitlines():
        if line.strip() or (lines and lines[-1]):
            # The one line that ends with a blank begins a signature.
            lines.append(line if line == "-- " else line.rstrip())
    return "\n".join(lines) + "\n"
