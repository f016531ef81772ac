"""The Decktet: its suits, ranks and cards, in the order of the deck's own list."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final, TypeVar

from engine.errors import BadDeck

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Item = TypeVar("Item")


class Suit(Enum):
    """One of the six suits; the order gives no priority."""

    MOONS = "M"
    SUNS = "S"
    WAVES = "W"
    LEAVES = "L"
    WYRMS = "Y"
    KNOTS = "K"

    # Each suit is one object; Enum's own hash of its name is slow, and suits are often keys.
    __hash__ = object.__hash__

    @property
    def letter(self) -> str:
        """Return the suit's letter, the same in every language."""
        return self.value

    @property
    def word(self) -> str:
        """Return the suit's English name in lower case, as moves are written."""
        return self.name.lower()


class Rank(Enum):
    """One of the thirteen ranks, by its code."""

    ACE = "A"
    TWO = "2"
    THREE = "3"
    FOUR = "4"
    FIVE = "5"
    SIX = "6"
    SEVEN = "7"
    EIGHT = "8"
    NINE = "9"
    CROWN = "C"
    PAWN = "P"
    COURT = "T"
    EXCUSE = "EX"

    # As with suits.
    __hash__ = object.__hash__

    @property
    def number(self) -> int:
        """Return 1 for an Ace, 2 to 9, 10 for a Crown; others have none.

        Raises ValueError for Pawn, Court and Excuse.
        """
        return 1 + _NUMBERED.index(self)


_NUMBERED: Final = list(Rank)[:10]


@dataclass(frozen=True, slots=True)
class Card:
    """One card: its place in the deck's list, rank, suits and printed name.

    The place tells all the rest, so it alone is compared and hashed. ``bit`` is the
    card in masks over the deck.
    """

    index: int
    rank: Rank = field(compare=False)
    suits: tuple[Suit, ...] = field(compare=False)
    name: str = field(compare=False)
    code: str = field(compare=False, init=False)
    bit: int = field(compare=False, init=False, repr=False)

    def __post_init__(self) -> None:
        """Write the card's id, such as ``5SW`` or ``EX``; moves are told apart by it."""
        code = self.rank.value + "".join(suit.letter for suit in self.suits)
        object.__setattr__(self, "code", code)
        object.__setattr__(self, "bit", 1 << self.index)

    def __str__(self) -> str:
        """Return the card's id."""
        return self.code


def _card(index: int, line: str) -> Card:
    code, name = line.split(" ", 1)
    if code == "EX":
        return Card(index, Rank.EXCUSE, (), name)
    return Card(index, Rank(code[0]), tuple(Suit(letter) for letter in code[1:]), name)


# The names and suits are facts of the deck (P. D. Magnus, The Decktet).
_LIST = """\
AM Ace of Moons
AS Ace of Suns
AW Ace of Waves
AL Ace of Leaves
AY Ace of Wyrms
AK Ace of Knots
2MK The Author
2SY The Desert
2WL The Origin
3MW The Journey
3SK The Painter
3LY The Savage
4MS The Mountain
4WL The Sailor
4YK The Battle
5ML The Forest
5SW The Discovery
5YK The Soldier
6MW The Lunatic
6SY The Penitent
6LK The Market
7ML The Chance Meeting
7SK The Castle
7WY The Cave
8MS The Diplomat
8WL The Mill
8YK The Betrayal
9MS The Pact
9WY The Darkness
9LK The Merchant
CM The Huntress
CS The Bard
CW The Sea
CL The End
CY The Calamity
CK The Windfall
PMSL The Harvest
PMYK The Watchman
PSWK The Light Keeper
PWLY The Borderland
TMWK The Consul
TMLY The Rite
TSWY The Island
TSLK The Window
EX The Excuse"""

_SHOWN: Final = {Rank.PAWN: 2, Rank.COURT: 2, Rank.EXCUSE: 0}  # by each suit; else once


def read_deck(text: str) -> tuple[Card, ...]:
    """Return the cards of a list, one to a line: its id, then its name.

    Raises BadDeck, which names the rank, where a card is missing or there twice.
    """
    cards = tuple(_card(index, line) for index, line in enumerate(text.splitlines()))
    for rank in Rank:
        shown = [suit for card in cards if card.rank is rank for suit in card.suits]
        for suit in Suit:
            found, wanted = shown.count(suit), _SHOWN.get(rank, 1)
            if found != wanted:
                raise BadDeck(
                    f"deck: {suit.word} is shown by {found} cards of the rank {rank.value},"
                    f" not by {wanted}"
                )
    excuses = sum(card.rank is Rank.EXCUSE for card in cards)
    if excuses != 1:
        raise BadDeck(f"deck: it has the Excuse {excuses} times, not once")
    return cards


DECK: Final = read_deck(_LIST)
BASIC: Final = DECK[:36]
ACES: Final = DECK[:6]
NUMBERS: Final = DECK[6:30]
CROWNS: Final = DECK[30:36]
PAWNS: Final = DECK[36:40]
COURTS: Final = DECK[40:44]
EXCUSE: Final = DECK[44]
CARDS: Final = {card.code: card for card in DECK}


def mask(cards: Iterable[Card]) -> int:
    """Return the cards as a bit mask over the deck."""
    bits = 0
    for card in cards:
        bits |= card.bit
    return bits


class _Dozen(dict[int, tuple[Item, ...]]):
    """What a mask picks from twelve items; each answer is found once, when it is asked for."""

    def __init__(self, items: Sequence[Item]) -> None:
        super().__init__()
        self._items = items

    def __missing__(self, bits: int) -> tuple[Item, ...]:
        found = tuple(item for nth, item in enumerate(self._items) if bits >> nth & 1)
        self[bits] = found
        return found


def picker(items: Sequence[Item]) -> Callable[[int], tuple[Item, ...]]:
    """Return a function that picks, by a mask, from items that go by the card's index."""
    # Masks become cards and moves at every turn: each dozen of the deck is looked up whole.
    low, middle, high, rest = (_Dozen(items[start : start + 12]) for start in (0, 12, 24, 36))

    def picked(bits: int) -> tuple[Item, ...]:
        found = low[bits & 0xFFF] + middle[bits >> 12 & 0xFFF] + high[bits >> 24 & 0xFFF]
        # Few decks have more than the 36 basic cards.
        return found + rest[bits >> 36] if bits >> 36 else found

    return picked


cards_of: Final = picker(DECK)
