"""Starts and ends mail servers of this machine in a folder of their own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

PATIENCE: Final = 60  # seconds until something that must happen is given up
# Where servers lie is in root's path only.
PATH: Final = f"{os.environ['PATH']}:/usr/sbin:/sbin"


def run(*command: str, log: Path, folder: Path | None = None) -> None:
    """Run a command to its end; what it says goes to a file.

    A server inherits what is open, and nobody would see the end of a pipe that it holds.
    """
    with log.open("a") as said:
        ended = subprocess.run(
            command,
            cwd=folder,
            check=False,
            env={"PATH": PATH},
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            timeout=PATIENCE,
        )
    assert ended.returncode == 0, f"{' '.join(command)}: {log.read_text()[-2000:]}"


def end(pid_file: Path) -> None:
    """End a server and its children, by force if they don't go."""
    with suppress(OSError, ValueError):
        group = int(pid_file.read_text())
        for asked in (signal.SIGTERM, signal.SIGKILL):
            os.killpg(group, asked)
            for _ in range(50):
                os.killpg(group, 0)
                time.sleep(0.1)


def greets(port: int) -> bool:
    """Say whether a server of this machine speaks first, as mail servers do."""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1) as line:
        return bool(line.recv(1))
    return False


def wait_for(happens: Callable[[], bool], what: str) -> None:
    """Wait until something happens; raises AssertionError if it does not."""
    until = time.monotonic() + PATIENCE
    while not happens():
        assert time.monotonic() < until, f"waited in vain for {what}"
        time.sleep(0.05)
