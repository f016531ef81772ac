"""The WSGI server: waitress, in a thread of its own so that it can be stopped."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from waitress.server import create_server

if TYPE_CHECKING:
    from flask import Flask


class PageServer:
    """Serves the application on one address; raises OSError where the port is in use."""

    def __init__(self, app: Flask, host: str, port: int) -> None:
        """Bind the address, but answer nothing yet."""
        self._server: Any = create_server(app, host=host, port=port, threads=8, ident=None)
        self._thread = threading.Thread(target=self._serve, name="pages", daemon=True)

    @property
    def port(self) -> int:
        """Return the port that was bound."""
        return int(self._server.effective_port)

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def stop(self) -> None:
        """Finish the requests in hand and stop."""
        self._server.close()
        self._server.task_dispatcher.shutdown(cancel_pending=True, timeout=5)
        self._thread.join(timeout=5)

    def _serve(self) -> None:
        # The sockets are closed under it: that is how it is told to stop.
        with suppress(OSError):
            self._server.run()
