"""Reading a mail: from its bytes to the facts that the inbox needs."""

from __future__ import annotations

import binascii
import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from email import message_from_bytes
from email.message import Message
from email.policy import Compat32
from typing import Final

from pbem.mail.automatic import tells_absence, why_automatic
from pbem.mail.body import bodies, decoded

MAIL: Final = 1024 * 1024  # bytes of a mail
HEADERS: Final = 64 * 1024  # bytes of the header block
HEADER: Final = 8 * 1024  # bytes of one header
PARTS: Final = 50
DEPTH: Final = 10  # parts inside of parts


class Unparseable(Exception):
    """this mail is too large or too tangled to be read"""

    def __str__(self) -> str:
        """Return the given detail, or else the class's own message."""
        return super().__str__() or (type(self).__doc__ or "").strip()


@dataclass(frozen=True, slots=True)
class Facts:
    """What a mail says of itself, and its text.

    ``sender`` is the one address in From, in lower case, or empty if there is none or
    more than one. ``recipients`` are where the token may stand, the surest place first.
    ``automatic`` is why the mail must not be answered (None: a person wrote it).
    ``page`` is what its HTML says, where there is a plain text too (else empty).
    ``authentication`` are the Authentication-Results as they came, from the top.
    """

    sender: str
    recipients: tuple[str, ...]
    message_id: str
    subject: str
    automatic: str | None
    text: str
    page: str
    authentication: tuple[str, ...]

    @property
    def is_absence(self) -> bool:
        """Return whether it is an automatic answer, as people set up when they are away."""
        return self.automatic is not None and tells_absence(self.automatic)


def read(raw: bytes) -> Facts:
    """Return the facts of a mail; raises Unparseable, and nothing else whatever the bytes."""
    check_limits(raw)
    try:
        return _facts(_parsed(raw))
    except Unparseable:
        raise
    # The parser of the standard library raises many things on hostile mail, and what it
    # raises is no promise of its interface. Nothing is hidden: the mail is kept and shown.
    except Exception as error:
        raise Unparseable(f"this mail cannot be parsed: {type(error).__name__}") from error


def digest(raw: bytes, recipient: str) -> str:
    """Return what two deliveries of one mail to one address have in common, as SHA-256 in hex.

    Headers that are added on the way, and the kind of line ends, make no difference.
    """
    head, body_bytes = _split(_unix(raw))
    kept = [
        header
        for header in _HEADER.findall(head)
        if header.partition(b":")[0].strip().lower() not in _TRACE
        and not header.startswith(b"From ")
    ]
    seal = hashlib.sha256()
    for piece in (recipient.strip().lower().encode("utf-8", "surrogateescape"), *kept):
        seal.update(piece.rstrip(b"\n") + b"\n")
    seal.update(b"\n" + body_bytes.rstrip(b"\n"))
    return seal.hexdigest()


# A header with the lines that it runs on over.
_HEADER: Final = re.compile(rb"[^\n]+\n?(?:[ \t][^\n]*\n?)*")
_TRACE: Final = frozenset(
    (
        *(b"received", b"x-received", b"received-spf", b"return-path", b"delivered-to"),
        *(b"x-delivered-to", b"x-original-to", b"x-gm-original-to", b"envelope-to"),
        *(b"x-envelope-to", b"x-envelope-from", b"x-forwarded-to", b"x-forwarded-for"),
        *(b"delivery-date", b"x-delivery-date", b"authentication-results"),
        *(b"x-authentication-results", b"arc-seal", b"arc-message-signature"),
        *(b"arc-authentication-results", b"x-google-smtp-source", b"x-gm-message-state"),
        *(b"x-mailgun-incoming", b"x-spam-status", b"x-spam-score", b"x-spam-level"),
        *(b"x-spam-flag", b"x-spam-report", b"x-spam-checker-version", b"x-virus-scanned"),
        *(b"x-rspamd-server", b"x-rspamd-queue-id", b"status", b"x-status", b"x-keywords"),
        b"x-uid",
    )
)


def check_limits(raw: bytes) -> None:
    """Raise Unparseable if the mail is larger or more tangled than a person's mail is."""
    if len(raw) > MAIL:
        raise Unparseable(f"this mail has more than {MAIL // 1024} KB")
    text = _unix(raw)
    head, _ = _split(text)
    if len(head) > HEADERS:
        raise Unparseable(f"the headers of this mail have more than {HEADERS // 1024} KB")
    if any(len(header) > HEADER for header in _HEADER.findall(head)):
        raise Unparseable(f"a header of this mail has more than {HEADER // 1024} KB")
    _check_parts(text)


def _unix(raw: bytes) -> bytes:
    return raw.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


def _split(text: bytes) -> tuple[bytes, bytes]:
    """Return the header block and the body."""
    if text.startswith(b"\n"):
        return b"", text[1:]
    head, _, rest = text.partition(b"\n\n")
    return head, rest


_BOUNDARY: Final = re.compile(rb"boundary\*?0?\*?\s?=\s?\"?([^\"\n;]{1,200})", re.IGNORECASE)
_DELIMITER: Final = re.compile(rb"^--([^\n]{1,210})$", re.MULTILINE)


def _check_parts(text: bytes) -> None:
    """Count the lines between parts and how deep they nest, as a parser would find them."""
    declared = {found.strip() for found in _BOUNDARY.findall(text)}
    parts = 0
    within: list[bytes] = []
    for line in _DELIMITER.findall(text):
        name = line.rstrip()
        closing = name not in declared and name.endswith(b"--")
        name = name.removesuffix(b"--") if closing else name
        if name not in declared:
            continue
        if name in within:
            del within[within.index(name) + 1 :]
        elif not closing:
            within.append(name)
        if closing:
            within = within[:-1]
        parts += not closing
        if parts > PARTS or len(within) > DEPTH:
            raise Unparseable(
                f"this mail has more than {PARTS} parts, or parts more than {DEPTH} deep"
            )


class _Capped(Compat32):
    """Reads headers as they stand, and refuses long ones inside of parts too."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        if sum(map(len, sourcelines)) > HEADER:
            raise Unparseable(f"a header of this mail has more than {HEADER // 1024} KB")
        return super().header_source_parse(sourcelines)


def _parsed(raw: bytes) -> Message:
    mail: Message = message_from_bytes(_unix(raw), _counted(), policy=_Capped())
    if _depth(mail) > DEPTH:
        raise Unparseable(f"this mail has parts more than {DEPTH} deep")
    return mail


def _counted() -> Callable[..., Message]:
    """Return a maker of parts that stops the parser at one too many.

    The parser asks for one more than there are parts, to try the maker out, and for
    one that holds them all.
    """
    made = 0

    def make(*, policy: Compat32) -> Message:
        nonlocal made
        made += 1
        if made > PARTS + 2:
            raise Unparseable(f"this mail has more than {PARTS} parts")
        return Message(policy=policy)

    return make


def _depth(part: Message) -> int:
    children = part.get_payload()
    if not isinstance(children, list):
        return 0
    return 1 + max((_depth(child) for child in children if isinstance(child, Message)), default=0)


Headers = Sequence[tuple[str, str]]


def _facts(mail: Message) -> Facts:
    headers = tuple((name.lower(), _unfolded(value)) for name, value in mail.raw_items())
    text, page = bodies(mail)
    sender = _sender(headers)
    subject = _words(_first(headers, "subject"))
    return Facts(
        sender=sender,
        recipients=_recipients(headers),
        message_id=_first(headers, "message-id"),
        subject=subject,
        automatic=why_automatic(
            mail, dict(reversed(headers)), sender=sender, subject=subject, text=text
        ),
        text=text,
        page=page,
        authentication=tuple(value for name, value in headers if name == "authentication-results"),
    )


def _unfolded(value: object) -> str:
    raw = str(value).encode("utf-8", "surrogateescape")
    return " ".join(decoded(raw, "utf-8").replace("\0", "").split())


def _first(headers: Headers, name: str) -> str:
    return next((value for key, value in headers if key == name), "")


_ENCODED: Final = re.compile(r"=\?([^?\s]{1,40})\?([bqBQ])\?([^?\s]*)\?=(?:\s+(?==\?))?")


def _words(value: str) -> str:
    """Return a header with its encoded words decoded; what is broken stays as it is."""
    return " ".join(_ENCODED.sub(_word, value).split())


def _word(found: re.Match[str]) -> str:
    charset, encoding, text = found.groups()
    data = text.encode("utf-8")
    if encoding in "qQ":
        return decoded(binascii.a2b_qp(data, header=True), charset.partition("*")[0])
    try:
        return decoded(
            binascii.a2b_base64(data + b"=" * (-len(data) % 4)), charset.partition("*")[0]
        )
    except binascii.Error:
        return found[0]


_ADDRESS: Final = re.compile(r"[^\s@<>()\[\],:;\"']{1,64}@[\w.-]{1,255}")
_COMMENT: Final = re.compile(r'"(?:[^"\\]|\\.)*"|\([^()]*\)')
_ANGLED: Final = re.compile(r"<\s*([^\s<>@]{1,64}@[\w.-]{1,255})\s*>")
_IDS: Final = re.compile(r"<([^\s<>]{1,300})>")
_PLACES: Final = (
    "delivered-to",
    "x-original-to",
    "envelope-to",
    "x-envelope-to",
    "x-gm-original-to",
    "to",
    "cc",
)


def _sender(headers: Headers) -> str:
    # Names and comments may hold decoys, and two addresses are no one's.
    values = [value for name, value in headers if name == "from"]
    if len(values) != 1:
        return ""
    bare = _COMMENT.sub(" ", values[0])
    found = _ANGLED.findall(bare) or _ADDRESS.findall(bare)
    return str(found[0]).lower() if len(found) == 1 else ""


def _recipients(headers: Headers) -> tuple[str, ...]:
    found: list[str] = []
    for place in _PLACES:
        for name, value in headers:
            if name == place:
                found += [address.lower() for address in _ADDRESS.findall(value)]
    for place in ("references", "in-reply-to"):
        for name, value in headers:
            if name == place:
                # Ids stand newest last, and the newest is the letter that is answered.
                found += reversed(_IDS.findall(value))
    return tuple(dict.fromkeys(found))
