"""Figures for Prometheus: of all processes from the database, and of this one as it runs.

docs/watching.md lists them. No label holds a name, an address, a code or a token.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, Final, TypeAlias

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector
from sqlalchemy import Select, func, select, union_all

from pbem import health
from pbem.ext import db
from pbem.models import Letter, Match, Move, Note, WithdrawnMove

# Seconds. What takes longer than the last one is a fault, however much longer.
BUCKETS: Final = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
# A day's mails are counted, not all: SQLite would read each to its end for its verdict.
DAY: Final = timedelta(days=1)

_Rows: TypeAlias = Sequence[tuple[str, int]]


class Metrics:
    """What one process has done since it began."""

    def __init__(self) -> None:
        """Begin with nothing done."""
        self.registry = CollectorRegistry()
        self._requests = Histogram(
            "pbem_request_seconds",
            "Requests that this process answered, by page and first digit of the status",
            ("page", "status"),
            registry=self.registry,
            buckets=BUCKETS,
        )
        self._sweeps = Histogram(
            "pbem_sweep_seconds",
            "Runs of the worker's jobs in this process",
            ("job",),
            registry=self.registry,
            buckets=BUCKETS,
        )
        self._failures = Counter(
            "pbem_sweep_failures",
            "Runs of the worker's jobs in this process that failed and are tried again",
            ("job",),
            registry=self.registry,
        )

    def answered(self, page: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(page, f"{status // 100}xx").observe(seconds)

    @contextmanager
    def sweep(self, job: str) -> Iterator[None]:
        """Count the run of a job, and whether it failed."""
        failures = self._failures.labels(job)
        with self._sweeps.labels(job).time(), failures.count_exceptions():
            yield


class _OfDatabase(Collector):
    """What all processes have done together, counted when it is asked for."""

    def __init__(self, now: datetime) -> None:
        """Keep the moment at which it is counted."""
        self._now = now

    def collect(self) -> Iterator[Metric]:
        """Yield each figure with its values."""
        found = health.look(self._now)
        yield _counter("pbem_moves", "Moves, those taken back included", "by", _moves())
        yield _gauge("pbem_games", "Games by where they stand", "status", _by(Match.status))
        yield _gauge("pbem_letters", "Letters by state", "state", _by(Letter.state))
        yield GaugeMetricFamily(
            "pbem_queue_age_seconds",
            "How long the letter that is due first is due; 0 if none is",
            value=self._queue_age(),
        )
        yield GaugeMetricFamily(
            "pbem_letters_overdue",
            "Letters that should have left and that nobody sends or the relay refuses",
            value=found.unsent + found.refused,
        )
        yield _gauge("pbem_mails_day", "Mails of the last day by verdict", "verdict", self._mails())
        yield GaugeMetricFamily(
            "pbem_mails_unread", "Mails that came in and wait too long", value=found.unread
        )
        if found.beat_age is not None:
            yield GaugeMetricFamily(
                "pbem_worker_age_seconds",
                "How long ago a worker was last at work; noted once a minute",
                value=found.beat_age.total_seconds(),
            )

    def _mails(self) -> _Rows:
        lately = select(Note.verdict, func.count()).where(Note.read_at > self._now - DAY)
        return _rows(lately.group_by(Note.verdict))

    def _queue_age(self) -> float:
        due = func.min(Letter.due_at)
        first = db.session.scalar(select(due).where(Letter.state.in_(health.WAITING)))
        return 0 if first is None else max(0.0, (self._now - first).total_seconds())


def of_process(metrics: Metrics) -> bytes:
    """Return what this process has done, as Prometheus reads it."""
    return generate_latest(metrics.registry)


def of_database(now: datetime) -> bytes:
    """Return what all processes have done, as Prometheus reads it; raises Trouble."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_OfDatabase(now))
    return generate_latest(registry)


def _moves() -> _Rows:
    # Moves that were taken back count on, or the counter would go back.
    both = union_all(select(Move.by), select(WithdrawnMove.by)).subquery()
    return _rows(select(both.c.by, func.count()).group_by(both.c.by))


def _by(column: Any) -> _Rows:
    return _rows(select(column, func.count()).group_by(column))


def _rows(query: Select[Any, int]) -> _Rows:
    return [(name or "", number) for name, number in db.session.execute(query)]


def _counter(name: str, words: str, label: str, rows: _Rows) -> Metric:
    return _filled(CounterMetricFamily(name, words, labels=(label,)), rows)


def _gauge(name: str, words: str, label: str, rows: _Rows) -> Metric:
    return _filled(GaugeMetricFamily(name, words, labels=(label,)), rows)


def _filled(
    family: CounterMetricFamily | GaugeMetricFamily, rows: _Rows
) -> CounterMetricFamily | GaugeMetricFamily:
    for name, number in rows:
        family.add_metric((name,), number)
    return family
