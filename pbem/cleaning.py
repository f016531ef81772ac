"""What people type, in the one form that is stored; what cannot be is refused in words."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from engine import deal
from engine.game import N_
from pbem.errors import BadAddress, BadPhrase, BadZone
from pbem.ext import settings

MOST_ADDRESS: Final = 254  # characters, as by RFC 5321
OFFICES: Final = ("abuse", "postmaster")  # which every mail domain has, by RFC 2142
MOST_NAME: Final = 40  # characters
# Strict on purpose: an address that a header could misread is refused in words.
_ADDRESS: Final = re.compile(
    r"[a-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
    r"@[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*"
)
# Signs that turn what follows them, and the page's own words with it, from right to left.
TURNING: Final = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
# Zones are offered by their place; the names of old, as US/Eastern, are understood too.
_PLACE: Final = re.compile(
    r"(?:Africa|America|Antarctica|Asia|Atlantic|Australia|Europe|Indian|Pacific)/"
)


def clean_address(text: str) -> str:
    """Return an address in the one form that we store; raises BadAddress."""
    address = text.strip().lower()
    if len(address) > MOST_ADDRESS:
        raise BadAddress
    local, _, domain = address.rpartition("@")
    try:
        domain = domain.encode("idna").decode()
    except UnicodeError:
        raise BadAddress from None
    address = f"{local}@{domain}"
    if len(address) > MOST_ADDRESS or len(local) > 64 or not _ADDRESS.fullmatch(address):
        raise BadAddress
    if _takes_our_mail(local, domain):
        raise BadAddress(N_("letters of this server can't be answered by itself; give your own"))
    return address


def _takes_our_mail(local: str, domain: str) -> bool:
    """Return whether mail to the address comes back to us: a player there would be ourselves.

    Everybody else at our domain may play: a club's members have addresses there too.
    """
    site = settings()
    ours = (site.reply_local, site.bounce_local, site.sender.partition("@")[0], *OFFICES)
    name = local.partition(site.separator)[0]
    return domain == site.mail_domain.lower() and name in {one.lower() for one in ours}


def clean_name(text: str) -> str:
    """Return a name on one line, without control characters, of at most 40 characters."""
    printable = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(printable.split())[:MOST_NAME].strip()


def clean_phrase(text: str) -> str:
    """Return a phrase for the deal on one line; raises BadPhrase."""
    try:
        phrase = deal.clean_phrase(text)
    except ValueError:
        raise BadPhrase from None
    if any(unicodedata.category(char) == "Cc" or char in TURNING for char in phrase):
        raise BadPhrase(N_("a phrase can't hold control characters; type it anew"))
    return phrase


def clean_zone(text: str) -> str:
    """Return a time zone's name; raises BadZone."""
    try:
        return ZoneInfo(text).key
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise BadZone from None


@cache
def zones() -> tuple[str, ...]:
    """Return the time zones that a form offers."""
    return tuple(sorted(name for name in available_timezones() if _PLACE.match(name)))
