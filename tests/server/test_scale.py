"""What a worker and the pages ask of a large site goes by indexes, and misses nothing for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from cast import letters_to, on_time, open_turn, running_match
from sqlalchemy import event, text

from pbem import agreements, clocks, lobby, play, post, worker
from pbem.ext import db, writing
from pbem.mail import outbox
from pbem.models import Turn

HOUR = timedelta(hours=1)


@contextmanager
def statements() -> Iterator[list[tuple[str, object]]]:
    """Keep what the database is asked within the block."""
    seen: list[tuple[str, object]] = []

    def keep(_connection, _cursor, sql, given, *_more) -> None:
        seen.append((sql, given))

    event.listen(db.engine, "before_cursor_execute", keep)
    yield seen
    event.remove(db.engine, "before_cursor_execute", keep)


# PostgreSQL plans by what it counted when it last looked: that these tables are empty.
FORGOTTEN = [
    "SET enable_seqscan = off",
    "DELETE FROM pg_statistic WHERE starelid >= 16384",
    "UPDATE pg_class SET reltuples = -1, relpages = 0 WHERE oid >= 16384 AND relkind = 'r'",
]


def plans(ask: Callable[[], object]) -> str:
    """Return the plans of all that is read, as of a table too long to be read whole."""
    with statements() as seen:
        ask()
    db.session.rollback()
    with db.engine.connect() as connection:
        explain = "EXPLAIN QUERY PLAN " if connection.dialect.name == "sqlite" else "EXPLAIN "
        for setting in FORGOTTEN if connection.dialect.name == "postgresql" else ():
            connection.execute(text(setting))
        lines = [
            str(row[-1])
            for sql, given in seen
            if sql.startswith(("SELECT", "UPDATE"))
            for row in connection.exec_driver_sql(explain + sql, given)
        ]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("ask", "index"),
    [
        (worker.due_turns, "ix_turn_due"),
        (worker.remind, "ix_turn_due"),
        (lambda now: worker.remind(now + HOUR), "ix_player_half"),
        (worker.play_bots, "ix_turn_house"),
        (worker.send_digests, "ix_player_daily"),
        (worker.expire_tables, "ix_match_open"),
        (worker.find_reached, "ix_player_unreachable"),
        (lambda now: lobby.mailed_lately("ann@players.example", "sign_in", now=now),
         "ix_letter_address"),
        (lambda now: post.for_host("letter", {}, now=now), "ix_letter_address"),
        (lambda now: outbox.claim(now=now), "ix_letter_state_due_at"),
    ],
)  # fmt: skip
def test_what_is_due_is_found_by_an_index(app, now, ask, index) -> None:
    worker.run_once(now)
    assert index in plans(lambda: ask(now))


def test_a_reminder_whose_time_came_while_nobody_looked_is_given_at_the_next_look(app, now) -> None:
    match = running_match(["ann", "bob"], now=now)
    name = open_turn(match).asked.name.lower()
    on_time(worker.remind, now + HOUR)
    on_time(worker.remind, now + 50 * HOUR)  # the step was two hours before
    on_time(worker.remind, now + 50 * HOUR)
    on_time(worker.remind, now + 51 * HOUR)
    assert len(letters_to(name, "reminder")) == 1


def test_a_step_that_a_deadline_has_jumped_over_as_it_came_forward_is_made_up(app, now) -> None:
    match = running_match(["ann", "bob"], now=now)
    turn = open_turn(match)
    name = turn.asked.name.lower()
    with writing():
        turn.asked.player.reminder_steps = [48]
        clocks.stop(turn, "paused", now, now + 240 * HOUR, now=now)
    on_time(worker.remind, now + 30 * HOUR)
    with writing():
        clocks.cut_stop(turn, "paused", now=now)
    on_time(worker.remind, now + 31 * HOUR)
    assert len(letters_to(name, "reminder")) == 1
    assert not db.session.get_one(Turn, turn.id).came_forward
    on_time(worker.remind, now + 32 * HOUR)
    assert len(letters_to(name, "reminder")) == 1


def test_a_look_for_reminders_reads_no_turn_without_a_step_since_the_last_one(app, now) -> None:
    running_match(["ann", "bob"], now=now)
    on_time(worker.remind, now + HOUR)
    db.session.remove()
    read: list[int] = []

    def keep(turn: Turn, _context: object) -> None:
        read.append(turn.id)

    event.listen(Turn, "load", keep)
    on_time(worker.remind, now + 47 * HOUR)
    before = list(read)
    on_time(worker.remind, now + 49 * HOUR)
    event.remove(Turn, "load", keep)
    assert (before, len(set(read))) == ([], 1)


def test_turns_of_bots_and_of_who_resigned_are_marked_for_the_house(app, now) -> None:
    match = running_match(["ann", "bob", "bot"], now=now)
    for _ in range(4):
        turn = open_turn(match)
        assert turn.is_house == (turn.asked.bot is not None)
        play.make_move(turn.id, play.choose_for(turn.id, "greedy"), by="link", now=now)
    while open_turn(match).asked.bot is not None:
        worker.play_bots(now)
    turn = open_turn(match)
    agreements.resign(turn.asked.id, now=now)
    assert db.session.get_one(Turn, turn.id).is_house
    worker.play_bots(now)
    assert db.session.get_one(Turn, turn.id).closed_at is not None
