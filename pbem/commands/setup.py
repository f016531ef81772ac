"""What commands share: the application with its settings told in words, and logging."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.exc import SQLAlchemyError

from pbem import create_app
from pbem.app import migrations
from pbem.commands import CannotRun
from pbem.config import BadSettings
from pbem.ext import db

if TYPE_CHECKING:
    from flask import Flask

    from pbem.config import Settings


def application(settings: Settings | None = None) -> Flask:
    """Return the application; raises CannotRun with all wrong settings told."""
    try:
        return create_app(settings)
    except BadSettings as error:
        raise CannotRun(f"these settings are wrong:\n{error}") from error


def ready_application() -> Flask:
    """Return the application on a database at the code's version; raises CannotRun."""
    app = application()
    with app.app_context():
        database_version()
    return app


def database_version() -> str:
    """Return the database's version; raises CannotRun if it is not the code's own."""
    here = database_is_there()
    wanted = _scripts().get_current_head()
    if here is None or here != wanted:
        raise CannotRun(f"the database is at version {here}, not {wanted}; run: pbem db upgrade")
    return here


def database_is_there() -> str | None:
    """Return the database's version, of the code or older, or None for one without tables.

    Raises CannotRun for a database that newer code has made; nothing of it is touched.
    """
    try:
        with db.engine.connect() as connection:
            here = MigrationContext.configure(connection).get_current_revision()
    except SQLAlchemyError as error:
        raise CannotRun(f"the database does not answer ({error}); look at database_url") from error
    if here is not None:
        check_version("the database", here)
    return here


def check_version(what: str, version: str) -> None:
    """Raise CannotRun for a version that this code does not know: newer code has made it."""
    known = [script.revision for script in _scripts().walk_revisions()]
    if version not in known:
        raise CannotRun(
            f"{what} is at version {version}, and this code knows only those up to {known[0]};"
            " update the code. Nothing was changed"
        )


def _scripts() -> ScriptDirectory:
    config = Config()
    config.set_main_option("script_location", str(migrations()))
    return ScriptDirectory.from_config(config)


def log_to_stderr() -> None:
    """Write the server's own log, a fact a line."""
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr
    )
    # One line each second from every job would hide ours.
    logging.getLogger("apscheduler").setLevel(logging.WARNING)
    logging.getLogger("mail.log").setLevel(logging.WARNING)
    logging.getLogger("alembic").setLevel(logging.WARNING)
