"""What bots know of a game: a rule of thumb, and how to imagine what they cannot see."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from engine.game import Seat, View, following

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

State = TypeVar("State")
ViewT = TypeVar("ViewT", bound=View)
Move = TypeVar("Move")


class Skill(ABC, Generic[State, ViewT, Move]):
    """What bots know of one game. Instances hold nothing that changes.

    ``iterations`` is how many imagined hands the strong bot plays out for one move.
    """

    iterations: ClassVar[int]

    @abstractmethod
    def best(self, view: ViewT) -> Move:
        """Return the move that the rule of thumb likes best, the first listed of several."""

    @abstractmethod
    def reply(self, state: State, seat: Seat) -> Move:
        """Return what ``best`` would return for a seat of an imagined state."""

    @abstractmethod
    def imagine(self, view: ViewT, chance: random.Random) -> State:
        """Return a state that the view's seat, which is asked, cannot tell from the true one."""

    def rivals(self, view: ViewT) -> Sequence[Seat]:
        """Return the seats that the view's seat plays against."""
        assert view.seat is not None, "onlookers play against nobody"
        return following(view.seat, view.seats)


def hold_out(beating: int, unseen: int, behind: int) -> float:
    """Return roughly the chance that nobody of those still to play to a trick beats a card.

    ``beating`` and ``unseen`` are masks: the cards that beat it, and those in other hands.
    """
    if not behind:
        return 1.0
    return float((1 - (beating & unseen).bit_count() / unseen.bit_count()) ** behind)
