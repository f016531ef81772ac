"""A database that is locked, busy or away: people are told to try again, and nothing is lost."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from html import unescape

import pytest
from cast import by_number, first_turn, letters_to, move_links, signed_in, words
from sqlalchemy import create_engine, event, func, select, text
from sqlalchemy.exc import OperationalError

from pbem.ext import db
from pbem.mail import inbox
from pbem.models import Letter, Match, Move, Note, Turn

TOLD = (
    "Not now The server can't get at its games just now. Wait a minute, then try once more: what"
    " was done already is not done twice."
)


@contextmanager
def impatient() -> Iterator[None]:
    """Let the database give up after a twentieth of a second instead of half a minute."""
    is_sqlite = db.engine.dialect.name == "sqlite"
    statement = "PRAGMA busy_timeout = 50" if is_sqlite else "SET statement_timeout = 50"
    longer = "PRAGMA busy_timeout = 30000" if is_sqlite else "SET statement_timeout = 30000"

    def taken(connection, *_about) -> None:
        connection.execute(statement)

    def given_back(connection, *_about) -> None:
        if connection is not None:
            connection.execute(longer)
            connection.commit()

    db.session.remove()
    event.listen(db.engine, "checkout", taken)
    event.listen(db.engine, "checkin", given_back)
    try:
        yield
    finally:
        db.session.remove()
        event.remove(db.engine, "checkout", taken)
        event.remove(db.engine, "checkin", given_back)


@contextmanager
def locked(app) -> Iterator[None]:
    """Hold what a move must write, as another process would."""
    with app.app_context(), db.engine.connect() as other:
        if other.dialect.name == "sqlite":
            other.execution_options(writes=True).execute(text("SELECT 1"))
        else:
            other.execute(text("LOCK TABLE move, turn, match IN ACCESS EXCLUSIVE MODE"))
        yield
        other.rollback()


@contextmanager
def exhausted() -> Iterator[None]:
    """Hold every connection that the pool may have."""
    db.session.remove()
    pool = db.engine.pool
    patience, pool._timeout = pool._timeout, 0.05
    with ExitStack() as held:
        for _ in range(pool.size() + pool._max_overflow):
            held.enter_context(db.engine.connect())
        yield
    pool._timeout = patience


@contextmanager
def away() -> Iterator[None]:
    """Put a server in the database's place that is not there."""
    db.session.remove()
    here = db.engines[None]
    db.engines[None] = create_engine("postgresql+psycopg://nobody@127.0.0.1:1/nowhere")
    try:
        yield
    finally:
        db.session.remove()
        db.engines[None] = here


def counts() -> list[int]:
    db.session.rollback()
    found = [
        db.session.scalar(select(func.count()).select_from(table))
        for table in (Move, Turn, Letter, Note)
    ]
    db.session.remove()
    return found


def check(answer) -> None:
    assert answer.status_code == 503
    assert answer.headers["Retry-After"] == "60"
    assert TOLD in unescape(words(answer))


@pytest.mark.parametrize("fault", ["locked", "exhausted", "away"])
def test_a_move_is_refused_whole_and_counts_once_when_it_is_made_again(
    app, mailbox, now, fault, caplog
) -> None:
    name, letter, match = first_turn(mailbox, now=now)
    match_id, ply = match.id, match.ply
    link = move_links(letter)[0]
    browser = signed_in(app, name)
    before = counts()
    with ExitStack() as faulty:
        if fault == "locked":
            faulty.enter_context(impatient())
            faulty.enter_context(locked(app))
        else:
            faulty.enter_context(exhausted() if fault == "exhausted" else away())
        with caplog.at_level(logging.ERROR):
            check(browser.post(link))
    assert counts() == before
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.startswith("the database is away or too busy: ")
    assert link not in line
    assert "Traceback" not in caplog.text
    assert "SELECT" not in caplog.text
    assert browser.post(link).status_code == 200
    assert browser.post(link).status_code in (200, 409)
    assert db.session.get_one(Match, match_id).ply > ply
    moves = select(func.count()).select_from(Move).where(Move.ply == ply + 1)
    assert db.session.scalar(moves) == 1


@contextmanager
def failing_once(app, point: str, fault: str) -> Iterator[list[str]]:
    """Let PostgreSQL break a transaction off at a failpoint, once; gives what failed."""
    failed: list[str] = []

    def hook(name: str) -> None:
        if name != point or failed:
            return
        failed.append(name)
        if fault == "answer lost":
            raise OperationalError("COMMIT", None, ConnectionError("answer lost"))
        if fault == "connection lost":
            ours = db.session.scalar(text("SELECT pg_backend_pid()"))
            with db.engine.connect() as other:
                other.execute(text(f"SELECT pg_terminate_backend({ours})"))
        else:
            db.session.execute(text(f"DO $$ BEGIN RAISE SQLSTATE '{fault}'; END $$"))

    app.extensions["pbem.failpoints"] = hook
    try:
        yield failed
    finally:
        del app.extensions["pbem.failpoints"]


DEADLOCK, SERIALISATION = "40P01", "40001"
BROKEN_OFF = [
    ("move: held", DEADLOCK),
    ("move: stored", SERIALISATION),
    ("move: told", DEADLOCK),
    ("move: told", "connection lost"),  # and so at the commit
    ("move: committed", "answer lost"),  # it counts, and nobody was told
]


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
@pytest.mark.parametrize(("point", "fault"), BROKEN_OFF)
def test_a_move_whose_transaction_breaks_counts_once_when_its_link_is_opened_again(
    app, mailbox, now, point, fault
) -> None:
    name, letter, match = first_turn(mailbox, now=now)
    code, ply = match.code, match.ply
    link, browser, before = move_links(letter)[0], signed_in(app, name), counts()
    with failing_once(app, point, fault) as failed:
        check(browser.post(link))
    assert failed == [point]
    assert (counts() == before) is (point != "move: committed")
    again = browser.post(link)
    assert again.status_code == 200
    match = db.session.query(Match).filter_by(code=code).one()
    assert [move.ply for move in match.moves[ply:] if move.by == "link"] == [ply + 1]


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
@pytest.mark.parametrize(("point", "fault"), BROKEN_OFF)
def test_a_reply_whose_transaction_breaks_counts_once_when_it_is_read_again(
    app, mailbox, listener, now, point, fault
) -> None:
    name, letter, match = first_turn(mailbox, now=now)
    match_id, ply = match.id, match.ply
    by_number(listener, letter, 1)
    with failing_once(app, point, fault) as failed:
        inbox.read_all(now=now)
        inbox.read_all(now=now + 2 * inbox.LEASE)
    assert failed == [point]
    moves = db.session.get_one(Match, match_id).moves[ply:]
    assert [move.ply for move in moves if move.by == "reply"] == [ply + 1]
    assert db.session.query(Note).one().verdict in ("move", "repeated")
    assert len(letters_to(name, "receipt")) == 1


def test_every_page_and_the_watcher_say_so(app, mailbox, now) -> None:
    name, letter, match = first_turn(mailbox, now=now)
    browser, code = signed_in(app, name), match.code
    with away():
        for path in ("/", "/you", f"/g/{code}", move_links(letter)[0]):
            check(browser.get(path))
        health = browser.get("/healthz")
        assert (health.status_code, health.json) == (
            503,
            {"status": "trouble", "database": "trouble"},
        )
    assert browser.get("/").status_code == 200
