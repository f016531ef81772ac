"""The statements of the server's own transactions, and how a bare driver plays them again."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from time import perf_counter
from typing import Any, Final, TypeAlias

import psycopg
from sqlalchemy import event
from sqlalchemy.engine import Engine

from bench.site import bare_url

# As the server opens SQLite: what is committed is on the disk.
_PRAGMAS: Final = ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON",
                   "busy_timeout = 30000")  # fmt: skip

# What a driver's cursor was given, and whether it was for many parameters at once.
Statement: TypeAlias = tuple[str, Any, bool]
Transaction: TypeAlias = tuple[Statement, ...]


class Recorder:
    """Keeps what an engine gives to its driver, for each transaction that is committed."""

    def __init__(self, engine: Engine) -> None:
        """Listen to an engine from now on."""
        self._written: list[Statement] = []
        self._kept: list[Transaction] = []
        event.listen(engine, "before_cursor_execute", self._write)
        event.listen(engine, "commit", self._keep)
        event.listen(engine, "rollback", lambda _connection: self._written.clear())

    def take(self) -> list[Transaction]:
        """Return the transactions since the last time."""
        kept, self._kept = self._kept, []
        return kept

    def _write(
        self,
        _connection: Any,
        _cursor: Any,
        words: str,
        parameters: Any,
        _context: Any,
        is_many: bool,  # noqa: FBT001 - SQLAlchemy gives it so
    ) -> None:
        self._written.append((words, parameters, is_many))

    def _keep(self, _connection: Any) -> None:
        self._kept.append(tuple(self._written))
        self._written.clear()


def connect(url: str) -> Any:
    """Return a connection of the bare driver; on SQLite it begins nothing by itself."""
    if not url.startswith("sqlite"):
        return psycopg.connect(bare_url(url))
    line = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
    for pragma in _PRAGMAS:
        line.execute(f"PRAGMA {pragma}")
    return line


def play_again(line: Any, transactions: Iterable[Transaction]) -> list[float]:
    """Give the driver the same statements, and commit; return when each was done.

    All rows are fetched, as the server does.
    """
    ends = []
    cursor = line.cursor()
    for statements in transactions:
        for words, parameters, is_many in statements:
            if is_many:
                cursor.executemany(words, parameters)
                continue
            cursor.execute(words, parameters)
            if cursor.description is not None:
                cursor.fetchall()
        line.commit()
        ends.append(perf_counter())
    return ends
