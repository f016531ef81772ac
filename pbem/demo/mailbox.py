"""A mailbox on this machine: takes mail by SMTP and keeps each one as a file."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session


@dataclass(frozen=True, slots=True)
class Mail:
    """A kept mail, by its number."""

    number: int
    raw: bytes
    message: EmailMessage
    arrived_at: datetime
    is_read: bool

    @property
    def source(self) -> str:
        """Return it as it came."""
        return self.raw.decode(errors="replace")

    @property
    def text(self) -> str:
        """Return its text part."""
        part = self.message.get_body(("plain",))
        return "" if part is None else str(part.get_content())

    @property
    def html(self) -> str:
        """Return its HTML part."""
        part = self.message.get_body(("html",))
        return "" if part is None else str(part.get_content())

    @property
    def files(self) -> list[EmailMessage]:
        """Return what is attached."""
        return [part for part in self.message.iter_attachments() if part.get_filename()]

    def picture(self, content_id: str) -> EmailMessage | None:
        """Return the picture of a Content-ID."""
        for part in self.message.walk():
            if part["Content-ID"] == f"<{content_id}>" and part.get_content_maintype() == "image":
                return part
        return None


class Mailbox:
    """Mails as numbered files in a folder, and a mark beside each that was read."""

    def __init__(self, folder: Path) -> None:
        """Use a folder, made if it is missing."""
        self._folder = folder
        self._adding = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)

    def add(self, raw: bytes) -> None:
        """Keep a mail; it is there whole or not at all."""
        with self._adding:
            path = self._path(max(self._numbers(), default=0) + 1)
            fresh = path.with_suffix(".new")
            fresh.write_bytes(raw)
            fresh.rename(path)

    def all(self) -> list[Mail]:
        """Return all mails, the newest first."""
        found = (self.get(number) for number in sorted(self._numbers(), reverse=True))
        return [mail for mail in found if mail is not None]

    def get(self, number: int) -> Mail | None:
        """Return a mail by its number."""
        path = self._path(number)
        if not path.exists():
            return None
        raw = path.read_bytes()
        arrived_at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        message = message_from_bytes(raw, policy=policy.default)
        return Mail(number, raw, message, arrived_at, path.with_suffix(".read").exists())

    def mark_read(self, number: int) -> None:
        """Remember that a mail was read."""
        self._path(number).with_suffix(".read").touch()

    def _numbers(self) -> list[int]:
        # Whatever else lies in the folder is not ours.
        return [int(path.stem) for path in self._folder.glob("*.eml") if path.stem.isdecimal()]

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:06}.eml"


class _Handler:
    """Takes every mail that is sent here."""

    def __init__(self, mailbox: Mailbox) -> None:
        self._mailbox = mailbox

    async def handle_DATA(  # noqa: N802 - aiosmtpd's name
        self, _server: SMTP, _session: Session, envelope: Envelope
    ) -> str:
        content = envelope.content or b""
        self._mailbox.add(content if isinstance(content, bytes) else content.encode())
        return "250 OK"


def mail_server(mailbox: Mailbox, port: int) -> Any:
    """Return the SMTP server of a mailbox; the caller starts and stops it."""
    return Controller(_Handler(mailbox), hostname="127.0.0.1", port=port)
