"""What commands share: the application, with its settings told in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pbem import create_app, health
from pbem.commands import CannotRun
from pbem.config import BadSettings

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
    try:
        return health.check_version()
    except health.Trouble as trouble:
        raise CannotRun(str(trouble)) from trouble


def database_is_there() -> str | None:
    """Return the database's version, of the code or older, or None for one without tables.

    Raises CannotRun for a database that newer code has made; nothing of it is touched.
    """
    try:
        return health.schema_version()
    except health.Trouble as trouble:
        raise CannotRun(str(trouble)) from trouble


def check_version(what: str, version: str) -> None:
    """Raise CannotRun for a version that this code does not know: newer code has made it."""
    try:
        health.check_known(what, version)
    except health.Trouble as trouble:
        raise CannotRun(str(trouble)) from trouble
