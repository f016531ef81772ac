"""Time: one reminder, then the house; never early, never for somebody who moved."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cast import (
    ADDRESSES,
    letters_to,
    on_time,
    open_turn,
    parsed,
    reply_to,
    run_worker,
    running_match,
)
from flask_migrate import upgrade
from mail_server import Mailbox
from sqlalchemy import select
from worker_process import wait_for, working

from pbem import audit, away, create_app, play, worker
from pbem.config import Settings
from pbem.ext import db, writing
from pbem.mail import inbox
from pbem.models import Absence, Beat, Letter, Match, Move, Note, Reminder, Turn

HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


@pytest.fixture
def turn(app, now):
    """The open turn of a match of ann and bob at the usual pace of three days."""
    return open_turn(running_match(["ann", "bob"], now=now))


def asked(turn) -> str:
    return "ann" if turn.seat == 1 else "bob"


def test_a_turn_is_reminded_once_a_day_before(turn, now) -> None:
    name = asked(turn)
    on_time(worker.remind, now + 47 * HOUR + 59 * MINUTE)
    assert letters_to(name, "reminder") == []
    for minutes in range(3):
        on_time(worker.remind, now + 48 * HOUR + minutes * MINUTE)
    on_time(worker.remind, now + 71 * HOUR)
    assert len(letters_to(name, "reminder")) == 1


def test_a_turn_of_less_than_a_day_is_not_reminded_before_it_was_asked(app, now) -> None:
    running_match(["ann", "bob"], now=now, pace_hours=12)
    for hours in range(12):
        on_time(worker.remind, now + hours * HOUR)
    assert db.session.query(Letter).filter_by(kind="reminder").count() == 0


def test_two_workers_remind_once(turn, app, now) -> None:
    start = threading.Barrier(2)
    with writing():
        db.session.merge(Beat(id=1, at=now + 50 * HOUR))

    def work() -> None:
        with app.app_context():
            start.wait()
            worker.remind(now + 50 * HOUR)

    workers = [threading.Thread(target=work) for _ in range(2)]
    for one in workers:
        one.start()
    for one in workers:
        one.join()
    db.session.rollback()
    assert len(letters_to(asked(turn), "reminder")) == 1


def test_the_house_plays_after_the_grace_and_not_a_minute_before(turn, mailbox, now) -> None:
    turn_id, name = turn.id, asked(turn)
    on_time(worker.time_out, now + 73 * HOUR)
    assert db.session.query(Move).count() == 0
    on_time(worker.time_out, now + 73 * HOUR + MINUTE)
    assert db.session.query(Move).count() == 1
    for minutes in (2, 3):
        on_time(worker.time_out, now + 73 * HOUR + minutes * MINUTE)
    (move,) = db.session.query(Move)
    assert (move.turn_id, move.by) == (turn_id, "timeout")
    run_worker(now + 73 * HOUR + 4 * MINUTE)
    told = [str(mail["Subject"]) for mail in mailbox.to(ADDRESSES[name])]
    assert "time ran out (move 1)" in told[-1] or "time ran out (move 1)" in told[-2]
    # The first letter is stale by now: nobody is asked for a turn that is over.
    assert not any("your turn (move 1)" in subject for subject in told)
    assert list(audit.wrongs()) == []


def test_a_move_that_came_first_cancels_both(turn, now) -> None:
    name, turn_id = asked(turn), turn.id
    play.make_move(turn_id, play.choose_for(turn_id, "greedy"), by="link", now=now + HOUR)
    on_time(worker.remind, now + 50 * HOUR)
    assert [r.turn_id for r in db.session.query(Reminder) if r.turn_id == turn_id] == []
    assert play.time_out(turn_id, now=now + 80 * HOUR) is False
    assert [move.by for move in db.session.query(Move).filter_by(turn_id=turn_id)] == ["link"]
    assert letters_to(name, "house_played") == []


def test_a_move_in_the_grace_counts(turn, now) -> None:
    turn_id = turn.id
    text = play.choose_for(turn_id, "greedy")
    play.make_move(turn_id, text, by="link", now=now + 72 * HOUR + 59 * MINUTE)
    on_time(worker.time_out, now + 74 * HOUR)
    assert [move.by for move in db.session.query(Move).filter_by(turn_id=turn_id)] == ["link"]


def test_a_reply_that_reached_us_in_time_counts_though_it_is_read_late(turn, mailbox, now) -> None:
    name, turn_id = asked(turn), turn.id
    run_worker(now)
    letter = mailbox.to(ADDRESSES[name])[-1]
    raw = reply_to(letter, "1", sender=ADDRESSES[name])
    envelope = inbox.Envelope(str(letter["Reply-To"]), ADDRESSES[name])
    inbox.take(raw, envelope, now=now + 72 * HOUR + 30 * MINUTE)
    # The clock looks before anybody has read the mail: it must not act.
    on_time(worker.time_out, now + 74 * HOUR)
    assert db.session.query(Move).count() == 0
    inbox.read_all(now=now + 74 * HOUR)
    on_time(worker.time_out, now + 74 * HOUR)
    assert [m.by for m in db.session.query(Move).filter_by(turn_id=turn_id)] == ["reply"]


def test_a_mail_that_came_too_late_does_not_hold_the_clock(turn, now) -> None:
    db.session.add(
        Note(digest="x", raw=b"", recipient="", return_path="", received_at=now + 74 * HOUR)
    )
    db.session.commit()
    on_time(worker.time_out, now + 75 * HOUR)
    assert [move.by for move in db.session.query(Move)] == ["timeout"]


def test_a_clock_that_jumps_ahead_by_an_hour_times_nobody_out(turn, now) -> None:
    # Half an hour of grace was left, and the clock says that it ended half an hour ago.
    due = turn.deadline
    on_time(worker.time_out, due + 30 * MINUTE)
    worker.time_out(due + 90 * MINUTE)
    worker.remind(due + 90 * MINUTE)
    assert db.session.query(Move).count() == 0
    assert open_turn(db.session.query(Match).one()).deadline == due + HOUR
    # The time that was left is left still, and not more than that.
    on_time(worker.time_out, due + 120 * MINUTE)
    assert db.session.query(Move).count() == 0
    on_time(worker.time_out, due + 121 * MINUTE)
    assert [move.by for move in db.session.query(Move)] == ["timeout"]


def test_a_clock_that_jumps_back_by_an_hour_does_nothing_twice(turn, mailbox, now) -> None:
    due, name = turn.deadline, asked(turn)
    run_worker(now)
    run_worker(due - 24 * HOUR)
    for at in (due - 25 * HOUR, due - 25 * HOUR + MINUTE, due - 24 * HOUR + MINUTE):
        worker.run_once(at)
    assert len(letters_to(name, "reminder")) == 1
    sent = [str(mail["Message-ID"]) for mail in mailbox.to(ADDRESSES[name])]
    assert len(sent) == len(set(sent))
    assert open_turn(db.session.query(Match).one()).deadline == due
    assert list(audit.wrongs(now=due - 24 * HOUR)) == []


def test_a_clock_that_is_set_right_again_loses_no_move_and_no_letter(turn, mailbox, now) -> None:
    turn_id, name = turn.id, asked(turn)
    run_worker(now)
    raw = reply_to(mailbox.to(ADDRESSES[name])[-1], "1", sender=ADDRESSES[name])
    to = str(mailbox.to(ADDRESSES[name])[-1]["Reply-To"])
    # The mail comes while the clock is an hour ahead, and is read when it is right again.
    inbox.take(raw, inbox.Envelope(to, ADDRESSES[name]), now=now + HOUR)
    worker.run_once(now + MINUTE)
    assert [move.by for move in db.session.query(Move).filter_by(turn_id=turn_id)] == ["reply"]
    assert list(audit.wrongs(now=now + HOUR)) == []


def test_a_real_worker_reminds_once_and_then_lets_the_house_play(
    tmp_path: Path, mailbox: Mailbox
) -> None:
    database = f"sqlite:///{tmp_path / 'pbem.sqlite3'}"
    settings = Settings(
        instance=tmp_path, database_url=database, mail_domain="play.example",
        secret_keys=("ab" * 32,), smtp_port=mailbox.port,
    )  # fmt: skip
    with create_app(settings).app_context():
        upgrade()
        match_id = running_match(["ann", "bob"], now=datetime.now(UTC)).id
        with working(database, mailbox):
            wait_for(lambda: told(mailbox, "your turn (move 1)"))
        # It is the turn that we move, not the clock.
        turn_id = moved_back(match_id, 60 * HOUR)
        with working(database, mailbox):
            wait_for(lambda: told(mailbox, "still your turn"))
        assert told(mailbox, "time ran out") == []
        moved_back(match_id, 14 * HOUR)
        with working(database, mailbox):
            wait_for(lambda: told(mailbox, "time ran out"))
        db.session.rollback()
        assert [(move.turn_id, move.by) for move in db.session.query(Move)] == [
            (turn_id, "timeout")
        ]
        assert len(told(mailbox, "still your turn")) == 1
        assert len(told(mailbox, "time ran out")) == 1
        assert list(audit.wrongs()) == []
        db.session.remove()
        db.engine.dispose()


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_the_clock_does_not_wait_for_who_is_at_a_match(app, now) -> None:
    match = running_match(["ann", "bob"], now=now)
    turn, late = open_turn(match), now + 80 * HOUR
    held = select(Match).where(Match.id == match.id).with_for_update(key_share=True)
    turn_id = turn.id
    with db.engine.connect() as other:
        other.execute(held)
        assert play.time_out(turn_id, now=late) is False
        assert db.session.get_one(Turn, turn_id).closed_at is None
        other.rollback()
    assert play.time_out(turn_id, now=late) is True


def moved_back(match_id: int, by: timedelta) -> int:
    """Let the open turn have been asked so much earlier; returns its id."""
    with writing():
        turn = open_turn(db.session.get_one(Match, match_id))
        turn.opened_at -= by
        turn.came_forward = True
        turn.deadline -= by
        return turn.id


def told(mailbox: Mailbox, words: str) -> list[str]:
    """Return the subjects of the mails that came and have the words."""
    subjects = [str(parsed(raw)["Subject"]) for _sender, _to, raw in mailbox.arrived]
    return [subject for subject in subjects if words in subject]


def test_an_absence_and_a_move_at_once_both_stand(app, now) -> None:
    match_id = running_match(["ann", "bob"], now=now).id
    for nth in range(8):
        turn = open_turn(db.session.get_one(Match, match_id))
        turn_id, who = turn.id, turn.asked.player_id
        text, day = play.choose_for(turn_id, "random"), f"2027-01-{nth + 1:02}"
        start, errors = threading.Barrier(2), []

        def at_once(do, start=start, errors=errors) -> None:
            with app.app_context():
                start.wait()
                try:
                    do()
                except Exception as error:  # noqa: BLE001 - whatever it is, the test tells it
                    errors.append(error)

        acts = (
            lambda who=who, day=day: away.set_absence(who, day, day, now=now),
            lambda turn_id=turn_id, text=text: play.make_move(turn_id, text, by="link", now=now),
        )
        threads = [threading.Thread(target=at_once, args=(act,)) for act in acts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        db.session.rollback()
    assert db.session.query(Absence).count() == 8
    assert db.session.query(Move).count() == 8
    assert list(audit.wrongs()) == []
