"""Who asks, where a web server stands in front: told by it, and by nobody else."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment


class Proxies:
    """Puts the address of who asks in the place of a trusted proxy's own.

    Each proxy adds on the right whom it was asked by. So the list is read from there, and
    only as long as who wrote it is trusted: the rest may be anybody's invention.
    """

    def __init__(self, application: WSGIApplication, trusted: Sequence[str]) -> None:
        """Keep the application, and the networks of the proxies that are believed."""
        self._application = application
        self._trusted = [ip_network(network) for network in trusted]

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request."""
        told = environ.get("HTTP_X_FORWARDED_FOR", "")
        environ["REMOTE_ADDR"] = self._asks(environ.get("REMOTE_ADDR", ""), told)
        return self._application(environ, start_response)

    def _asks(self, peer: str, told: str) -> str:
        asks = peer
        for hop in reversed(told.split(",")):
            address = _address(hop)
            if address is None or not self._is_trusted(asks):
                break
            asks = str(address)
        return asks

    def _is_trusted(self, peer: str) -> bool:
        address = _address(peer)
        return address is not None and any(_is_in(address, network) for network in self._trusted)


def _address(text: str) -> IPv4Address | IPv6Address | None:
    """Return an address as proxies write it, some with a port; None for anything else."""
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _is_in(address: IPv4Address | IPv6Address, network: IPv4Network | IPv6Network) -> bool:
    return address.version == network.version and address in network
