"""All fault runs, by the names that commands call them."""

from __future__ import annotations

import time
from typing import Final

from pbem import failpoints
from torture import at_once, killing, queue, restore, storage, tables, workers, world
from torture.report import Group, Run

# The longest come last: they go on side by side.
GROUPS: Final = {
    "kill-writer": Group(killing.kill_writers, 200, 6, failpoints.MOVE),
    "kill-inbox": Group(killing.kill_inboxes, 200, 6, (*failpoints.MAIL, *failpoints.MOVE)),
    "kill-sender": Group(killing.kill_senders, 200, 6, failpoints.LETTER),
    "stale-lease": Group(workers.stale_lease, 96, 4),
    "workers": Group(workers.side_by_side, 120, 8),
    "crash-loop": Group(workers.crash_loop, 60, 5),
    "cut-wal": Group(storage.cut_wal, 300, 10),
    "kill-postgres": Group(storage.kill_postgres, 20, 1),
    "disk-full": Group(storage.full_disk, 30, 2),
    "read-only-disk": Group(storage.read_only_disk, 5, 1),
    "restore": Group(restore.restore, 20, 1),
    "queue": Group(queue.long_queue, 100_000, 3000),
    "clock": Group(tables.clock, 1, 0),
    "smtp-faults": Group(tables.smtp_faults, 1, 0),
    "double-submit": Group(at_once.double_submit, 1000, 4),
    "deadline-race": Group(at_once.deadline_race, 10_000, 20),
}


def torture_alone(name: str, *, seed: int, count: int | None) -> Run:
    """Run a group in a process that has no other use."""
    try:
        return torture(name, seed=seed, count=count)
    finally:
        world.clean_up()


def torture(name: str, *, seed: int, count: int | None = None) -> Run:
    """Run a group; a failpoint that was not visited is a failed try."""
    group = GROUPS[name]
    run = Run(seed, group.count if count is None else count)
    began = time.monotonic()
    group.run(run)
    missed = [point for point in group.failpoints if point not in run.visited]
    if missed:
        run.tried([f"never visited: {', '.join(missed)}"])
    run.seconds = time.monotonic() - began
    return run
