"""Reading a bounce: which letters did not arrive, for how long, and why; and complaints."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from email import message_from_bytes, message_from_string
from email.message import Message
from typing import Final

from flufl.bounce import all_failures

MAIL: Final = 1024 * 1024  # bytes of a mail that are looked at
REASON: Final = 200  # characters
BOUNDARIES: Final = 20  # declarations of parts; a returned letter has about five
EMPTY_LINES: Final = 10_000
IDS: Final = 20  # letters that one bounce can speak of


@dataclass(frozen=True, slots=True)
class Bounce:
    """What a bounce says.

    ``message_ids`` are those of the letters it returns, with their angle brackets.
    """

    is_permanent: bool
    reason: str
    message_ids: tuple[str, ...]


def read(raw: bytes) -> Bounce | None:
    """Return what a bounce says; None if the mail is no bounce. Never raises, whatever the bytes.

    A failure with a status of 4.x.x is not permanent: the next letter may arrive.
    """
    try:
        return _bounce(raw[:MAIL])
    except Exception:  # noqa: BLE001 - parser and detectors raise many things on hostile mail
        return None


def complaint(raw: bytes) -> tuple[str, ...] | None:
    """Return the Message-IDs of the letters that a mail reports as abuse; None if it doesn't.

    RFC 5965. Never raises, whatever the bytes.
    """
    try:
        return _complaint(raw[:MAIL])
    except Exception:  # noqa: BLE001 - the parser raises many things on hostile mail
        return None


def _complaint(raw: bytes) -> tuple[str, ...] | None:
    if _is_tangled(raw):
        return None
    parts = tuple(_own_parts(message_from_bytes(raw)))
    kinds = [
        str(block.get("feedback-type", "")).strip().lower()
        for part in _of(parts, _FEEDBACK)
        for block in (_children(part) or [message_from_string(_text(part))])
    ]
    # Some say the contrary: "not-spam" undoes an earlier report.
    return _returned_ids(parts) if set(kinds) & set(_ABUSE) else None


_FEEDBACK: Final = "message/feedback-report"
_ABUSE: Final = ("abuse", "fraud", "virus", "other")
_STATUS: Final = ("message/delivery-status", "message/global-delivery-status")
_ORIGINAL: Final = ("message/rfc822", "message/global")
_ORIGINAL_HEADERS: Final = ("text/rfc822-headers", "message/global-headers")


def _bounce(raw: bytes) -> Bounce | None:
    if _is_tangled(raw):
        return None
    mail = message_from_bytes(raw)
    parts = tuple(_own_parts(mail))
    if _is_other_report(mail, parts):
        return None
    recipients = [block for part in _of(parts, *_STATUS) for block in _blocks(part)]
    if any("action" in block or "status" in block for block in recipients):
        return _by_report(recipients, parts)
    return _by_words(mail, parts)


_BOUNDARY: Final = re.compile(rb"boundary\*?0?\*?\s?=", re.IGNORECASE)
_EMPTY_LINE: Final = re.compile(rb"(?:\r\n|\r|\n){2}")


def _is_tangled(raw: bytes) -> bool:
    # The parser's time grows with lines times depth, and each empty line in a report is
    # a new group of fields to it.
    boundaries, empty_lines = _BOUNDARY.findall(raw), _EMPTY_LINE.findall(raw)
    return len(boundaries) > BOUNDARIES or len(empty_lines) > EMPTY_LINES


def _own_parts(part: Message) -> Iterator[Message]:
    """Give the mail's parts, but not those of a mail that it returns or forwards."""
    yield part
    if part.get_content_maintype() == "multipart" and part.is_multipart():
        for inner in part.get_payload():
            if isinstance(inner, Message):
                yield from _own_parts(inner)


def _of(parts: Iterable[Message], *kinds: str) -> list[Message]:
    return [part for part in parts if part.get_content_type() in kinds]


def _is_other_report(mail: Message, parts: Sequence[Message]) -> bool:
    """Return whether the mail reports abuse, or that a letter was read."""
    if _of(parts, _FEEDBACK, "message/disposition-notification"):
        return True
    kind = str(mail.get_param("report-type", "delivery-status")).lower()
    return mail.get_content_type() == "multipart/report" and "delivery-status" not in kind


def _blocks(status: Message) -> Iterator[Message]:
    """Give the groups of fields in a report: one on the mail, then one for each recipient."""
    if status.get_content_type() == "message/delivery-status":
        yield from _children(status)
        return
    # Only the older kind is taken apart by the parser.
    text = "\n\n".join(inner.as_string() for inner in _children(status))
    yield from (message_from_string(group) for group in re.split(r"\r?\n\s*\r?\n", text))


def _children(part: Message) -> list[Message]:
    payload = part.get_payload()
    found = payload if isinstance(payload, list) else []
    return [inner for inner in found if isinstance(inner, Message)]


def _by_report(recipients: Sequence[Message], parts: Sequence[Message]) -> Bounce | None:
    verdicts = [(_verdict(block), block) for block in recipients]
    for is_permanent in (True, False):
        for verdict, block in verdicts:
            if verdict is is_permanent:
                return Bounce(is_permanent, _diagnosis(block), _returned_ids(parts))
    return None


def _verdict(block: Message) -> bool | None:
    """Return whether a recipient's failure is permanent; None if the letter did not fail."""
    action = str(block.get("action", "")).strip().lower()
    grade = str(block.get("status", "")).strip()[:1]
    # RFC 3464: "failed"; OpenSMTPD writes "error".
    if action.startswith(("fail", "error")):
        return grade != "4"
    if action.startswith("delayed"):
        return False
    return {"4": False, "5": True}.get(grade) if not action else None


def _diagnosis(block: Message) -> str:
    diagnostic = str(block.get("diagnostic-code", ""))
    # RFC 3464 puts the kind of the code first: "smtp; 550 5.1.1 user unknown".
    without_kind = re.sub(r"^\s*[\w-]{1,40}\s*;", "", diagnostic)
    return _one_line(without_kind) or _one_line(str(block.get("status", "")))


def _one_line(text: str) -> str:
    printable = "".join(char if char.isprintable() else " " for char in text[: REASON * 10])
    return " ".join(printable.split())[:REASON].rstrip()


def _by_words(mail: Message, parts: Sequence[Message]) -> Bounce | None:
    """Read a bounce of no standard form, as qmail and old mail servers write it."""
    if _is_answer(mail) or _forwards_report(mail):
        return None
    temporary, permanent = all_failures(mail)
    if not (temporary or permanent):
        return None
    text = "\n".join(_text(part) for part in _of(parts, "text/plain"))
    reason = _reason(text) or _one_line(str(mail.get("subject", "")))
    return Bounce(bool(permanent), reason, _returned_ids(parts))


_ROBOT: Final = re.compile(r"(?:mailer-?daemon|postmaster)@", re.IGNORECASE)


def _is_answer(mail: Message) -> bool:
    """Return whether a person's mailbox answered by itself, as it does in holidays."""
    # Exim calls its bounces auto-replied too.
    if "x-failed-recipients" in mail or _ROBOT.search(str(mail.get("from", ""))):
        return False
    return str(mail.get("auto-submitted", "")).strip().lower().startswith("auto-replied")


def _forwards_report(mail: Message) -> bool:
    # The detectors look into attached mails too, where the report is someone else's.
    own = len(_of(_own_parts(mail), *_STATUS))
    return len(_of(mail.walk(), *_STATUS)) > own


_CODE: Final = re.compile(r"(?<![\w.])(?:[45]\d\d[ -]|[45]\.\d{1,3}\.\d{1,3}(?!\d))")
_RETURNED: Final = re.compile(
    r"^(?:return-path|received|dkim-signature|message-id|from):", re.IGNORECASE | re.MULTILINE
)


def _reason(text: str) -> str:
    """Return the first line with a mail server's code, above the letter that is returned."""
    returned = _RETURNED.search(text)
    above = text[: returned.start()] if returned else text
    return _one_line(next((line for line in above.split("\n") if _CODE.search(line)), ""))


def _text(part: Message) -> str:
    data = part.get_payload(decode=True)
    text = data.decode("utf-8", "replace") if isinstance(data, bytes) else ""
    return text.replace("\r\n", "\n")


_ID: Final = re.compile(r"<[^\s<>]{1,300}>")
# Bounded, so that long runs of spaces cost no time.
_ID_LINE: Final = re.compile(
    r"^[> \t]{0,40}message-id:[ \t]{0,20}(?:\n[ \t]{1,20})?(<[^\s<>]{1,300}>)",
    re.IGNORECASE | re.MULTILINE,
)


def _returned_ids(parts: Sequence[Message]) -> tuple[str, ...]:
    found: list[str] = []
    for part in _of(parts, *_ORIGINAL):
        for original in _children(part):
            found += _ids(original)
    for part in _of(parts, *_ORIGINAL_HEADERS):
        text = _text(part) or "".join(inner.as_string() for inner in _children(part))
        found += _ids(message_from_string(text.lstrip()))
    if not found:
        for part in parts:
            if part.get_content_maintype() == "text":
                found += _ID_LINE.findall(_text(part))
    return tuple(dict.fromkeys(found))[:IDS]


def _ids(original: Message) -> list[str]:
    return [one for value in original.get_all("message-id", []) for one in _ID.findall(str(value))]
