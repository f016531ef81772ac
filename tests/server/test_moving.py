"""One game is moved to another server: all of it, checked, and nothing twice."""

from __future__ import annotations

import json
import stat
from datetime import timedelta
from pathlib import Path

import pytest
from cast import ADDRESSES, finished, open_turns, run_worker, running_match, seat_of
from sqlalchemy import text

from engine.record import loads
from pbem import audit, moving, play, table
from pbem.ext import db
from pbem.models import Letter, Match, Move, Player, Talk

HOUR = timedelta(hours=1)


def played(match: Match, moves: int, *, now) -> Match:
    """Let bots make some moves of a match."""
    for _ in range(moves):
        turn = open_turns(match)[0]
        play.make_move(turn.id, play.choose_for(turn.id, "greedy"), by="link", now=now)
        match = db.session.get_one(Match, match.id)
    return match


def emptied() -> None:
    """Stand for another server: the same database with nothing in it."""
    db.session.remove()
    names = [f'"{one.name}"' for one in reversed(db.metadata.sorted_tables)]
    for name in names:
        db.session.execute(text(f"DELETE FROM {name}"))
    db.session.commit()


@pytest.mark.parametrize("game", ["biscuit", "bisque", "snakebit"])
def test_a_running_game_goes_on_elsewhere_as_it_stands(app, now, game) -> None:
    match = played(running_match(["ann", "bob", "cleo"], now=now, game=game), 9, now=now)
    file, asked = moving.hand_over(match), [turn.seat for turn in open_turns(match)]
    before, moves = table.record_file(match), [move.text for move in match.moves]
    emptied()
    match = moving.take_in(moving.read(file), now=now + HOUR)
    assert table.record_file(match) == before
    assert [move.text for move in match.moves] == moves
    assert [turn.seat for turn in open_turns(match)] == asked
    assert list(audit.wrongs(now=now)) == []
    told = {letter.address for letter in db.session.query(Letter).filter_by(kind="your_turn")}
    assert told == {ADDRESSES[turn.asked.name.lower()] for turn in open_turns(match)}
    match = finished(match, now=now + HOUR)
    assert list(audit.wrongs(now=now)) == []


def test_a_game_that_is_over_moves_with_its_record_and_mails_nobody(app, now) -> None:
    match = finished(running_match(["ann", "bob", "bot"], now=now, game="snakebit"), now=now)
    file, before = moving.hand_over(match), table.record_file(match)
    emptied()
    match = moving.take_in(moving.read(file), now=now)
    assert table.record_file(match) == before
    assert moving.hand_over(match) == file
    assert db.session.query(Letter).count() == 0
    assert list(audit.wrongs(now=now)) == []


def test_the_record_in_the_file_is_that_of_the_format(app, now) -> None:
    match = played(running_match(["ann", "bob", "cleo"], now=now, game="bisque"), 5, now=now)
    data = json.loads(moving.hand_over(match))
    assert json.dumps(data["record"]) == json.dumps(json.loads(table.record_file(match)[1]))
    assert loads(json.dumps(data["record"])).key is None
    assert data["shows_hidden_cards"] is True
    assert data["hidden"]["key"] == match.server_key.hex()
    assert {move["move"] for move in data["record"]["moves"][:3]} == {"aim"}


def test_players_whom_the_other_server_knows_stay_as_they_are(app, now) -> None:
    match = running_match(["ann", "bob"], now=now)
    file = moving.hand_over(match)
    emptied()
    from cast import player

    bob = player("bob", now=now, language="fr")
    bob_id = bob.id
    match = moving.take_in(moving.read(file), now=now)
    assert seat_of(match, "bob").player_id == bob_id
    assert db.session.get_one(Player, bob_id).language == "fr"
    assert db.session.query(Player).count() == 2


def test_a_seat_of_a_former_player_moves_without_a_name(app, now) -> None:
    from pbem.leaving import delete_account

    match = running_match(["ann", "bob"], now=now)
    delete_account(seat_of(match, "bob").player_id, now=now)
    match = db.session.get_one(Match, match.id)
    file, before = moving.hand_over(match), table.record_file(match)
    assert "bob" not in file.lower()
    emptied()
    match = moving.take_in(moving.read(file), now=now)
    assert table.record_file(match) == before
    run_worker(now)
    assert list(audit.wrongs(now=now)) == []


def test_what_is_said_and_noted_stays_behind(app, now) -> None:
    match = running_match(["ann", "bob"], now=now)
    seat = match.seats[0]
    line = Talk(match_id=match.id, seat_id=seat.id, player_id=seat.player_id, text="psst", at=now)
    db.session.add(line)
    db.session.commit()
    assert "psst" not in moving.hand_over(match)


def test_a_game_is_taken_in_once(app, now) -> None:
    match = running_match(["ann", "bob"], now=now)
    file, code = moving.read(moving.hand_over(match)), match.code
    letters = db.session.query(Letter).count()
    with pytest.raises(moving.CannotMove, match=f"the game {code} is here already"):
        moving.take_in(file, now=now)
    assert db.session.query(Match).count() == 1
    assert db.session.query(Letter).count() == letters


def changed(data: dict, path: str, value: object) -> dict:
    """Return a file's data with one value in it changed."""
    *folders, last = path.split(".")
    found = data
    for name in folders:
        found = found[int(name)] if name.isdigit() else found[name]
    found[int(last) if last.isdigit() else last] = value
    return data


# Reading a file asks no database.
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("format", "pbem-game/2", "that begins with pbem-game/1"),
        ("record.game", "chess", "game: 'chess' is unknown"),
        ("record.options", {"wind": 3}, "options: "),
        ("record.moves.1.scores", [90, 90], "ply 2: the scores are "),
        ("hidden", None, "hidden: an object belongs here"),
        ("hidden.key", "ab" * 32, "it is not the SHA-256 of the key"),
        ("hidden.key", "xy", "hidden.key: it is not hexadecimal"),
        ("hidden.moves.0.move", "keep", "ply 1: 'keep' is not legal now"),
        ("hidden.moves", [], "hidden: there is one move for each of the record"),
        ("seats", [], "seats: there is one for each seat of the record"),
        ("seats.0", 3, "seat 1: an object belongs here"),
        ("seats.0.bank_left", "3", "seat 1.bank_left: '3' does not belong here"),
        ("seats.0.bot", "hal", "seat 1: there is no bot called 'hal' here"),
        ("seats.0.player", None, "seat 1: nobody plays it"),
        ("seats.0.player.address", "ann", "seat 1: "),
        ("seats.0.player.zone", "Mars", "seat 1: "),
        ("opener", 5, "opener: it is no seat"),
        ("terms.policy", "mercy", "terms.policy: there is none called 'mercy'"),
        ("terms.started_at", "yesterday", "terms.started_at: 'yesterday' does not belong here"),
        ("terms.started_at", "2026-12-01", "terms.started_at: "),
        ("terms.pace_hours", 10**9, "terms.pace_hours: 1000000000 is not possible"),
        ("terms.bank_hours", -1, "terms.bank_hours: -1 is not possible"),
        ("seats.0.bank_left", 7, "seat 1.bank_left: 7 is not possible"),
        ("hidden.moves.0.by", "<b>", "a move.by: '<b>' does not belong here"),
        ("record.moves.0.at", None, "a move.at: None does not belong here"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(app, now, path, value, words) -> None:
    match = played(running_match(["ann", "bob"], now=now), 3, now=now)
    data = changed(json.loads(moving.hand_over(match)), path, value)
    with pytest.raises(moving.CannotMove) as refused:
        moving.read(json.dumps(data))
    assert words in str(refused.value)
    assert db.session.query(Move).count() == match.ply


def test_two_seats_of_one_person_are_refused(app, now) -> None:
    data = json.loads(moving.hand_over(running_match(["ann", "bob"], now=now)))
    changed(data, "seats.0.player.address", data["seats"][1]["player"]["address"])
    with pytest.raises(moving.CannotMove, match="an address has two of its seats"):
        moving.read(json.dumps(data))


def test_a_code_that_would_name_a_file_elsewhere_is_refused(app, now) -> None:
    match = finished(running_match(["ann", "bob"], now=now), now=now)
    data = json.loads(moving.hand_over(match))
    for code in ("../../etc/cron.d/x", "", "a" * 65, "Über"):
        changed(data, "record.id", code)
        with pytest.raises(moving.CannotMove, match="a code has small letters"):
            moving.read(json.dumps(data))


@pytest.mark.parametrize("content", ["", "{", "[]", "null", '{"format": 1}', "[" * 5000])
def test_what_is_no_file_of_ours_is_refused_in_words(content) -> None:
    with pytest.raises(moving.CannotMove):
        moving.read(content)


def test_the_commands_move_a_game_by_a_file_that_says_what_it_shows(
    app, command, tmp_path: Path, monkeypatch, now
) -> None:
    match = played(running_match(["ann", "bob"], now=now), 3, now=now)
    code, ply = match.code, match.ply
    monkeypatch.chdir(tmp_path)
    done, out, errors = command("export", code)
    file = tmp_path / f"biscuit-{code}-HIDDEN-CARDS.json"
    assert (done, errors) == (0, "")
    assert "It shows every hidden card." in out
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert command("export", code)[2] == (
        f"pbem export: {file.name} is there already; give another name, or --force\n"
    )
    done, _out, errors = command("import", str(file))
    assert (done, errors) == (
        1, f"pbem import: {file}: the game {code} is here already; nothing was changed\n",
    )  # fmt: skip
    emptied()
    done, out, errors = command("import", str(file))
    assert (done, out, errors) == (0, f"{code}: taken in with {ply} moves; it runs on\n", "")
    assert db.session.query(Match).one().ply == ply


def test_the_commands_name_what_is_not_there(app, command, tmp_path: Path) -> None:
    assert command("export", "no-such-game")[::2] == (
        1,
        "pbem export: there is no game 'no-such-game'; pbem matches lists those that run\n",
    )
    done, _out, errors = command("import", str(tmp_path / "nothing"))
    assert done == 1
    assert "No such file or directory" in errors
    picture = tmp_path / "picture"
    picture.write_bytes(b"\x89PNG")
    done, _out, errors = command("import", str(picture))
    assert done == 1
    assert "it is no text" in errors
