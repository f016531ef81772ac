"""Flask-Mail with its gaps closed: time limits, verified TLS, exact bytes, no second send."""

from __future__ import annotations

import smtplib
import ssl
from collections.abc import Sequence
from contextlib import suppress
from email.message import EmailMessage
from typing import Any

from flask import Flask
from flask_mail import BadHeaderError, Connection, Mail, Message


class Parcel(Message):
    """A message whose bytes are a stdlib EmailMessage, which refuses injected headers.

    That message has a policy with the line ends of the wire.
    """

    def __init__(self, content: EmailMessage, *, recipient: str) -> None:
        """Wrap a finished message for one recipient; raises what the library raises."""
        super().__init__(subject=str(content["Subject"]), recipients=[recipient])
        self.sender = str(content["From"])
        # Written here: nothing may fail any more once the relay listens.
        self._raw = content.as_bytes()
        if self.has_bad_headers():
            raise BadHeaderError("a header holds a line break")

    def as_bytes(self) -> bytes:
        """Return the message as it goes over the wire."""
        return self._raw

    def as_string(self) -> str:
        """Return the same as text."""
        return self.as_bytes().decode("ascii", "surrogateescape")


class CutOff(Exception):
    """Raised when the line was lost behind the final dot: the relay may have the mail."""


class _Watched(smtplib.SMTP):
    """An SMTP client that knows whether a message was handed over whole."""

    is_handed_over = False

    def mail(self, sender: str, options: Sequence[str] = ()) -> tuple[int, bytes]:
        """Begin another message."""
        self.is_handed_over = False
        return super().mail(sender, options)

    def send(self, s: Any) -> None:
        """Send, and see the final dot go."""
        super().send(s)
        self.is_handed_over = isinstance(s, bytes) and s.endswith(b"\r\n.\r\n")


class _WatchedTLS(_Watched, smtplib.SMTP_SSL):
    """The same over TLS from the first byte."""


class PatientConnection(Connection):
    """An SMTP connection that does not wait for ever and verifies whom it talks to."""

    def __init__(self, mail: Any, *, timeout: int) -> None:
        """Keep the settings and the limit, in seconds, of each step."""
        super().__init__(mail)
        self._timeout = timeout

    def __exit__(self, *_about: object) -> None:
        # The relay has the mail; a failing QUIT is no reason to send it again.
        if self.host is not None:
            with suppress(smtplib.SMTPException, OSError):
                self.host.quit()

    def configure_host(self) -> smtplib.SMTP:
        """Connect, encrypt and log in."""
        server, port = self.mail.server, self.mail.port
        # To read the authorities' certificates takes as long as to send five letters.
        is_encrypted = self.mail.use_ssl or self.mail.use_tls
        context = ssl.create_default_context() if is_encrypted else None
        host: smtplib.SMTP = (
            _WatchedTLS(server, port, timeout=self._timeout, context=context)
            if self.mail.use_ssl
            else _Watched(server, port, timeout=self._timeout)
        )
        try:
            if self.mail.use_tls:
                host.starttls(context=context)
            if self.mail.username and self.mail.password:
                host.login(self.mail.username, self.mail.password)
        except OSError:
            # All that smtplib raises is one; nobody else holds the line to close it.
            host.close()
            raise
        return host

    def send(self, message: Message, envelope_from: Any = None) -> None:
        """Hand over one message; raises what smtplib raises, or CutOff."""
        try:
            super().send(message, envelope_from)
        except smtplib.SMTPResponseException:
            raise  # a refusal is an answer: the relay does not have the mail
        except OSError as error:
            # All that smtplib raises is an OSError, a lost connection too.
            if getattr(self.host, "is_handed_over", False):
                raise CutOff(str(error)) from error
            raise


class Postman(Mail):
    """The application's way out for mail; its connection serves many letters."""

    def __init__(self, app: Flask, *, timeout: int) -> None:
        """Take the mail settings from the application."""
        super().__init__(app)
        self._timeout = timeout

    def connect(self) -> PatientConnection:
        """Return a connection, to be used as a context manager."""
        return PatientConnection(self.state, timeout=self._timeout)
