"""The WSGI server: waitress, in a thread of its own so that it can be stopped."""

from __future__ import annotations

import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from waitress.server import BaseWSGIServer, create_server
from waitress.wasyncore import close_all, dispatcher

if TYPE_CHECKING:
    from collections.abc import Callable

    from flask import Flask

# What each step of stopping may take: a request waits for the database for as long.
LAST_SECONDS: Final = 30


class PageServer:
    """Serves the application on one address; raises OSError where the port is in use."""

    def __init__(self, app: Flask, host: str, port: int) -> None:
        """Bind the address, but answer nothing yet."""
        self._sockets: dict[int, Any] = {}
        self._server: Any = create_server(
            app,
            map=self._sockets,
            host=host,
            port=port,
            threads=8,
            ident=None,
            # The application itself knows whom it believes; see proxies.
            clear_untrusted_proxy_headers=False,
        )
        # A name may stand for several addresses, each with a socket of its own.
        self._listening = [one for one in self._sockets.values() if isinstance(one, BaseWSGIServer)]
        self._thread = threading.Thread(target=self._server.run, name="pages", daemon=True)

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def stop(self) -> None:
        """Refuse new connections, finish the requests in hand, hand out their answers, and stop."""
        for listening in self._listening:
            self._in_loop(partial(dispatcher.close, listening))
        tasks = self._server.task_dispatcher
        _wait_while(lambda: bool(tasks.queue))
        # The threads before the loop: they still wake it when their answers are ready.
        tasks.shutdown(cancel_pending=True, timeout=LAST_SECONDS)
        _wait_while(self._has_answers)
        self._in_loop(partial(close_all, self._sockets, ignore_all=True))
        self._thread.join(timeout=LAST_SECONDS)

    def _has_answers(self) -> bool:
        connections = list(self._sockets.values())
        return any(getattr(connection, "total_outbufs_len", 0) for connection in connections)

    def _in_loop(self, work: Callable[[], None]) -> None:
        """Let the loop's own thread do something: it may be waiting for the very sockets."""
        self._listening[0].trigger.pull_trigger(work)


def _wait_while(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + LAST_SECONDS
    while is_so() and time.monotonic() < end:
        time.sleep(0.01)
