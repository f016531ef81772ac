"""Whose a mail is: by its sender, and by what our own mail server found out (RFC 8601)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

_WORDS: Final = re.compile(r'"(?:[^"\\]|\\.)*"|\([^()]*\)')
_FOUND: Final = re.compile(r"\s*(dmarc|dkim|spf)\s*(?:/\s*\d+\s*)?=\s*(\w+)", re.IGNORECASE)


def is_from(sender: str, addresses: Iterable[str]) -> bool:
    """Return whether a sender is one of a player's addresses.

    What follows a "+" does not count: programs and providers put it there for their own use.
    """
    return _untagged(sender) in {_untagged(address) for address in addresses}


def has_failed(results: Sequence[str], authserv_id: str) -> bool:
    """Return whether the topmost Authentication-Results of our server say that a mail is forged.

    ``results`` are those headers from the top. Anybody can write more of them, and they
    stand below ours; with no name of our server none is looked at.
    """
    ours = authserv_id.lower()
    for value in results:
        name, *findings = _WORDS.sub(" ", value).split(";")
        if ours and name.lower().split()[:1] == [ours]:
            return _has_failed(findings)
    return False


def _untagged(address: str) -> str:
    local, at, domain = address.rpartition("@")
    return local.partition("+")[0] + at + domain


def _has_failed(findings: Iterable[str]) -> bool:
    matches = [_FOUND.match(finding) for finding in findings]
    found = {(match[1].lower(), match[2].lower()) for match in matches if match}
    # A mail may bear several signatures, and one that holds is enough.
    is_unsigned = ("dkim", "fail") in found and ("dkim", "pass") not in found
    return ("dmarc", "fail") in found or (is_unsigned and ("spf", "fail") in found)
