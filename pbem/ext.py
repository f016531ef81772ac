"""The extensions, and how the database is opened and written."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from flask import current_app
from flask_babel import Babel
from flask_migrate import Migrate
from flask_sqlalchemy import SQLAlchemy
from sqlalchemy import MetaData, event
from sqlalchemy.engine import make_url
from sqlalchemy.orm import DeclarativeBase

from pbem.config import Settings
from pbem.tokens import Tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy.engine import Connection, CursorResult, Engine
    from sqlalchemy.sql.base import Executable


PATIENCE: Final = 10  # seconds for a connection; three times that for a statement or a lock


class Base(DeclarativeBase):
    """The base of all models; constraints have names so that migrations can find them."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s",
            "pk": "pk_%(table_name)s",
        }
    )


db = SQLAlchemy(model_class=Base)
babel = Babel()  # type: ignore[no-untyped-call]
migrate = Migrate(render_as_batch=True)


def settings() -> Settings:
    """Return the running application's settings."""
    found: Settings = current_app.extensions["pbem.settings"]
    return found


def tokens() -> Tokens:
    """Return the running application's maker and reader of tokens."""
    found: Tokens = current_app.extensions["pbem.tokens"]
    return found


@contextmanager
def writing() -> Iterator[None]:
    """Run a block in one writing transaction: commit at its end, roll back on an error.

    On SQLite it begins IMMEDIATE: a deferred begin would lose updates or fail at once
    when two processes write.
    """
    db.session.rollback()
    db.session.connection(execution_options={"writes": True})
    try:
        yield
        db.session.commit()
    except BaseException:
        db.session.rollback()
        raise


def run(statement: Executable, **values: Any) -> CursorResult[Any]:
    """Run a statement that was made once, with its values, within the session's transaction.

    For what every move does: the ORM takes ten times as long for a statement as its driver,
    most of it to make the statement anew. Objects that are loaded already do not change by it.
    """
    db.session.flush()
    return db.session.connection().execute(statement, values)


def engine_options(url: str) -> dict[str, Any]:
    """Return how long the database is waited for, before whoever asks is told to try again."""
    # Parameters are addresses and tokens: an error must not carry them into the log.
    options: dict[str, Any] = {"hide_parameters": True, "pool_timeout": PATIENCE}
    if make_url(url).get_backend_name() == "postgresql":
        options |= {
            # A database that was started anew costs nobody an error page.
            "pool_pre_ping": True,
            "connect_args": {
                "connect_timeout": PATIENCE,
                "options": f"-c statement_timeout={3 * PATIENCE}s",
            },
        }
    return options


def prepare_sqlite(engine: Engine) -> None:
    """Set up a SQLite engine: WAL, durable commits, foreign keys, and our own BEGIN."""

    @event.listens_for(engine, "do_connect")
    def make(*_given: Any) -> None:
        # Hands and addresses lie in it: on a shared machine they are its owner's to read alone.
        file = engine.url.database
        if file and file != ":memory:" and not Path(file).exists():
            Path(file).touch(mode=0o600)

    @event.listens_for(engine, "connect")
    def connect(connection: Any, _record: Any) -> None:
        # The driver would begin only at the first write; we begin ourselves, below.
        connection.isolation_level = None
        for pragma in (
            "journal_mode = WAL",
            "synchronous = FULL",
            "foreign_keys = ON",
            f"busy_timeout = {3 * PATIENCE}000",
        ):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
