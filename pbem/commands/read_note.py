"""`pbem read-note`: what the server would make of a mail, as JSON, with no database."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import asdict
from email import message_from_bytes
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pbem import config
from pbem.app import default_instance
from pbem.config import BadSettings, Settings
from pbem.mail import bounce, note, reply
from pbem.mail.body import texts
from pbem.mail.flatten import flatten
from pbem.mail.listed import letter_commands, listed_commands

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Sequence

    from pbem.mail.commands import Commands

_TOKEN: Final = re.compile(r"[a-z2-7]{24}")


def run(parser: ArgumentParser, arguments: Sequence[str]) -> int:
    """Print what the mail asks for; exit code 0 whatever it holds, 1 if it can't be opened."""
    parser.add_argument("file", type=Path, metavar="FILE.eml", help="the mail as it came")
    parser.add_argument("--sent", type=Path, metavar="LETTER.eml", help="the letter it answers")
    parser.add_argument("--moves", help='the moves of its list: "6SY left;6SY right"')
    parsed = parser.parse_args(arguments)
    plain, page = _letter(parsed.sent)
    moves = [move.strip() for move in (parsed.moves or "").split(";") if move.strip()]
    command = listed_commands(moves) if moves else letter_commands(plain or page)
    made = _made_of(parsed.file.read_bytes(), f"{plain}\n{page}", command)
    text = json.dumps(made, ensure_ascii=False, indent=2) + "\n"
    # Whatever the terminal's charset: JSON is UTF-8, and knows these escapes.
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
    sys.stdout.flush()
    return 0


def _letter(path: Path | None) -> tuple[str, str]:
    """Return the words of both parts of the letter."""
    if path is None:
        return "", ""
    plain, page = texts(message_from_bytes(path.read_bytes()))
    return plain, flatten(page)


def _made_of(raw: bytes, sent: str, command: Commands) -> dict[str, Any]:
    """Return what the inbox would make of a mail that answers a letter with these words."""
    made: dict[str, Any] = {
        "from": "",
        "token": None,
        "message_id": "",
        "automatic": False,
        "why_automatic": None,
        "bounce": None,
        "commands": [],
        "say": "",
        "ambiguous": [],
        "unreadable": None,
    }
    try:
        facts = note.read(raw)
    except note.Unparseable as error:
        return made | {"unreadable": str(error)}
    made |= {
        "from": facts.sender,
        "token": _token(facts.recipients),
        "message_id": facts.message_id,
        "automatic": facts.automatic is not None,
        "why_automatic": facts.automatic,
    }
    if facts.automatic is not None:
        returned = bounce.read(raw)
        return made | {"bounce": asdict(returned) if returned else None}
    return made | _asked(reply.read(facts.text, page=facts.page, sent=sent, command=command))


def _asked(read: reply.Reply) -> dict[str, Any]:
    return {
        "commands": list(read.commands),
        "say": read.say or "",
        "ambiguous": list(read.ambiguous),
        "unreadable": _why_unreadable(read),
    }


def _why_unreadable(read: reply.Reply) -> str | None:
    """Return what was seen where nothing could be done; None if something could."""
    if read.unreadable is not None:
        return read.unreadable or "there is no text in it"
    if read.refused and not read.commands and not read.ambiguous:
        line, error = read.refused[0]
        return f"{line}: {error}"
    return None


def _token(addresses: Sequence[str]) -> str | None:
    """Return the first token in addresses that look like ours; whose it is, keys would tell."""
    site = _site()
    for address in addresses:
        local = address.strip("<>").lower().rpartition("@")[0]
        name, _, token = local.partition(site.separator)
        if name in (site.reply_local, site.bounce_local) and _TOKEN.fullmatch(token.rstrip(".")):
            return token.rstrip(".")
    return None


def _site() -> Settings:
    """Return the host's settings, or those of a new server where there are none that hold."""
    # With a key given, no secret is made where the host has none yet.
    own = os.environ | {"PBEM_SECRET_KEYS": "00" * 32}
    try:
        return config.load(default_instance(), own)
    except (BadSettings, OSError):
        return Settings(instance=default_instance())
