"""Whether reading a mail takes time in proportion to its length, whatever it is made of."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import cycle
from statistics import median
from typing import Final

from bench.measure import Asked, Bar, cost
from pbem.mail import note, reply
from pbem.mail.listed import listed_commands

TIMES: Final = 4  # as long is the long mail
STEEPEST: Final = 2.0  # times as much time for a character of the long one
MOST: Final = 2000.0  # milliseconds of one core, for any mail
NOTHING: Final = 20.0  # milliseconds; what takes less tells nothing of proportion
ROUNDS: Final = 3
MOVES: Final = ("5SW left", "5SW right", "6LK left")

TEXT: Final = 15_000  # characters of the short mail; four times that are just kept
PAGE: Final = 125_000
# Pieces that are repeated, by the kind of the part that they stand in.
_SHAPES: Final = {
    ("text/plain", TEXT): {
        "prose": "I think that I shall play tomorrow, when there is time. \n",
        "short lines": "a\n",
        "numbers": "5\n",
        "moves": "5SW left\n",
        "refused moves": "7SK left\n",
        "one line": "word ",
        "quotes": "> a\n",
        "deep quotes": ">" * 60 + "\n",
        "openings": "On 1\n",
        "dates": "2026-11-30 10:15\n",
        "labels": "From: a\n",
        "dashes": "---------------------------------- a\n",
        "said": "say: a\n",
        "empty lines": "\n",
        "odd signs": "\u200b\u00a0５\u0301\n",
        "addresses": "g+a@play.example ",
        "colons": "a:" * 200 + "\n",
        "stars": "* " * 200 + "\n",
    },
    ("text/plain; format=flowed", TEXT): {
        "soft ends": "a \n",
        "deeper and deeper": "> a \n>> b \n",
    },
    ("text/html", PAGE): {
        "elements": "<div>a",
        "empty elements": "<br>",
        "quotes": "<blockquote>",
        "ends": "</div>",
        "comments": "<!--",
        "open tags": "<a ",
        "quotation marks": '<a b=">">',
        "entities": "&amp;&#x41;",
        "styles": "<style>",
        "classes": '<p class="a b c d e f g">a</p>',
        "angles": "<<<<",
        "spaces": "a          ",
    },
}


def run(_asked: Asked) -> Iterator[Bar]:
    """Read a short and a long mail of each shape."""
    for (kind, length), shapes in _SHAPES.items():
        for name, piece in shapes.items():
            yield _measured(f"{kind}, {name}", kind, piece, length)


def _measured(name: str, kind: str, piece: str, length: int) -> Bar:
    short, long = (_mail(kind, piece, size) for size in (length, length * TIMES))
    spent: dict[bytes, list[float]] = {short: [], long: []}
    for raw, _ in zip(cycle((short, long)), range(2 * ROUNDS), strict=False):
        spent[raw].append(cost(partial(_read, raw)))
    least, most = median(spent[short]), median(spent[long])
    steep = most / least / TIMES
    return Bar(
        f"reading {name}: {least:.1f} ms, {most:.1f} ms for {TIMES} times as much:"
        f" {steep:.2f} times a character's time (at most {STEEPEST:g})",
        most <= MOST and (most <= NOTHING or steep <= STEEPEST),
    )


def _mail(kind: str, piece: str, size: int) -> bytes:
    text = (piece * (size // len(piece) + 1))[:size]
    return f"From: ann@players.example\nContent-Type: {kind}\n\n{text}".encode()


def _read(raw: bytes) -> reply.Reply:
    text = note.read(raw).text
    # Its own text is the hardest letter to compare it with.
    return reply.read(text, sent=text, command=listed_commands(MOVES))
