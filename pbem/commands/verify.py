"""`pbem verify`: checks records alone, with no database and no settings."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import BadRecord
from engine.record import loads, verify

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Iterator, Sequence


def run(parser: ArgumentParser, arguments: Sequence[str]) -> int:
    """Check each record; exit code 1 if one is wrong, 2 if a file cannot be read."""
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="a record, or one a line; - is stdin"
    )
    code = 0
    for name in parser.parse_args(arguments).files:
        try:
            text = sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            print(f"{name}: cannot be read: {error}", file=sys.stderr)
            code = 2
            continue
        code = max(code, _check(name, text))
    return code


def _check(name: str, text: str) -> int:
    good = bad = 0
    for where, one in _records(name, text):
        try:
            verify(loads(one))
        except BadRecord as error:
            print(f"{where}: {error}", file=sys.stderr)
            bad += 1
        else:
            good += 1
    if not good and not bad:
        print(f"{name}: there is no record in it", file=sys.stderr)
        return 1
    print(f"{name}: {good} good, {bad} wrong")
    return 1 if bad else 0


def _records(name: str, text: str) -> Iterator[tuple[str, str]]:
    """Yield each record with where it stands: the whole file, or its lines."""
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    # A record spread over lines begins with a bare brace or a line that is no whole object.
    if len(lines) <= 1 or not lines[0][1].rstrip().endswith("}"):
        if lines:
            yield name, text
        return
    for number, line in lines:
        yield f"{name}:{number}", line
