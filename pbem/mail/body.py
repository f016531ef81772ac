"""The text of a mail's body: which part it is, its charset, and its lines as typed."""

from __future__ import annotations

import binascii
import re
from copy import copy
from email.message import Message
from typing import Final

from pbem.mail.flatten import flatten
from pbem.mail.lines import clean

BODY: Final = 64 * 1024  # characters of a body that are kept
LONG_LINE: Final = 4000  # and of one of its lines: what is said may be one long line

# What mails call their charset, and the codec that reads it. Nothing else is obeyed:
# Python has codecs, such as "hex", that are no charsets.
_CODECS: Final = {
    **{f"iso-8859-{n}": f"iso8859_{n}" for n in (2, 3, 4, 5, 6, 7, 8, 10, 11, 13, 14, 15, 16)},
    **{f"windows-125{n}": f"cp125{n}" for n in range(9)},
    **{f"cp125{n}": f"cp125{n}" for n in range(9)},
    # What says Latin-1 is nearly always its bigger sister.
    **dict.fromkeys(("iso-8859-1", "latin1", "latin-1", "iso8859-1"), "cp1252"),
    **dict.fromkeys(("utf-8", "utf8", "us-ascii", "ascii"), "utf-8"),
    "iso-8859-9": "cp1254",
    "iso-8859-8-i": "iso8859_8",
    "windows-874": "cp874",
    "tis-620": "cp874",
    "macintosh": "mac_roman",
    "x-mac-roman": "mac_roman",
    "x-mac-turkish": "mac_turkish",
    "koi8-r": "koi8_r",
    "koi8-u": "koi8_u",
    "shift_jis": "cp932",
    "iso-2022-jp": "iso2022_jp",
    "euc-jp": "euc_jp",
    **dict.fromkeys(("gb2312", "gbk", "gb18030"), "gb18030"),
    "big5": "big5hkscs",
    **dict.fromkeys(("euc-kr", "ks_c_5601-1987"), "cp949"),
}
_NOT_BASE64: Final = bytes(
    sign
    for sign in range(256)
    if not (chr(sign).isascii() and chr(sign).isalnum()) and sign not in b"+/"
)


def decoded(data: bytes, charset: str) -> str:
    """Return the bytes as text: in the named charset if it is a known one, else as it can be."""
    for codec in (_CODECS.get(charset.strip().lower()), "utf-8"):
        if codec is not None:
            try:
                return data.decode(codec)
            except UnicodeDecodeError:
                continue
    return data.decode("cp1252", "replace")


def bodies(mail: Message) -> tuple[str, str]:
    """Return the text that the mail's writer sees, and what its HTML says beside a plain text.

    Both are cut to 64 KB and their lines to 4000; the second is empty if there are not both.
    """
    plain, page = texts(mail)
    if not _is_text(plain):
        return _cut(flatten(page)), ""
    return _cut(plain), _cut(flatten(page))


def _cut(text: str) -> str:
    text = re.sub(r"\r\n?", "\n", text[:BODY]).replace("\0", "")
    return "\n".join(line[:LONG_LINE] for line in text.split("\n"))


def _is_text(text: str) -> bool:
    return any(clean(line) for line in text.split("\n"))


def texts(part: Message) -> tuple[str, str]:
    """Return the plain text and the HTML of a part and of what it holds."""
    if part.get_content_maintype() == "message":
        return "", ""  # somebody else's mail, attached
    children = part.get_payload()
    if isinstance(children, list):
        found = [texts(child) for child in children if isinstance(child, Message)]
        if part.get_content_subtype() != "alternative":
            # A program may put a picture between two texts; either may be in HTML only.
            return _joined(found)
        plain = next((plain for plain, _ in found if _is_text(plain)), "")
        return plain, next((page for _, page in found if page), "")
    if part.get_content_disposition() == "attachment" or part.get_filename():
        return "", ""
    if part.get_content_type() == "text/html":
        return "", _content(part)
    if part.get_content_type() in ("text/plain", "text/enriched"):
        return _typed(part), ""
    return "", ""


def _joined(texts: list[tuple[str, str]]) -> tuple[str, str]:
    plain = "\n".join(
        text if _is_text(text) else flatten(page) for text, page in texts if text or page
    )
    if any(_is_text(text) for text, _ in texts):
        return plain, ""
    return "", "\n".join(page for _, page in texts if page)


def _content(part: Message) -> str:
    charset = part.get_param("charset", "")
    name = charset[2] if isinstance(charset, tuple) else str(charset)
    return decoded(_bytes(part), name)


def _bytes(part: Message) -> bytes:
    """Return the part's bytes; what was cut off inside of base64 costs only its last bytes."""
    data = _transported(part)
    encoding = str(part.get("Content-Transfer-Encoding", "")).strip().lower()
    if encoding == "quoted-printable":
        return binascii.a2b_qp(data)
    if encoding == "base64":
        data = data.translate(None, _NOT_BASE64)
        return binascii.a2b_base64(data[: len(data) // 4 * 4] + _padded(data[len(data) // 4 * 4 :]))
    return data


def _transported(part: Message) -> bytes:
    # Undecoded payloads come as text, in whatever charset is declared; a decoded one of a
    # part that declares no encoding comes as the bytes that were sent.
    bare = copy(part)
    del bare["Content-Transfer-Encoding"]
    data = bare.get_payload(decode=True)
    return data if isinstance(data, bytes) else b""


def _padded(rest: bytes) -> bytes:
    return rest.ljust(4, b"=") if len(rest) > 1 else b""


def _typed(part: Message) -> str:
    """Return plain text with the soft line ends of format=flowed taken out."""
    text = re.sub(r"\r\n?", "\n", _content(part)[: 2 * BODY])
    if str(part.get_param("format", "")).lower() != "flowed":
        return text
    keeps_space = str(part.get_param("delsp", "")).lower() != "yes"
    return _unflowed(text, keeps_space=keeps_space)


def _unflowed(text: str, *, keeps_space: bool) -> str:
    """Return the text with lines joined that end in a space (RFC 3676)."""
    lines: list[str] = []
    pieces: list[str] = []
    depth = 0
    for line in text.split("\n"):
        content = line.lstrip(">")
        deep = len(line) - len(content)
        content = content.removeprefix(" ")
        if pieces and (deep != depth or content == "-- "):
            lines.append(_quoted("".join(pieces), depth))
            pieces = []
        depth = deep
        flows = content.endswith(" ") and content != "-- "
        pieces.append(content if keeps_space or not flows else content[:-1])
        if not flows:
            lines.append(_quoted("".join(pieces), depth))
            pieces = []
    if pieces:
        lines.append(_quoted("".join(pieces), depth))
    return "\n".join(lines)


def _quoted(text: str, depth: int) -> str:
    return f"{'>' * depth} {text}" if depth else text
