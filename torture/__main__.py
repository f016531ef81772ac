"""Breaks the server on purpose: `python -m torture NAME`, or `all`; exit code 1 if it broke.

Each run tells its seed, what it counted, the failpoints that it visited and what it found
broken. The last line counts the tries.
"""

from __future__ import annotations

import argparse
import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from typing import Final

from torture.groups import GROUPS, torture_alone
from torture.report import Run

_SHOWN: Final = 20  # violations of a run
_AT_ONCE: Final = 2  # runs, where all are asked for


def main() -> int:
    """Run what was asked for, print a table, and count the tries."""
    parser = argparse.ArgumentParser(prog="python -m torture", description=__doc__)
    parser.add_argument("name", choices=(*GROUPS, "all"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, help="tries; by itself those of the long run")
    given = parser.parse_args()
    begun = partial(torture_alone, seed=given.seed, count=given.count)
    runs = {}
    for name, run in _done([given.name] if given.name in GROUPS else list(GROUPS), begun):
        print("\n".join(_told(name, run)), flush=True)
        runs[name] = run
    if len(runs) > 1:
        print("\n".join(_table(runs)))
    failed = sum(run.failed for run in runs.values())
    print(f"{sum(run.tries for run in runs.values()) - failed} passed, {failed} failed")
    return 1 if failed else 0


def _done(names: list[str], begun: partial[Run]) -> Iterator[tuple[str, Run]]:
    """Yield each run with its name when it is done; several go on at the same time."""
    if len(names) == 1:
        yield names[0], begun(names[0])
        return
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(_AT_ONCE, mp_context=fresh, max_tasks_per_child=1) as processes:
        running = {processes.submit(begun, name): name for name in names}
        for ended in as_completed(running):
            yield running[ended], ended.result()


def _told(name: str, run: Run) -> Iterator[str]:
    """Yield the lines that tell of a run."""
    yield f"{name}: seed {run.seed}, {run.tries} tries, {run.seconds:.0f} s"
    for what, number in sorted(run.counts.items()):
        yield f"  {what}: {number}"
    if GROUPS[name].failpoints:
        yield f"  failpoints visited: {', '.join(sorted(run.visited))}"
    yield f"  violations: {len(run.violations)}"
    for violation in run.violations[:_SHOWN]:
        yield f"    {violation}"


def _table(runs: dict[str, Run]) -> Iterator[str]:
    """Yield the lines of a table of all runs."""
    yield "| run | tries | failpoints | violations | seconds |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for name in sorted(runs, key=list(GROUPS).index):
        run = runs[name]
        points = GROUPS[name].failpoints
        visited = f"{len(run.visited & set(points))} of {len(set(points))}" if points else ""
        yield f"| {name} | {run.tries} | {visited} | {len(run.violations)} | {run.seconds:.0f} |"


if __name__ == "__main__":
    raise SystemExit(main())
