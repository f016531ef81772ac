"""What people type for a move of Snakebit, read generously."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final, TypeAlias

from engine.decktet import Suit
from engine.errors import Ambiguous, IllegalMove, NotYourTurn, Unreadable
from engine.game import N_
from engine.reading import CardWords, Items, Said, Vocabulary, read, vocabulary
from engine.snakebit_state import Lead

if TYPE_CHECKING:
    from engine.snakebit import Snakebit, SnakebitView
    from engine.snakebit_state import Move


class _Naming(Enum):
    """A word behind which the named suit stands."""

    NAMING = "naming"


_Word: TypeAlias = _Naming | Suit

# A suit's letter that can't go on with a card names a suit: "5SW s".
_WORDS: Final[Vocabulary[_Word]] = vocabulary(
    ("naming, named, name, and name, i name, as, for, call, calling, i call", _Naming.NAMING),
    ("nommant, en nommant, nomme, nommer, et nomme, je nomme, annonce, pour", _Naming.NAMING),
    *((suit.letter, suit) for suit in Suit),
    ("play, i play, lead, i lead, leading, follow, i follow, with, trick", None),
    ("jouer, joue, je joue, entamer, entame, j'entame, fournir, fournis, je fournis, pli", None),
)


def meant(game: Snakebit, view: SnakebitView, text: str) -> Move:
    """Return the legal move that the text means; the suit may be left out if it is the only one.

    Raises Unreadable, IllegalMove (with a reason) or Ambiguous (with the readings).
    """
    card, suit = _parts(read(text, _WORDS))
    if view.seat not in view.to_move:
        raise NotYourTurn
    found = [move for move in game.moves(view) if card.fits(move.card) and _names(view, move, suit)]
    if not found:
        raise _refusal(view, card, suit)
    if len(found) > 1:
        raise Ambiguous([game.format(move) for move in found])
    return found[0]


def said(text: str) -> Said:
    """Return the card, then the suit that is named with it; raises Unreadable."""
    card, suit = _parts(read(text, _WORDS))
    return Said((card, CardWords(suits=(suit,))) if suit else (card,))


def _parts(items: Items[_Word]) -> tuple[CardWords, Suit | None]:
    """Return the card, and the suit that is named with it, before it or behind it."""
    cards = [item for item in items if isinstance(item, CardWords)]
    suits = [item for item in items if isinstance(item, Suit)]
    if len(cards) == 2:
        # One of the two is no more than a suit: "5SW suns", "suns: 5SW".
        bare = [words for words in cards if words.rank is None and len(words.suits) == 1]
        if not bare:
            raise Unreadable
        cards.remove(bare[-1])
        suits.append(bare[-1].suits[0])
    naming = items.count(_Naming.NAMING)
    if len(cards) != 1 or len(suits) > 1 or naming > 1 or (naming and not suits):
        raise Unreadable
    return cards[0], suits[0] if suits else None


def _names(view: SnakebitView, move: Move, suit: Suit | None) -> bool:
    """Say whether the move goes with the suit that was typed; a follower may repeat it."""
    return suit is None or suit is (move.suit if isinstance(move, Lead) else view.named)


def _refusal(view: SnakebitView, words: CardWords, suit: Suit | None) -> IllegalMove:
    """Return why nothing legal fits the words."""
    held = [card for card in view.hand if words.fits(card)]
    if not held:
        return IllegalMove(N_("%(card)s is not in your hand"), card=words.text)
    if view.named is not None:
        if suit not in (None, view.named):
            return IllegalMove(N_("only the leader of a trick names a suit: give just your card"))
        return IllegalMove(N_("you hold a card of the named suit, so you must play such a card"))
    if suit is not None and not any(suit in card.suits for card in held):
        return IllegalMove(N_("%(card)s does not show the suit that you name"), card=words.text)
    return IllegalMove(N_("no card of this hand has shown that suit, so it may not be named yet"))
