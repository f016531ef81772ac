"""`pbem demo`: the whole server in one process, with a mailbox of its own."""

from __future__ import annotations

import logging
import socket
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from flask_migrate import upgrade

from pbem import config
from pbem.app import default_instance
from pbem.commands import CannotRun
from pbem.commands.setup import application, database_is_there
from pbem.commands.until import Stop
from pbem.config import BadSettings, Settings
from pbem.demo.mailbox import Mailbox, mail_server
from pbem.demo.pages import pages
from pbem.demo.player import ADDRESS, welcome
from pbem.web.server import PageServer
from pbem.worker import Worker

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Sequence

    from flask import Flask

_HERE = "127.0.0.1"


def run(parser: ArgumentParser, arguments: Sequence[str]) -> int:
    """Run the demo until Ctrl-C."""
    parser.add_argument("--port", type=int, help="the pages' port (default: bind_port, 8000)")
    parser.add_argument(
        "--instance", type=Path, help="where games and mails are kept (default: instance/)"
    )
    parsed = parser.parse_args(arguments)
    logging.basicConfig(level=logging.WARNING)
    settings = _settings(parsed.instance or default_instance(), parsed.port)
    app = application(settings)
    mailbox = Mailbox(settings.instance / "demo-mailbox")
    app.extensions["pbem.demo.mailbox"] = mailbox
    app.register_blueprint(pages)
    app.jinja_env.globals["demo"] = True
    # From here on, so that Ctrl-C leaves no half-made database and stops all that runs.
    stop = Stop()
    with app.app_context():
        database_is_there()
        upgrade()
        welcome(now=datetime.now(UTC))
    _serve(app, settings, mailbox, stop)
    return 0


def _settings(instance: Path, port: int | None) -> Settings:
    """Return the demo's settings: everything on this machine, free ports for the mail."""
    try:
        given = config.load(instance)
    except BadSettings as error:
        raise CannotRun(f"these settings are wrong:\n{error}") from error
    port = port or given.bind_port
    return replace(
        given,
        database_url="",
        base_url=f"http://{_HERE}:{port}",
        bind_host=_HERE,
        bind_port=port,
        mail_domain="play.localhost",
        mail_from="",
        host_addresses=(ADDRESS,),
        smtp_host=_HERE,
        smtp_port=_free_port(),
        smtp_security="none",
        smtp_username="",
        listen_protocol="smtp",
        listen_host=_HERE,
        listen_port=_free_port(),
    )


def _serve(app: Flask, settings: Settings, mailbox: Mailbox, stop: Stop) -> None:
    """Start mailbox, worker and pages; once it is asked, stop them in the other order."""
    server = _page_server(app, settings)
    with ExitStack() as running:
        postbox = mail_server(mailbox, settings.smtp_port)
        postbox.start()
        running.callback(postbox.stop)
        worker = Worker(app)
        worker.start()
        running.callback(worker.stop)
        server.start()
        running.callback(server.stop)
        print(f"Your mailbox: {settings.base_url}/demo/")
        # A pipe would hold the lines back, and somebody waits for them.
        print(
            "Open it: a turn mail waits; click a move, or reply with its number. Ctrl-C stops.",
            flush=True,
        )
        stop.wait()
    print("Stopped; the games are kept.")


def _page_server(app: Flask, settings: Settings) -> PageServer:
    try:
        return PageServer(app, settings.bind_host, settings.bind_port)
    except OSError as error:
        raise CannotRun(
            f"port {settings.bind_port} is in use or not allowed ({error.strerror});"
            f" give another one: pbem demo --port {settings.bind_port + 1}"
        ) from error


def _free_port() -> int:
    with socket.create_server((_HERE, 0)) as found:
        port: int = found.getsockname()[1]
        return port
