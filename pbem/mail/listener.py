"""Mail in by SMTP or LMTP: on loopback or behind a real mail server."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from aiosmtpd.controller import Controller
from aiosmtpd.lmtp import LMTP
from aiosmtpd.smtp import SMTP, Envelope, Session

from pbem.cleaning import OFFICES
from pbem.errors import TooOften
from pbem.ext import db, settings
from pbem.links import is_ours
from pbem.mail import inbox

if TYPE_CHECKING:
    from flask import Flask

MOST_BYTES: Final = 1024 * 1024

_log = logging.getLogger(__name__)


class Handler:
    """Accepts mail to our own addresses, and says "taken" only after it is stored."""

    def __init__(self, app: Flask) -> None:
        """Keep the application whose inbox this is."""
        self._app = app

    async def handle_RCPT(  # noqa: N802 - aiosmtpd's name
        self, _server: SMTP, _session: Session, envelope: Envelope, address: str, _options: Any
    ) -> str:
        """Refuse at once what is not for us; the sender's server then tells the sender."""
        with self._app.app_context():
            if not (is_ours(address) or _is_office(address)):
                return "550 5.1.1 there is no such address here; reply to one of our letters"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(  # noqa: N802 - aiosmtpd's name
        self, server: SMTP, _session: Session, envelope: Envelope
    ) -> str:
        """Store the mail, once for each recipient, and answer."""
        answer = self._take(envelope)
        # In LMTP each recipient gets an answer of its own, and the other side waits for all.
        answers = len(envelope.rcpt_tos) if isinstance(server, LMTP) else 1
        return "\r\n".join([answer] * answers)

    def _take(self, envelope: Envelope) -> str:
        content = envelope.content or b""
        raw = content if isinstance(content, bytes) else content.encode()
        with self._app.app_context():
            try:
                now = datetime.now(UTC)
                abouts = [
                    inbox.Envelope(recipient, envelope.mail_from or "<>")
                    for recipient in envelope.rcpt_tos
                ]
                # All or none: the other side sends the whole mail again.
                for about in abouts:
                    inbox.admit(about, now=now)
                for about in abouts:
                    inbox.take(raw, about, now=now)
            except TooOften:
                return "451 4.7.1 too much mail at once; try again later"
            except Exception:  # noqa: BLE001 - whatever it is, the mail is not ours yet
                # Whatever it is, the other side keeps the mail and tries again.
                _log.exception("mail could not be stored")
                db.session.rollback()
                return "451 4.3.0 could not be stored now; try again later"
        return "250 2.0.0 taken"


def _is_office(address: str) -> bool:
    """Return whether it is one to which providers' complaints come."""
    local, _, domain = address.strip().lower().rpartition("@")
    return local in OFFICES and domain == settings().mail_domain.lower()


class Listener(Controller):
    """aiosmtpd with our handler, in a thread of its own."""

    def __init__(self, app: Flask) -> None:
        """Take host, port and protocol from the settings."""
        site = settings()
        self._protocol = LMTP if site.listen_protocol == "lmtp" else SMTP
        super().__init__(
            Handler(app),
            hostname=site.listen_host,
            port=site.listen_port,
            data_size_limit=MOST_BYTES,
            ident=site.mail_domain,
        )

    def factory(self) -> SMTP:
        """Return the protocol's server for one connection."""
        return self._protocol(self.handler, **self.SMTP_kwargs)
