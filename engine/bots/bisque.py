"""What bots know of Bisque."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from engine.bisque import Bisque, BisqueView
from engine.bisque_state import (
    SEATS,
    BisqueState,
    Move,
    Phase,
    Pot,
    is_void,
    totals,
    worth,
)
from engine.bots.skill import Skill, hold_out
from engine.decktet import BASIC, Suit, cards_of, mask
from engine.game import following

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

    from engine.bisque_state import Trick
    from engine.decktet import Card
    from engine.game import Seat

HIGHER: Final = 0.3  # a point for the suit that stands higher, in points for the lower one
TO_COME: Final = 4  # points that a card still to come brings, if it is put into the pot
POTTED: Final = 0.5  # the chance that the winner puts this seat's card into the pot
SPENT: Final = 0.1  # points that a card is worth for each step of its rank
TRUST: Final = 2  # how much likelier an objective is for each choice that fits it

_GAME: Final = Bisque()
_ALL: Final = mask(BASIC)
_AIMS: Final = mask(tuple(card for card in BASIC if len(card.suits) == 2))
_WORTH: Final = {suit: tuple(worth((card,), suit) for card in BASIC) for suit in Suit}
_RANKS: Final = tuple(card.rank.number for card in BASIC)
_BEATING: Final = tuple(
    mask(tuple(other for other in BASIC if other.rank.number > rank)) for rank in _RANKS
)
_Table: TypeAlias = BisqueState | BisqueView


class BisqueSkill(Skill[BisqueState, BisqueView, Move]):
    """Aim at what others hold, win what helps, and let others pot the rest."""

    iterations = 120

    def best(self, view: BisqueView) -> Move:
        """Return the move that the rule of thumb likes best."""
        return _choice(view, _GAME.moves(view), mask(view.hand), view.aim, _unseen(view))

    def reply(self, state: BisqueState, seat: Seat) -> Move:
        """Return what ``best`` would return for a seat of an imagined state."""
        hand, aim = state.hands[seat - 1], state.aims[seat - 1]
        return _choice(state, _GAME.legal_moves(state, seat), hand, aim, sum(state.hands) ^ hand)

    def imagine(self, view: BisqueView, chance: random.Random) -> BisqueState:
        """Return a state with other hands, and objectives that fit what others put in the pot."""
        assert view.seat is not None
        hands, aims = _dealt(view, view.seat, chance)
        while any(aim is None and is_void(hand) for aim, hand in zip(aims, hands, strict=True)):
            hands, aims = _dealt(view, view.seat, chance)
        return BisqueState(
            key=chance.randbytes(32),
            options=view.options,
            scores=view.scores,
            hand_number=view.hand_number,
            hands=hands,
            aims=aims,
            phase=view.phase,
            turn=0 if view.phase is Phase.AIM else view.seat,
            leader=view.leader,
            trick=view.trick,
            tricks=view.tricks,
            pot=view.pot,
            last_hand=view.last_hand,
        )


def _choice(table: _Table, moves: Sequence[Move], hand: int, aim: Card | None, unseen: int) -> Move:
    if aim is None:
        return min(moves, key=lambda move: _held(hand, move.card))
    helps = _helper(table.pot, aim)
    if isinstance(moves[0], Pot):
        return max(moves, key=lambda move: helps(move.card))
    return max(moves, key=_promiser(table.trick, unseen, helps))


def _held(hand: int, aim: Card) -> int:
    """Return what the cards that stay in the hand are worth in the suits of an objective."""
    return sum(totals(cards_of(hand ^ 1 << aim.index), aim))


def _helper(pot: tuple[Card, ...], aim: Card) -> Callable[[Card], float]:
    """Return what tells how much a card in the pot would help the objective."""
    first, second = totals(pot, aim)
    in_first, in_second = (_WORTH[suit] for suit in aim.suits)
    now = _value(first, second)

    def helps(card: Card) -> float:
        return _value(first + in_first[card.index], second + in_second[card.index]) - now

    return helps


def _value(first: int, second: int) -> float:
    return first + HIGHER * second if first < second else second + HIGHER * first


def _promiser(
    trick: tuple[Card, ...], unseen: int, helps: Callable[[Card], float]
) -> Callable[[Move], float]:
    """Return what tells what a card promises: the best card won, or else its own use."""
    behind = SEATS - 1 - len(trick)
    prize = max([*map(helps, trick), TO_COME if behind else 0.0])
    to_beat = max([_RANKS[card.index] for card in trick], default=0)

    def promises(move: Move) -> float:
        index = move.card.index
        won = 0.0
        if _RANKS[index] > to_beat:
            won = hold_out(_BEATING[index], unseen, behind)
        return won * prize + (1 - won) * POTTED * helps(move.card) - SPENT * _RANKS[index]

    return promises


def _unseen(view: BisqueView) -> int:
    """Return the cards that lie in other hands, or before others as objectives."""
    played = [card for trick in view.tricks for card in trick.cards]
    own = view.hand if view.aim is None else (*view.hand, view.aim)
    return _ALL & ~mask((*played, *view.trick, *own))


def _dealt(
    view: BisqueView, own: Seat, chance: random.Random
) -> tuple[list[int], list[Card | None]]:
    """Return hands and objectives by seat."""
    hands, aims = [mask(view.hand)] * SEATS, list(view.aims)
    others, unseen = following(own, SEATS), _unseen(view)
    for seat in others:
        if seat in view.chosen:
            cards = cards_of(unseen & _AIMS)
            (aim,) = chance.choices(cards, [_trusted(view.tricks, seat, card) for card in cards])
            aims[seat - 1] = aim
            unseen ^= 1 << aim.index
    left = cards_of(unseen)
    shuffled = chance.sample(left, len(left))
    for seat in others:
        size = view.hand_sizes[seat - 1]
        hands[seat - 1] = mask(tuple(shuffled[:size]))
        del shuffled[:size]
    return hands, aims


def _trusted(tricks: Sequence[Trick], seat: Seat, aim: Card) -> float:
    """Return how likely an objective is, by what the seat put into the pot and what not."""
    fitting = sum(_fits(trick, aim) for trick in tricks if trick.winner == seat)
    return float(TRUST**fitting)


def _fits(trick: Trick, aim: Card) -> int:
    """Return 1 if the objective speaks for the card that was put in the pot, -1 if against."""
    at = (trick.winner - trick.leader) % SEATS
    given_up = next(
        card for nth, card in enumerate(trick.cards) if nth != at and card != trick.potted
    )
    suits = set(aim.suits)
    return bool(suits & set(trick.potted.suits)) - bool(suits & set(given_up.suits))
