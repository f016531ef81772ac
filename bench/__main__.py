"""Runs benchmarks: `python -m bench NAME`, or `all`; the exit code is 1 if a bar is missed."""

from __future__ import annotations

import argparse
from typing import Final

from bench import bots, engine, fuzz, inbox, letter, picture, reading, replies, web

# The picture comes first: it tells what drawing the cards costs, once.
BENCHMARKS: Final = {
    "picture": picture.run,
    "letter": letter.run,
    "engine": engine.run,
    "fuzz": fuzz.run,
    "reading": reading.run,
    "replies": replies.run,
    "inbox": inbox.run,
    "web": web.run,
}
# These take minutes, so they run only when they are asked for.
ALONE: Final = {"bots": bots.run}


def main() -> int:
    """Run what was asked for, print each bar, and count them."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("name", choices=(*BENCHMARKS, *ALONE, "all"))
    name = parser.parse_args().name
    bars = []
    for run in BENCHMARKS.values() if name == "all" else ((BENCHMARKS | ALONE)[name],):
        for bar in run():
            print(f"{'passed' if bar.is_met else 'FAILED'}  {bar.words}", flush=True)
            bars.append(bar)
    failed = sum(not bar.is_met for bar in bars)
    print(f"{len(bars) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
