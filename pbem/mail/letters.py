"""Letters: a row becomes the bytes of a mail, in its reader's language.

The same row always gives the same bytes, save that a sign-in link is fresh at each try.
"""

from __future__ import annotations

from datetime import UTC
from email.headerregistry import Address, HeaderRegistry, UnstructuredHeader
from email.message import EmailMessage
from email.policy import SMTP, EmailPolicy, Policy
from typing import Any, Final

from flask import render_template
from flask_babel import force_locale
from sqlalchemy import func, select

from pbem import suppression
from pbem.ext import db, settings
from pbem.links import Links
from pbem.mail import contents, plain
from pbem.mail.flatten import flatten
from pbem.models import Letter, Status


class _Verbatim(UnstructuredHeader):
    """A header of plain signs that stays on one line; the library would encode a long one."""

    name: str

    def fold(self, *, policy: Policy) -> str:
        """Return the header as it stands in the mail."""
        return f"{self.name}: {self}{policy.linesep}"


def _policy() -> EmailPolicy[EmailMessage]:
    headers = HeaderRegistry()
    for name in ("in-reply-to", "references", "list-id", "list-unsubscribe"):
        headers.map_to_type(name, _Verbatim)  # type: ignore[arg-type]
    # Mail stays 7 bit on the wire: some relays still break anything else.
    return SMTP.clone(cte_type="7bit", max_line_length=78, header_factory=headers)


_POLICY: Final = _policy()


def is_true(letter: Letter) -> bool:
    """Return whether a letter still says what is so; one that does not is not sent."""
    if letter.kind != "sign_in" and suppression.is_suppressed(letter.address):
        return False
    if letter.kind in ("your_turn", "reminder"):
        return letter.turn is not None and letter.turn.closed_at is None
    if letter.kind in ("digest", "reminders"):
        return bool(contents.open_turns(letter) or letter.about.get("told"))
    if letter.kind in ("sat_down", "declined"):
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
    if letter.kind == "sign_in":
        return letter.player is not None and letter.player.sign_ins == letter.about["sign_ins"]
    return True


def build(letter: Letter) -> EmailMessage:
    """Return the letter as it goes out."""
    with force_locale(letter.language):
        content = contents.content(letter)
        return compose(letter, content)


def compose(letter: Letter, content: plain.Content) -> EmailMessage:
    """Return the mail of a letter with this content, in the running language."""
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
    # RFC 8058: a mail program may offer one click; the request alone must do it.
    message["List-Unsubscribe"] = f"<{Links().stop(letter)}>"
    message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
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


def _add_pictures(message: EmailMessage, letter: Letter, content: plain.Content) -> None:
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
