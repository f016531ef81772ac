"""How benchmarks measure: processor time, ours and the peer's by turns, judged by medians."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median, quantiles
from time import process_time_ns
from typing import Any, Final

ROUNDS: Final = 41


@dataclass(frozen=True, slots=True)
class Bar:
    """A figure in words, with what it is to reach, and whether it does."""

    words: str
    is_met: bool


@dataclass(frozen=True, slots=True)
class Compared:
    """Medians, in milliseconds of one core, and how many times as long the peer takes.

    Half of the rounds have a ratio from ``low`` to ``high``.
    """

    ours: float
    peer: float
    ratio: float
    low: float
    high: float


def cost(work: Callable[[], Any]) -> float:
    """Return the milliseconds of one core that the work takes, once."""
    start = process_time_ns()
    work()
    return (process_time_ns() - start) / 1e6


def compare(ours: Callable[[], Any], peer: Callable[[], Any]) -> Compared:
    """Measure both by turns, so that what disturbs the machine disturbs both."""
    ours(), peer()
    pairs = [(cost(ours), cost(peer)) for _ in range(ROUNDS)]
    low, ratio, high = quantiles((theirs / mine for mine, theirs in pairs), n=4)
    return Compared(
        median(mine for mine, _ in pairs),
        median(theirs for _, theirs in pairs),
        ratio,
        low,
        high,
    )
