"""Workers as processes of their own, as a host runs them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from torture.relay import Mailbox, free_port


@contextmanager
def working(database: str, mailbox: Mailbox, *, number: int = 1) -> Iterator[None]:
    """Run worker processes beside the block and stop them as their host would."""
    processes = [start_worker(database, mailbox) for _ in range(number)]
    try:
        yield
        for process in processes:
            process.send_signal(signal.SIGTERM)
        ends = [process.communicate(timeout=30)[1] for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert [process.returncode for process in processes] == [0] * number, ends


def start_worker(database: str, mailbox: Mailbox) -> subprocess.Popen[str]:
    """Start a worker that sends its letters to a mailbox."""
    root = Path(__file__).parents[1]
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(root),
        "PBEM_DATABASE_URL": database,
        "PBEM_MAIL_DOMAIN": "play.example",
        # As those that share its database have it: a letter that comes twice is the same.
        "PBEM_BASE_URL": "https://play.example",
        "PBEM_SECRET_KEYS": "ab" * 32,
        "PBEM_SMTP_PORT": str(mailbox.port),
        "PBEM_LISTEN_PORT": str(free_port()),
    }
    return subprocess.Popen(
        [sys.executable, "-m", "pbem", "worker"],
        cwd=root, env=environment, text=True, stderr=subprocess.PIPE,
    )  # fmt: skip


def wait_for(happens: Callable[[], bool], *, seconds: float = 60) -> None:
    """Wait until something happens, but not for ever."""
    end = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.2)
