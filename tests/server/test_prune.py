"""Old mail is thrown away, and nothing that is still needed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from cast import ADDRESSES, finished, first_turn, reply_to, run_worker, running_match
from sqlalchemy import text

from pbem import audit, pruning
from pbem.ext import db
from pbem.mail import inbox
from pbem.models import Letter, Match, Move, Note

DAY = timedelta(days=1)


@pytest.fixture
def answered(app, mailbox, now) -> tuple[bytes, inbox.Envelope]:
    """A mail that made a move a while ago, and how it came."""
    name, letter, _match = first_turn(mailbox, now=now)
    raw = reply_to(letter, "1", sender=ADDRESSES[name])
    envelope = inbox.Envelope(str(letter["Reply-To"]), ADDRESSES[name])
    inbox.take(raw, envelope, now=now)
    run_worker(now)
    return raw, envelope


def test_an_old_mail_is_emptied_and_still_counts_once(answered, now) -> None:
    raw, envelope = answered
    moves = db.session.query(Move).count()
    assert pruning.count_notes(now + DAY) == 1
    assert pruning.empty_notes(now + DAY) == 1
    (note,) = db.session.query(Note)
    assert (note.raw, note.return_path, note.verdict) == (b"", "", "move")
    assert pruning.empty_notes(now + DAY) == 0
    inbox.take(raw, envelope, now=now + DAY)
    run_worker(now + DAY)
    assert db.session.query(Note).count() == 1
    assert db.session.query(Move).count() == moves
    assert list(audit.wrongs(now=now)) == []


def test_a_mail_that_is_young_or_not_read_stays_as_it_came(answered, now) -> None:
    db.session.add(Note(digest="x", raw=b"1", recipient="", return_path="", received_at=now - DAY))
    db.session.commit()
    assert pruning.empty_notes(now - DAY) == 0
    assert pruning.empty_notes(now + DAY) == 1
    assert [note.raw for note in db.session.query(Note).filter_by(digest="x")] == [b"1"]


def test_letters_of_a_game_that_runs_stay(answered, now) -> None:
    letters = db.session.query(Letter).count()
    assert pruning.delete_letters(now + 400 * DAY) == 0
    assert db.session.query(Letter).count() == letters


def test_letters_of_a_game_that_is_over_go_but_for_those_that_wait(app, mailbox, now) -> None:
    match = finished(running_match(["ann", "bob"], now=now), now=now)
    ended = match.ended_at
    waiting = db.session.query(Letter).filter_by(state="queued").count()
    done = db.session.query(Letter).count() - waiting
    assert waiting
    assert done
    assert pruning.delete_letters(now - DAY) == 0
    assert pruning.delete_letters(ended + DAY) == done
    assert {letter.state for letter in db.session.query(Letter)} == {"queued"}
    assert list(audit.wrongs(now=ended)) == []


def test_a_letter_that_told_what_was_said_stays(app, now) -> None:
    match = finished(running_match(["ann", "bob"], now=now), now=now)
    ended, code = match.ended_at, match.code
    db.session.execute(text("UPDATE letter SET state = 'sent', sent_at = created_at"))
    for statement in (
        "INSERT INTO talk (match_id, seat_id, player_id, text, at, nth)"
        " SELECT match_id, id, player_id, 'well played', :at, 0 FROM seat WHERE place = 1",
        "INSERT INTO heard (talk_id, letter_id, seat_id) SELECT talk.id, max(letter.id), seat.id"
        " FROM talk, letter, seat WHERE seat.place = 2 AND letter.seat_id = seat.id"
        " GROUP BY talk.id, seat.id",
    ):
        values = {"at": ended.isoformat(" ")} if ":at" in statement else {}
        db.session.execute(text(statement), values)
    db.session.commit()
    pruning.delete_letters(ended + DAY)
    assert db.session.query(Letter).count() == 1
    assert db.session.query(Match).one().code == code


def test_more_rows_than_one_step_takes_go_too(app, now) -> None:
    db.session.add_all(
        Note(digest=str(n), raw=b"x", recipient="", return_path="", received_at=now, read_at=now)
        for n in range(pruning.BATCH + 3)
    )
    db.session.commit()
    assert pruning.empty_notes(now + DAY) == pruning.BATCH + 3
    assert pruning.count_notes(now + DAY) == 0


def test_the_command_counts_first_and_keeps_what_is_too_young(app, command) -> None:
    long_ago = datetime.now(UTC) - 100 * DAY
    for digest, at in (("old", long_ago), ("young", datetime.now(UTC))):
        db.session.add(
            Note(
                digest=digest, raw=b"x", recipient="", return_path="", received_at=at,
                read_at=at, verdict="unknown",
            )
        )  # fmt: skip
    db.session.commit()
    assert command("prune", "--dry-run") == (
        0, "mails to be emptied: 1\nletters to be deleted: 0\n", "",
    )  # fmt: skip
    assert command("prune") == (0, "mails emptied: 1\nletters deleted: 0\n", "")
    kept = {note.digest: note.raw for note in db.session.query(Note)}
    assert kept == {"old": b"", "young": b"x"}
    with pytest.raises(SystemExit):
        command("prune", "--letters-days", "1")
