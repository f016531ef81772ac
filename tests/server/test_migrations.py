"""The migrations make just the tables that the models describe, from any version."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
import schemas
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from cast import open_turn, player, running_match
from conftest import KEYS
from flask_migrate import downgrade, upgrade
from sqlalchemy import text

from pbem import audit, away, create_app, play
from pbem.config import Settings
from pbem.ext import db
from pbem.models import Match, Player

PLAIN = {"zone": "Europe/Paris", "language": "en", "entries": "none"}


def differences() -> list[object]:
    with db.engine.connect() as connection:
        found = compare_metadata(MigrationContext.configure(connection), db.metadata)
    return [difference for difference in found if difference[0] != "remove_table"]


def test_the_newest_version_is_that_of_the_models(app) -> None:
    assert differences() == []


def test_games_that_run_already_have_no_bank(app, now) -> None:
    match = running_match(["ann", "bob"], now=now)
    code, matches = match.code, 'SELECT bank_hours FROM "match" WHERE code = :code'
    db.session.remove()
    downgrade(revision="0002")
    upgrade()
    with db.engine.connect() as connection:
        assert connection.execute(text(matches), {"code": code}).scalar_one() == 0


def test_a_database_of_the_first_version_comes_up_with_its_rows(app, now) -> None:
    downgrade(revision="0001")
    with db.engine.begin() as connection:
        connection.execute(
            text(
                "INSERT INTO player (address, name, language, zone, sign_ins, created_at)"
                " VALUES ('ann@players.example', 'Ann', 'en', 'UTC', 0, :now)"
            ),
            {"now": now.isoformat(" ")},
        )
    upgrade()
    assert differences() == []
    (ann,) = db.session.query(Player)
    assert (ann.plays_forced, ann.reminder_steps, ann.entries) == (
        True,
        [24, 0],
        "attached",
    )
    assert ann.every_address == ["ann@players.example"]


def test_the_next_daily_mail_is_due_where_the_last_one_says(app, now) -> None:
    ann = player("ann", now=now)
    away.change_settings(ann.id, {**PLAIN, "digest_at": "18:00"}, [], now=now)
    due = db.session.get_one(Player, ann.id).digest_due_at
    db.session.remove()
    downgrade(revision="0015")
    upgrade()
    assert db.session.get_one(Player, ann.id).digest_due_at == due == now + timedelta(hours=5)


def test_there_is_a_database_of_each_earlier_version() -> None:
    # PYTHONPATH=.:tests python tests/schemas.py writes those that are missing.
    assert sorted(file.stem for file in schemas.FOLDER.glob("*.sql")) == schemas.versions()


@pytest.mark.parametrize("version", schemas.versions())
def test_a_database_of_each_version_comes_up_whole_and_its_games_go_on(
    version, tmp_path: Path, now
) -> None:
    with closing(sqlite3.connect(tmp_path / "pbem.sqlite3")) as stored:
        stored.executescript((schemas.FOLDER / f"{version}.sql").read_text())
        counts = {
            name: stored.execute(f'SELECT count(*) FROM "{name}"').fetchone()
            for name in ("player", "match", "seat", "turn", "letter", "move", "note")
        }
    with create_app(Settings(instance=tmp_path, secret_keys=KEYS)).app_context():
        upgrade()
        assert differences() == []
        assert [*audit.wrongs_of_tables(), *audit.wrongs(now=now)] == []
        for name, before in counts.items():
            here = text(f'SELECT count(*) FROM "{name}"')
            assert db.session.execute(here).one() == before
        match = db.session.query(Match).filter_by(status="running").one()
        turn, ply = open_turn(match), match.ply
        play.make_move(turn.id, play.choose_for(turn.id, "greedy"), by="link", now=now)
        assert db.session.query(Match).filter_by(status="running").one().ply > ply
        assert list(audit.wrongs(now=now)) == []
        db.session.remove()
        db.engine.dispose()
