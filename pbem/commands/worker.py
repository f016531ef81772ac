"""`pbem worker`: the process that keeps time."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING

from prometheus_client import start_http_server

from pbem import logs
from pbem.commands import CannotRun
from pbem.commands.setup import ready_application
from pbem.commands.until import until_stopped
from pbem.ext import settings
from pbem.worker import Worker

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Iterator, Sequence

    from flask import Flask

    from pbem.metrics import Metrics

_log = logging.getLogger(__name__)


def run(parser: ArgumentParser, arguments: Sequence[str]) -> int:
    """Work until it is told to stop."""
    parser.parse_args(arguments)
    app = ready_application()
    with app.app_context():
        logs.to_stderr(settings().log_format)
    worker = Worker(app)
    with _figures(app):
        worker.start()
        _log.info("the worker keeps time")
        until_stopped()
        worker.stop()
    return 0


@contextmanager
def _figures(app: Flask) -> Iterator[None]:
    """Show what this process has done to who watches it, where the settings want it."""
    with app.app_context():
        host, port = settings().worker_metrics_host, settings().worker_metrics_port
    if not port:
        yield
        return
    metrics: Metrics = app.extensions["pbem.metrics"]
    try:
        server, _thread = start_http_server(port, host, metrics.registry)
    except OSError as error:
        raise CannotRun(
            f"port {port} of {host} can't be used ({error.strerror}); set worker_metrics_port"
        ) from error
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
