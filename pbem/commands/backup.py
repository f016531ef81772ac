"""`pbem backup FILE`: the whole database as one file, while the server runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pbem.commands import CannotRun, copies
from pbem.commands.setup import application, database_is_there
from pbem.ext import settings

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Sequence


def run(parser: ArgumentParser, arguments: Sequence[str]) -> int:
    """Make the copy; an older one with its name stays unless --force is given."""
    parser.epilog = (
        "FILE holds addresses, hidden cards and what people wrote: only its owner may read it."
        " It does not hold the secret_keys: keep those too, in another place."
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="where the copy goes")
    parser.add_argument("--force", action="store_true", help="take the place of a file there")
    parsed = parser.parse_args(arguments)
    file: Path = parsed.file
    with application().app_context():
        if database_is_there() is None:
            raise CannotRun("there is no database yet; run: pbem db upgrade")
        if file.exists() and not parsed.force:
            raise CannotRun(f"{file} is there already; give another name, or --force")
        copies.make(file)
        print(f"{file}: {file.stat().st_size} bytes, checked")
        print(f"Keep the secret_keys too ({settings().instance / 'secret_keys'}, or the setting):")
        print("without them no link in a letter works after `pbem restore`.")
    return 0
