"""People's words as our letters show them: no line of them reads as a move when quoted back."""

from __future__ import annotations

import re
from typing import Final

from pbem.mail.commands import is_weak

LONGEST: Final = 70  # characters in one piece; longer words are broken
_WINDOW: Final = 4  # words that name a move together, at most
_LONG: Final = re.compile(rf"\S{{{LONGEST + 1},}}")


def harmless(text: str) -> list[str]:
    """Return the lines of a text, each between marks, and with marks around what names a move.

    Nothing with a sign in it is a move, wherever a mail program breaks the line.
    """
    return [f"‹{_marked(line)}›" for line in text.splitlines() if line.strip()]


def _marked(line: str) -> str:
    words = _LONG.sub(_broken, line).split()
    fresh = 0
    for at in range(len(words)):
        begins = range(max(fresh, at - _WINDOW + 1), at + 1)
        if any(not is_weak(" ".join(words[begin : at + 1])) for begin in begins):
            words[at], fresh = f"‹{words[at]}›", at + 1
    return " ".join(words)


def _broken(word: re.Match[str]) -> str:
    pieces = range(0, len(word[0]), LONGEST)
    return " ".join(word[0][at : at + LONGEST] for at in pieces)
