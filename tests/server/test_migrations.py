"""The migrations make just the tables that the models describe, from any version."""

from __future__ import annotations

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from cast import running_match
from flask_migrate import downgrade, upgrade
from sqlalchemy import text

from pbem.ext import db


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
    from pbem.models import Player

    (player,) = db.session.query(Player)
    assert (player.plays_forced, player.reminder_steps, player.entries) == (
        True,
        [24, 0],
        "attached",
    )
    assert player.every_address == ["ann@players.example"]
