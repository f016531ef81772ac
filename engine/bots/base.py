"""What every bot is: a view goes in, a move comes out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from engine.game import Game, View


class Bot(ABC):
    """A player that knows what its seat knows, and repeats itself for the same seed.

    ``title`` and ``about`` are gettext ids: how strong it is in a word, and what it does.
    """

    title: ClassVar[str]
    about: ClassVar[str]

    def __init__(self, seed: str) -> None:
        """Keep the seed of the bot's chance."""
        self.seed = seed

    @abstractmethod
    def choose(self, game: Game[Any, Any, Any], view: View) -> Any:
        """Return one of the game's legal moves for the view."""
