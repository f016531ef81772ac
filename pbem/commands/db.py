"""`pbem db upgrade`: brings the database to the code's version."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask_migrate import downgrade, upgrade
from flask_migrate import revision as new_revision
from sqlalchemy.exc import SQLAlchemyError

from pbem.commands import CannotRun
from pbem.commands.setup import application, database_is_there

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Sequence


def run(parser: ArgumentParser, arguments: Sequence[str]) -> int:
    """Run the migrations."""
    what = parser.add_subparsers(dest="what", required=True)
    what.add_parser("upgrade", help="go to the newest version; run it after each update")
    back = what.add_parser("downgrade", help="go back to a revision")
    back.add_argument("revision")
    make = what.add_parser("revision", help="write a migration for changed models (developers)")
    make.add_argument("message")
    parsed = parser.parse_args(arguments)
    with application().app_context():
        database_is_there()
        if parsed.what == "upgrade":
            _upgrade()
        elif parsed.what == "downgrade":
            downgrade(revision=parsed.revision)
        else:
            new_revision(message=parsed.message, autogenerate=True)
    return 0


def _upgrade() -> None:
    try:
        upgrade()
    except SQLAlchemyError as error:
        # It is one transaction, on both databases.
        raise CannotRun(f"the database could not be changed ({error}); it is as before") from error
