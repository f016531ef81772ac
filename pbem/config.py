"""The settings: read from the environment and instance/config.toml, checked at start.

Each setting NAME may stand in the file as ``name = …`` or in the environment as
``PBEM_NAME``; the environment wins. docs/settings.md lists them.
"""

from __future__ import annotations

import os
import secrets
import tomllib
from dataclasses import dataclass, field, fields
from ipaddress import ip_network
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

LANGUAGES: Final = ("en", "fr")
_SECURITIES: Final = ("none", "starttls", "tls")
_LISTENERS: Final = ("smtp", "lmtp", "none")
_LOG_FORMATS: Final = ("words", "json")


class BadSettings(Exception):
    """Raised at start with one line for each wrong setting and what to write instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All that a host can set. Times are in seconds; addresses are plain ``name@host``."""

    instance: Path
    site_name: str = "Decktet by mail"
    base_url: str = "http://127.0.0.1:8000"
    database_url: str = field(default="", repr=False)  # empty: SQLite in the instance folder
    host_addresses: tuple[str, ...] = ()
    mail_domain: str = "localhost"
    mail_from: str = ""  # empty: play@<mail_domain>
    reply_local: str = "g"
    bounce_local: str = "b"
    separator: str = "+"
    smtp_host: str = "127.0.0.1"
    smtp_port: int = 25
    smtp_security: str = "none"
    smtp_username: str = ""
    smtp_password: str = field(default="", repr=False)
    smtp_timeout: int = 30
    mails_a_second: int = 0  # 0: as fast as the relay takes them
    mails_a_day: int = 0  # 0: any number
    authserv_id: str = ""  # empty: Authentication-Results are not looked at
    listen_protocol: str = "smtp"
    listen_host: str = "127.0.0.1"
    listen_port: int = 8025
    imap_host: str = ""  # empty: no mailbox is read
    imap_port: int = 993
    imap_security: str = "tls"
    imap_username: str = ""
    imap_password: str = field(default="", repr=False)
    imap_folder: str = "INBOX"
    mailgun_signing_key: str = field(default="", repr=False)  # empty: Mailgun is not heard
    postmark_secret: str = field(default="", repr=False)  # empty: Postmark is not heard
    bind_host: str = "127.0.0.1"
    bind_port: int = 8000
    trusted_proxies: tuple[str, ...] = ()  # whose X-Forwarded-For is believed
    metrics_token: str = field(default="", repr=False)  # empty: there is no /metrics
    worker_metrics_host: str = "127.0.0.1"
    worker_metrics_port: int = 0  # 0: a worker of its own shows no figures
    log_format: str = "words"
    invitations_a_day: int = 30  # by one player
    tables_a_day: int = 50  # by one player
    sign_ins_an_hour: int = 60  # from one network
    mails_in_an_hour: int = 120  # to one address, and from one sender
    language: str = "en"
    zone: str = "Europe/Paris"
    secret_keys: tuple[str, ...] = field(default=(), repr=False)

    @property
    def database(self) -> str:
        """Return the database's URL."""
        return self.database_url or f"sqlite:///{self.instance / 'pbem.sqlite3'}"

    @property
    def sender(self) -> str:
        """Return the address that letters come from."""
        return self.mail_from or f"play@{self.mail_domain}"


def load(instance: Path, environment: Mapping[str, str] | None = None) -> Settings:
    """Read and check the settings; makes the instance's secret on the first start.

    Raises BadSettings with a line for each wrong one.
    """
    environment = os.environ if environment is None else environment
    given = _from_file(instance / "config.toml") | _from_environment(environment)
    problems = []
    known = {item.name for item in fields(Settings)} - {"instance"}
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name not in known:
            problems.append(f"{name}: there is no such setting{_nearest(name, known)}")
            continue
        try:
            values[name] = checked(name, value)
        except ValueError as error:
            problems.append(f"{name}: {error}")
    if problems:
        raise BadSettings("\n".join(problems))
    if "secret_keys" not in values:
        values["secret_keys"] = secret_keys(instance)
    return Settings(instance=instance, **values)


def checked(name: str, value: Any) -> Any:
    """Return the value of a setting in its type; raises ValueError with what to write instead."""
    fitted = _fitted(name, value)
    if name in _CHECKS:
        _CHECKS[name](fitted)
    return fitted


def secret_keys(instance: Path) -> tuple[str, ...]:
    """Return the keys in the instance's secret file, made once, readable by its owner only.

    One key a line; the last signs, the others are still accepted.
    """
    path = instance / "secret_keys"
    instance.mkdir(parents=True, exist_ok=True)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        pass
    else:
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_hex(32) + "\n")
    keys = tuple(path.read_text().split())
    try:
        _keys(keys)
    except ValueError as error:
        raise BadSettings(f"{path.name}: {error}") from error
    if not keys:
        raise BadSettings(f"{path.name}: it is empty; delete it and a new key is made")
    return keys


def _from_file(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadSettings(f"{path.name}: {error}; write lines such as site_name = 'Us'") from error


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    return {
        name.removeprefix("PBEM_").lower(): value
        for name, value in environment.items()
        if name.startswith("PBEM_") and name != "PBEM_INSTANCE"  # says where the file is
    }


def _fitted(name: str, value: Any) -> Any:
    """Return the value in the setting's type; the environment has only texts."""
    kind = {item.name: str(item.type) for item in fields(Settings)}[name]
    if kind.startswith("tuple"):
        items = value.replace(",", " ").split() if isinstance(value, str) else value
        if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
            raise ValueError('write a list of texts, such as ["ann@example.org"]')
        return tuple(items)
    if kind == "int":
        try:
            return int(value)
        except (TypeError, ValueError):
            raise ValueError(f"{value!r} is not possible; write a whole number") from None
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not possible; write a text in quotes")
    return value


def _nearest(name: str, known: set[str]) -> str:
    # Imported here because difflib is slow to load and only a typing slip needs it.
    from difflib import get_close_matches

    near = get_close_matches(name, known, 1)
    return f"; did you mean {near[0]}?" if near else ""


def _one_of(*choices: str) -> Callable[[str], None]:
    def check(value: str) -> None:
        if value not in choices:
            raise ValueError(f"{value!r} is not possible; write one of {', '.join(choices)}")

    return check


def _url(value: str) -> None:
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.path.strip("/"):
        raise ValueError(f"{value!r} is not possible; write it as https://play.example.org")


def _database(value: str) -> None:
    if value and not value.startswith(("sqlite:///", "postgresql+psycopg://")):
        raise ValueError(
            "the database is of an unknown kind; write sqlite:///FILE"
            " or postgresql+psycopg://USER@HOST/NAME"
        )


def _port(value: int) -> None:
    if not 0 < value < 65536:
        raise ValueError(f"{value} is not a port; write a number from 1 to 65535")


def _count(value: int) -> None:
    if value < 0:
        raise ValueError(f"{value} is not possible; write a whole number, 0 for none")


def _limit(value: int) -> None:
    if value < 1:
        raise ValueError(f"{value} is not possible; write a whole number from 1")


def _zone(value: str) -> None:
    try:
        ZoneInfo(value)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"{value!r} is not a time zone; write it as Europe/Paris") from None


def _domain(value: str) -> None:
    if not value or "@" in value or "/" in value or " " in value:
        raise ValueError(f"{value!r} is not a host name; write it as play.example.org")


def _authserv_id(value: str) -> None:
    if set(value) & set(" \t\n;"):
        raise ValueError(f"{value!r} is not such a name; write it as mx.example.org")


def _addresses(value: tuple[str, ...]) -> None:
    for address in value:
        if address.count("@") != 1:
            raise ValueError(f"{address!r} is not an address; write it as ann@example.org")


def _keys(value: tuple[str, ...]) -> None:
    for key in value:
        if len(key) < 64 or set(key) - set("0123456789abcdef"):
            raise ValueError(
                "a key is 64 or more digits of 0-9 and a-f; leave it out and one is made"
            )


def _folder(value: str) -> None:
    if not value:
        raise ValueError("a mailbox has no folder without a name; write it as INBOX")


def _signing_key(value: str) -> None:
    if value and not (value.isascii() and value.isprintable() and " " not in value):
        raise ValueError("a key has no blanks and no accents; copy it as Mailgun shows it")


def _secret(value: str) -> None:
    if value and not (len(value) >= 20 and value.isascii() and value.isalnum()):
        raise ValueError("anybody could guess it; write 20 or more letters and digits")


def _port_or_none(value: int) -> None:
    if value:
        _port(value)


def _networks(value: tuple[str, ...]) -> None:
    for network in value:
        try:
            ip_network(network)
        except ValueError:
            raise ValueError(
                f"{network!r} is no address of a proxy; write 127.0.0.1 or a network, 10.0.0.0/8"
            ) from None


def _sender(value: str) -> None:
    if value:
        _addresses((value,))


_CHECKS: Final[dict[str, Callable[[Any], None]]] = {
    "base_url": _url,
    "database_url": _database,
    "mail_domain": _domain,
    "mail_from": _sender,
    "authserv_id": _authserv_id,
    "host_addresses": _addresses,
    "smtp_port": _port,
    "listen_port": _port,
    "bind_port": _port,
    "trusted_proxies": _networks,
    "metrics_token": _secret,
    "worker_metrics_port": _port_or_none,
    "log_format": _one_of(*_LOG_FORMATS),
    "invitations_a_day": _count,
    "mails_a_second": _count,
    "mails_a_day": _count,
    "tables_a_day": _limit,
    "sign_ins_an_hour": _limit,
    "mails_in_an_hour": _limit,
    "smtp_security": _one_of(*_SECURITIES),
    "listen_protocol": _one_of(*_LISTENERS),
    "imap_port": _port,
    "imap_security": _one_of(*_SECURITIES),
    "imap_folder": _folder,
    "mailgun_signing_key": _signing_key,
    "postmark_secret": _secret,
    "language": _one_of(*LANGUAGES),
    "zone": _zone,
    "separator": _one_of("+", "-", "="),
    "secret_keys": _keys,
}
