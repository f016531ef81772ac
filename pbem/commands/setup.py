"""What commands share: the application with its settings told in words, and logging."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

from pbem import create_app
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


def log_to_stderr() -> None:
    """Write the server's own log, a fact a line."""
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr
    )
    # One line each second from every job would hide ours.
    logging.getLogger("apscheduler").setLevel(logging.WARNING)
    logging.getLogger("mail.log").setLevel(logging.WARNING)
    logging.getLogger("alembic").setLevel(logging.WARNING)
