"""The look for turns that are due: beside the bare driver's, and beside a full scan."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import Any, Final

from sqlalchemy import Connection, event, select, update

from bench import crowd
from bench.measure import Asked, Bar, judge, pairs, took
from pbem import worker
from pbem.ext import db, writing
from pbem.models import Turn
from torture import world

GAMES: Final = 200_000  # `python -m bench scale` looks through a million
DUE: Final = 100
LOOKS: Final = 20  # of each side in a round; their median counts
SLOWER: Final = 3  # times as long as the bare driver, at most
FASTER: Final = 300  # times as fast as a full scan, at least


def run(asked: Asked) -> Iterator[Bar]:
    """Fill a database with games, a hundred of them due, and look for those by turns."""
    kind = "postgresql" if asked.db == "postgres" else asked.db
    with world.world(kind):
        now = datetime.now(UTC)
        games = crowd.fill(GAMES, to_play=1, now=now).games
        _make_due(now)
        yield from compare(f"sweep, {DUE} due of {games:,} games", asked, now=now)
    world.clean_up()


def compare(name: str, asked: Asked, *, now: datetime) -> Iterator[Bar]:
    """Look for what is due by turns with the bare driver, and with a scan; a hundred are due."""
    sql, given = _statement(now)
    with db.engine.connect() as connection:
        lines = plan(connection, sql, given)
        connection.rollback()
        yield judge(
            name, "ms",
            pairs(lambda: _look(now), lambda: _bare_look(connection, sql, given), asked),
            peer="the bare SQL", most=SLOWER, goal=1.5,
        )  # fmt: skip
        scan = _scan(connection, sql)
        found = pairs(lambda: 1 / _look(now), lambda: 1 / _bare_look(connection, scan, given, 1),
                      asked)  # fmt: skip
        yield judge(f"{name}, looks in a ms", "", found, peer="a full scan", least=FASTER)
    is_used = any("ix_turn_due" in line for line in lines)
    yield Bar(f"{name}: the plan {'shows' if is_used else 'lacks'} the index", is_used)


def plan(connection: Connection, sql: str, given: Any) -> list[str]:
    """Return the lines of the database's plan for a statement."""
    explain = "EXPLAIN QUERY PLAN " if connection.dialect.name == "sqlite" else "EXPLAIN "
    rows = connection.exec_driver_sql(explain + sql, given).all()
    return [str(row[-1]).strip(" ->") for row in rows]


def _make_due(now: datetime) -> None:
    """Let the time of a hundred persons have run out, here and there among the games."""
    asked = select(Turn.id).join(Turn.asked).where(Turn.closed_at.is_(None))
    ids = db.session.scalars(asked.where(Turn.id % 997 == 0).limit(DUE)).all()
    with writing():
        late = update(Turn).where(Turn.id.in_(ids)).values(deadline=now - timedelta(hours=2))
        db.session.execute(late.execution_options(synchronize_session=False))


def _statement(now: datetime) -> tuple[str, Any]:
    """Return the look's statement with its parameters, as the driver gets it."""
    seen: list[tuple[str, Any]] = []

    def keep(_connection: Any, _cursor: Any, sql: str, given: Any, *_more: Any) -> None:
        seen.append((sql, given))

    event.listen(db.engine, "before_cursor_execute", keep)
    worker.due_turns(now)
    event.remove(db.engine, "before_cursor_execute", keep)
    db.session.rollback()
    return seen[-1]


def _look(now: datetime) -> float:
    """Return the milliseconds of the look that a sweep begins with."""
    return 1000 * median(took(lambda: _check(worker.due_turns(now))) for _ in range(LOOKS))


def _check(found: Any) -> None:
    assert len(found) == DUE, f"{len(found)} are due"
    db.session.rollback()


def _bare_look(connection: Connection, sql: str, given: Any, times: int = LOOKS) -> float:
    """Return the milliseconds of a statement by the bare driver."""
    driver: Any = connection.connection.driver_connection

    def look() -> None:
        cursor = driver.cursor()
        cursor.execute("BEGIN")
        _check(cursor.execute(sql, given).fetchall())
        cursor.execute("ROLLBACK")

    return 1000 * median(took(look) for _ in range(times))


def _scan(connection: Connection, sql: str) -> str:
    """Return the same statement, so written that the database can use no index of deadlines."""
    first, condition = sql.split("WHERE", maxsplit=1)
    if connection.dialect.name == "sqlite":
        hidden = {"turn.deadline": "+turn.deadline", "turn.closed_at": "+turn.closed_at"}
    else:
        hidden = {
            "turn.deadline": "turn.deadline + interval '0'",
            "turn.closed_at IS NULL": "(turn.closed_at IS NULL) IS TRUE",
        }
    for column, words in hidden.items():
        condition = condition.replace(column, words)
    return f"{first}WHERE{condition}"
