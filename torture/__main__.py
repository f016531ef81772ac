"""Breaks the server on purpose: `python -m torture NAME`, or `all`; exit code 1 if it broke.

Each run tells its seed, what it counted, the failpoints that it visited and what it found
broken. The last line counts the tries.
"""

from __future__ import annotations

import argparse
import time
from typing import Final

from pbem import failpoints
from torture import at_once, killing, queue, storage, workers
from torture.report import Group, Run

GROUPS: Final = {
    "double-submit": Group(at_once.double_submit, 1000, 10),
    "deadline-race": Group(at_once.deadline_race, 10_000, 50),
    "kill-writer": Group(killing.kill_writers, 200, 12, failpoints.MOVE),
    "kill-inbox": Group(killing.kill_inboxes, 200, 8, (*failpoints.MAIL, *failpoints.MOVE)),
    "kill-sender": Group(killing.kill_senders, 200, 12, failpoints.LETTER),
    "stale-lease": Group(
        workers.stale_lease, 96, len(workers.PAUSES), tuple(point for _, point in workers.PAUSES)
    ),
    "workers": Group(workers.side_by_side, 120, 8),
    "crash-loop": Group(workers.crash_loop, 60, 4),
    "cut-wal": Group(storage.cut_wal, 300, 20),
    "kill-postgres": Group(storage.kill_postgres, 20, 1),
    "disk-full": Group(storage.full_disk, 30, 2),
    "read-only-disk": Group(storage.read_only_disk, 5, 1),
    "queue": Group(queue.long_queue, 100_000, 3000),
}
_SHOWN: Final = 20  # violations of a run


def main() -> int:
    """Run what was asked for, print a table, and count the tries."""
    parser = argparse.ArgumentParser(prog="python -m torture", description=__doc__)
    parser.add_argument("name", choices=(*GROUPS, "all"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, help="tries; by itself those of the long run")
    given = parser.parse_args()
    names = list(GROUPS) if given.name == "all" else [given.name]
    runs = {}
    for name in names:
        runs[name] = torture(name, seed=given.seed, count=given.count)
    failed = sum(run.failed for run in runs.values())
    print(f"{sum(run.tries for run in runs.values()) - failed} passed, {failed} failed")
    return 1 if failed else 0


def torture(name: str, *, seed: int, count: int | None = None) -> Run:
    """Run a group and print what it tells; a failpoint that was not visited is a failed try."""
    group = GROUPS[name]
    run = Run(seed, count or group.count)
    began = time.monotonic()
    group.run(run)
    missed = [point for point in group.failpoints if point not in run.visited]
    if missed:
        run.tried([f"never visited: {', '.join(missed)}"])
    print(f"{name}: seed {seed}, {run.tries} tries, {time.monotonic() - began:.0f} s")
    for what, number in sorted(run.counts.items()):
        print(f"  {what}: {number}")
    if group.failpoints:
        print(f"  failpoints visited: {', '.join(sorted(run.visited))}")
    print(f"  violations: {len(run.violations)}", flush=True)
    for violation in run.violations[:_SHOWN]:
        print(f"    {violation}")
    return run


if __name__ == "__main__":
    raise SystemExit(main())
