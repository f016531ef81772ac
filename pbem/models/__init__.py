"""The tables of the database."""

from __future__ import annotations

from pbem.models.attempt import Attempt
from pbem.models.mail import Beat, Letter, LetterState, Mailbox, Note, Reminder, Suppression, Why
from pbem.models.match import (
    Match,
    Move,
    Notice,
    Policy,
    Proposal,
    Seat,
    StandingOrder,
    Status,
    Turn,
    WithdrawnMove,
)
from pbem.models.player import (
    FORMER,
    FORMER_WORDS,
    HALF_WANTED,
    Absence,
    Address,
    Entries,
    Player,
    Wanted,
    shown_name,
)
from pbem.models.talk import Heard, Mute, PrivateNote, Talk

__all__ = [
    "FORMER",
    "FORMER_WORDS",
    "HALF_WANTED",
    "Absence",
    "Address",
    "Attempt",
    "Beat",
    "Entries",
    "Heard",
    "Letter",
    "LetterState",
    "Mailbox",
    "Match",
    "Move",
    "Mute",
    "Note",
    "Notice",
    "Player",
    "Policy",
    "PrivateNote",
    "Proposal",
    "Reminder",
    "Seat",
    "StandingOrder",
    "Status",
    "Suppression",
    "Talk",
    "Turn",
    "Wanted",
    "Why",
    "WithdrawnMove",
    "shown_name",
]
