"""The demo as a process of its own, stopped as Ctrl-C stops it."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
PATIENCE = 60  # seconds until something that must come is given up


def environment(language: str = "C.UTF-8") -> dict[str, str]:
    """Return what a plain shell gives a command."""
    return {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "LANG": language}


def command(instance: Path, port: int) -> list[str]:
    """Return the command that starts the demo."""
    where = ["--instance", str(instance), "--port", str(port)]
    return [sys.executable, "-m", "pbem", "demo", *where]


@contextmanager
def demo(instance: Path, port: int, language: str = "C.UTF-8") -> Iterator[None]:
    """Run the demo until the end of the block; then Ctrl-C must end it cleanly."""
    process = subprocess.Popen(
        command(instance, port),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT,
        env=environment(language),
    )  # fmt: skip
    try:
        line = process.stdout.readline()
        assert line == f"Your mailbox: http://127.0.0.1:{port}/demo/\n", process.stderr.read()
        yield
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, err
        assert "Traceback" not in err, err
        assert "the games are kept" in out
    finally:
        process.kill()
        process.communicate()
