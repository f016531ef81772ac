"""What the DNS says of our mail domain: hints, since only the provider knows the rest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from dns.exception import DNSException
from dns.resolver import NXDOMAIN, NoAnswer, Resolver

_PATIENCE: Final = 5.0  # seconds for each question


class _Hint(Exception):
    """Raised with words about what may be wrong, but is not for us to know."""


def findings(mail_domain: str, sender: str, resolver: Resolver | None = None) -> Iterator[str]:
    """Yield a line for each kind of record: ``ok: …``, or ``hint: …`` with what to publish.

    ``sender`` is the address that letters come from. Where no resolver answers, the last line
    says so.
    """
    from_domain = sender.rpartition("@")[2]
    try:
        asked = resolver or Resolver()
        for look, domain in (
            (_mx, mail_domain),
            (_spf, mail_domain),
            (_dkim, from_domain),
            (_dmarc, from_domain),
        ):
            try:
                yield f"ok: {look(asked, domain)}"
            except _Hint as hint:
                yield f"hint: {hint}"
    except DNSException as error:
        yield f"hint: no resolver answers, so the DNS was not looked at ({error})"


def _mx(asked: Resolver, domain: str) -> str:
    found = [one.exchange.to_text(omit_final_dot=True) for one in _answer(asked, domain, "MX")]
    if not found:
        raise _Hint(f"{domain} has no MX record, so replies may not find their way here")
    return f"mail to {domain} goes to {', '.join(found)}"


def _spf(asked: Resolver, domain: str) -> str:
    found = [one for one in _texts(asked, domain) if one.lower().split()[:1] == ["v=spf1"]]
    if len(found) != 1:
        many = "no SPF record" if not found else f"{len(found)} SPF records"
        raise _Hint(f"{domain} has {many}; publish one TXT record v=spf1 that names your relay")
    return f"the SPF record of {domain} is {found[0]}"


def _dkim(asked: Resolver, domain: str) -> str:
    """Look whether there are keys at all: what they are called, only the relay knows."""
    try:
        asked.resolve(f"_domainkey.{domain}", "TXT", lifetime=_PATIENCE)
    except NXDOMAIN:
        advice = "let your relay sign what it sends, and publish its key"
        raise _Hint(f"{domain} publishes no DKIM key; {advice}") from None
    except NoAnswer:
        pass  # nothing stands there, but there are names below it
    return f"{domain} publishes DKIM keys"


def _dmarc(asked: Resolver, domain: str) -> str:
    labels = domain.split(".")
    for nth in range(len(labels) - 1):
        name = ".".join(["_dmarc", *labels[nth:]])
        for text in _texts(asked, name):
            if text.lower().startswith("v=dmarc1"):
                return f"the DMARC record {name} is {text}"
    raise _Hint(f"there is no _dmarc.{domain}; publish a TXT record such as v=DMARC1; p=none")


def _texts(asked: Resolver, domain: str) -> list[str]:
    """Return the TXT records of a domain, each put together from its pieces."""
    return [
        b"".join(one.strings).decode("ascii", "replace") for one in _answer(asked, domain, "TXT")
    ]


def _answer(asked: Resolver, domain: str, kind: str) -> list[Any]:
    try:
        return list(asked.resolve(domain, kind, lifetime=_PATIENCE))
    except (NXDOMAIN, NoAnswer):
        return []
