"""The deal that anybody can check: commitment, deal key and keyed shuffle.

Everything here follows the published method (docs/fair-deal.md): a server key is
committed to before anyone sits down, players may add phrases, and each shuffle is a
function of the deal key and a label.
"""

from __future__ import annotations

import hashlib
import hmac
import unicodedata
from itertools import count
from struct import unpack
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Item = TypeVar("Item")

MOST_PHRASE: Final = 100  # characters
_WORD: Final = 1 << 64


def commitment(server_key: bytes) -> str:
    """Return the hex digest that is published before anyone sits down."""
    return hashlib.sha256(server_key).hexdigest()


def clean_phrase(text: str) -> str:
    """Return a player's phrase in the form that enters the key: NFC, one line.

    Raises ValueError, in words, for a phrase that is too long.
    """
    phrase = unicodedata.normalize("NFC", " ".join(text.split()))
    if len(phrase) > MOST_PHRASE:
        raise ValueError(f"a phrase has at most {MOST_PHRASE} characters")
    return phrase


def deal_key(server_key: bytes, game_id: str, phrases: Sequence[str]) -> bytes:
    """Return the key of all shuffles of one match."""
    message = "\n".join([game_id, *phrases])
    return hmac.digest(server_key, message.encode(), "sha256")


def shuffle(key: bytes, label: str, items: Sequence[Item]) -> list[Item]:
    """Return the items in the order that the key and the label give; item 0 is the top."""
    return _swapped(items, _stream(key, label))


def draw_seats(server_key: bytes, game_id: str, phrases: Sequence[str]) -> list[int]:
    """Return, seat by seat, which joiner (0 = the first who joined) sits there.

    The phrases come in joining order here; the deal key takes them in seat order.
    """
    key = deal_key(server_key, game_id, phrases)
    return shuffle(key, "seats", range(len(phrases)))


def _stream(key: bytes, label: str) -> Iterator[int]:
    # What all blocks begin with is hashed once.
    begun = hmac.new(key, f"{label}/".encode(), "sha256")
    for block in count():
        whole = begun.copy()
        whole.update(str(block).encode())
        yield from unpack(">4Q", whole.digest())


def _swapped(items: Sequence[Item], words: Iterator[int]) -> list[Item]:
    """Return the items after the swaps that the words tell, from the last item down."""
    swapped = list(items)
    for size in range(len(swapped), 1, -1):
        word = next(words)
        # Words at the very top would favour small results; the method skips them.
        while word >= _WORD - _WORD % size:
            word = next(words)
        last, other = size - 1, word % size
        swapped[last], swapped[other] = swapped[other], swapped[last]
    return swapped
