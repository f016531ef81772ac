"""Fake mail programs: what a letter's bytes offer to its reader, and replies as bytes."""

from __future__ import annotations

import html
import random
import re
from dataclasses import dataclass
from datetime import datetime
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from typing import Final

from bench import replies
from pbem.mail.flatten import flatten
from torture.relay import parsed

_LINK: Final = re.compile(r'href="https?://[^/"]+(/[msh]/[^"]+)"|href="mailto:([^"?]+)')
_NUMBER: Final = re.compile(r"\[\d+\] ")
_HIDDEN: Final = re.compile(r'<input type="hidden" name="move" value="([^"]*)">')
_TICK: Final = 'name="me"'
# How programs name themselves, and how they send a text.
_PROGRAMS: Final = (
    ("X-Mailer", "Apple Mail (2.3826.200.121)"),
    ("User-Agent", "Mozilla Thunderbird"),
    ("X-Mailer", "Microsoft Outlook 16.0"),
    ("User-Agent", "K-9 Mail for Android"),
    ("X-Mailer", "iPhone Mail (22B91)"),
)
# Most people write above the letter.
_PLACES: Final = (*replies.PLACES, "top", "top", "top")
_ENCODINGS: Final = ("quoted-printable", "base64", "8bit")
_PARTS: Final = ("text", "text", "both", "html")
_BOUNCE: Final = """\
From: MAILER-DAEMON@players.example
To: {letter.envelope}
Subject: Undelivered Mail Returned to Sender
Auto-Submitted: auto-replied
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary="=b"

--=b
Content-Type: text/plain

<{letter.recipient}>: 550 5.1.1 no such user ({letter.message_id})

--=b
Content-Type: message/delivery-status

Reporting-MTA: dns; mx.players.example

Final-Recipient: rfc822; {letter.recipient}
Action: failed
Status: 5.1.1
Diagnostic-Code: smtp; 550 5.1.1 no such user

--=b--
"""


@dataclass(frozen=True, slots=True)
class Asking:
    """One turn that a letter asks about: links of its moves by their numbers, and its addresses.

    Turns have a ``key``, which their links share. ``held`` is the link to a move that only
    waits for a yes. ``whole`` is the letter, where it asks about no other turn.
    """

    key: str
    moves: tuple[str, ...]
    seat: str
    reply_to: str
    whole: Letter | None
    held: str = ""


@dataclass(frozen=True, slots=True)
class Letter:
    """A letter as it arrived: to whom, from which envelope, its name, and both of its parts."""

    recipient: str
    envelope: str
    message_id: str
    subject: str
    text: str
    html: str
    reply_to: str


@dataclass(frozen=True, slots=True)
class Form:
    """The form of a move's page: the move that it plays, and whether a tick is to be set."""

    move: str
    has_tick: bool

    def filled_in(self) -> dict[str, str]:
        """Return its fields as a person sends them."""
        return {"move": self.move} | ({"me": "1"} if self.has_tick else {})


def opened(envelope: str, recipient: str, raw: bytes) -> Letter:
    """Return a mail that came over the wire as its reader's program holds it."""
    message = parsed(raw)
    return Letter(
        recipient,
        envelope,
        str(message["Message-ID"]),
        str(message["Subject"]),
        _part(message, "plain"),
        _part(message, "html"),
        str(message["Reply-To"] or ""),
    )


def askings(letter: Letter) -> list[Asking]:
    """Return the turns that a letter asks about, in its order.

    A letter about several has the moves of each, then its address and its page.
    """
    found = []
    moves: list[str] = []
    reply_to = letter.reply_to
    for link, address in _LINK.findall(letter.html):
        if address:
            reply_to = html.unescape(address)
        elif link.startswith("/h/"):
            found.append(Asking(link, (), "", "", None, held=link))
        elif link.startswith("/m/"):
            moves.append(link)
        elif moves:
            whole = letter if letter.reply_to else None
            found.append(Asking(_key(moves[0]), tuple(moves), link, reply_to, whole))
            moves = []
    return found


def numbers(letter: Letter) -> int:
    """Return how many moves the text part of a letter lists."""
    return len(_NUMBER.findall(letter.text))


def form(page: str) -> Form | None:
    """Return the form by which a page plays a move; None where it has none."""
    move = _HIDDEN.search(page)
    return None if move is None else Form(html.unescape(move[1]), _TICK in page)


def links(page: str) -> tuple[str, ...]:
    """Return the links to moves on a seat's page, in its order."""
    found = re.findall(r'href="(?:https?://[^/"]+)?(/m/[^"]+)"', page)
    return tuple(dict.fromkeys(found))


def typed(asking: Asking, n: int, chance: random.Random) -> str:
    """Return a reply's text with the n-th move, in one of the shapes that programs give it."""
    words = chance.choice(("#{n}", "play {n}", "{n}", "{n}")).format(n=n)
    letter = asking.whole
    if letter is None:
        return f"{words}\n\n{chance.choice(replies.SIGNATURES)}\n"
    part = letter.text if chance.random() < 0.5 else flatten(letter.html)
    return replies.a_reply(
        part,
        words,
        chance.choice(replies.HEADERS),
        chance.choice(_PLACES),
        chance.choice(replies.WIDTHS),
        chance.choice(replies.SIGNS),
        chance.choice(replies.SIGNATURES),
    )


def reply(asking: Asking, text: str, sender: str, chance: random.Random, *, now: datetime) -> bytes:
    """Return a reply as some program sends it."""
    message = EmailMessage(policy=SMTP)
    message["From"] = chance.choice(("{}", "Player <{}>", '"Player, P." <{}>')).format(sender)
    message["To"] = asking.reply_to
    subject = "your turn" if asking.whole is None else asking.whole.subject
    message["Subject"] = f"{chance.choice(('Re', 'RE', 'AW', 'TR', 'Sv'))}: {subject}"
    message["Date"] = format_datetime(now)
    message["Message-ID"] = f"<{chance.getrandbits(64):x}@players.example>"
    if asking.whole is not None:
        message["In-Reply-To"] = message["References"] = asking.whole.message_id
    name, program = chance.choice(_PROGRAMS)
    message[name] = program
    _write(message, text, chance)
    return message.as_bytes()


def absence(letter: Letter, chance: random.Random, *, now: datetime) -> bytes:
    """Return what a program answers by itself while its owner is away."""
    message = EmailMessage(policy=SMTP)
    message["From"], message["To"] = letter.recipient, letter.envelope
    message["Subject"] = f"Out of office: {letter.subject}"
    message["Date"] = format_datetime(now)
    message["Message-ID"] = f"<{chance.getrandbits(64):x}@players.example>"
    message["Auto-Submitted"] = "auto-replied"
    message.set_content("I am away and read no mail.\n")
    return message.as_bytes()


def bounce(letter: Letter) -> bytes:
    """Return what a mail server sends back that has nobody for a letter."""
    return _BOUNCE.format(letter=letter).replace("\n", "\r\n").encode()


def rerouted(raw: bytes, chance: random.Random) -> bytes:
    """Return the same mail as another way brings it: with one more trace header."""
    return f"Received: from mx{chance.randrange(9)}.players.example\r\n".encode() + raw


def _write(message: EmailMessage, text: str, chance: random.Random) -> None:
    """Write a text as one part or as two."""
    encoding, parts = chance.choice(_ENCODINGS), chance.choice(_PARTS)
    page = "<br>\n".join(html.escape(line) for line in text.split("\n"))
    if parts != "html":
        message.set_content(text, cte=encoding)
    if parts == "both":
        message.add_alternative(f"<div>{page}</div>\n", subtype="html", cte=encoding)
    if parts == "html":
        message.set_content(f"<div>{page}</div>\n", subtype="html", cte=encoding)


def _key(link: str) -> str:
    """Return what is the same in all links to the moves of one turn."""
    return link.removeprefix("/m/").partition("-")[0]


def _part(message: EmailMessage, kind: str) -> str:
    part = message.get_body((kind,))
    return "" if part is None else str(part.get_content()).replace("\r\n", "\n")
