"""What the lines of a mail are: quoted, a reply header, a signature, or ours."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

LINE: Final = 400  # characters of a line that are looked at

# Zero-width and bidi marks, soft hyphens and what makes a sign an emoji or a keycap.
_INVISIBLE: Final = re.compile(
    "[\u00ad\u034f\u061c\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u20e3\ufe00-\ufe0f\ufeff]"
)
_FULL_WIDTH: Final = {0xFF01 + offset: 0x21 + offset for offset in range(94)} | {0x3000: 0x20}
_STRAIGHT: Final = str.maketrans(
    {"’": "'", "‘": "'", "ʼ": "'", "´": "'"} | dict.fromkeys('*_"“”„«»`')
)
_LIST_MARK: Final = re.compile(r"\s*(?:[-–—•·◦‣▪●○+]\s+)+")

_QUOTED: Final = re.compile(r"\s{0,3}(?:[A-Za-z]{0,3}[>＞]|[|┃│](?:\s|$))")
_SIGNATURE: Final = re.compile(r"(?:--|—)\s*$|-----BEGIN PGP SIGNATURE-----")

_ADDRESS: Final = re.compile(r"[^\s@<>]{1,64}@[^\s@<>]{2}")
_DATE: Final = re.compile(r"\b(?:19|20)\d\d\b|\b\d{1,2}[./-]\d{1,2}[./-]\d{2,4}\b|\d年|\d년")
_TIME: Final = re.compile(r"\d{1,2}\s?[:.hH時时시]\s?\d{2}")

# How programs in many languages end the line above what they quote. Most of them
# are also caught by their date and address; these are for the ones that name neither.
_WROTE: Final = re.compile(
    r"\b(?:wrote|writes|schrieb|schrieb\s.{1,80}|a écrit|écrit|escribió|va escriure|escreveu|"
    r"ha scritto|scrisse|schreef\b.{0,80}|het volgende geschreven|geschreven|skrev\b.{0,80}|"
    r"kirjoitti|kirjutas|napisał\w*|pisze|napsal\w*|napísal\w*|написал\w*|пишет|написав|пише|"
    r"írta|ezt írta.{0,80}|a scris|yazdı|şunu yazdı|έγραψε|написа|napisao\w*|je napisal\w*|"
    r"rakstīja|rašė|đã viết|menulis|כתב\w*|كتب)\s*[:：]?$|"
    r"(?:写道|寫道|のメール|書きました|님이 작성|님이 씀|が書き込みました)\s*[:：]$",
    re.IGNORECASE,
)
# The words that such a line begins with, for those that are wrapped.
_OPENING: Final = re.compile(
    r"(?:on|at|le|am|el|em|il|op|den|dne|dnia|w dniu|în|pe|på|d\.|ma|pada|vào|tarihinde|"
    r"στις|в|на|la|a|ср|пн|вт|чт|пт|сб|вс|в ср|mån|tis|ons|tors|fre|mon|tue|wed|thu|fri|sat|"
    r"sun|mo|di|mi|do|fr|sa|so|lun|mar|mer|jeu|ven|sam|dim)\b|\d{1,4}[./年-]",
    re.IGNORECASE,
)
_DIVIDER: Final = re.compile(
    r"(?!-----BEGIN PGP)\s*(?:-{3,}\s?[^-].{1,80}?-{3,}|_{8,}\s*$|-{8,}\s*$|={8,}\s*$)"
)
_LABEL: Final = re.compile(r"[\s*_]*[^\W\d_][^:：]{0,25}[:：]")
_FROM: Final = re.compile(
    r"[\s*_]*(?:from|de|von|da|van|från|fra|lähettäjä|od|от|от кого|від|kimden|gönderen|feladó|"
    r"από|de la|expéditeur|mittente|nadawca|发件人|寄件者|差出人|보낸 사람|보낸사람|מאת|من)"
    r"\s?[*_]*\s?[:：]",
    re.IGNORECASE,
)
_BANNER: Final = re.compile(
    r"\W*(?:caution|warning|external|attention|achtung|vorsicht|you don'?t often get|"
    r"some people who received this)\b.{0,80}(?:mail|external|sender|message|outside|extern)|"
    r"\W*\[?external\]?\W*$|-----BEGIN PGP SIGNED MESSAGE-----",
    re.IGNORECASE,
)


def clean(line: str) -> str:
    """Return the line as commands are compared: folded, without marks and decoration."""
    text = _INVISIBLE.sub("", line[:LINE]).translate(_FULL_WIDTH).translate(_STRAIGHT)
    text = _LIST_MARK.sub("", text, count=1)
    return " ".join(text.casefold().split()).strip(" '.!")[:LINE]


def is_quoted(line: str) -> bool:
    """Return whether a mail program marked the line as quoted."""
    return _QUOTED.match(line) is not None


def is_signature(line: str) -> bool:
    """Return whether the line sets off a signature."""
    return _SIGNATURE.match(line) is not None


def is_banner(line: str) -> bool:
    """Return whether a program put the line above the text, such as a warning of strangers."""
    return _BANNER.match(line[:LINE]) is not None


def is_divider(line: str) -> bool:
    """Return whether the line is a rule, or a title between two rules."""
    return _DIVIDER.match(line[:LINE]) is not None


def header_lines(lines: Sequence[str], at: int) -> int:
    """Return how many lines from here on are one reply header; 0 if none begins here."""
    line = lines[at][:LINE].strip()
    if is_divider(line) or _is_attribution(line):
        return 1
    return _label_block(lines, at) or _wrapped_attribution(lines, at)


def _has_address(line: str) -> bool:
    # Most lines hold no @, and to look for what may stand before one takes its time.
    return "@" in line and _ADDRESS.search(line) is not None


def _is_attribution(line: str) -> bool:
    if line.endswith((":", "：")) and (
        _has_address(line) or (_DATE.search(line) and _TIME.search(line))
    ):
        return True
    return _WROTE.search(line) is not None and (line.endswith((":", "：")) or _has_address(line))


def _label_block(lines: Sequence[str], at: int) -> int:
    """Return the length of a block such as From, Sent, To, Subject."""
    block = 0
    for line in lines[at : at + 8]:
        if not _LABEL.match(line[:LINE]):
            break
        block += 1
    dated = any(
        _has_address(line[:LINE]) or _TIME.search(line[:LINE]) for line in lines[at : at + block]
    )
    if dated and (block >= 3 or _FROM.match(lines[at][:LINE])):
        return block
    return 0


def _wrapped_attribution(lines: Sequence[str], at: int) -> int:
    """Return over how many lines an attribution runs that a program has wrapped."""
    first = lines[at][:LINE].strip()
    if not (_OPENING.match(first) or _has_address(first) or _DATE.search(first)):
        return 0
    joined = first
    for more in range(1, 5):
        following = lines[at + more][:LINE].strip() if at + more < len(lines) else ""
        if not following or is_quoted(following):
            return 0
        joined = f"{joined} {following}"
        if _is_attribution(joined):
            return more + 1
    return 0


class Letter:
    """The letter that is being answered, to tell its lines however they were wrapped.

    Pairs of neighbouring words are kept, not lines: a program that wraps anew, or joins
    lines, keeps nearly all of the pairs, and one look-up a word keeps this linear.
    """

    def __init__(self, text: str | None) -> None:
        words: list[str] = []
        self._whole: set[str] = set()
        for line in (text or "").splitlines():
            self._whole.add(clean(line))
            words += _words(line)
        self._whole.discard("")
        self._words = set(words)
        self._pairs = set(pairwise(words))
        self._start = words[:3]

    def has(self, line: str) -> bool:
        """Return whether the line is one of the letter's, or a piece of one or of some."""
        if clean(line) in self._whole:
            return True
        words = _words(line)
        known = sum(pair in self._pairs for pair in pairwise(words))
        if len(words) >= 6:
            # A program may change a link or a sign, so some pairs may be new.
            return known * 5 >= (len(words) - 1) * 4
        if len(words) >= 3:
            return known == len(words) - 1
        # One or two common words are anybody's; with a sign or a digit they are ours.
        return (
            bool(words)
            and known == len(words) - 1
            and words[0] in self._words
            and any(not word.isalpha() for word in words)
        )

    def begins(self, line: str) -> bool:
        """Return whether the letter begins with the line."""
        words = _words(line)[:3]
        return bool(words) and self._start[: len(words)] == words


def _words(line: str) -> list[str]:
    return [_bare(word) for word in clean(line).split()]


def _bare(word: str) -> str:
    # The sign glued to a code stays: it tells our "5SW." from somebody's "5SW".
    if any(sign.isdigit() for sign in word):
        return word
    return word.strip("'.!") or word
