"""What people type for a move of Bisque, read generously."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from engine.bisque_state import Phase
from engine.errors import Ambiguous, IllegalMove, NotYourTurn, Unreadable
from engine.game import N_
from engine.reading import CardWords, Items, Said, Vocabulary, read, vocabulary

if TYPE_CHECKING:
    from engine.bisque import Bisque, BisqueView
    from engine.bisque_state import Move

_WORDS: Final[Vocabulary[Phase]] = vocabulary(
    ("aim, aim at, aim for, i aim at, objective, my objective, as objective, hide", Phase.AIM),
    ("choose, secret, viser, vise, je vise, objectif, comme objectif, cacher, cache", Phase.AIM),
    ("play, i play, lead, i lead, trick, to the trick, jouer, joue, je joue", Phase.PLAY),
    ("entamer, entame, dans la levée, pli, dans le pli, au pli", Phase.PLAY),
    ("pot, put, i put, into the pot, in the pot, cook, add, marmite", Phase.POT),
    ("dans la marmite, mets, mettre, je mets, dans le pot, ajouter, ajoute", Phase.POT),
)


def meant(game: Bisque, view: BisqueView, text: str) -> Move:
    """Return the legal move that the text means; what is asked decides if no verb does.

    Raises Unreadable, IllegalMove (with a reason) or Ambiguous (with the readings).
    """
    cards, verbs = _parts(read(text, _WORDS))
    if view.seat not in view.to_move:
        raise NotYourTurn
    if verbs and view.phase not in verbs:
        raise IllegalMove(_ASKED[view.phase])
    found = [move for move in game.moves(view) if cards[0].fits(move.card)]
    if not found:
        raise _refusal(view, cards[0])
    if len(found) > 1:
        raise Ambiguous([game.format(move) for move in found])
    return found[0]


def said(text: str) -> Said:
    """Return the card and perhaps what to do with it; raises Unreadable."""
    cards, verbs = _parts(read(text, _WORDS))
    return Said(tuple(cards), frozenset(verbs))


def _parts(items: Items[Phase]) -> tuple[list[CardWords], set[Phase]]:
    cards = [item for item in items if isinstance(item, CardWords)]
    verbs = {item for item in items if isinstance(item, Phase)}
    if len(cards) != 1 or len(verbs) > 1:
        raise Unreadable
    return cards, verbs


_ASKED: Final = {
    Phase.AIM: N_("your objective is asked for first"),
    Phase.PLAY: N_("a card to the trick is asked for now"),
    Phase.POT: N_("you won the trick: put one of its cards into the pot first"),
}


def _refusal(view: BisqueView, words: CardWords) -> IllegalMove:
    """Return why nothing legal fits the words."""
    if view.phase is Phase.POT:
        if any(words.fits(card) for card in view.trick):
            return IllegalMove(N_("your own card may not go into the pot"))
        return IllegalMove(N_("%(card)s is not in the trick you won"), card=words.text)
    if any(words.fits(card) for card in view.hand):
        return IllegalMove(N_("an objective has two suits, and %(card)s has not"), card=words.text)
    return IllegalMove(N_("%(card)s is not in your hand"), card=words.text)
