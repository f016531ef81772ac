"""Waiting for Ctrl-C or a service manager's stop."""

from __future__ import annotations

import signal
import threading


def stop_asked() -> threading.Event:
    """Return what SIGINT or SIGTERM sets from now on, in place of ending the process."""
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_about: stopped.set())
    return stopped


def until_stopped() -> None:
    """Return when SIGINT or SIGTERM comes."""
    stop_asked().wait()
