"""A throw-away site for benchmarks: an application in whose database games run, and its copies."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from time import process_time
from typing import Final

import psycopg
from flask import Flask
from sqlalchemy import select, text

from pbem import clocks, create_app, lobby
from pbem.ext import db
from pbem.lobby import Chair
from pbem.models import Match, Player, Turn
from pbem.table import load
from torture import world

KINDS: Final = {"sqlite": "sqlite", "postgres": "postgresql"}
GAME: Final = "snakebit"  # a game of 144 moves, for three
SEATS: Final = 3
PEOPLE: Final = 30


@dataclass(frozen=True, slots=True)
class Chosen:
    """A move that may be made now, with the seconds of a core that the rules alone take for it."""

    turn_id: int
    text: str
    rules: float


@contextmanager
def running(kind: str, tables: int, *, now: datetime = world.NOW) -> Iterator[Flask]:
    """Give an application in whose new database so many games have begun, inside its context."""
    try:
        with world.world(KINDS[kind]) as app:
            _open(tables, now=now)
            yield app
    finally:
        world.clean_up()


@contextmanager
def copied(app: Flask, folder: Path) -> Iterator[Flask]:
    """Give an application on a copy of the database, outside of its context."""
    site = app.extensions["pbem.settings"]
    url = _copy(site.database, folder)
    copy = create_app(replace(site, instance=folder, database_url=url))
    try:
        yield copy
    finally:
        with copy.app_context():
            db.engine.dispose()


def rows(app: Flask) -> dict[str, list[str]]:
    """Return all rows of an application's database, by table and in the order of their ids."""
    with app.app_context(), db.engine.connect() as connection:
        return {
            table.name: [
                repr(row) for row in connection.execute(select(table).order_by(table.c.id))
            ]
            for table in db.metadata.sorted_tables
        }


def matches() -> list[int]:
    """Return the ids of all matches."""
    return list(db.session.scalars(select(Match.id).order_by(Match.id)))


def choose(match_ids: Sequence[int], chance: random.Random) -> list[Chosen]:
    """Return a move by chance for each match, with what the rules take for it."""
    found = [_choice(match_id, chance) for match_id in match_ids]
    # Who moves knows nothing of what was read for this.
    db.session.remove()
    return found


def open_turn(match_id: int) -> Turn:
    """Return the turn that a match waits for."""
    return next(iter(clocks.open_turns(match=db.session.get_one(Match, match_id))))


def wrongs(*, now: datetime = world.NOW) -> list[str]:
    """Return what does not fit together of moves, turns, letters and the replay of the games."""
    return list(world.disagreements(now=now))


def _choice(match_id: int, chance: random.Random) -> Chosen:
    turn = open_turn(match_id)
    found = load(turn.match)
    words = chance.choice(
        [found.game.format(move) for move in found.game.moves(found.view(turn.seat))]
    )
    start = process_time()
    # Its rows are read, so this is the replay alone; then what a move asks of the rules.
    found = load(turn.match)
    move = found.game.parse(found.view(turn.seat), words)
    found.game.to_move(found.after(turn.seat, move).state)
    return Chosen(turn.id, words, process_time() - start)


def _open(tables: int, *, now: datetime) -> None:
    people = world.people(PEOPLE, now=now)
    for nth in range(tables):
        names = [people[(nth * SEATS + place) % PEOPLE] for place in range(SEATS)]
        opener, *others = [db.session.get_one(Player, one) for one in names]
        match = lobby.open_table(opener, GAME, [Chair()] * len(others), {}, now=now)
        for player in others:
            lobby.join(match.id, player, phrase="", now=now)
    db.session.remove()


def _copy(url: str, folder: Path) -> str:
    """Copy the running application's database, which nobody uses meanwhile; return its URL."""
    db.session.remove()
    if url.startswith("sqlite"):
        db.session.execute(text("PRAGMA wal_checkpoint(TRUNCATE)"))
        db.session.remove()
        shutil.copyfile(url.removeprefix("sqlite:///"), folder / "copy.sqlite3")
        return f"sqlite:///{folder / 'copy.sqlite3'}"
    db.engine.dispose()
    name = str(db.engine.url.database)
    with psycopg.connect(bare_url(url.replace(f"/{name}?", "/postgres?")), autocommit=True) as line:
        line.execute(f'CREATE DATABASE "{name}copy" TEMPLATE "{name}"'.encode())
    return url.replace(f"/{name}?", f"/{name}copy?")


def bare_url(url: str) -> str:
    """Return a database's URL as the bare driver of PostgreSQL takes it."""
    return url.replace("postgresql+psycopg://", "postgresql://")
