"""`pbem worker`: the process that keeps time."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from pbem.commands.setup import log_to_stderr, ready_application
from pbem.commands.until import until_stopped
from pbem.worker import Worker

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Sequence

_log = logging.getLogger(__name__)


def run(parser: ArgumentParser, arguments: Sequence[str]) -> int:
    """Work until it is told to stop."""
    parser.parse_args(arguments)
    log_to_stderr()
    worker = Worker(ready_application())
    worker.start()
    _log.info("the worker keeps time")
    until_stopped()
    worker.stop()
    return 0
