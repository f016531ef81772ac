"""`pbem restore FILE`: puts the database back as a copy has it, and sets right what follows."""

from __future__ import annotations

import shutil
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from flask_migrate import upgrade
from sqlalchemy import func, inspect, select
from sqlalchemy.exc import SQLAlchemyError

from pbem import restored
from pbem.commands import CannotRun, copies
from pbem.commands.setup import application, check_version, database_is_there
from pbem.ext import db, settings
from pbem.models import Player

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Callable, Sequence


def run(parser: ArgumentParser, arguments: Sequence[str]) -> int:
    """Restore the copy; what is in the database now stays unless --force is given."""
    parser.epilog = (
        "Stop the server first. What was done after the copy was made is lost; players of"
        " running games are told so by mail. Put the secret_keys back too."
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="what `pbem backup` has made")
    parser.add_argument(
        "--force",
        action="store_true",
        help="restore over a database that is not empty; a copy of it is kept",
    )
    parser.add_argument(
        "--nothing-lost",
        action="store_true",
        help="the server has not run since the copy was made: tell nobody",
    )
    parsed = parser.parse_args(arguments)
    with application().app_context():
        database_is_there()
        check_version(str(parsed.file), copies.version_of(parsed.file))
        players = _players()
        if players and not parsed.force:
            raise CannotRun(f"the database holds {players} players already; is --force meant?")
        copies.check_unused()
        if players:
            print(f"what was there is kept: {_kept()}")
        follow = _set_right if parsed.nothing_lost else _set_right_and_tell
        try:
            _restore(parsed.file, follow)
        except SQLAlchemyError as error:
            raise CannotRun(f"the copy could not be made ready ({error}); try again") from error
        print(f"{parsed.file} is restored: {_players()} players")
    return 0


def _players() -> int:
    """Return how many players the database has; one without tables has none."""
    if not inspect(db.engine).has_table(Player.__tablename__):
        return 0
    with db.engine.connect() as connection:
        return connection.scalar(select(func.count(Player.id))) or 0


def _kept() -> Path:
    """Copy what the database holds now, and return where it is."""
    ending = "sqlite3" if copies.is_sqlite() else "dump"
    file = settings().instance / f"before-restore-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.{ending}"
    copies.make(file)
    return file


def _restore(file: Path, follow: Callable[[], None]) -> None:
    """Bring a copy to the code's version, do what follows, and let it be the database."""
    if not copies.is_sqlite():
        copies.load_dump(file)
        follow()
        return
    with TemporaryDirectory(dir=settings().instance, prefix="restore-") as folder:
        work = Path(folder) / "pbem.sqlite3"
        shutil.copyfile(file, work)
        # Beside the database, and put into it when all is done: it never stands half way.
        with application(replace(settings(), database_url=f"sqlite:///{work}")).app_context():
            follow()
            db.engine.dispose()
        copies.load_sqlite(work)


def _set_right() -> None:
    upgrade()
    restored.set_right()
    db.session.remove()


def _set_right_and_tell() -> None:
    _set_right()
    restored.tell_tables(now=datetime.now(UTC))
    db.session.remove()
