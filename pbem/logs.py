"""The server's own log: a fact a line, in words or as JSON, with ids and nothing secret."""

from __future__ import annotations

import json
import logging
import re
import sys
from datetime import UTC, datetime
from typing import Any, Final

from flask import g, has_request_context

# Ours never name them; other libraries' errors quote what they were given.
# Each begins where nothing of its kind stands before, so that long lines take no longer.
_LOCAL: Final = r"[\w+=!#$%&*/?^{|}~.-]"
_ADDRESS: Final = re.compile(rf"(?<!{_LOCAL})({_LOCAL}){_LOCAL}*+@(?=[\w-])")
_LINK_TOKEN: Final = re.compile(r"(?<![\w-])[0-9a-f-]++(?:\.[\w-]{5,8})?\.[\w-]{20,}")
_ADDRESS_TOKEN: Final = re.compile(r"\b[a-z2-7]{24}\b")
# What is told of is named the same way in every line: "match 12 turn 7: …".
_ID: Final = re.compile(r"\b(match|turn|seat|letter|note|player|talk) (\d+)")
# One line each second from every job would hide ours.
_QUIET: Final = ("apscheduler", "mail.log", "alembic")


class Words(logging.Formatter):
    """A line of words: when, how grave, what, and in which request."""

    def __init__(self) -> None:
        """Begin each line with its time."""
        super().__init__("%(asctime)s %(levelname)s %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, or the lines of an error."""
        asked = f" (request {_request()})" if _request() else ""
        return without_secrets(super().format(record)) + asked


class Json(logging.Formatter):
    """A line of JSON: the same, with the ids as fields of their own."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        message = without_secrets(record.getMessage())
        told: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": message,
        }
        told |= {name: int(number) for name, number in _ID.findall(message)}
        if _request():
            told["request"] = _request()
        if record.exc_info:
            told["error"] = without_secrets(self.formatException(record.exc_info))
        return json.dumps(told, ensure_ascii=False)


FORMATS: Final[dict[str, type[logging.Formatter]]] = {"words": Words, "json": Json}


def to_stderr(log_format: str) -> None:
    """Write the log to standard error from now on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(FORMATS[log_format]())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)


def without_secrets(text: str) -> str:
    """Return a text without tokens, and with but the first sign and the host of addresses."""
    text = _ADDRESS.sub(r"\1…@", text)
    return _ADDRESS_TOKEN.sub("…", _LINK_TOKEN.sub("…", text))


def _request() -> str:
    """Return the reference of the request that is being answered; empty elsewhere."""
    return str(g.get("reference", "")) if has_request_context() else ""
