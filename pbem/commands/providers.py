"""What mail providers want in the settings, and what is to be done at the provider."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

# Placeholders of settings: "{account}" is what was answered to the question of that name, and
# "{account_local}" and "{account_domain}" are the two parts of an address.


@dataclass(frozen=True, slots=True)
class Question:
    """Something to ask: ``name`` is a setting, or a word that settings are made of.

    ``default`` may hold placeholders; ``choices`` are the only answers, if there are any.
    """

    name: str
    text: str
    default: str = ""
    is_secret: bool = False
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Provider:
    """How a provider sends our letters and how replies come in.

    ``settings`` are written as they are, with placeholders filled in; ``todo`` are the steps
    that only the host can take.
    """

    title: str
    questions: tuple[Question, ...]
    settings: Mapping[str, str | int]
    todo: tuple[str, ...] = ()


ACCOUNT: Final = "account"  # the question for the address of a mailbox; no setting
_ACCOUNT: Final = Question(ACCOUNT, "The mailbox that the server has to itself (its address)")
_APP_PASSWORD: Final = Question("smtp_password", "Its app password", is_secret=True)
_DOMAIN: Final = Question("mail_domain", "The domain of its mail, such as play.example.org")
_USERNAME: Final = Question("smtp_username", "The user name of the SMTP login")
_PASSWORD: Final = Question("smtp_password", "The password of the SMTP login", is_secret=True)

_OF_A_MAILBOX: Final[dict[str, str | int]] = {
    "mail_domain": "{account_domain}",
    "mail_from": "{account}",
    "reply_local": "{account_local}",
    "bounce_local": "{account_local}",
    "smtp_username": "{account}",
    "imap_username": "{account}",
    "imap_password": "{smtp_password}",
    "listen_protocol": "none",
}
_DNS: Final = "Publish the records for SPF, DKIM and DMARC that it shows you for {mail_domain}."

PROVIDERS: Final[dict[str, Provider]] = {
    "fastmail": Provider(
        "Fastmail",
        (_ACCOUNT, _APP_PASSWORD),
        _OF_A_MAILBOX
        | {
            "smtp_host": "smtp.fastmail.com",
            "smtp_port": 465,
            "smtp_security": "tls",
            "imap_host": "imap.fastmail.com",
        },
        ("Make an app password for IMAP and SMTP (Settings, Privacy & Security).",),
    ),
    "gmail": Provider(
        "Gmail or Google Workspace",
        (_ACCOUNT, _APP_PASSWORD),
        _OF_A_MAILBOX
        | {
            "smtp_host": "smtp.gmail.com",
            "smtp_port": 465,
            "smtp_security": "tls",
            "imap_host": "imap.gmail.com",
            "authserv_id": "mx.google.com",
        },
        (
            "Turn on two-step verification for the account and make an app password.",
            "It sends 500 mails a day at most (2,000 in Workspace): enough for some tables.",
        ),
    ),
    "mailgun": Provider(
        "Mailgun",
        (
            _DOMAIN,
            Question(
                "smtp_host", "Its SMTP host (smtp.mailgun.org in the USA)", "smtp.eu.mailgun.org"
            ),
            Question("smtp_username", _USERNAME.text, "postmaster@{mail_domain}"),
            _PASSWORD,
            Question("mailgun_signing_key", "Its HTTP webhook signing key", is_secret=True),
        ),
        {"smtp_port": 587, "smtp_security": "starttls", "listen_protocol": "none"},
        (
            _DNS,
            "Point the MX record of {mail_domain} to Mailgun and make a route:"
            " catch all, forward to {base_url}/hooks/mailgun/mime",
        ),
    ),
    "postmark": Provider(
        "Postmark",
        (_DOMAIN, Question("smtp_password", "Its server API token", is_secret=True)),
        {
            "smtp_host": "smtp.postmarkapp.com",
            "smtp_port": 587,
            "smtp_security": "starttls",
            "smtp_username": "{smtp_password}",
            "postmark_secret": "{new_secret}",
            "listen_protocol": "none",
        },
        (
            _DNS,
            "Point the MX record of {mail_domain} to inbound.postmarkapp.com.",
            "Let the inbound webhook go to {base_url}/hooks/postmark/ followed by the"
            " postmark_secret of config.toml, and switch on “Include raw email content”.",
        ),
    ),
    "ses": Provider(
        "Amazon SES, with your own mail server for replies",
        (
            _DOMAIN,
            Question("region", "The region", "eu-west-1"),
            _USERNAME,
            _PASSWORD,
        ),
        {
            "smtp_host": "email-smtp.{region}.amazonaws.com",
            "smtp_port": 587,
            "smtp_security": "starttls",
            "listen_protocol": "lmtp",
        },
        (
            _DNS,
            "Ask for production access: until then SES mails only to addresses that you verified.",
            "Let the mail server behind the MX record of {mail_domain} hand mail on by LMTP"
            " to 127.0.0.1:8025 (docs/run.md).",
        ),
    ),
    "own": Provider(
        "my own mail server on this machine",
        (
            _DOMAIN,
            Question("smtp_host", "Where it takes mail to be sent", "127.0.0.1"),
            Question("smtp_port", "Its port", "25"),
        ),
        {"smtp_security": "none", "listen_protocol": "lmtp"},
        (
            "Publish SPF, DKIM and DMARC for {mail_domain} and let the server sign what we send.",
            "Let it hand mail for {mail_domain} on by LMTP to 127.0.0.1:8025 (docs/run.md).",
        ),
    ),
    "other": Provider(
        "another provider, with SMTP and IMAP",
        (
            _ACCOUNT,
            Question("smtp_host", "Its SMTP host"),
            Question("smtp_port", "Its SMTP port", "465"),
            Question("smtp_security", "Its security", "tls", choices=("tls", "starttls")),
            Question("imap_host", "Its IMAP host"),
            Question("smtp_password", "The mailbox's password", is_secret=True),
        ),
        _OF_A_MAILBOX,
        (
            "Mail to {account_local}+anything@{account_domain} must reach that mailbox too;"
            " where it does not, see “separator” in docs/settings.md.",
        ),
    ),
}
