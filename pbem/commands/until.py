"""Waiting for Ctrl-C or a service manager's stop."""

from __future__ import annotations

import signal
import time
from typing import Final

_LOOK: Final = 0.2  # seconds


class Stop:
    """Whether SIGINT or SIGTERM came; from its making on they no longer end the process."""

    def __init__(self) -> None:
        """Listen to both signals."""
        self.is_asked = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._hear)

    def wait(self) -> None:
        """Return once one of them came."""
        # A signal in the instant before a lock is waited for would not wake it, and an
        # event set by the handler could meet its own lock held: so we look now and then.
        while not self.is_asked:
            time.sleep(_LOOK)

    def _hear(self, *_about: object) -> None:
        self.is_asked = True


def until_stopped() -> None:
    """Return when SIGINT or SIGTERM comes."""
    Stop().wait()
