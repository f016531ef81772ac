"""`pbem audit`: run it before an update that changes rules, and whenever in doubt."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from pbem.audit import wrongs, wrongs_of_tables
from pbem.commands.setup import ready_application

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Sequence


def run(parser: ArgumentParser, arguments: Sequence[str]) -> int:
    """Print what is wrong, a line each; exit code 1 if anything is."""
    parser.parse_args(arguments)
    found = 0
    with ready_application().app_context():
        for wrong in chain(wrongs_of_tables(), wrongs()):
            print(wrong)
            found += 1
    print(f"{found} wrong" if found else "all is as promised")
    return 1 if found else 0
