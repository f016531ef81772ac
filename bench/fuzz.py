"""Damaged mails for a minute: whatever the bytes, reading them ends, and soon."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from bench.measure import Asked, Bar
from pbem.mail import bounce, note

SECONDS: Final = 60.0
MAILS: Final = Path(__file__).parents[1] / "tests" / "mails"
CUTS: Final = 12  # damages to one mail, at most
PIECES: Final = (
    *(b"\0", b"\r", b"\n\n", b'"', b"(", b"<", b">", b";", b"=?", b"=?utf-8?b?", b"?=", b"--"),
    *(b"Content-Type: multipart/mixed; boundary=b\n\n--b\n", b"Content-Type: message/rfc822\n\n"),
    *(b"charset=hex", b"format=flowed", b"Content-Transfer-Encoding: base64\n", b"&#", b"<!--"),
    *(b"<blockquote>", b"\xff\xfe", "\u202e".encode(), "\u200b".encode()),
)


def run(_asked: Asked, *, seconds: float = SECONDS, seed: int = 1) -> Iterator[Bar]:
    """Damage mails at random; any exception but Unparseable ends the run."""
    # The detectors of bounces log a traceback for each mail that one of them fails on.
    logging.getLogger("flufl.bounce").setLevel(logging.CRITICAL + 1)
    chance = random.Random(seed)
    mails = [path.read_bytes() for path in sorted(MAILS.glob("*.eml"))]
    count, slowest, end = 0, 0.0, time.monotonic() + seconds
    while time.monotonic() < end:
        raw = damaged(chance.choice(mails), chance)
        started = time.process_time()
        read(raw)
        count, slowest = count + 1, max(slowest, time.process_time() - started)
    words = f"{count} damaged mails were read, the slowest in {slowest * 1000:.0f} ms"
    yield Bar(f"{words} (to reach: all, and 500 ms)", slowest < 0.5)


def read(raw: bytes) -> None:
    """Read a mail in all the ways in which the inbox does."""
    note.digest(raw, "g+token@play.example")
    bounce.read(raw)
    bounce.complaint(raw)
    try:
        note.read(raw)
    except note.Unparseable:
        return


def damaged(mail: bytes, chance: random.Random) -> bytes:
    """Return the mail with bytes changed, cut out, put in, copied, or repeated many times."""
    raw = bytearray(mail)
    for _ in range(chance.randint(1, CUTS)):
        at, other = chance.randrange(len(raw) + 1), chance.randrange(len(raw) + 1)
        match chance.randrange(5):
            case 0:
                raw[at : at + 1] = bytes([chance.randrange(256)])
            case 1:
                del raw[at : at + chance.randrange(40)]
            case 2:
                raw[at:at] = chance.choice(PIECES)
            case 3:
                raw[at:at] = raw[other : other + chance.randrange(200)]
            case _:
                raw[at:at] = chance.choice(PIECES) * chance.randrange(300)
    return bytes(raw)
