"""`pbem export CODE [FILE]`: one game as a file, to go on on another server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import select

from pbem import moving
from pbem.commands import CannotRun, copies
from pbem.commands.setup import ready_application
from pbem.ext import db
from pbem.models import Match, Status

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Sequence


def run(parser: ArgumentParser, arguments: Sequence[str]) -> int:
    """Write the file; nothing is changed in the database."""
    parser.epilog = (
        "The file of a game that runs shows every hidden card, and its name says so; every file"
        " holds the players' mail addresses. Only its owner may read it: who plays in the game"
        " should not. Table talk, private notes and orders stay behind."
    )
    parser.add_argument("code", metavar="CODE", help="the game's code, as letters tell it")
    parser.add_argument("file", type=Path, nargs="?", metavar="FILE", help="default: by its code")
    parser.add_argument("--force", action="store_true", help="take the place of a file there")
    parsed = parser.parse_args(arguments)
    with ready_application().app_context():
        match = db.session.scalar(select(Match).where(Match.code == parsed.code))
        if match is None:
            raise CannotRun(f"there is no game {parsed.code!r}; pbem matches lists those that run")
        try:
            text = moving.hand_over(match)
        except moving.CannotMove as error:
            raise CannotRun(f"{parsed.code}: {error}") from error
        file = parsed.file or Path(_name(match))
        if file.exists() and not parsed.force:
            raise CannotRun(f"{file} is there already; give another name, or --force")
        with copies.whole(file) as part:
            part.write_text(text, encoding="utf-8")
        print(f"{file}: the game as it stands after {match.ply} moves")
        if match.status == Status.RUNNING:
            print(
                "It shows every hidden card. The game still runs here: end it here (on the host's"
            )
            print("page) once the other server has it, else both would ask its players.")
    return 0


def _name(match: Match) -> str:
    what = "game" if match.status == Status.OVER else "HIDDEN-CARDS"
    return f"{match.game}-{match.code}-{what}.json"
