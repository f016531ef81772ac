"""Signed tokens: in links, and in the addresses that letters may be answered to.

Tokens hold ids and prove that we made them; what they may still do is the database's
word. A token's text is never a key in a table, since several spellings verify.

A token that can be replaced also tells how often its kind had been made anew; see
docs/decisions/0011-revoking.md. None of the first time tells it, as before.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from enum import IntEnum
from typing import TYPE_CHECKING, Final

from itsdangerous import BadSignature, SignatureExpired, Signer, TimestampSigner

from pbem.errors import BadLink, OldLink

if TYPE_CHECKING:
    from collections.abc import Sequence

# What mail programs glue on to a bare link.
_GLUED: Final = ".,;:!?)>]}'\""
_ADDRESS_BYTES: Final = 6  # kind (1) and id (5)
_PROOF_BYTES: Final = 9  # 72 bits: nobody tries that often by mail
_KIND_BITS: Final = 2  # of the first byte of an address; the others count how often it was renewed
MOST_RENEWED: Final = (1 << (8 - _KIND_BITS)) - 1


class Named(IntEnum):
    """What an address token names."""

    TURN = 1
    SEAT = 2
    LETTER = 3


class Tokens:
    """Makes and reads tokens; the last key signs, the others still verify."""

    def __init__(self, keys: Sequence[str]) -> None:
        """Keep the keys, oldest first."""
        self._keys = [bytes.fromhex(key) for key in keys]

    def link(self, purpose: str, *ids: int, renewed: int = 0) -> str:
        """Return a token of at most 60 characters for a link of this purpose.

        ``renewed`` is how often such links were made anew before it.
        """
        numbers = (*ids, renewed) if renewed else ids
        return self._signer(purpose).sign("-".join(f"{number:x}" for number in numbers)).decode()

    def read_link(self, purpose: str, token: str, *, ids: int = 1) -> tuple[int, ...]:
        """Return the ids of a token, of which there are so many; raises BadLink."""
        found = self._read_link(purpose, token)
        if len(found) != ids:
            raise BadLink
        return found

    def read_renewable(
        self, purpose: str, token: str, *, ids: int = 1
    ) -> tuple[tuple[int, ...], int]:
        """Return the ids of a token, and how often its links had been renewed; raises BadLink."""
        found = self._read_link(purpose, token)
        if len(found) not in (ids, ids + 1):
            raise BadLink
        return found[:ids], (*found, 0)[ids]

    def _read_link(self, purpose: str, token: str) -> tuple[int, ...]:
        try:
            payload = self._signer(purpose).unsign(token.rstrip(_GLUED)).decode()
            return tuple(int(part, 16) for part in payload.split("-"))
        except (BadSignature, ValueError):
            raise BadLink from None

    def timed_link(self, purpose: str, number: int) -> str:
        """Return a token like ``link`` of one id that also knows when it was made."""
        return self._timed(purpose).sign(f"{number:x}").decode()

    def read_timed_link(self, purpose: str, token: str, *, seconds: int) -> int:
        """Return the id of a timed token; raises BadLink, or OldLink if it is older."""
        try:
            payload = self._timed(purpose).unsign(token.rstrip(_GLUED), max_age=seconds).decode()
            return int(payload, 16)
        except SignatureExpired:
            raise OldLink from None
        except (BadSignature, ValueError):
            raise BadLink from None

    def address(self, named: Named, number: int, *, renewed: int = 0) -> str:
        """Return 24 lower-case letters and digits that survive any mail program."""
        body = bytes([named | renewed << _KIND_BITS]) + number.to_bytes(_ADDRESS_BYTES - 1, "big")
        proof = self._proof(self._keys[-1], body)
        return base64.b32encode(body + proof).decode().lower()

    def read_address(self, token: str) -> tuple[Named, int] | None:
        """Return what the token names, or None if we did not make it."""
        found = self.read_renewable_address(token)
        return None if found is None else found[:2]

    def read_renewable_address(self, token: str) -> tuple[Named, int, int] | None:
        """Return what the token names and how often it had been renewed; None if not ours."""
        try:
            data = base64.b32decode(token.upper())
        except (binascii.Error, ValueError):
            return None
        body, proof = data[:_ADDRESS_BYTES], data[_ADDRESS_BYTES:]
        if not any(hmac.compare_digest(proof, self._proof(key, body)) for key in self._keys):
            return None
        kind, renewed = body[0] & (1 << _KIND_BITS) - 1, body[0] >> _KIND_BITS
        return Named(kind), int.from_bytes(body[1:], "big"), renewed

    def fingerprint(self, text: str) -> str:
        """Return what stands for a text where the text itself is not to be kept."""
        return hmac.digest(self._keys[-1], b"fingerprint/" + text.encode(), "sha256").hex()[:32]

    def _proof(self, key: bytes, body: bytes) -> bytes:
        return hmac.digest(key, b"address/" + body, "sha256")[:_PROOF_BYTES]

    def _signer(self, purpose: str) -> Signer:
        return Signer(self._keys, salt=purpose, key_derivation="hmac", digest_method=hashlib.sha256)

    def _timed(self, purpose: str) -> TimestampSigner:
        return TimestampSigner(
            self._keys, salt=purpose, key_derivation="hmac", digest_method=hashlib.sha256
        )
