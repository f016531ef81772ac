"""The command's start to its first page, beside importing the libraries that it stands on.

Both are processes of their own, and their memory is the most that each held.
"""

from __future__ import annotations

import http.client
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from flask_migrate import upgrade

from bench.measure import Asked, Bar, judge, pairs
from pbem import create_app
from pbem.config import Settings
from pbem.ext import db
from torture.relay import free_port

# What a server of pages, mail and jobs on this database imports, whoever writes it.
STACK: Final = """\
import flask, flask_sqlalchemy, sqlalchemy.orm, flask_migrate, flask_mail, flask_babel, jinja2
import apscheduler.schedulers.background, aiosmtpd.controller, itsdangerous, waitress, PIL.Image
"""
MOST: Final = 1.7  # times the bare stack's seconds, and its memory
GOAL: Final = 1.3
PATIENCE: Final = 60  # seconds
KEYS: Final = "ab" * 32
ROOT: Final = Path(__file__).parents[1]


def run(asked: Asked) -> Iterator[Bar]:
    """Start both by turns."""
    with tempfile.TemporaryDirectory() as folder:
        _prepare(Path(folder))
        held: list[tuple[float, float]] = []

        def ours() -> float:
            seconds, memory = first_page(folder)
            held.append((memory, memory))
            return seconds

        def peer() -> float:
            seconds, memory = bare_stack()
            held[-1] = (held[-1][0], memory)
            return seconds

        found = pairs(ours, peer, asked)
    # Where all was measured once more, the first rounds do not count.
    for name, unit, figures in (
        ("start to the first page", "seconds", found),
        ("memory at the first page", "MiB", held[-len(found) :]),
    ):
        yield judge(name, unit, figures, peer="the bare stack", most=MOST, goal=GOAL)


def first_page(folder: str) -> tuple[float, float]:
    """Return in how many seconds the command serves its first page, and the MiB that it took."""
    port = free_port()
    began = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "pbem", "serve"],
        cwd=ROOT,
        env=os.environ | {
            "PYTHONPATH": str(ROOT),
            "PBEM_INSTANCE": folder,
            "PBEM_SECRET_KEYS": KEYS,
            "PBEM_BIND_PORT": str(port),
        },
        stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        try:
            _wait_for(lambda: _is_served(port), process)
            return time.perf_counter() - began, _most_memory(process.pid)
        finally:
            process.terminate()


def bare_stack() -> tuple[float, float]:
    """Return in how many seconds the libraries alone are there, and the MiB that they took."""
    began = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-c", f"{STACK}\nprint(flush=True)\ninput()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == b"\n", "all is imported"
        seconds, memory = time.perf_counter() - began, _most_memory(process.pid)
        process.stdin.write(b"\n")
    return seconds, memory


def _most_memory(process_id: int) -> float:
    """Return the most MiB that a process held since it began."""
    for line in Path(f"/proc/{process_id}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("this system does not tell the memory of a process")


def _is_served(port: int) -> bool:
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        line.request("GET", "/")
        answer = line.getresponse()
        assert answer.status == 200, answer.status
        assert b"</html>" in answer.read()
    except OSError:
        return False
    finally:
        line.close()
    return True


def _wait_for(happens: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + PATIENCE
    while not happens():
        assert process.poll() is None, "the command has ended"
        assert time.monotonic() < until, "no page came"
        time.sleep(0.01)


def _prepare(folder: Path) -> None:
    """Make the database, which the command wants to be there."""
    app = create_app(Settings(instance=folder, secret_keys=(KEYS,)))
    with app.app_context():
        upgrade()
        db.engine.dispose()
    app.extensions["pbem.parser"].close()
