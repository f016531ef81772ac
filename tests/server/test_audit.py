"""The audit: each promise that the database can show, broken by hand and told in a line."""

from __future__ import annotations

from datetime import timedelta

import pytest
from cast import open_turn, run_worker, running_match
from sqlalchemy import text

from pbem import audit, play
from pbem.ext import db
from pbem.models import Match

DAY = timedelta(days=1)


@pytest.fixture
def match(app, now) -> Match:
    """A match of ann and bob with one move, its letters sent."""
    found = running_match(["ann", "bob"], now=now)
    turn = open_turn(found)
    play.make_move(turn.id, play.choose_for(turn.id, "greedy"), by="link", now=now)
    run_worker(now)
    db.session.rollback()
    return db.session.get_one(Match, found.id)


def broken(statement: str, **values: object) -> None:
    """Break a row behind the models' back."""
    db.session.execute(text(statement), values)
    db.session.commit()


def found(now) -> list[str]:
    db.session.expire_all()
    return list(audit.wrongs(now=now))


def test_nothing_is_wrong_with_a_game_as_it_is_played(match, now) -> None:
    assert found(now) == []
    assert list(audit.wrongs_of_tables()) == []


@pytest.mark.parametrize(
    ("statement", "line"),
    [
        (
            "UPDATE match SET commitment = 'ab'",
            "the commitment that was published is not that of its key",
        ),
        ("UPDATE match SET ply = 7", "it counts 7 moves and has 1"),
        ("UPDATE match SET scores = '[90, 90]'", "the scores are {scores}, not (90, 90)"),
        ("UPDATE move SET scores = '[90, 90]'", "ply 1: the scores are {scores}, not (90, 90)"),
        ("UPDATE move SET text = 'keep'", "it cannot be replayed: ply 1: 'keep' is not legal now"),
        ("UPDATE seat SET number = 1", "its seats are numbered [1, 1]"),
        (
            "UPDATE seat SET bank_left = 5 WHERE number = 1",
            "seat 1 has 5 seconds left in a bank of 0:00:00",
        ),
        (
            "UPDATE seat SET player_id = NULL WHERE number = {mover}",
            "seat {mover} is empty and nobody plays it",
        ),
        ("UPDATE turn SET closed_at = NULL WHERE ply = 0", "ply 1: its turn is still open"),
        ("UPDATE match SET game = 'chess'", "there is no such game in this release"),
    ],
)
def test_what_is_wrong_with_a_game_is_told(match, now, statement, line) -> None:
    facts = {"scores": tuple(match.scores), "mover": match.moves[0].seat}
    broken(statement.format(**facts).replace("match SET", '"match" SET'))
    lines = found(now)
    code, game = match.code, match.game
    assert f"{game} {code}: {line.format(**facts)}" in lines
    assert all("7SK" not in line and "@" not in line for line in lines)


def test_a_turn_that_is_asked_wrongly_is_told(match, now) -> None:
    asked = open_turn(match).seat
    other = 3 - asked
    broken("UPDATE turn SET seat = :other, nth = 9 WHERE closed_at IS NULL", other=other)
    assert f"biscuit {match.code}: it asks the seats [{other}], and [{asked}] are to move" in found(
        now
    )


def test_a_seat_that_is_asked_twice_is_told(match, now) -> None:
    asked = open_turn(match).seat
    broken(
        "INSERT INTO turn (match_id, seat, nth, ply, opened_at, deadline, extra, stops, sequence)"
        " SELECT match_id, seat, nth + 1, ply, opened_at, deadline, extra, stops, sequence"
        " FROM turn WHERE closed_at IS NULL"
    )
    line = f"it asks the seats [{asked}, {asked}], and [{asked}] are to move"
    assert f"biscuit {match.code}: {line}" in found(now)


def test_a_turn_without_a_letter_is_told_and_one_that_is_long_past(match, now) -> None:
    asked = open_turn(match).seat
    broken("DELETE FROM letter")
    broken("UPDATE turn SET deadline = opened_at WHERE closed_at IS NULL")
    since = f"{now:%Y-%m-%d %H:%MZ}"
    assert found(now + 2 * DAY) == [
        f"biscuit {match.code}: seat {asked} is to move and has no letter",
        f"biscuit {match.code}: seat {asked} is to move and has no deadline",
        f"biscuit {match.code}: seat {asked} is late since {since} and nothing is done",
    ]


def test_a_move_in_the_turn_of_another_seat_is_told(match, now) -> None:
    broken("UPDATE turn SET seat = 3 - seat, nth = 9 WHERE closed_at IS NOT NULL")
    line = f"biscuit {match.code}: ply 1: it was made in the turn of another seat"
    assert line in found(now)


def test_a_table_that_waits_asks_nobody(match, now) -> None:
    broken("UPDATE \"match\" SET status = 'open'")
    assert found(now) == [f"biscuit {match.code}: it is open and asks somebody"]


def test_what_is_wrong_with_a_game_that_is_over_is_told(match, now) -> None:
    play.stop(match, "stopped", now=now)
    db.session.commit()
    assert found(now) == []
    broken("UPDATE \"match\" SET ended_at = NULL, paused_at = opened_at, winners = '[]'")
    broken("UPDATE turn SET closed_at = NULL WHERE ply = 1")
    before = f"biscuit {match.code}: "
    lines = found(now)
    assert [line for line in lines if "its record is wrong: winners" in line] != []
    assert before + "it is over and does not know since when" in lines
    assert before + "it is over and paused" in lines
    assert before + "it is over and still asks somebody" in lines


def test_orders_that_do_not_fit_their_game_are_told(match, now) -> None:
    (seat,) = [seat for seat in match.seats if seat.number != open_turn(match).seat]
    broken(
        "INSERT INTO standing_order (seat_id, player_id, hand, text, given_at, ply)"
        " VALUES (:seat, :player, 1, 'lowest', :at, 1)",
        seat=seat.id, player=seat.player_id, at=(now - DAY).isoformat(" "),
    )  # fmt: skip
    before = f"biscuit {match.code}: order 1 "
    assert found(now) == [
        before + "was given before it began",
        before + "has made ply 1, and that move is not by an order",
    ]
    match = db.session.get_one(Match, match.id)
    play.stop(match, "stopped", now=now)
    db.session.commit()
    broken("UPDATE standing_order SET given_at = :at", at=(now + DAY).isoformat(" "))
    assert before + "was given when it was over" in found(now)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("state = 'lost'", "is in no known state: 'lost'"),
        ("sent_at = NULL", "was sent, and nobody knows when"),
        ("state = 'retry', due_at = '{past}'", "should have left at {shown}"),
        (
            "state = 'sending', leased_until = '{past}', due_at = '{past}'",
            "should have left at {shown}",
        ),
        ("state = 'queued', turn_id = {over}", "waits to tell of turn {over}, which is over"),
    ],
)
def test_what_is_wrong_with_a_letter_is_told(match, now, change, words) -> None:
    letter, over = db.session.execute(
        text("SELECT max(id), (SELECT min(id) FROM turn) FROM letter WHERE kind = 'your_turn'")
    ).one()
    past = now - 2 * DAY
    facts = {"past": past.isoformat(" "), "shown": f"{past:%Y-%m-%d %H:%MZ}", "over": over}
    broken(f"UPDATE letter SET {change.format(**facts)} WHERE id = {letter}")
    assert f"letter {letter} (your_turn) {words.format(**facts)}" in found(now)


def test_mail_that_is_not_read_or_went_nowhere_is_told(match, now) -> None:
    for digest, read_at in (("a", None), ("b", now.isoformat(" "))):
        broken(
            "INSERT INTO note (digest, raw, recipient, return_path, received_at, read_at)"
            " VALUES (:digest, :raw, '', '', :at, :read_at)",
            digest=digest, raw=b"x", at=(now - 2 * DAY).isoformat(" "), read_at=read_at,
        )  # fmt: skip
    since = f"{now - 2 * DAY:%Y-%m-%d %H:%MZ}"
    assert found(now) == [
        f"mail 1 came at {since} and is not read yet",
        "mail 2 was read, and nothing says what became of it",
    ]


def test_a_whisper_that_others_were_told_is_told(app, now) -> None:
    match = running_match(["ann", "bob", "cleo"], now=now)
    ann, bob, cleo = (seat.player_id for seat in sorted(match.seats, key=lambda s: s.place))
    broken(
        "INSERT INTO talk (match_id, seat_id, player_id, to_id, text, at, nth)"
        " SELECT match_id, id, player_id, :to, 'psst', :at, 0 FROM seat WHERE player_id = :by",
        to=bob, by=ann, at=now.isoformat(" "),
    )  # fmt: skip
    for reader in (bob, cleo):
        broken(
            "INSERT INTO heard (talk_id, letter_id, seat_id) SELECT 1, min(letter.id), min(seat.id)"
            " FROM letter JOIN seat ON seat.player_id = letter.player_id"
            " WHERE letter.player_id = :reader AND letter.match_id IS NOT NULL",
            reader=reader,
        )
    lines = found(now)
    assert len(lines) == 1
    assert lines[0].startswith("line 1 was whispered to somebody else than letter ")


def test_players_who_are_not_as_promised_are_told(match, now) -> None:
    one, other = (seat.player_id for seat in match.seats)
    broken("UPDATE player SET address = 'x@players.example' WHERE id = :one", one=one)
    broken(
        "UPDATE player SET deleted_at = :at WHERE id = :other", other=other, at=now.isoformat(" ")
    )
    lines = found(now)
    assert f"player {one} is mailed at an address that is not one of theirs" in lines
    assert f"player {other} has left, and their addresses are still here" in lines
    assert any(line.endswith("is played by somebody who has left") for line in lines)
    assert "@" not in "".join(lines)


def test_tables_that_lack_what_keeps_a_promise_are_told(match) -> None:
    db.session.execute(text("DROP INDEX ix_turn_due"))
    lines = list(audit.wrongs_of_tables())
    db.session.rollback()
    assert lines == ["the tables: index ix_turn_due is missing; run: pbem db upgrade"]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_rows_that_belong_nowhere_are_told(match) -> None:
    db.session.rollback()
    with db.engine.connect() as connection:
        raw = connection.connection.cursor()
        raw.execute("PRAGMA foreign_keys = OFF")
        raw.execute("UPDATE move SET turn_id = 99")
        raw.execute("PRAGMA foreign_keys = ON")
    assert list(audit.wrongs_of_tables()) == ["move 1 belongs to a row of turn that is not there"]


def test_the_command_says_in_its_exit_code_whether_something_is_wrong(match, command) -> None:
    code = match.code
    assert command("audit") == (0, "all is as promised\n", "")
    broken('UPDATE "match" SET ply = 7')
    line = f"biscuit {code}: it counts 7 moves and has 1\n"
    assert command("audit") == (1, f"{line}1 wrong\n", "")
