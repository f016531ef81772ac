"""HTML mail as text: what mail programs mark as quoted becomes lines that begin with ``>``."""

from __future__ import annotations

import html
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

MARKUP: Final = 512 * 1024  # characters of a page that are looked at
DEPTH: Final = 200  # open elements that are kept track of
INSIDE: Final = 4 * 1024  # characters of one tag that are looked at

_TAG: Final = re.compile(r"(/?)([a-zA-Z][a-zA-Z0-9:]{0,30})")
_RAW_END: Final = re.compile(r"</(?:style|script)", re.IGNORECASE)
_BREAKS: Final = frozenset(
    (
        *("p", "div", "br", "hr", "tr", "table", "li", "ul", "ol", "dl", "dt", "dd", "pre", "body"),
        *("h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "center", "section", "article"),
        *("header", "footer"),
    )
)
_VOID: Final = frozenset(("br", "hr", "img", "meta", "link", "input", "col", "area", "base", "wbr"))
_UNSEEN: Final = frozenset(("style", "script", "title", "head"))

# Elements that hold the quoted mail. Outlook puts x_ before the names of others.
_QUOTING: Final = re.compile(
    r"(?:class|id|name|data-marker)\s*=\s*[\"']?[^\"'>]{0,200}\b(?:x_)*(?:gmail_quote(?:_container)?|"
    r"gmail_extra|gmail_attr|yahoo_quoted|moz-cite-prefix|moz-forward-container|protonmail_quote|tutanota_quote|"
    r"zmail_extra|isreplycontent|ntes-mailmaster-quote|olk_src_body_section|outlookmessageheader|"
    r"airmail_on|bloop_original_html|messagereplysection|mail-quote-collapse|applemailsignature-quote|"
    r"front-blockquote|mail-editor-reference-message-container|__quoted_text__|gmx_quote|quote|"
    r"qt|replyforwardmessage|lotus_quote|hey-quote|freemail-quote)(?=[\"'\s>]|$)",
    re.IGNORECASE,
)
# Signs after which everything to the end is quoted: Outlook's and its kin's rules.
_DIVIDING: Final = re.compile(
    r"id\s*=\s*[\"']?(?:x_)*(?:divrplyfwdmsg|appendonsend|stopspelling|zwchr|ms-outlook-mobile-reference)\b|"
    r"border:\s?none;\s?border-top:\s?solid\s(?:#?(?:e1e1e1|b5c4df)|windowtext)|"
    r"border-top:\s?(?:#?(?:e1e1e1|b5c4df)\s1(?:\.0)?pt\ssolid|1(?:\.0)?pt\ssolid\s#?(?:e1e1e1|b5c4df))",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Tag:
    name: str
    closes: bool
    inside: str


def flatten(page: str) -> str:
    """Return the text of an HTML mail, quoted parts as lines that begin with ``> ``."""
    writer = _Writer()
    for piece in _pieces(page[:MARKUP]):
        if isinstance(piece, str):
            writer.text(piece)
        elif piece.closes:
            writer.close(piece.name)
        else:
            writer.open(piece)
    return writer.result()


def _pieces(page: str) -> Iterator[str | _Tag]:
    """Yield texts and tags. Each sign is looked at a few times at most, whatever the page."""
    at = 0
    while at < len(page):
        start = page.find("<", at)
        if start < 0:
            yield page[at:]
            return
        yield page[at:start]
        if page.startswith("<!--", start):
            # Outlook's conditional comments hold text for Outlook alone.
            at = _after(page, "-->", start + 4)
        elif page[start + 1 : start + 2] in ("!", "?"):
            at = _after(page, ">", start)
        elif found := _TAG.match(page, start + 1):
            end = _tag_end(page, found.end())
            name = found[2].lower()
            yield _Tag(name, found[1] == "/", page[found.end() : min(end, found.end() + INSIDE)])
            at = end + 1
            if name in ("style", "script") and not found[1]:
                ending = _RAW_END.search(page, at)
                at = ending.start() if ending else len(page)
        else:
            yield "<"
            at = start + 1


def _after(page: str, mark: str, at: int) -> int:
    """Return the place after the mark, or the page's end."""
    found = page.find(mark, at)
    return len(page) if found < 0 else found + len(mark)


def _tag_end(page: str, at: int) -> int:
    """Return where the tag ends; a ``>`` inside of quotes, up to the eighth, is none."""
    first = end = page.find(">", at)
    if first < 0:
        return len(page)
    quotes = page.count('"', at, end)
    for _ in range(8):
        if quotes % 2 == 0:
            return end
        further = page.find(">", end + 1)
        if further < 0:
            break
        quotes += page.count('"', end, further)
        end = further
    return first


class _Writer:
    """Gathers lines, and knows at each text how deep in quoted elements it stands."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._words: list[str] = []
        self._open: list[tuple[str, bool]] = []
        self._names: Counter[str] = Counter()
        self._quoted = 0
        self._unseen = 0
        self._kept = 0
        self._divided = False

    def text(self, text: str) -> None:
        if not text or self._unseen:
            return
        text = html.unescape(text)
        if not self._kept:
            self._words.append(text)
            return
        first, *rest = text.split("\n")
        self._words.append(first)
        for line in rest:
            self._end_line()
            self._words.append(line)

    def open(self, tag: _Tag) -> None:
        if tag.name in _BREAKS:
            self._end_line()
        elif tag.name in ("td", "th"):
            self._words.append(" ")
        quotes = tag.name == "blockquote" or _QUOTING.search(tag.inside) is not None
        if _DIVIDING.search(tag.inside):
            self._divided = True
        if tag.name not in _VOID and not tag.inside.endswith("/") and len(self._open) < DEPTH:
            self._open.append((tag.name, quotes))
            self._count(tag.name, quotes=quotes, by=1)

    def close(self, name: str) -> None:
        if name in _BREAKS:
            self._end_line()
        if not self._names[name]:
            return
        opened = ""
        while opened != name:
            opened, quotes = self._open.pop()
            self._count(opened, quotes=quotes, by=-1)

    def _count(self, name: str, *, quotes: bool, by: int) -> None:
        self._names[name] += by
        self._quoted += by * quotes
        self._unseen += by * (name in _UNSEEN)
        self._kept += by * (name == "pre")

    def _end_line(self) -> None:
        line = " ".join("".join(self._words).split())
        self._words.clear()
        if line and (self._quoted or self._divided):
            line = f"> {line}"
        # One empty line between two texts is enough.
        if line or (self._lines and self._lines[-1]):
            self._lines.append(line)

    def result(self) -> str:
        self._end_line()
        return "\n".join(self._lines).strip("\n")
