"""A database of another version than the code's, and ids that are given once."""

from __future__ import annotations

import io
import sys

import pytest
from cast import player, running_match
from sqlalchemy import text

from pbem.ext import db
from pbem.models import Player


@pytest.fixture
def newer(app):
    """A database that code of tomorrow has made; gives the words that say so."""
    change = text("UPDATE alembic_version SET version_num = :version")
    with db.engine.begin() as connection:
        ours = connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one()
        connection.execute(change, {"version": "9999"})
    yield (
        f"the database is at version 9999, and this code knows only those up to {ours};"
        " update the code. Nothing was changed"
    )
    # The database of PostgreSQL serves the next test too.
    with db.engine.begin() as connection:
        connection.execute(change, {"version": ours})


@pytest.mark.parametrize(
    "arguments",
    [
        ("serve",),
        ("worker",),
        ("audit",),
        ("matches",),
        ("db", "upgrade"),
        ("db", "downgrade", "0012"),
    ],
)
def test_a_database_that_is_newer_than_the_code_is_left_alone(newer, command, arguments) -> None:
    code, out, errors = command(*arguments)
    assert (code, out) == (1, "")
    assert errors == f"pbem {arguments[0]}: {newer}\n"
    with db.engine.connect() as connection:
        assert connection.execute(text("SELECT version_num FROM alembic_version")).one() == (
            "9999",
        )


def test_doctor_names_a_newer_database(newer, command) -> None:
    code, out, _errors = command("doctor")
    assert code == 1
    assert f"TO DO: {newer}" in out


def test_a_mail_for_a_newer_database_is_for_its_server_to_keep(newer, command, monkeypatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"Subject: 1\n\n1\n")))
    code, out, errors = command("inbox", "g@play.example")
    assert (code, out) == (75, "")
    assert newer in errors
    with db.engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM note")).scalar_one() == 0


def test_the_id_of_a_row_that_is_gone_is_never_given_again(app, now) -> None:
    gone = player("ann", now=now).id
    db.session.execute(text("DELETE FROM address"))
    db.session.execute(text("DELETE FROM player"))
    db.session.commit()
    assert player("bob", now=now).id == gone + 1
    assert db.session.query(Player).count() == 1


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_every_table_of_sqlite_gives_its_ids_once(app, now) -> None:
    running_match(["ann", "bob"], now=now)
    tables = text("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
    found = {name for name, sql in db.session.execute(tables) if "AUTOINCREMENT" in sql}
    assert found == set(db.metadata.tables)
