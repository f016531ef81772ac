"""What bots know of Snakebit."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final, TypeAlias

from engine.bots.skill import Skill, hold_out
from engine.bots.unseen import deal_out
from engine.decktet import ACES, BASIC, CROWNS, NUMBERS, Suit, mask
from engine.game import following
from engine.snakebit import Snakebit, SnakebitView, by_seat
from engine.snakebit_state import (
    SHOWS,
    Lead,
    Move,
    SnakebitState,
    bites,
)

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator, Sequence

    from engine.decktet import Card
    from engine.game import Seat

# Each is in points. A card that is still to come is cursed one time in three.
TO_COME: Final = 1 / 3
GOT_RID: Final = 0.3  # for a cursed card that somebody else takes
SPENT: Final = 0.02  # for the highest card, a trump a good deal more

_GAME: Final = Snakebit()
_ALL: Final = mask(NUMBERS)
_Table: TypeAlias = SnakebitState | SnakebitView


class SnakebitSkill(Skill[SnakebitState, SnakebitView, Move]):
    """Win tricks that are clean, stay out of cursed ones, and leave cursed cards to others."""

    iterations = 200

    def best(self, view: SnakebitView) -> Move:
        """Return the move that promises most of the trick."""
        return _choice(view, _GAME.moves(view), _unseen(view))

    def reply(self, state: SnakebitState, seat: Seat) -> Move:
        """Return what ``best`` would return for a seat of an imagined state."""
        unseen = sum(state.hands) ^ state.hands[seat - 1]
        return _choice(state, _GAME.legal_moves(state, seat), unseen)

    def imagine(self, view: SnakebitView, chance: random.Random) -> SnakebitState:
        """Return a state whose other hands could have followed and named as was seen."""
        assert view.seat is not None
        return SnakebitState(
            key=chance.randbytes(32),
            options=view.options,
            scores=view.scores,
            hand_number=view.hand_number,
            hands=_hands(view, view.seat, chance),
            ace=view.ace,
            crown=view.crown,
            turn=view.seat,
            leader=view.leader,
            named=view.named,
            barred=view.barred,
            trick=view.trick,
            tricks=view.tricks,
            last_hand=view.last_hand,
            piles=_piles(view, chance),
        )


def _choice(table: _Table, moves: Sequence[Move], unseen: int) -> Move:
    return max(moves, key=lambda move: _promise(table, move, unseen))


def _promise(table: _Table, move: Move, unseen: int) -> float:
    """Return what the move promises: the trick's worth if it is won, else what was got rid of."""
    card, trump, cursed = move.card, table.ace.suits[0], table.crown.suits[0]
    named = move.suit if isinstance(move, Lead) else table.named
    assert named is not None, "there is a suit to follow"
    beating = _beating(card.index, named, trump)
    behind = table.seats - len(table.trick) - 1
    won = 0.0
    if not beating & mask(table.trick):
        won = hold_out(beating, unseen, behind)
    is_cursed = cursed in card.suits
    worth = 1 - bites(table.trick, cursed) - is_cursed - TO_COME * behind
    return won * worth + (1 - won) * GOT_RID * is_cursed - SPENT * _height(card, trump)


def _height(card: Card, trump: Suit) -> float:
    """Return how high a card is, from 0 to 1, and more for a trump."""
    return card.index / len(BASIC) + 0.5 * (trump in card.suits)


@cache
def _beating(index: int, named: Suit, trump: Suit) -> int:
    """Return the mask of the cards that would win the trick over a card."""
    suits = BASIC[index].suits
    higher = _ALL >> index + 1 << index + 1
    if trump in suits:
        return SHOWS[trump] & higher
    if named in suits:
        return SHOWS[trump] | SHOWS[named] & higher
    return SHOWS[trump] | SHOWS[named]


def _unseen(view: SnakebitView) -> int:
    """Return the cards that lie in other hands."""
    played = [card for trick in view.tricks for card in trick.cards]
    return _ALL & ~mask((*played, *view.trick, *view.hand))


def _hands(view: SnakebitView, own: Seat, chance: random.Random) -> list[int]:
    could = _could_hold(view)
    seats = [seat for seat in following(own, view.seats) for _ in range(view.hand_sizes[seat - 1])]
    cards = deal_out(_unseen(view), [could[seat] for seat in seats], chance)
    hands = [0] * view.seats
    hands[own - 1] = mask(view.hand)
    for seat, card in zip(seats, cards, strict=True):
        hands[seat - 1] |= 1 << card.index
    return hands


def _could_hold(view: SnakebitView) -> dict[Seat, int]:
    """Return the mask of the cards that each seat may hold, by all that was seen."""
    could = dict.fromkeys(range(1, view.seats + 1), _ALL)
    barred = {view.trump, view.cursed}
    for leader, named, cards in _tricks(view):
        if named in barred:
            # A barred suit is named only by whoever holds no card that shows a free one.
            for free in set(Suit) - barred:
                could[leader] &= ~SHOWS[free]
        for seat, card in by_seat(leader, cards, view.seats):
            if named not in card.suits:
                could[seat] &= ~SHOWS[named]
            barred -= set(card.suits)
    return could


def _tricks(view: SnakebitView) -> Iterator[tuple[Seat, Suit, tuple[Card, ...]]]:
    """Yield leader, named suit and cards of the hand's tricks, the one on the table last."""
    for trick in view.tricks:
        yield trick.leader, trick.named, trick.cards
    if view.named is not None:
        yield view.leader, view.named, view.trick


def _piles(view: SnakebitView, chance: random.Random) -> tuple[tuple[Card, Card], ...]:
    """Return the Aces and Crowns as they were turned, and the rest of them in any order."""
    aces, crowns = zip(*view.turned, strict=True)
    left_aces = [card for card in ACES if card not in aces]
    left_crowns = [card for card in CROWNS if card not in crowns]
    left = len(left_aces)
    return (
        *view.turned,
        *zip(chance.sample(left_aces, left), chance.sample(left_crowns, left), strict=True),
    )
