"""Writes a database of each earlier version as SQL, to be upgraded by the tests.

`PYTHONPATH=.:tests python tests/schemas.py` after a migration was added. A file that is there
stays: it is what such a version held. The tables are made by the migrations of that version,
and the rows are those of a small server of today, as far as that version has a place for them.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from alembic.script import ScriptDirectory
from cast import open_turn, run_worker, running_match
from conftest import KEYS, NOON
from flask_migrate import upgrade
from mail_server import running_mailbox

from pbem import create_app, lobby, play, talk
from pbem.app import migrations
from pbem.config import Settings
from pbem.ext import db, writing
from pbem.lobby import Chair
from pbem.mail import inbox

FOLDER = Path(__file__).parent / "golden" / "schemas"
# The first version that numbers its rows onward.
ONWARD = "0013"


def versions() -> list[str]:
    """Return the versions of the database, the first one first; the newest is left out."""
    scripts = ScriptDirectory(str(migrations()))
    return sorted(script.revision for script in scripts.walk_revisions())[:-1]


def main() -> None:
    """Write the versions that are not there."""
    FOLDER.mkdir(exist_ok=True)
    rows = sample()
    for version in versions():
        file = FOLDER / f"{version}.sql"
        if not file.exists():
            file.write_text("\n".join(dump(version, rows)) + "\n")


def sample() -> dict[str, list[dict[str, object]]]:
    """Return the rows of a small server, by table: games that run, wait and are over, and mail."""
    folder = Path(tempfile.mkdtemp())
    with running_mailbox() as mailbox:
        site = Settings(
            instance=folder, mail_domain="play.example", secret_keys=KEYS, smtp_port=mailbox.port
        )
        with create_app(site).app_context():
            upgrade()
            fill()
            db.session.remove()
            db.engine.dispose()
    with closing(sqlite3.connect(folder / "pbem.sqlite3")) as database:
        database.row_factory = sqlite3.Row
        tables = [table.name for table in db.metadata.sorted_tables]
        return {
            name: [dict(row) for row in database.execute(f'SELECT * FROM "{name}"')]
            for name in tables
        }


def fill() -> None:
    """Play a little."""
    over = running_match(["ann", "bob"], now=NOON)
    turn = open_turn(over)
    play.make_move(turn.id, play.choose_for(turn.id, "greedy"), by="link", now=NOON)
    with writing():
        play.stop(over, "stopped", now=NOON)
    ann = lobby.find_player("ann@players.example")
    lobby.open_table(ann, "bisque", [Chair(), Chair(address="dan@players.example")], {}, now=NOON)
    match = lobby.open_table(ann, "biscuit", [Chair(bot="greedy")], {}, bank_hours=0, now=NOON)
    run_worker(NOON)
    talk.say(match.seats[0].id, "hello", now=NOON)
    mail = b"From: ann@players.example\nSubject: 1\n\n1\n"
    inbox.take(mail, inbox.Envelope("g@play.example", "ann@players.example"), now=NOON)
    run_worker(NOON)


def dump(version: str, rows: dict[str, list[dict[str, object]]]) -> Iterator[str]:
    """Yield a database of a version as lines of SQL."""
    folder = Path(tempfile.mkdtemp())
    with create_app(Settings(instance=folder, secret_keys=KEYS)).app_context():
        upgrade(revision=version)
        db.engine.dispose()
    with closing(sqlite3.connect(folder / "pbem.sqlite3")) as database:
        for table, found in rows.items():
            known = [row[1] for row in database.execute(f'PRAGMA table_info("{table}")')]
            for row in found:
                kept = {name: value for name, value in row.items() if name in known}
                if kept:
                    names = ", ".join(f'"{name}"' for name in kept)
                    marks = ", ".join("?" * len(kept))
                    database.execute(
                        f'INSERT INTO "{table}" ({names}) VALUES ({marks})', tuple(kept.values())
                    )
        database.commit()
        for line in database.iterdump():
            # The environment of today makes tables of old in the new way.
            if version >= ONWARD or "sqlite_sequence" not in line:
                yield line if version >= ONWARD else line.replace(" AUTOINCREMENT", "")


if __name__ == "__main__":
    main()
