"""What a fault run tells: tries, what was counted, which failpoints were visited, what broke."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field


@dataclass
class Run:
    """One run of a group; a try fails if it has broken any promise."""

    seed: int
    count: int
    tries: int = 0
    failed: int = 0
    seconds: float = 0
    counts: Counter[str] = field(default_factory=Counter)
    visited: set[str] = field(default_factory=set)
    violations: list[str] = field(default_factory=list)

    def tried(self, violations: Iterable[str], *, tries: int = 1) -> None:
        """Count a try, or several that were looked at together, with what they broke."""
        found = list(violations)
        self.tries += tries
        self.failed += bool(found)
        self.violations += found


@dataclass(frozen=True, slots=True)
class Group:
    """A kind of fault: what runs it, how often by itself, and the failpoints it is to visit.

    ``short`` is the number of tries in `make test`; 0 where it runs there anyway.
    """

    run: Callable[[Run], None]
    count: int
    short: int
    failpoints: tuple[str, ...] = ()
