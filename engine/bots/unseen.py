"""Dealing the cards that a seat cannot see to the places where they may lie."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.decktet import cards_of, mask

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from engine.decktet import Card


def deal_out(unseen: int, places: Sequence[int], chance: random.Random) -> list[Card]:
    """Return a card for each place, no card twice.

    ``unseen`` is the mask of the cards, and a place is the mask of those that may lie there.
    There must be a way to do it, and every way has a chance.
    """
    held: dict[int, Card] = {}
    tight = [nth for nth, place in enumerate(places) if unseen & ~place]
    # The tightest place chooses first. Where of any two places one takes all that the other
    # takes, or nothing of it, all ways are alike likely so; else nearly.
    for nth in sorted(tight, key=lambda nth: (places[nth] & unseen).bit_count()):
        found = _choose(nth, places, unseen, held, chance)
        assert found, "the cards lie somewhere, so there is a way"
    cards = cards_of(unseen & ~mask(tuple(held.values())))
    rest = chance.sample(cards, len(places) - len(held))
    return [held[nth] if nth in held else rest.pop() for nth in range(len(places))]


def _choose(
    nth: int, places: Sequence[int], cards: int, held: dict[int, Card], chance: random.Random
) -> bool:
    """Let a place take one of the cards; if all that fit are held, one that can be given up."""
    holders = {card: holder for holder, card in held.items()}
    fitting = cards_of(places[nth] & cards)
    free = [card for card in fitting if card not in holders]
    if free:
        held[nth] = chance.choice(free)
        return True
    for card in fitting:
        if _choose(holders[card], places, cards & ~mask(fitting), held, chance):
            held[nth] = card
            return True
    return False
