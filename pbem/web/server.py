"""The WSGI server: waitress, in a thread of its own so that it can be stopped."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from waitress.server import create_server

if TYPE_CHECKING:
    from flask import Flask

LAST_SECONDS: Final = 5  # what each step of stopping may take


class PageServer:
    """Serves the application on one address; raises OSError where the port is in use."""

    def __init__(self, app: Flask, host: str, port: int) -> None:
        """Bind the address, but answer nothing yet."""
        self._sockets: dict[int, Any] = {}
        self._server: Any = create_server(
            app, map=self._sockets, host=host, port=port, threads=8, ident=None
        )
        self._thread = threading.Thread(target=self._serve, name="pages", daemon=True)

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def stop(self) -> None:
        """Finish the requests in hand, hand out their answers, and stop."""
        # The threads first: they still wake the loop when their answers are ready.
        self._server.task_dispatcher.shutdown(cancel_pending=True, timeout=LAST_SECONDS)
        end = time.monotonic() + LAST_SECONDS
        while self._has_answers() and time.monotonic() < end:
            time.sleep(0.01)
        self._server.close()
        self._thread.join(timeout=LAST_SECONDS)

    def _has_answers(self) -> bool:
        connections = list(self._sockets.values())
        return any(getattr(connection, "total_outbufs_len", 0) for connection in connections)

    def _serve(self) -> None:
        # The sockets are closed under it: that is how it is told to stop.
        with suppress(OSError):
            self._server.run()
