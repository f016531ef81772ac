"""Signed tokens: in links, and in the addresses that letters may be answered to.

Tokens hold ids and prove that we made them; what they may still do is the database's
word. A token's text is never a key in a table, since several spellings verify.
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

    def link(self, purpose: str, *ids: int) -> str:
        """Return a token of at most 60 characters for a link of this purpose."""
        return self._signer(purpose).sign("-".join(f"{number:x}" for number in ids)).decode()

    def read_link(self, purpose: str, token: str, *, ids: int = 1) -> tuple[int, ...]:
        """Return the ids of a token, of which there are so many; raises BadLink."""
        try:
            payload = self._signer(purpose).unsign(token.rstrip(_GLUED)).decode()
            found = tuple(int(part, 16) for part in payload.split("-"))
        except (BadSignature, ValueError):
            raise BadLink from None
        if len(found) != ids:
            raise BadLink
        return found

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

    def address(self, named: Named, number: int) -> str:
        """Return 24 lower-case letters and digits that survive any mail program."""
        body = bytes([named]) + number.to_bytes(_ADDRESS_BYTES - 1, "big")
        proof = self._proof(self._keys[-1], body)
        return base64.b32encode(body + proof).decode().lower()

    def read_address(self, token: str) -> tuple[Named, int] | None:
        """Return what the token names, or None if we did not make it."""
        try:
            data = base64.b32decode(token.upper())
        except (binascii.Error, ValueError):
            return None
        body, proof = data[:_ADDRESS_BYTES], data[_ADDRESS_BYTES:]
        if not any(hmac.compare_digest(proof, self._proof(key, body)) for key in self._keys):
            return None
        return Named(body[0]), int.from_bytes(body[1:], "big")

    def _proof(self, key: bytes, body: bytes) -> bytes:
        return hmac.digest(key, b"address/" + body, "sha256")[:_PROOF_BYTES]

    def _signer(self, purpose: str) -> Signer:
        return Signer(self._keys, salt=purpose, key_derivation="hmac", digest_method=hashlib.sha256)

    def _timed(self, purpose: str) -> TimestampSigner:
        return TimestampSigner(
            self._keys, salt=purpose, key_derivation="hmac", digest_method=hashlib.sha256
        )
