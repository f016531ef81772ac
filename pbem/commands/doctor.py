"""`pbem doctor`: looks at what the server needs, and says what to do."""

from __future__ import annotations

import imaplib
import secrets
import shutil
import smtplib
import socket
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import SMTP
from functools import partial
from typing import TYPE_CHECKING, Final

from flask import current_app
from imap_tools.errors import ImapToolsError
from sqlalchemy import func, select

from pbem import health
from pbem.commands import CannotRun, dns
from pbem.commands.setup import application, database_version
from pbem.ext import db, settings
from pbem.links import Links
from pbem.mail import imap
from pbem.mail.smtp import Parcel
from pbem.models import Beat, Letter, LetterState, Note
from pbem.tokens import Named

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Sequence

    from pbem.mail.smtp import Postman

LEAST_ROOM: Final = 500 * 1024 * 1024  # bytes free on the disk
WRONG_CLOCK: Final = timedelta(minutes=2)

Check = Callable[[], str]


def run(parser: ArgumentParser, arguments: Sequence[str]) -> int:
    """Print a line for each finding; exit code 1 if something is to be done."""
    parser.add_argument(
        "--mail", action="store_true", help="send a mail to the server itself and wait for it"
    )
    parser.add_argument(
        "--wait", type=int, default=120, metavar="SECONDS", help="how long (120 seconds)"
    )
    parsed = parser.parse_args(arguments)
    app = application()
    print("ok: the settings can be used")
    checks: list[Check] = list(CHECKS)
    if parsed.mail:
        checks.append(partial(mail_comes_back, parsed.wait))
    bad = 0
    with app.app_context():
        for check in checks:
            try:
                print(f"ok: {check()}", flush=True)
            except CannotRun as error:
                print(f"TO DO: {error}", flush=True)
                bad += 1
                if check is database_answers:
                    break  # nothing else can be asked of it
        for line in dns.findings(settings().mail_domain, settings().sender):
            print(line, flush=True)
    return 1 if bad else 0


def host_is_named() -> str:
    """Check that somebody is told to be the host."""
    if not settings().host_addresses:
        raise CannotRun("no host is named; set host_addresses to your own mail address")
    return f"the host is {', '.join(settings().host_addresses)}"


def disk_has_room() -> str:
    """Check that mails and moves can be stored for a while."""
    folder = settings().instance
    free = shutil.disk_usage(folder).free
    if free < LEAST_ROOM:
        raise CannotRun(
            f"only {free // 1024**2} MB are free where {folder} lies; make room, or nothing"
            " can be stored"
        )
    return f"{free // 1024**2} MB are free where {folder} lies"


def database_answers() -> str:
    """Check that the database is there and at the code's version."""
    return f"the database answers and is at version {database_version()}"


def clock_is_right() -> str:
    """Check the clock against the database's, and against what was stored before."""
    now = datetime.now(UTC)
    if db.engine.dialect.name == "postgresql":
        off = abs(db.session.scalars(select(func.now())).one() - now)
        if off > WRONG_CLOCK:
            raise CannotRun(f"the clocks of this machine and of the database are {off} apart")
    last = db.session.scalar(select(Beat.at).where(Beat.id == 1))
    if last is not None and last > now + WRONG_CLOCK:
        raise CannotRun(
            f"the clock of this machine says {now:%Y-%m-%d %H:%M}Z, and a worker was at work at"
            f" {last:%Y-%m-%d %H:%M}Z; set the clock right (by NTP)"
        )
    return f"the clock says {now:%Y-%m-%d %H:%M} UTC"


def relay_answers() -> str:
    """Check that mail can be handed over."""
    where = f"{settings().smtp_host}:{settings().smtp_port}"
    try:
        with _postman().connect():
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


def mail_comes_back(seconds: int) -> str:
    """Send a mail to an address that takes replies, and wait until the worker has stored it.

    The mail says that a machine wrote it, so that nothing is answered and nobody is told.
    """
    site = settings()
    address = Links().reply(Named.LETTER, 0)  # ours, and about nothing that there is
    message = EmailMessage(policy=SMTP)
    message["From"] = site.sender
    message["To"] = address
    message["Subject"] = "pbem doctor: a mail to the server itself"
    message["Auto-Submitted"] = "auto-generated"
    message["Message-ID"] = f"<doctor.{secrets.token_hex(8)}@{site.mail_domain}>"
    message.set_content("This mail shows that letters leave and replies come in.\n")
    began, until = datetime.now(UTC), time.monotonic() + seconds
    try:
        with _postman().connect() as connection:
            connection.send(Parcel(message, recipient=address), envelope_from=Links().bounce(0))
    except (smtplib.SMTPException, OSError) as error:
        raise CannotRun(f"a mail to {address} can't be sent ({error})") from error
    while time.monotonic() < until:
        came = _note_with(str(message["Message-ID"]), since=began)
        if came is not None:
            took = round((came.received_at - began).total_seconds())
            return f"a mail to ourselves came back after {took} s{_signed(came.raw)}"
        time.sleep(1)
    raise CannotRun(
        f"a mail to {address} did not come back within {seconds} s; is a worker running, and"
        f" does mail for {site.mail_domain} reach it? (docs/run.md, “Replies”)"
    )


def _note_with(message_id: str, *, since: datetime) -> Note | None:
    db.session.rollback()  # what others have stored meanwhile is wanted
    notes = db.session.scalars(select(Note).where(Note.received_at >= since))
    return next((one for one in notes if message_id.encode() in one.raw), None)


def _signed(raw: bytes) -> str:
    """Return by whom a mail is signed, in words."""
    found = message_from_bytes(raw).get_all("DKIM-Signature", [])
    domains = [
        tag.partition("=")[2].strip()
        for signature in found
        for tag in signature.split(";")
        if tag.strip().startswith("d=")
    ]
    return f", signed by {', '.join(domains)}" if domains else ", not signed (no DKIM)"


def _postman() -> Postman:
    postman: Postman = current_app.extensions["pbem.postman"]
    return postman


CHECKS: Final[tuple[Check, ...]] = (
    host_is_named,
    disk_has_room,
    relay_answers,
    listener_answers,
    mailbox_answers,
    database_answers,
    clock_is_right,
    all_is_well,
    letters_arrive,
)
