"""Copies of the database: made while the server runs, and put back without doing harm."""

from __future__ import annotations

import re
import resource
import shutil
import sqlite3
import stat
import threading
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from cast import ADDRESSES, move_links, open_turn, run_worker, running_match
from sqlalchemy import text

from pbem import audit, play, worker
from pbem.ext import db
from pbem.models import Letter, LetterState, Match, Move, Notice, Player, Turn

HOUR = timedelta(hours=1)


@pytest.fixture(autouse=True)
def _tools(database_url, request, monkeypatch) -> None:
    """PostgreSQL's programs are those of the tests' server."""
    if database_url.startswith("postgresql"):
        programs = request.getfixturevalue("postgres_server").programs
        monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where copies go."""
    folder = tmp_path / "copies"
    folder.mkdir()
    return folder / "monday"


@pytest.fixture
def restore(command, tmp_path):
    """A caller of `pbem restore`, with the test's own connections closed.

    What the database held before is moved to the test's own folder.
    """

    def run(*arguments: object) -> tuple[int, str, str]:
        db.session.remove()
        db.engine.dispose()
        code, out, errors = command("restore", *map(str, arguments))
        for kept in re.findall(r"^what was there is kept: (.+)$", out, re.MULTILINE):
            shutil.move(kept, tmp_path / "before")
        return code, out, errors

    return run


def move(match: Match, *, now) -> None:
    turn = open_turn(match)
    play.make_move(turn.id, play.choose_for(turn.id, "greedy"), by="link", now=now)


def test_a_copy_is_made_whole_and_for_its_owner_only(app, command, file, now) -> None:
    running_match(["ann", "bob"], now=now)
    code, out, errors = command("backup", str(file))
    assert (code, errors) == (0, "")
    assert f"{file}: {file.stat().st_size} bytes, checked\n" in out
    assert "Keep the secret_keys too" in out
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(file.parent.iterdir()) == [file]
    assert app.extensions["pbem.settings"].secret_keys[0].encode() not in file.read_bytes()


def test_a_copy_that_is_there_stays_unless_force_is_given(app, command, file) -> None:
    file.write_bytes(b"older")
    code, _out, errors = command("backup", str(file))
    assert code == 1
    assert errors == f"pbem backup: {file} is there already; give another name, or --force\n"
    assert file.read_bytes() == b"older"
    assert command("backup", str(file), "--force")[0] == 0
    assert file.stat().st_size > 1000


def test_on_a_full_disk_the_older_copy_stays(app, command, file) -> None:
    file.write_bytes(b"older")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, hard))
    try:
        code, out, errors = command("backup", str(file), "--force")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (code, out) == (1, "")
    assert errors.startswith("pbem backup: ")
    assert "Traceback" not in errors
    assert [(one.name, one.read_bytes()) for one in file.parent.iterdir()] == [("monday", b"older")]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_on_a_full_disk_the_database_stays_as_it_is(lost, restore, file) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, hard))
    try:
        code, _out, errors = restore(file, "--force")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert code == 1
    assert errors.startswith("pbem restore: ")
    assert "Traceback" not in errors
    assert db.session.query(Match).one().ply == lost["ply"]
    assert list(audit.wrongs_of_tables()) == []


def test_a_folder_that_is_not_there_is_told_in_words(app, command, tmp_path) -> None:
    code, _out, errors = command("backup", str(tmp_path / "nowhere" / "monday"))
    assert code == 1
    assert "No such file or directory" in errors
    assert "Traceback" not in errors


def test_the_server_writes_on_while_a_copy_is_made(app, command, restore, file, now) -> None:
    match_id = running_match(["ann", "bob"], now=now).id
    copied = threading.Event()
    written: list[int] = []

    def play_on() -> None:
        with app.app_context():
            while not copied.is_set() or not written:
                move(db.session.get_one(Match, match_id), now=now)
                written.append(1)

    writer = threading.Thread(target=play_on)
    writer.start()
    try:
        code, _out, errors = command("backup", str(file))
    finally:
        copied.set()
        writer.join()
    assert (code, errors) == (0, "")
    assert restore(file, "--force", "--nothing-lost")[2] == ""
    assert db.session.query(Move).count() <= len(written)
    assert list(audit.wrongs(now=now)) == []


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_copy_of_sqlite_is_one_sound_file(app, command, file, now) -> None:
    running_match(["ann", "bob"], now=now)
    command("backup", str(file))
    with closing(sqlite3.connect(file)) as copy:
        assert copy.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert copy.execute("PRAGMA journal_mode").fetchall() == [("delete",)]
        assert copy.execute("SELECT count(*) FROM player").fetchone() == (2,)
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_without_the_programs_of_postgresql_the_words_name_them(
    app, command, file, monkeypatch
) -> None:
    monkeypatch.setenv("PATH", str(file.parent))
    code, _out, errors = command("backup", str(file))
    assert code == 1
    assert errors == (
        "pbem backup: pg_dump is not on this machine; install PostgreSQL's client programs"
        " (Debian: postgresql-client)\n"
    )
    other = file.parent / "pg_dump"
    for said in (
        "aborting because of server version mismatch",
        'unrecognized configuration parameter "transaction_timeout"',
    ):
        other.write_text(f"#!/bin/sh\necho 'pg_dump: error: {said}' >&2; exit 1")
        other.chmod(0o755)
        code, _out, errors = command("backup", str(file))
        assert code == 1
        assert "install the client programs of the server's version" in errors
        assert list(file.parent.iterdir()) == [other]


@pytest.fixture
def lost(app, command, file, mailbox, now):
    """A match with a copy of it, an hour of play that the copy does not know, and its ids."""
    match = running_match(["ann", "bob"], now=now)
    run_worker(now)
    command("backup", str(file))
    match = db.session.get_one(Match, match.id)
    for _ in range(3):
        move(match, now=now + HOUR)
    run_worker(now + HOUR)
    return {
        "letters": {letter.id for letter in db.session.query(Letter)},
        "turns": {turn.id for turn in db.session.query(Turn)},
        "ply": match.ply,
    }


def test_a_restored_game_gives_no_id_of_the_lost_time_again(
    lost, restore, file, tmp_path, now
) -> None:
    code, out, errors = restore(file, "--force")
    assert (code, errors) == (0, "")
    assert f"{file} is restored: 2 players\n" in out
    (match,) = db.session.query(Match)
    assert match.ply < lost["ply"]
    known = {letter.id for letter in db.session.query(Letter).filter(Letter.kind != "notice")}
    move(match, now=now + HOUR)
    new = {letter.id for letter in db.session.query(Letter)} - known
    assert min(new) > max(lost["letters"])
    assert max(turn.id for turn in db.session.query(Turn)) > max(lost["turns"])
    assert list(audit.wrongs(now=now)) == []
    # What was there before is kept too.
    assert (tmp_path / "before").stat().st_size > 1000


def test_a_link_of_the_lost_time_opens_nothing_else(lost, app, restore, file, mailbox, now) -> None:
    mails = [mail for name in ("ann", "bob") for mail in mailbox.to(ADDRESSES[name])]
    asks = [mail for mail in mails if "your turn (move" in str(mail["Subject"])]
    (last,) = [mail for mail in asks if f"(move {lost['ply'] + 1})" in str(mail["Subject"])]
    restore(file, "--force")
    (match,) = db.session.query(Match)
    for _ in range(4):
        move(match, now=now + HOUR)
    ply, path = match.ply, move_links(last)[0]
    page = app.test_client().post(path)
    assert page.status_code in (400, 404)
    assert "Traceback" not in page.text
    db.session.rollback()
    assert db.session.get_one(Match, match.id).ply == ply


def test_letters_that_waited_leave_under_their_own_message_id(
    app, command, restore, file, mailbox, now
) -> None:
    running_match(["ann", "bob"], now=now)
    command("backup", str(file))
    run_worker(now)
    first = {str(m["Message-ID"]) for name in ("ann", "bob") for m in mailbox.to(ADDRESSES[name])}
    assert first
    restore(file, "--force", "--nothing-lost")
    assert db.session.query(Letter).filter_by(state=LetterState.SENT).count() == 0
    run_worker(now + timedelta(minutes=1))
    mails = [m for name in ("ann", "bob") for m in mailbox.to(ADDRESSES[name])]
    assert len(mails) == 2 * len(first)
    assert {str(mail["Message-ID"]) for mail in mails} == first


def test_players_are_told_how_far_their_games_were_set_back(lost, restore, file, now) -> None:
    restore(file, "--force")
    (told,) = db.session.query(Notice)
    assert (told.what, told.about) == ("restored", {"until": now.isoformat()})
    to = [letter.address for letter in db.session.query(Letter).filter_by(kind="notice")]
    assert sorted(to) == [ADDRESSES["ann"], ADDRESSES["bob"]]


def test_deadlines_move_by_the_time_that_nobody_kept(lost, restore, file, now) -> None:
    restore(file, "--force")
    (match,) = db.session.query(Match)
    before = open_turn(match).deadline
    worker.remind(now + 5 * HOUR)
    db.session.rollback()
    assert open_turn(match).deadline == before + 5 * HOUR


def test_a_used_link_that_signs_in_does_not_come_back(lost, restore, file) -> None:
    restore(file, "--force")
    assert {found.sign_ins for found in db.session.query(Player)} == {1}


def test_nothing_is_restored_over_players_without_force(lost, restore, file) -> None:
    code, _out, errors = restore(file)
    assert code == 1
    assert errors == "pbem restore: the database holds 2 players already; is --force meant?\n"
    assert db.session.query(Match).one().ply == lost["ply"]


def test_nothing_is_restored_while_the_server_runs(lost, command, file) -> None:
    db.session.execute(text("SELECT 1"))
    code, _out, errors = command_with_open_connection(command, file)
    assert code == 1
    assert "the database is in use; stop the server and every worker first" in errors
    assert db.session.query(Match).one().ply == lost["ply"]


def command_with_open_connection(command, file) -> tuple[int, str, str]:
    with db.engine.connect() as connection:
        connection.execute(text("SELECT count(*) FROM player")).all()
        return command("restore", str(file), "--force")


@pytest.mark.parametrize("what", ["empty", "words", "cut", "foreign"])
def test_what_is_no_copy_is_refused_in_words(app, command, restore, file, what) -> None:
    command("backup", str(file))
    whole = file.read_bytes()
    file.write_bytes({"empty": b"", "words": b"hello", "cut": whole[:9000], "foreign": b""}[what])
    if what == "foreign":
        with closing(sqlite3.connect(file)) as other:
            other.execute("CREATE TABLE player (id INTEGER)")
            other.commit()
    code, _out, errors = restore(file)
    assert code == 1
    assert errors.startswith(f"pbem restore: {file} ")
    assert "Traceback" not in errors
    assert db.session.query(Player).count() == 0


def test_a_copy_of_newer_code_is_refused(app, command, restore, file) -> None:
    version = text("UPDATE alembic_version SET version_num = :version")
    ours = db.session.execute(text("SELECT version_num FROM alembic_version")).scalar_one()
    db.session.execute(version, {"version": "9999"})
    db.session.commit()
    # As newer code would make it.
    from pbem.commands import copies

    copies.make(file)
    db.session.execute(version, {"version": ours})
    db.session.commit()
    code, _out, errors = restore(file)
    assert code == 1
    assert f"{file} is at version 9999" in errors
    assert "update the code" in errors
