"""The console's commands, one module each, with a `run(parser, arguments)`."""

from __future__ import annotations


class CannotRun(Exception):
    """Raised with the words to print when a command cannot do its work."""
