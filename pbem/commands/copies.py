"""Copies of the whole database as one file: made, looked at, and put back."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import time
from contextlib import closing, contextmanager
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from psycopg.conninfo import make_conninfo
from sqlalchemy import inspect, text
from sqlalchemy.engine import make_url

from pbem.commands import CannotRun
from pbem.ext import db, settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlalchemy.engine import URL

_SQLITE: Final = b"SQLite format 3\0"
_IN_USE: Final = "the database is in use; stop the server and every worker first"
_LOOK: Final = 0.1  # seconds
_LOOKS: Final = 20
_VERSION: Final = "SELECT version_num FROM alembic_version"


def make(file: Path) -> None:
    """Copy the database to a file that is there only once it is whole; raises CannotRun.

    The server may go on writing meanwhile: the copy is the database of one moment.
    """
    with whole(file) as part:
        if is_sqlite():
            _copy_sqlite(part)
        else:
            _run("pg_dump", "--format=custom", "--no-owner", f"--file={part}", _where())
            _run("pg_restore", "--list", str(part))


@contextmanager
def whole(file: Path) -> Iterator[Path]:
    """Give a file beside for its owner only, which takes the name at the block's end.

    On any error it is gone, and what had the name stays.
    """
    part = file.with_name(f".{file.name}.{os.getpid()}.part")
    os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        yield part
        _sync(part)
        part.replace(file)
        _sync(file.parent)
    finally:
        part.unlink(missing_ok=True)


def version_of(file: Path) -> str:
    """Return the version of the database in a copy; raises CannotRun for what is none."""
    found = _sqlite_version(file) if is_sqlite() else _dump_version(file)
    if not found:
        raise CannotRun(f"{file} holds no database of pbem, or a cut one")
    return found


def check_unused() -> None:
    """Raise CannotRun while another process has the database open."""
    db.session.remove()
    db.engine.dispose()
    if is_sqlite():
        with _alone():
            return
    # Of a server that has just stopped it takes a moment.
    for _ in range(_LOOKS):
        if not _others():
            return
        time.sleep(_LOOK)
    raise CannotRun(_IN_USE)


def load_sqlite(file: Path) -> None:
    """Put a whole copy into the database at once: a crash leaves what was there before."""
    db.engine.dispose()
    with closing(sqlite3.connect(file)) as copy, _alone() as live:
        try:
            copy.backup(live)
        except sqlite3.Error as error:
            raise CannotRun(f"the database could not be written ({error})") from error


def load_dump(file: Path) -> None:
    """Put a dump in the place of all tables in one transaction; raises CannotRun."""
    tables = ", ".join(f'"{name}"' for name in inspect(db.engine).get_table_names())
    orders = [f"--command=DROP TABLE {tables} CASCADE"] if tables else []
    db.engine.dispose()
    with TemporaryDirectory(dir=settings().instance) as folder:
        script = f"--file={folder}/script.sql"
        _run("pg_restore", "--no-owner", "--no-privileges", script, str(file))
        # Reads no settings of its user; stops, and takes all back, at the first error.
        _run(
            "psql", "--no-psqlrc", "--quiet", "--single-transaction", "--set=ON_ERROR_STOP=1",
            *orders, script, _where(),
        )  # fmt: skip


def is_sqlite() -> bool:
    """Return whether the database is SQLite's."""
    return _url().get_backend_name() == "sqlite"


def _copy_sqlite(part: Path) -> None:
    with closing(sqlite3.connect(part, isolation_level=None)) as copy, _live() as live:
        try:
            # A crash leaves nothing that counts, so the copy needs no journal.
            copy.execute("PRAGMA journal_mode = OFF")
            live.backup(copy)
            # The copy says that it has a log beside it, as the database has: one file is wanted.
            copy.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.Error as error:
            raise CannotRun(f"the copy could not be written ({error})") from error
        _check(copy, "the copy")


def _others() -> int:
    """Return how many other connections PostgreSQL has to the database."""
    others = text(
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE datname = current_database() AND backend_type = 'client backend'"
        " AND pid <> pg_backend_pid()"
    )
    with db.engine.connect() as connection:
        found: int = connection.execute(others).scalar_one()
        return found


@contextmanager
def _alone() -> Iterator[sqlite3.Connection]:
    """Give a connection to SQLite beside which there can be no other; raises CannotRun."""
    file = str(_url().database)
    with closing(sqlite3.connect(file, timeout=0, isolation_level=None)) as live:
        try:
            live.execute("PRAGMA locking_mode = EXCLUSIVE")
            live.execute("BEGIN EXCLUSIVE")
            live.execute("COMMIT")
        except sqlite3.OperationalError as error:
            raise CannotRun(f"{_IN_USE} ({error})") from error
        yield live


@contextmanager
def _live() -> Iterator[sqlite3.Connection]:
    with closing(db.engine.raw_connection()) as pooled:
        live = pooled.driver_connection
        assert isinstance(live, sqlite3.Connection), "asked of SQLite only"
        yield live


def _sqlite_version(file: Path) -> str | None:
    with file.open("rb") as opened:
        if opened.read(len(_SQLITE)) != _SQLITE:
            return None
    # Nothing may be written beside it: it may lie on a medium that only reads.
    with closing(sqlite3.connect(f"{file.absolute().as_uri()}?immutable=1", uri=True)) as copy:
        try:
            _check(copy, str(file))
            row = copy.execute(_VERSION).fetchone()
        except sqlite3.Error:
            return None
    return row[0] if row else None


def _check(copy: sqlite3.Connection, what: str) -> None:
    found = [row[0] for row in copy.execute("PRAGMA integrity_check(1)")]
    if found != ["ok"]:
        raise CannotRun(f"{what} is damaged: {found[0]}")


def _dump_version(file: Path) -> str | None:
    try:
        lines = _run("pg_restore", "--data-only", "--table=alembic_version", "--file=-", str(file))
    except _ToolFailed:
        return None
    copied = iter(lines.splitlines())
    return next((next(copied, None) for line in copied if line.startswith("COPY ")), None)


class _ToolFailed(CannotRun):
    """Raised with the words of one of PostgreSQL's programs."""


def _run(*command: str) -> str:
    """Run one of PostgreSQL's programs and return what it prints; raises CannotRun."""
    name = command[0]
    try:
        done = subprocess.run(  # noqa: S603 - our own words and the host's file name
            command, env=_environment(), capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        raise CannotRun(
            f"{name} is not on this machine; install PostgreSQL's client programs"
            " (Debian: postgresql-client)"
        ) from None
    if done.returncode:
        raise _ToolFailed(_told(name, done.stderr))
    return done.stdout


def _told(name: str, said: str) -> str:
    words = " ".join(said.split()) or "no reason"
    # The programs are older than the server, or newer: they set what it does not know yet.
    if "version mismatch" in words or "unrecognized configuration parameter" in words:
        words += "; install the client programs of the server's version"
    return f"{name} says: {words}"


def _environment() -> dict[str, str]:
    # Not among the arguments, which everybody on the machine can read.
    password = _url().password
    return dict(os.environ) | ({"PGPASSWORD": password} if password else {})


def _where() -> str:
    """Return PostgreSQL's own words for where the database is, without the password."""
    url = _url()
    found = {"host": url.host, "port": url.port, "user": url.username, "dbname": url.database}
    # What stands behind the "?" counts more, as for the server itself.
    found |= {name: str(value) for name, value in url.query.items()}
    return f"--dbname={make_conninfo('', **found)}"


def _url() -> URL:
    return make_url(settings().database)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
