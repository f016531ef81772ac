"""What a reader's mail program may make of our own words, and whether it reads as a move."""

from __future__ import annotations

import random
import textwrap
from collections.abc import Callable, Iterable, Iterator
from email.message import EmailMessage

from engine.errors import Ambiguous, IllegalMove
from pbem.mail import reply
from pbem.mail.commands import ORDER
from pbem.mail.flatten import flatten

WIDTHS = range(10, 141)


def paragraphs(message: EmailMessage) -> Iterator[str]:
    """Yield the lines of both parts, the HTML one as it is flattened."""
    html, text = (message.get_body((kind,)).get_content() for kind in ("html", "plain"))
    yield from text.splitlines()
    yield from flatten(html).splitlines()


def wrapped(message: EmailMessage) -> set[str]:
    """Return the lines of both parts, as they are and wrapped at many widths."""
    text = message.get_body(("plain",)).get_content()
    # Other widths at each letter, the same ones for the same letter.
    widths = random.Random(text).sample(WIDTHS, 16)
    return {line for paragraph in paragraphs(message) for line in rewrapped(paragraph, widths)}


def rewrapped(paragraph: str, widths: Iterable[int] = WIDTHS) -> set[str]:
    """Return a line as it is and as it breaks at each of these widths."""
    found = {paragraph}
    for width in widths:
        if width < len(paragraph):
            found.update(textwrap.wrap(paragraph, width, break_long_words=False))
    return found


def reads(line: str, command: Callable[[str], object]) -> bool:
    """Return whether a line would be taken for a move wherever it stands."""
    try:
        found = command(line)
    except (Ambiguous, IllegalMove):
        return not reply.is_weak(line)
    if found is None or found.weak:
        return False
    # An order holds words alone, and counts all the same.
    return found.question == ORDER or not reply.is_weak(line)
