"""The tables of the database."""

from __future__ import annotations

from pbem.models.mail import Beat, Letter, LetterState, Mailbox, Note, Reminder, Suppression, Why
from pbem.models.match import Match, Move, Notice, Policy, Proposal, Seat, Status, Turn
from pbem.models.player import Absence, Entries, Player, Wanted

__all__ = [
    "Absence",
    "Beat",
    "Entries",
    "Letter",
    "LetterState",
    "Mailbox",
    "Match",
    "Move",
    "Note",
    "Notice",
    "Player",
    "Policy",
    "Proposal",
    "Reminder",
    "Seat",
    "Status",
    "Suppression",
    "Turn",
    "Wanted",
    "Why",
]
