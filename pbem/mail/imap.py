"""Mail in from a mailbox: IDLE tells of new mail, and a poll each minute finds it anyway.

Mails are known by their UID. Each is stored and committed, then flagged, and only then
remembered as read: whatever breaks in between costs a second look and no mail.
"""

from __future__ import annotations

import imaplib
import logging
import re
import select as sockets
import socket
import ssl
import threading
import time
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from imap_tools.mailbox import BaseMailBox, MailBox, MailBoxStartTls, MailBoxUnencrypted
from imap_tools.query import A
from sqlalchemy import select, update
from sqlalchemy.exc import IntegrityError

from pbem.ext import db, settings, writing
from pbem.links import is_ours
from pbem.mail import inbox, note
from pbem.models import Mailbox

if TYPE_CHECKING:
    from flask import Flask

POLL: Final = 60  # seconds that IDLE may last until we look all the same
TIMEOUT: Final = 30  # seconds that each answer of the server may take
RETRY: Final = 2  # seconds until the next try; each failure in a row doubles them
LONGEST_RETRY: Final = 300
TRIES: Final = 5  # to fetch one mail, until it is left where it is
WAIT: Final = timedelta(hours=1)  # for which the clock waits for a mailbox that is away

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Folder:
    """An open folder, what the server said of its UIDs, and whether it tells of new mail."""

    line: BaseMailBox
    validity: int
    newest: int
    can_idle: bool


def opened() -> Folder:
    """Log in and open the folder of the settings; raises what the libraries raise."""
    site = settings()
    line = _encrypted(site.imap_host, site.imap_port, site.imap_security)
    try:
        is_ascii = (site.imap_username + site.imap_password).isascii()
        log_in = line.login if is_ascii else line.login_utf8
        log_in(site.imap_username, site.imap_password, site.imap_folder)
        validity, newest = _said(line, "UIDVALIDITY"), _said(line, "UIDNEXT") - 1
        # Some servers tell all that they can do only to whom they know.
        _, (can_do, *_) = line.client.capability()
        return Folder(line, validity, newest, b"IDLE" in can_do.upper().split())
    except BaseException:
        # Nobody else holds the line to close it.
        line.client.shutdown()
        raise


def poll(folder: Folder, tries: Counter[int], *, now: datetime) -> int:
    """Store the mails that are new in the folder; returns how many it looked at.

    ``tries`` counts, from call to call, how often a mail was asked for in vain.
    """
    # What the server has told so far is no news any more.
    folder.line.client.response("EXISTS")
    last = _begin(folder, now=now)
    # The end of the range names the newest mail, even where that one is old.
    new = [uid for uid in _found(folder, f"UID {last + 1}:*") if uid > last]
    for uid in new:
        _take(folder, uid, tries, now=now)
        with writing():
            db.session.execute(
                update(Mailbox)
                .where(Mailbox.folder == _key(), Mailbox.uid_validity == folder.validity)
                .where(Mailbox.last_uid < uid)
                .values(last_uid=uid)
            )
    with writing():
        db.session.execute(
            update(Mailbox)
            .where(Mailbox.folder == _key(), Mailbox.polled_at < now)
            .values(polled_at=now)
        )
    return len(new)


def is_awaited(limit: datetime, *, now: datetime) -> bool:
    """Return whether mail from before the limit may still lie unseen in the mailbox.

    A mailbox that is away is waited for until an hour after the limit.
    """
    if not settings().imap_host or now > limit + WAIT:
        return False
    polled = db.session.scalar(select(Mailbox.polled_at).where(Mailbox.folder == _key()))
    return polled is None or polled <= limit


class Watcher:
    """A thread that keeps a line to the mailbox, and takes it up again whenever it is cut."""

    def __init__(self, app: Flask) -> None:
        """Take the application whose inbox is filled."""
        self._app = app
        self._is_stopped = False
        self._stopping, self._stop = socket.socketpair()
        self._thread = threading.Thread(target=self._run, name="mailbox", daemon=True)
        self._tries: Counter[int] = Counter()
        self._failures = 0

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """Stop after the mails in hand are stored."""
        self._is_stopped = True
        self._stop.close()
        self._thread.join(timeout=TIMEOUT)
        self._stopping.close()

    def _run(self) -> None:
        while not self._is_stopped:
            try:
                self._watch()
            except Exception:  # noqa: BLE001 - the outermost loop: mail must come in
                _log.exception("the mailbox can't be read now; it is tried again")
                self._wait(min(RETRY * 2**self._failures, LONGEST_RETRY))
                self._failures += 1

    def _watch(self) -> None:
        """Read what is there and what comes, until the line is cut or we are stopped."""
        with self._app.app_context():
            folder = opened()
        try:
            while not self._is_stopped:
                with self._app.app_context():
                    poll(folder, self._tries, now=datetime.now(UTC))
                self._failures = 0
                if folder.can_idle:
                    self._idle(folder.line)
                else:
                    self._wait(POLL)
        finally:
            folder.line.client.shutdown()

    def _idle(self, line: BaseMailBox) -> None:
        """Wait until the server tells of something, for a minute at most."""
        with line.idle:
            # Some mail may have come since we looked.
            _, (told,) = line.client.response("EXISTS")
            if told is None:
                self._wait(POLL, line.client.socket())

    def _wait(self, seconds: float, *lines: socket.socket) -> None:
        sockets.select([self._stopping, *lines], [], [], seconds)


def _encrypted(host: str, port: int, security: str) -> BaseMailBox:
    if security == "none":
        return MailBoxUnencrypted(host, port, timeout=TIMEOUT)
    # Without a context the libraries would not look whom they talk to.
    context = ssl.create_default_context()
    kind = MailBoxStartTls if security == "starttls" else MailBox
    return kind(host, port, timeout=TIMEOUT, ssl_context=context)


def _said(line: BaseMailBox, name: str) -> int:
    """Return a number that the server told when the folder was opened."""
    _, (value, *_) = line.client.response(name)
    return int(value)


def _key() -> str:
    site = settings()
    return f"{site.imap_username}@{site.imap_host}:{site.imap_port}/{site.imap_folder}"


def _found(folder: Folder, criteria: str) -> list[int]:
    return sorted(int(uid) for uid in folder.line.uids(criteria, charset=None))


def _begin(folder: Folder, *, now: datetime) -> int:
    """Return the UID behind which mails are new.

    At the first start that is the newest: what lies in an old mailbox is not answered.
    """
    row = db.session.scalar(
        select(Mailbox).where(Mailbox.folder == _key()).execution_options(populate_existing=True)
    )
    if row is None:
        return _begin_first(folder, now=now)
    if row.uid_validity != folder.validity:
        return _begin_anew(folder, row.uid_validity, row.polled_at)
    return row.last_uid


def _begin_first(folder: Folder, *, now: datetime) -> int:
    try:
        with writing():
            db.session.add(
                Mailbox(
                    folder=_key(),
                    uid_validity=folder.validity,
                    last_uid=folder.newest,
                    polled_at=now,
                )
            )
    except IntegrityError:
        _log.info("another worker has begun with the mailbox")
    return folder.newest


def _begin_anew(folder: Folder, before: int, polled_at: datetime) -> int:
    """Forget all UIDs, since the server has given new ones: look again from the last poll on.

    The inbox knows the mails that it has.
    """
    # IMAP counts in days, and the server's zone may be another one.
    day = (polled_at - timedelta(days=1)).date()
    again = _found(folder, str(A(date_gte=day)))
    last = again[0] - 1 if again else folder.newest
    with writing():
        db.session.execute(
            update(Mailbox)
            .where(Mailbox.folder == _key(), Mailbox.uid_validity == before)
            .values(uid_validity=folder.validity, last_uid=last)
        )
    _log.warning("the mailbox counts its mails anew; read again from UID %s on", last + 1)
    return last


def _take(folder: Folder, uid: int, tries: Counter[int], *, now: datetime) -> None:
    """Store one mail and flag it; what the server will not give is left alone in the end."""
    if tries[uid] >= TRIES:
        _log.error("mail %s can't be fetched; it stays unread in the mailbox", uid)
        return
    # Some servers hang up on a mail that they can't read, so it counts before it is asked for.
    tries[uid] += 1
    fetched = _fetch(folder, uid)
    del tries[uid]
    if fetched is None:
        return
    raw, arrived_at = fetched
    inbox.take(raw, envelope_of(raw), now=min(arrived_at, now))
    # Not by the library's `flag`: that also removes what others have marked as deleted.
    folder.line.client.uid("STORE", str(uid), "+FLAGS.SILENT", r"(\Seen)")


def _fetch(folder: Folder, uid: int) -> tuple[bytes, datetime] | None:
    """Return a mail, and when the mailbox got it; None if it was taken away meanwhile.

    The library's own `fetch` would parse the mail, here and without limits.
    """
    # One byte too many is enough for the inbox to say that it is too large.
    wanted = f"(INTERNALDATE BODY.PEEK[]<0.{note.MAIL + 1}>)"
    status, answer = folder.line.client.uid("FETCH", str(uid), wanted)
    if status != "OK":
        raise imaplib.IMAP4.error(f"mail {uid}: {answer!r}")
    literals = [item for item in answer if isinstance(item, tuple)]
    if not literals:
        return None
    words = b" ".join(item[0] if isinstance(item, tuple) else item for item in answer)
    arrived = imaplib.Internaldate2tuple(words)
    assert arrived is not None, "it was asked for"
    return literals[0][1], datetime.fromtimestamp(time.mktime(arrived), UTC)


_HEADER: Final = rb"^(?:%b):(.*(?:\n[ \t].*)*)"
_TO: Final = re.compile(
    _HEADER % rb"delivered-to|x-original-to|(?:x-)?envelope-to|x-gm-original-to|to|cc",
    re.IGNORECASE | re.MULTILINE,
)
_RETURN_PATH: Final = re.compile(_HEADER % rb"return-path", re.IGNORECASE | re.MULTILINE)
_ADDRESS: Final = re.compile(rb"[^\s@<>()\[\],:;\"']{1,64}@[\w.-]{1,255}")


def envelope_of(raw: bytes) -> inbox.Envelope:
    """Return the envelope that a mail came in, as far as its mailbox has written it down.

    The recipient is the first address that holds a token of ours, or else empty.
    """
    head = raw[: note.HEADERS].replace(b"\r\n", b"\n").partition(b"\n\n")[0]
    addresses = _ADDRESS.findall(b" ".join(_TO.findall(head)))
    ours = (
        one for one in (address.decode("ascii", "replace") for address in addresses) if is_ours(one)
    )
    path = _RETURN_PATH.search(head)
    sender = path[1].strip().decode("ascii", "replace") if path else ""
    return inbox.Envelope(next(ours, ""), sender)
