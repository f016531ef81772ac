"""`pbem doctor`: looks at what the server needs, and says what to do."""

from __future__ import annotations

import imaplib
import smtplib
import socket
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from flask import current_app
from imap_tools.errors import ImapToolsError
from sqlalchemy import select

from pbem import health
from pbem.commands import CannotRun
from pbem.commands.setup import application, database_version
from pbem.ext import db, settings
from pbem.mail import imap
from pbem.models import Letter, LetterState

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Callable, Sequence

    from pbem.mail.smtp import Postman


def run(parser: ArgumentParser, arguments: Sequence[str]) -> int:
    """Print a line for each finding; exit code 1 if something is to be done."""
    parser.parse_args(arguments)
    app = application()
    print("ok: the settings can be used")
    bad = 0
    with app.app_context():
        for check in CHECKS:
            try:
                print(f"ok: {check()}")
            except CannotRun as error:
                print(f"TO DO: {error}")
                bad += 1
                if check is database_answers:
                    break  # nothing else can be asked of it
    return 1 if bad else 0


def host_is_named() -> str:
    """Check that somebody is told to be the host."""
    if not settings().host_addresses:
        raise CannotRun("no host is named; set host_addresses to your own mail address")
    return f"the host is {', '.join(settings().host_addresses)}"


def database_answers() -> str:
    """Check that the database is there and at the code's version."""
    return f"the database answers and is at version {database_version()}"


def relay_answers() -> str:
    """Check that mail can be handed over."""
    postman: Postman = current_app.extensions["pbem.postman"]
    where = f"{settings().smtp_host}:{settings().smtp_port}"
    try:
        with postman.connect():
            return f"the relay {where} takes our connection"
    except (smtplib.SMTPException, OSError) as error:
        raise CannotRun(
            f"the relay {where} does not take our mail ({error}); look at the smtp_ settings"
        ) from error


def listener_answers() -> str:
    """Check that a worker listens for mail, where one should."""
    site = settings()
    if site.listen_protocol == "none":
        return "no listener is wanted; mail comes in another way"
    where = f"{site.listen_host}:{site.listen_port}"
    try:
        with socket.create_connection((site.listen_host, site.listen_port), timeout=5):
            return f"a worker listens for mail on {where}"
    except OSError as error:
        raise CannotRun(f"nobody listens for mail on {where}; start `pbem worker`") from error


def mailbox_answers() -> str:
    """Check that the mailbox can be opened, where one is read."""
    site = settings()
    if not site.imap_host:
        return "no mailbox is read"
    where = f"{site.imap_folder} of {site.imap_username} at {site.imap_host}:{site.imap_port}"
    try:
        imap.opened().line.client.shutdown()
    except (ImapToolsError, imaplib.IMAP4.error, OSError) as error:
        raise CannotRun(f"{where} can't be opened ({error}); look at the imap_ settings") from error
    return f"the mailbox opens: {where}"


def letters_arrive() -> str:
    """Check that no letter had to be given up in the last week."""
    week_ago = datetime.now(UTC) - timedelta(days=7)
    failed = db.session.scalars(
        select(Letter)
        .where(Letter.state == LetterState.FAILED, Letter.created_at > week_ago)
        .order_by(Letter.id)
    ).all()
    if failed:
        lines = [f"  {letter.kind} to {letter.address}: {letter.error!r}" for letter in failed]
        raise CannotRun("letters of the last week were given up:\n" + "\n".join(lines))
    return "no letter of the last week was given up"


def all_is_well() -> str:
    """Check that a worker keeps time, letters leave and mail is read."""
    troubles = health.look(datetime.now(UTC)).troubles
    if troubles:
        raise CannotRun("\n".join(str(trouble) for trouble in troubles))
    return "a worker keeps time, letters leave and mail is read"


CHECKS: tuple[Callable[[], str], ...] = (
    host_is_named,
    relay_answers,
    listener_answers,
    mailbox_answers,
    database_answers,
    all_is_well,
    letters_arrive,
)
