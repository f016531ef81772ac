"""What people type for a move of Snakebit, read generously."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from engine.decktet import Suit
from engine.errors import Ambiguous, IllegalMove, NotYourTurn, Unreadable
from engine.game import N_
from engine.reading import CardWords, Items, Vocabulary, read, vocabulary
from engine.snakebit_state import Lead

if TYPE_CHECKING:
    from engine.snakebit import Snakebit, SnakebitView
    from engine.snakebit_state import Move

# A suit's letter alone names it, where it does not go on with the card.
_WORDS: Final[Vocabulary[Suit]] = vocabulary(
    *((suit.letter, suit) for suit in Suit),
    ("play, i play, lead, i lead, follow, follow with, put, to the trick", None),
    ("name, naming, i name, call, calling, as, for, under, suit", None),
    ("jouer, joue, je joue, entamer, entame, j'entame, suivre, je suis, mets", None),
    ("nommer, nommant, nomme, je nomme, annonce, j'annonce, pour, couleur", None),
)


def meant(game: Snakebit, view: SnakebitView, text: str) -> Move:
    """Return the legal move that the text means: a card, and for a lead the suit it names.

    Raises Unreadable, IllegalMove (with a reason) or Ambiguous (with the readings).
    """
    words, suit = _parts(read(text, _WORDS))
    if view.seat not in view.to_move:
        raise NotYourTurn
    if view.named is not None and suit not in (None, view.named):
        raise IllegalMove(N_("the suit was named by who led: give your card alone"))
    found = [
        move
        for move in game.moves(view)
        if words.fits(move.card)
        and (suit is None or not isinstance(move, Lead) or move.suit is suit)
    ]
    if not found:
        raise _refusal(game, view, words, suit)
    if len(found) > 1:
        raise Ambiguous([game.format(move) for move in found])
    return found[0]


def _parts(items: Items[Suit]) -> tuple[CardWords, Suit | None]:
    """Return the words for the card, and the suit that is named beside it."""
    cards = [item for item in items if isinstance(item, CardWords)]
    named = [item for item in items if isinstance(item, Suit)]
    if len(cards) == 2 and not named:
        # "5SW suns", or "suns 5SW": one of the two is a suit and nothing else.
        bare = [words for words in cards if words.rank is None and len(words.suits) == 1]
        if len(bare) != 1:
            raise Unreadable
        cards.remove(bare[0])
        named = [bare[0].suits[0]]
    if len(cards) != 1 or len(named) > 1:
        raise Unreadable
    return cards[0], named[0] if named else None


def _refusal(
    game: Snakebit, view: SnakebitView, words: CardWords, suit: Suit | None
) -> IllegalMove:
    """Return why nothing legal fits the words."""
    held = [card for card in view.hand if words.fits(card)]
    if not held:
        return IllegalMove(N_("%(card)s is not in your hand"), card=words.text)
    possible = ", ".join(game.format(move) for move in game.moves(view))
    if view.named is not None:
        return IllegalMove(N_("you must follow the named suit: %(moves)s"), moves=possible)
    if suit is not None and not any(suit in card.suits for card in held):
        return IllegalMove(N_("%(card)s does not show that suit"), card=words.text)
    return IllegalMove(N_("that suit may not be named yet; you may lead %(moves)s"), moves=possible)
