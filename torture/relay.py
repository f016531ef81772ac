"""A real SMTP server that keeps what it is sent, and can misbehave at any verb."""

from __future__ import annotations

import re
import secrets
import socket
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any, Final

from aiosmtpd.controller import Controller

_PORTS: Final = range(12_000, 32_000)
_MESSAGE_ID: Final = re.compile(rb"^Message-ID:\s*(<[^>]+>)", re.MULTILINE)


def parsed(raw: bytes) -> EmailMessage:
    """Return a mail that came over the wire."""
    message = message_from_bytes(raw, policy=policy.default)
    assert isinstance(message, EmailMessage)
    return message


@dataclass
class Mailbox:
    """What arrived, in order: envelope sender, recipient and bytes of each mail.

    ``on_rcpt`` and ``on_data`` may answer in the server's place with an SMTP status. Where
    it ``hangs_up`` on a mail it keeps it, and the sender never learns so.
    """

    arrived: list[tuple[str, str, bytes]] = field(default_factory=list)
    on_rcpt: Callable[[str], str | None] = lambda _address: None
    on_data: Callable[[bytes], str | None] = lambda _raw: None
    hangs_up: Callable[[bytes], bool] = lambda _raw: False
    port: int = 0
    _seen: int = 0

    def to(self, address: str) -> list[EmailMessage]:
        """Return the mails that came for an address, parsed."""
        return [parsed(raw) for _sender, recipient, raw in self.arrived if recipient == address]

    def fresh(self) -> list[EmailMessage]:
        """Return the mails that came since the last look, parsed."""
        known, self._seen = self._seen, len(self.arrived)
        return [parsed(raw) for _sender, _recipient, raw in self.arrived[known:]]

    def copies(self) -> dict[str, list[bytes]]:
        """Return the mails that came, by their Message-ID."""
        found: dict[str, list[bytes]] = defaultdict(list)
        for _sender, _recipient, raw in self.arrived:
            name = _MESSAGE_ID.search(raw)
            assert name is not None, "each letter has one"
            found[name[1].decode()].append(raw)
        return found

    async def handle_RCPT(  # noqa: N802 - aiosmtpd's name
        self, _server: Any, _session: Any, envelope: Any, address: str, _options: Any
    ) -> str:
        """Take a recipient, or refuse it as `on_rcpt` says."""
        refusal = self.on_rcpt(address)
        if refusal is not None:
            return refusal
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(  # noqa: N802 - aiosmtpd's name
        self, server: Any, _session: Any, envelope: Any
    ) -> str:
        """Keep a mail, or refuse it as `on_data` says."""
        refusal = self.on_data(envelope.content)
        if refusal is not None:
            return refusal
        for address in envelope.rcpt_tos:
            self.arrived.append((envelope.mail_from, address, envelope.content))
        if self.hangs_up(envelope.content):
            server.transport.abort()
        return "250 OK"


def free_port() -> int:
    """Return a port of this machine that nobody listens on.

    It is none that the system gives to who connects: one of those is soon taken by somebody.
    """
    while True:
        with suppress(OSError):
            port = secrets.choice(_PORTS)
            socket.create_server(("127.0.0.1", port)).close()
            return port


@contextmanager
def running_mailbox() -> Iterator[Mailbox]:
    """Run the server on a free port of this machine."""
    mailbox = Mailbox()
    mailbox.port = free_port()
    controller = Controller(mailbox, hostname="127.0.0.1", port=mailbox.port)
    controller.start()
    try:
        yield mailbox
    finally:
        controller.stop()
