"""How benchmarks measure: ours and the peer's by turns, judged by the median of their ratios."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import median, quantiles
from time import perf_counter, process_time, process_time_ns
from typing import Any, Final, TypeAlias

SPREAD: Final = 0.25  # of a peer's own figures; if they differ by more, all is measured once more

# A figure of ours and one of the peer's, from the same round.
Pair: TypeAlias = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line asks for: rounds, seconds of one side's work in each, and database.

    ``count`` is how much is done where that can be chosen; None: as much as is usual there.
    """

    rounds: int = 5
    seconds: float = 2.0
    db: str = "sqlite"
    count: int | None = None


@dataclass(frozen=True, slots=True)
class Figures:
    """Medians of both sides, and of their ratios, with the half of the rounds that lies between."""

    name: str
    unit: str
    ours: float
    peer: float
    ratio: float
    low: float
    high: float
    wanted: str  # of the ratio, in words


@dataclass(frozen=True, slots=True)
class Bar:
    """A result in words, with what it is to reach, and whether it does."""

    words: str
    is_met: bool
    figures: Figures | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the bar as it is written to a file."""
        return asdict(self)


def cost(work: Callable[[], Any]) -> float:
    """Return the milliseconds of one core that the work takes, once."""
    start = process_time_ns()
    work()
    return (process_time_ns() - start) / 1e6


def rate(
    work: Callable[[], Any], seconds: float, *, clock: Callable[[], float] = process_time
) -> float:
    """Return how often the work is done in a second of one core, or of another clock."""
    start = clock()
    done, spent = 0, 0.0
    while spent < seconds:
        work()
        done, spent = done + 1, clock() - start
    return done / spent


def took(work: Callable[[], object]) -> float:
    """Return the seconds of the wall's clock: much of it is the disk's, or a child's."""
    start = perf_counter()
    work()
    return perf_counter() - start


def pairs(ours: Callable[[], float], peer: Callable[[], float], asked: Asked) -> Sequence[Pair]:
    """Measure both by turns after one warm-up, so that what disturbs the machine disturbs both."""
    ours(), peer()
    found = [(ours(), peer()) for _ in range(asked.rounds)]
    theirs = [one for _, one in found]
    if max(theirs) - min(theirs) > SPREAD * median(theirs):
        found = [(ours(), peer()) for _ in range(asked.rounds)]
    return found


def compare(
    ours: Callable[[], Any], peer: Callable[[], Any], asked: Asked, *, times: int = 1
) -> Sequence[Pair]:
    """Return pairs of rates, in a second of one core; each work is done ``times`` in one call."""
    return pairs(
        lambda: times * rate(ours, asked.seconds),
        lambda: times * rate(peer, asked.seconds),
        asked,
    )


def judge(
    name: str,
    unit: str,
    found: Sequence[Pair],
    *,
    peer: str,
    least: float | None = None,
    most: float | None = None,
    goal: float | None = None,
) -> Bar:
    """Return the bar of a ratio of ours to the peer's: at least, or at most."""
    ratios = [ours / theirs for ours, theirs in found]
    low, ratio, high = quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
    mine, theirs = (median(column) for column in zip(*found, strict=True))
    wanted = f"at least {least:g}" if most is None else f"at most {most:g}"
    stretch = "" if goal is None else f", goal {goal:g}"
    return Bar(
        f"{name}: {short(mine)} {unit}, {peer} {short(theirs)}: {ratio:.2f}"
        f" ({low:.2f} to {high:.2f} in half of the rounds; {wanted}{stretch})",
        (least is None or ratio >= least) and (most is None or ratio <= most),
        Figures(name, unit, mine, theirs, ratio, low, high, wanted),
    )


def short(figure: float) -> str:
    """Return a figure with as many digits as tell anything."""
    return f"{figure:,.0f}" if figure >= 100 else f"{figure:.3g}"
