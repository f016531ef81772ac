"""What people type, read generously: cards in English and French, and a game's own words.

A text becomes a row of items: a ``CardWords`` for each card it speaks of, and the
values of the game's vocabulary. Nothing here guesses: an unknown word is Unreadable,
and a card told by its rank or suit alone stays all the cards it may be.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeAlias, TypeVar

from engine.decktet import BASIC, DECK, Card, Rank, Suit
from engine.errors import Unreadable

Word = TypeVar("Word")

MOST_TEXT: Final = 200  # characters; a move is a line, not a letter


@dataclass(frozen=True, slots=True)
class CardWords:
    """What a text says about one card: its rank, its suits, or both."""

    rank: Rank | None = None
    suits: tuple[Suit, ...] = ()

    def fits(self, card: Card) -> bool:
        """Say whether the words can mean the card."""
        return (self.rank is None or card.rank is self.rank) and all(
            suit in card.suits for suit in self.suits
        )

    @property
    def cards(self) -> tuple[Card, ...]:
        """Return all cards that the words can mean."""
        return tuple(card for card in DECK if self.fits(card))

    @property
    def text(self) -> str:
        """Return the words in short, for answers: ``6SY``, ``6``, ``suns``."""
        if self.rank is None:
            return " ".join(suit.word for suit in self.suits)
        return self.rank.value + "".join(suit.letter for suit in self.suits)


Items: TypeAlias = tuple[CardWords | Word, ...]


@dataclass(frozen=True, slots=True)
class Said:
    """What a text says of a move, whatever the position: its cards in order, and words."""

    cards: tuple[CardWords, ...]
    words: frozenset[object] = frozenset()

    def fits(self, move: Said) -> bool:
        """Say whether this, which may leave things out, can mean a move that is told in full."""
        return (
            self.words <= move.words
            and len(self.cards) <= len(move.cards)
            and all(map(_within, self.cards, move.cards))
        )


def _within(some: CardWords, full: CardWords) -> bool:
    return some.rank in (None, full.rank) and set(some.suits) <= set(full.suits)


# A game's own words; None is for a word that says nothing and may be left out.
Vocabulary: TypeAlias = Mapping[tuple[str, ...], Word | None]

_RANKS: Final = {
    **{rank.value.lower(): rank for rank in Rank},
    **{rank.name.lower(): rank for rank in Rank},
    "as": Rank.ACE,
    "deux": Rank.TWO,
    "trois": Rank.THREE,
    "quatre": Rank.FOUR,
    "cinq": Rank.FIVE,
    "sept": Rank.SEVEN,
    "huit": Rank.EIGHT,
    "neuf": Rank.NINE,
    "couronne": Rank.CROWN,
    "pion": Rank.PAWN,
    "cour": Rank.COURT,
}
_SUITS: Final = {
    **{suit.word: suit for suit in Suit},
    "moon": Suit.MOONS,
    "sun": Suit.SUNS,
    "wave": Suit.WAVES,
    "leaf": Suit.LEAVES,
    "wyrm": Suit.WYRMS,
    "knot": Suit.KNOTS,
    "lune": Suit.MOONS,
    "lunes": Suit.MOONS,
    "soleil": Suit.SUNS,
    "soleils": Suit.SUNS,
    "vague": Suit.WAVES,
    "vagues": Suit.WAVES,
    "feuille": Suit.LEAVES,
    "feuilles": Suit.LEAVES,
    "noeud": Suit.KNOTS,
    "noeuds": Suit.KNOTS,
}
_LETTERS: Final = {suit.letter.lower(): suit for suit in Suit}
_ENGLISH: Final = "the a an of on to in at and with card cards my please"
_FRENCH: Final = "le la les un une de du des et sur en avec carte cartes ma mon"
_FILLERS: Final = frozenset((*_ENGLISH.split(), *_FRENCH.split()))
_CODE: Final = re.compile(r"([a2-9cpt])([mswlyk]{1,3})")


def tokens(text: str) -> list[str]:
    """Return a text's words in lower case, without accents, signs and odd spaces."""
    text = unicodedata.normalize("NFKC", text[: MOST_TEXT + 1]).casefold()
    if len(text) > MOST_TEXT:
        raise Unreadable("that is too long for a move")
    text = "".join(sign for sign in text if unicodedata.category(sign) != "Cf")
    # A French article or preposition must not look like a suit or an Ace: "l'as", "à gauche".
    text = re.sub(r"\b[ld]['’]|\bà\b", " ", text.replace("œ", "oe"))
    plain = unicodedata.normalize("NFD", text)
    plain = "".join(sign for sign in plain if not unicodedata.combining(sign))
    return re.findall(r"[^\W_]+", plain)


def vocabulary(*words: tuple[str, Word | None]) -> Vocabulary[Word]:
    """Return a game's own words from pairs such as ``("left, gauche, l", End.LEFT)``."""
    return {tuple(tokens(name)): word for names, word in words for name in names.split(",")}


def read(text: str, words: Vocabulary[Word]) -> Items[Word]:
    """Return the text's cards and words in order; raises Unreadable."""
    return _Reader(tokens(text), words).items()


class _Reader(Generic[Word]):
    """Goes through the words once; a card's rank and suits gather in ``_open``."""

    def __init__(self, words: Sequence[str], vocabulary: Vocabulary[Word]) -> None:
        self._words = words
        self._vocabulary = vocabulary
        self._at = 0
        self._open: CardWords | None = None
        self._found: list[CardWords | Word] = []

    def items(self) -> Items[Word]:
        while self._at < len(self._words):
            if not (
                self._suit_letters()
                or self._known_words()
                or self._code()
                or self._rank()
                or self._suit()
                or self._words[self._at] in _FILLERS
            ):
                raise Unreadable(f"“{self._words[self._at]}” could not be read")
            self._at += 1
        self._close()
        return tuple(self._found)

    def _close(self) -> None:
        if self._open is not None:
            self._found.append(self._open)
        self._open = None

    def _suit_letters(self) -> bool:
        """Read letters such as ``sy`` if they go on with the card that is being read."""
        letters = self._words[self._at]
        if self._open is None or not set(letters) <= set(_LETTERS):
            return False
        return self._extend(tuple(_LETTERS[letter] for letter in letters))

    def _extend(self, suits: tuple[Suit, ...]) -> bool:
        if self._open is None or len({*self._open.suits, *suits}) < len(self._open.suits + suits):
            return False
        longer = CardWords(self._open.rank, self._open.suits + suits)
        if not longer.cards:
            return False
        self._open = longer
        return True

    def _known_words(self) -> bool:
        """Read the longest of the game's words and the cards' names that begins here."""
        for length in (3, 2, 1):
            words = tuple(self._words[self._at : self._at + length])
            if words in self._vocabulary:
                word = self._vocabulary[words]
                if word is not None:
                    self._close()
                    self._found.append(word)
            elif words in _NAMES:
                self._close()
                self._found.append(_NAMES[words])
            else:
                continue
            self._at += len(words) - 1
            return True
        return False

    def _code(self) -> bool:
        found = _CODE.fullmatch(self._words[self._at])
        if found is None or (self._words[self._at] == "as" and self._suit_follows()):
            return False
        self._close()
        rank, letters = found.groups()
        self._open = CardWords(Rank(rank.upper()), tuple(_LETTERS[letter] for letter in letters))
        if not self._open.cards or len(set(letters)) < len(letters):
            raise Unreadable(f"there is no card {self._words[self._at].upper()}")
        return True

    def _rank(self) -> bool:
        word = self._words[self._at]
        # "a" is an Ace before a suit and an article elsewhere.
        if word not in _RANKS or (word == "a" and not self._suit_follows()):
            return False
        rank = _RANKS[word]
        suits = self._open.suits if self._open is not None and self._open.rank is None else ()
        if not suits or not CardWords(rank, suits).cards:
            self._close()
            suits = ()
        self._open = CardWords(rank, suits)
        return True

    def _suit(self) -> bool:
        word = self._words[self._at]
        if word not in _SUITS:
            return False
        if not self._extend((_SUITS[word],)):
            self._close()
            self._open = CardWords(suits=(_SUITS[word],))
        return True

    def _suit_follows(self) -> bool:
        rest = [word for word in self._words[self._at + 1 :] if word not in _FILLERS]
        return bool(rest) and (rest[0] in _SUITS or set(rest[0]) <= set(_LETTERS))


def _name(card: Card) -> tuple[str, ...]:
    return tuple(word for word in card.name.lower().split() if word != "the")


# Aces have no names of their own: "Ace of Moons" is read as a rank and a suit.
_NAMES: Final = {
    _name(card): CardWords(card.rank, card.suits) for card in DECK if card not in BASIC[:6]
}
