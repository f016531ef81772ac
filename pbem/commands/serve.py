"""`pbem serve`: the pages, and with --with-worker the whole server in one process."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from pbem import logs
from pbem.commands import CannotRun
from pbem.commands.setup import ready_application
from pbem.commands.until import until_stopped
from pbem.ext import settings
from pbem.web.server import PageServer

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Sequence

    from flask import Flask

    from pbem.worker import Worker

_log = logging.getLogger(__name__)


def run(parser: ArgumentParser, arguments: Sequence[str]) -> int:
    """Serve until it is told to stop."""
    parser.add_argument(
        "--with-worker", action="store_true", help="keep time in this process too (one machine)"
    )
    parsed = parser.parse_args(arguments)
    app = ready_application()
    with app.app_context():
        site = settings()
    logs.to_stderr(site.log_format)
    server = _page_server(app, site.bind_host, site.bind_port)
    worker = _worker(app) if parsed.with_worker else None
    if worker is not None:
        worker.start()
    server.start()
    _log.info("serving %s on %s:%s", site.base_url, site.bind_host, site.bind_port)
    until_stopped()
    server.stop()
    if worker is not None:
        worker.stop()
    return 0


def _worker(app: Flask) -> Worker:
    # Imported here: pages alone start without the libraries of jobs and of mail that comes in.
    from pbem.worker import Worker

    return Worker(app)


def _page_server(app: Flask, host: str, port: int) -> PageServer:
    try:
        return PageServer(app, host, port)
    except OSError as error:
        raise CannotRun(
            f"port {port} of {host} is in use or not allowed ({error.strerror}); set bind_port"
            " to another one, or stop what holds it"
        ) from error
