"""What people type for a move of Biscuit, read generously."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from engine.biscuit_table import End, Keep, Move, Play
from engine.errors import Ambiguous, IllegalMove, NotYourTurn, Unreadable
from engine.game import N_
from engine.reading import CardWords, Items, Said, Vocabulary, read, vocabulary

if TYPE_CHECKING:
    from engine.biscuit import Biscuit, BiscuitView

_WORDS: Final[Vocabulary[End | Keep]] = vocabulary(
    ("left, left end, l, gauche", End.LEFT),
    ("right, right end, r, droite", End.RIGHT),
    ("up, above, over, top, haut, au-dessus, dessus", End.UP),
    ("down, below, under, bottom, bas, au-dessous, dessous", End.DOWN),
    ("keep, keep it, garder, garde, je garde", Keep()),
    ("play, i play, put, place, column, to the", None),
    ("jouer, joue, je joue, poser, pose, mettre, mets, placer, place, colonne", None),
)


def meant(game: Biscuit, view: BiscuitView, text: str) -> Move:
    """Return the legal move that the text means.

    Raises Unreadable, IllegalMove (with a reason) or Ambiguous (with the readings).
    """
    items: Items[End | Keep] = read(text, _WORDS)
    if not items:
        raise Unreadable
    if view.seat not in view.to_move:
        raise NotYourTurn
    if Keep() in items:
        return _kept(view, items)
    cards, end = _parts(items)
    found = [
        move
        for move in game.moves(view)
        if isinstance(move, Play)
        and cards[0].fits(move.card)
        and end in (None, move.end)
        and (len(cards) == 1 or _named(view, move, cards[1]))
    ]
    if not found:
        raise _refusal(view, cards, end)
    if len(found) > 1:
        raise Ambiguous([game.format(move) for move in found])
    return found[0]


def said(text: str) -> Said:
    """Return the card, then perhaps one that names its column, with the direction.

    Raises Unreadable.
    """
    items: Items[End | Keep] = read(text, _WORDS)
    if Keep() in items:
        return Said(_kept_cards(items), frozenset({Keep()}))
    cards, end = _parts(items)
    return Said(tuple(cards), frozenset({end} if end else ()))


def _kept(view: BiscuitView, items: tuple[CardWords | End | Keep, ...]) -> Keep:
    named = _kept_cards(items)
    if view.drawn is None:
        raise IllegalMove(N_("there is no drawn card to keep; play a card"))
    if named and not named[0].fits(view.drawn):
        raise IllegalMove(
            N_("the card you drew is %(card)s; play it, or keep it"), card=view.drawn.code
        )
    return Keep()


def _kept_cards(items: tuple[CardWords | End | Keep, ...]) -> tuple[CardWords, ...]:
    named = tuple(item for item in items if isinstance(item, CardWords))
    if len(items) - len(named) > 1 or len(named) > 1:
        raise Unreadable
    return named


def _parts(
    items: tuple[CardWords | End | Keep, ...],
) -> tuple[list[CardWords], End | None]:
    """Return the card, then perhaps one that names its column, and the direction."""
    cards = [item for item in items if isinstance(item, CardWords)]
    ends = [item for item in items if isinstance(item, End)]
    if not cards or len(cards) > 2 or len(ends) > 1:
        raise Unreadable
    # "above 5YK 6SY" could mean either card for the column: it is not guessed.
    if len(cards) == 2 and ends and items[0] is ends[0]:
        raise Unreadable
    return cards, ends[0] if ends else None


def _named(view: BiscuitView, play: Play, words: CardWords) -> bool:
    """Say whether the words name the play's column, or the card that ends the main line."""
    if play.column is not None:
        return any(words.fits(card) for card in view.lines.column(play.column).cards)
    return words.fits(view.lines.inward(play)[0])


def _refusal(view: BiscuitView, cards: list[CardWords], end: End | None) -> IllegalMove:
    """Return why nothing legal fits the words."""
    held = [card for card in view.hand if cards[0].fits(card)]
    if not held:
        return IllegalMove(N_("%(card)s is not in your hand"), card=cards[0].text)
    if view.drawn is not None and view.drawn not in held:
        return IllegalMove(
            N_("you may only play the card you drew, %(card)s, or keep it"), card=view.drawn.code
        )
    places = [place for place in view.lines.places.values() if end in (None, place.end)]
    if not places:
        return IllegalMove(N_("there is no column yet: only the ends of the main line are open"))
    if len(cards) == 2:
        places = [place for place in places if _named(view, place.plays[held[0].index], cards[1])]
        if not places:
            return IllegalMove(N_("%(card)s names no open place there"), card=cards[1].text)
    ends = dict.fromkeys(place.neighbour.code for place in places)
    return IllegalMove(
        N_("%(card)s shares no suit with %(ends)s"), card=cards[0].text, ends=", ".join(ends)
    )
