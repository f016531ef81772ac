"""The tables of tests/faults, as fault runs: clocks, and a relay that fails at every verb."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

from torture.report import Run

_ROOT: Final = Path(__file__).parents[1]
_ENDS: Final = re.compile(r"(\d+) (passed|failed|error)")


def clock(run: Run) -> None:
    """Run the tests of clocks: changes of the hour, zones, standstills, sixty days."""
    _table(run, "faults/test_clock.py", "faults/test_sixty_days.py", "server/test_deadlines.py")


def smtp_faults(run: Run) -> None:
    """Run the tests of a relay that refuses, hangs, or is cut off, at every verb."""
    _table(run, "faults/test_smtp_faults.py", "faults/test_slow_relay.py")


def _table(run: Run, *files: str) -> None:
    """Run test files as often as was asked for; each of their tests is a try."""
    for _ in range(run.count):
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", *(f"tests/{file}" for file in files)],
            cwd=_ROOT, capture_output=True, text=True, check=False,
        )  # fmt: skip
        ends = {word: int(number) for number, word in _ENDS.findall(done.stdout)}
        run.tried([], tries=ends.get("passed", 0))
        for line in done.stdout.splitlines():
            if line.startswith(("FAILED", "ERROR")):
                run.tried([line])
        if done.returncode and not run.failed:
            run.tried([f"pytest ended with {done.returncode}"])
