"""Waiting for Ctrl-C or a service manager's stop."""

from __future__ import annotations

import signal
import threading


def until_stopped() -> None:
    """Return when SIGINT or SIGTERM comes."""
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_about: stopped.set())
    stopped.wait()
