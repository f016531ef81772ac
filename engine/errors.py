"""What can be wrong with a move, an option or a record, in words for people.

The docstring of a class is its message; pbem translates it, and the pattern that may be
given in its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


class SpokenError(Exception):
    """that is not possible"""

    def __init__(self, pattern: str = "", /, **fields: object) -> None:
        """Keep a pattern (a gettext id) and what fills it; none: the class's own message."""
        super().__init__(pattern)
        self.pattern = pattern or (type(self).__doc__ or "").strip()
        self.fields = fields

    def __str__(self) -> str:
        """Return the message in English."""
        return self.pattern % self.fields if self.fields else self.pattern


class RulesError(SpokenError):
    """that is not possible by the rules"""


class IllegalMove(RulesError):
    """that move is not legal now; choose one of the listed moves"""


class NotYourTurn(IllegalMove):
    """it is not your turn; wait until you are asked"""


class Unreadable(RulesError):
    """that could not be read as a move; write it as in the list, or just its number"""


class Ambiguous(RulesError):
    """that can be read in more than one way; say which move you mean"""

    def __init__(self, readings: Sequence[str]) -> None:
        """Keep the readings, each in canonical notation."""
        super().__init__()
        self.readings = tuple(readings)


class BadOption(RulesError):
    """an option of this game has a name or a value that is not possible"""


class BadDeck(RulesError):
    """this is not the Decktet: a card is missing or there twice"""


class BadRecord(RulesError):
    """this is not a record that can be replayed"""
