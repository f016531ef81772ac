"""The tables of the database."""

from __future__ import annotations

from pbem.models.mail import Letter, LetterState, Note, Reminder
from pbem.models.match import Match, Move, Seat, Status, Turn
from pbem.models.player import Player

__all__ = [
    "Letter",
    "LetterState",
    "Match",
    "Move",
    "Note",
    "Player",
    "Reminder",
    "Seat",
    "Status",
    "Turn",
]
