"""`pbem inbox`: one mail from standard input, as a mail server's pipe hands it over."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from sqlalchemy.exc import SQLAlchemyError

from pbem.commands import CannotRun
from pbem.commands.setup import ready_application
from pbem.errors import TooOften
from pbem.mail import inbox
from pbem.mail.listener import MOST_BYTES

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Sequence


def run(parser: ArgumentParser, arguments: Sequence[str]) -> int:
    """Store the mail. Exit code 0: taken; 75: try again later; 77: too large, give it back."""
    parser.add_argument(
        "recipient", nargs="?", default="", help="the address it was sent to, if the pipe knows it"
    )
    parser.add_argument("--sender", default="", help="where it bounces to")
    parsed = parser.parse_args(arguments)
    raw = sys.stdin.buffer.read(MOST_BYTES + 1)
    if len(raw) > MOST_BYTES:
        print("the mail is larger than 1 MB", file=sys.stderr)
        return os.EX_NOPERM
    try:
        with ready_application().app_context():
            envelope = inbox.Envelope(parsed.recipient, parsed.sender)
            now = datetime.now(UTC)
            inbox.admit(envelope, now=now)
            inbox.take(raw, envelope, now=now)
    except (CannotRun, SQLAlchemyError, OSError, TooOften) as error:
        print(f"the mail could not be stored: {error}", file=sys.stderr)
        return os.EX_TEMPFAIL
    return os.EX_OK
