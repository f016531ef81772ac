"""`pbem import FILE`: takes in one game that another server has exported."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pbem import moving
from pbem.commands import CannotRun
from pbem.commands.setup import ready_application
from pbem.models import Status

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Sequence


def run(parser: ArgumentParser, arguments: Sequence[str]) -> int:
    """Take the game in, whole or not at all."""
    parser.epilog = (
        "Its players are found by their addresses, or made. Whoever is to move is mailed at once,"
        " with the full time for a move. What does not replay and verify is refused."
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="what `pbem export` has written")
    parsed = parser.parse_args(arguments)
    with ready_application().app_context():
        try:
            text = parsed.file.read_text(encoding="utf-8")
            match = moving.take_in(moving.read(text), now=datetime.now(UTC))
        except UnicodeDecodeError as error:
            raise CannotRun(f"{parsed.file}: it is no text: {error}") from error
        except moving.CannotMove as error:
            raise CannotRun(f"{parsed.file}: {error}; nothing was changed") from error
        state = "runs on" if match.status == Status.RUNNING else "is over"
        print(f"{match.code}: taken in with {match.ply} moves; it {state}")
    return 0
