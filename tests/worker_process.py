"""Workers as processes of their own; fault runs have the same ones."""

from torture.processes import start_worker, wait_for, working

__all__ = ["start_worker", "wait_for", "working"]
