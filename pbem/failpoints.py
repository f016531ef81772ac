"""Named points between the steps of taking a move, taking a mail and sending a letter.

Nothing happens there, unless a fault run (torture/) has put a hook into its application.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from flask import current_app

MOVE: Final = (
    "move: held",  # its match is locked
    "move: read",
    "move: stored",
    "move: followed",  # the next turns are open
    "move: told",  # its letters are queued
    "move: committed",
)
MAIL: Final = (
    "mail: noted",
    "mail: kept",  # it is durable, and whoever brought it is not told yet
    "mail: claimed",
    "mail: parsed",
    "mail: named",  # it is known what it is about
    "mail: closed",  # its note is closed in the transaction of its move
    "mail: answered",
)
LETTER: Final = (
    "letter: claimed",
    "letter: connected",
    "letter: true",  # its lease and its turn were looked at
    "letter: written",
    "letter: handed over",  # the relay has it, and we have not marked it yet
    "letter: marked",
)
NAMES: Final = (*MOVE, *MAIL, *LETTER)

_HOOK: Final = "pbem.failpoints"


def reached(name: str) -> None:
    """Let the hook act, if there is one."""
    hook = current_app.extensions.get(_HOOK)
    if hook is not None:
        hook(name)


def hook_in(hook: Callable[[str], None]) -> None:
    """Have a function called with the name of each point that the application reaches."""
    current_app.extensions[_HOOK] = hook
