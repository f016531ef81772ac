"""Runs benchmarks: `python -m bench NAME`, or `all`; the exit code is 1 if a bar is missed."""

from __future__ import annotations

import argparse
import json
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from bench import (
    bots,
    claim,
    commit,
    drain,
    engine,
    fuzz,
    inbox,
    letter,
    move_http,
    page,
    picture,
    reading,
    replies,
    scale,
    season,
    start,
    sweep,
    web,
)
from bench.measure import Asked, Bar, short

Benchmark: TypeAlias = Callable[[Asked], Iterator[Bar]]

# The picture comes first: it tells what drawing the cards costs, once.
BENCHMARKS: Final[dict[str, Benchmark]] = {
    "picture": picture.run,
    "letter": letter.run,
    "engine": engine.run,
    "inbox": inbox.run,
    "web": web.run,
    "page": page.run,
    "drain": drain.run,
    "start": start.run,
    "commit": commit.run,
    "commit-postgres": commit.on_postgres,
    "move-http": move_http.run,
    "sweep": sweep.run,
    "claim": claim.run,
}
# These take minutes, so they run only when they are asked for.
ALONE: Final[dict[str, Benchmark]] = {
    "fuzz": fuzz.run,
    "reading": reading.run,
    "replies": replies.run,
    "bots": bots.run,
    "season": season.run,
    "scale": scale.run,
}


def main() -> int:
    """Run what was asked for, print each bar, and count them."""
    given = _arguments()
    asked = Asked(given.rounds, given.seconds, given.db, given.count)
    wanted = BENCHMARKS if given.name == "all" else {given.name: (BENCHMARKS | ALONE)[given.name]}
    bars = []
    for name, run in wanted.items():
        began = time.monotonic()
        for bar in _whole(name, run(asked)):
            print(f"{'passed' if bar.is_met else 'FAILED'}  {bar.words}", flush=True)
            bars.append(bar)
        print(f"{name} took {time.monotonic() - began:.0f} s", flush=True)
    if given.json:
        given.json.write_text(json.dumps([bar.as_json() for bar in bars], indent=1) + "\n")
    if len(wanted) > 1:
        print("\n".join(_table(bars)))
    failed = sum(not bar.is_met for bar in bars)
    print(f"{len(bars) - failed} passed, {failed} failed")
    return 1 if failed else 0


def _whole(name: str, bars: Iterator[Bar]) -> Iterator[Bar]:
    """Yield a benchmark's bars; one that comes to no end is a bar missed, and the next one runs."""
    try:
        yield from bars
    except Exception as error:  # noqa: BLE001 - the outermost loop: the next one can run
        traceback.print_exc()
        yield Bar(f"{name} ended with {type(error).__name__}: {error}", is_met=False)


def _table(bars: Sequence[Bar]) -> Iterator[str]:
    """Yield the lines of a table of all bars; those that are no ratio tell their words alone."""
    yield "| what | ours | beside | ratio | half of the rounds | bar | |"
    yield "| --- | ---: | ---: | ---: | --- | --- | --- |"
    for bar in bars:
        is_met = "met" if bar.is_met else "**missed**"
        one = bar.figures
        if one is None:
            yield f"| {bar.words} | | | | | | {is_met} |"
            continue
        yield (
            f"| {one.name} ({one.unit}) | {short(one.ours)} | {short(one.peer)} | {one.ratio:.2f}"
            f" | {one.low:.2f} to {one.high:.2f} | {one.wanted} | {is_met} |"
        )


def _arguments() -> argparse.Namespace:
    usual = Asked()
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("name", choices=(*BENCHMARKS, *ALONE, "all"))
    parser.add_argument("--rounds", type=int, default=usual.rounds, help="after one warm-up")
    parser.add_argument(
        "--seconds", type=float, default=usual.seconds, help="of each side's work in a round"
    )
    parser.add_argument("--db", choices=("sqlite", "postgres"), default=usual.db)
    parser.add_argument("--count", type=int, help="games of a season; by itself those of the bar")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
