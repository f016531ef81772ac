"""Disks and databases that fail: logs cut, servers killed, disks full or read-only."""

from __future__ import annotations

import os
import random
import resource
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from flask import Flask, current_app
from flask_migrate import upgrade
from sqlalchemy import event, text
from sqlalchemy.exc import DBAPIError

from pbem import create_app, play
from pbem.ext import db
from pbem.mail import inbox
from pbem.models import Move, Note
from torture import world
from torture.report import Run

MOVES: Final = 40  # in one log that is cut
CUTS: Final = 100  # of one log
TORN: Final = 512  # bytes before a cut that may be anything
WRITERS: Final = 4  # threads beside each other
DISK: Final = 32 * 1024 * 1024  # bytes
ROOM: Final = 200 * 1024  # bytes, at most, that are left on a full disk


class Kept:
    """Which move of each turn was asked for, and what of it is known to stand."""

    def __init__(self) -> None:
        """Begin with none."""
        self.moves: dict[int, str] = {}

    def wrongs(self) -> Iterator[str]:
        """Yield what is wrong with the moves that stand, and with the rows around them."""
        db.session.rollback()
        stored = {move.turn_id: move.text for move in db.session.query(Move)}
        if stored != self.moves:
            differ = {turn for turn, _text in stored.items() ^ self.moves.items()}
            yield f"what stands is not what was asked for: turns {sorted(differ)}"
        yield from world.disagreements()


# The log of SQLite, cut.


def cut_wal(run: Run) -> None:
    """Cut copies of a SQLite log at any byte, with checkpoints off: what came before it stands."""
    chance = random.Random(run.seed)
    for first in range(0, run.count, CUTS):
        with world.world():
            event.listen(db.engine, "connect", _never_checkpoint)
            db.engine.dispose()
            people = world.people(2)
            world.keep_tables(people, 8)
            begins = _files()[1].stat().st_size
            ends = _moves_in_log(chance)
            copy = _database_file().with_name("copy")
            copy.mkdir()
            for file in _files():
                shutil.copyfile(file, copy / file.name)
            for nth in range(first, min(run.count, first + CUTS)):
                cut = chance.randint(begins + TORN, ends[-1])
                is_torn = chance.random() < 0.3
                _cut(copy, cut, chance if is_torn else None)
                kept = sum(end <= cut - TORN * is_torn for end in ends)
                run.counts["commits that were cut off"] += len(ends) - kept
                run.counts["commits that stood"] += kept
                words = f"cut {nth} at byte {cut}{', torn' if is_torn else ''}"
                run.tried(f"{words}: {wrong}" for wrong in _wrong_cut(kept))


def _never_checkpoint(connection: Any, _record: Any) -> None:
    connection.execute("PRAGMA wal_autocheckpoint = 0")


def _moves_in_log(chance: random.Random) -> list[int]:
    """Make moves; returns where in the log the commit of each ends."""
    ends = []
    for _ in range(MOVES):
        turn = chance.choice(world.open_turns())
        play.make_move(turn.id, world.choice(turn, chance)[1], by="link", now=world.NOW)
        db.session.rollback()
        ends.append(_files()[1].stat().st_size)
    return ends


def _cut(copy: Path, at: int, torn_by: random.Random | None) -> None:
    """Put a copy in the database's place, its log cut, and perhaps torn before the cut."""
    db.session.remove()
    db.engine.dispose()
    for file in _files():
        file.unlink(missing_ok=True)
        shutil.copyfile(copy / file.name, file)
    _database_file().with_name("pbem.sqlite3-shm").unlink(missing_ok=True)
    log = _files()[1]
    os.truncate(log, at)
    if torn_by is not None:
        with log.open("r+b") as tail:
            tail.seek(at - TORN)
            tail.write(torn_by.randbytes(TORN))


def _wrong_cut(kept: int) -> Iterator[str]:
    sound = db.session.execute(text("PRAGMA integrity_check")).scalar_one()
    if sound != "ok":
        yield f"the database is not sound: {sound}"
        return
    stored = db.session.query(Move).count()
    if stored != kept:
        yield f"{kept} commits lie before the cut, and {stored} moves stand"
    yield from world.disagreements()


def _database_file() -> Path:
    return Path(current_app.config["SQLALCHEMY_DATABASE_URI"].removeprefix("sqlite:///"))


def _files() -> tuple[Path, Path]:
    file = _database_file()
    return file, file.with_name(f"{file.name}-wal")


# A PostgreSQL server, killed.


def kill_postgres(run: Run) -> None:
    """Kill a PostgreSQL server under several writers, start it again and go on."""
    chance = random.Random(run.seed)
    with world.own_server() as server, tempfile.TemporaryDirectory() as folder:
        app = create_app(world.site(Path(folder), server.url, 1))
        with app.app_context():
            upgrade()
            people, kept = world.people(2), Kept()
            for nth in range(run.count):
                world.keep_tables(people, WRITERS)
                doubtful = _write_until_killed(run, app, server, kept, chance)
                server.start()
                run.tried(
                    f"kill {nth}: {wrong}" for wrong in _wrong_after_kill(run, kept, doubtful)
                )
            db.session.remove()
            db.engine.dispose()


def _write_until_killed(
    run: Run, app: Flask, server: world.Server, kept: Kept, chance: random.Random
) -> dict[int, str]:
    """Make moves in threads and kill the server; returns the moves whose fate is unknown."""
    doubtful: dict[int, str] = {}
    chosen = [turn.match_id for turn in world.open_turns()][:WRITERS]
    seeds = [chance.randrange(10**9) for _ in chosen]
    db.session.remove()

    def write(match_id: int, own: random.Random) -> None:
        with app.app_context():
            # A server that is gone ends it, as the end of the match does.
            with suppress(DBAPIError):
                while turns := [one for one in world.open_turns() if one.match_id == match_id]:
                    turn_id, made = turns[0].id, world.choice(turns[0], own)[1]
                    doubtful[turn_id] = made
                    play.make_move(turn_id, made, by="link", now=world.NOW)
                    kept.moves[turn_id] = doubtful.pop(turn_id)
                    run.counts["acknowledged"] += 1
            with suppress(DBAPIError):
                db.session.remove()

    threads = [
        threading.Thread(target=write, args=(match_id, random.Random(seed)))
        for match_id, seed in zip(chosen, seeds, strict=True)
    ]
    for thread in threads:
        thread.start()
    threads[0].join(timeout=chance.uniform(0.05, 0.6))
    server.kill()
    for thread in threads:
        thread.join()
    return doubtful


def _wrong_after_kill(run: Run, kept: Kept, doubtful: dict[int, str]) -> Iterator[str]:
    """Make the doubtful moves again: each counts once; yield what is wrong then."""
    for turn_id, made in doubtful.items():
        try:
            again = play.make_move(turn_id, made, by="link", now=world.NOW)
        except DBAPIError:
            # The pool still held a connection to the server that died.
            run.counts["first tries after a start that met a dead connection"] += 1
            again = play.make_move(turn_id, made, by="link", now=world.NOW)
        kept.moves[turn_id] = made
        run.counts["stored, not acknowledged" if again.repeated else "made again"] += 1
    yield from kept.wrongs()


# Disks that are full or read-only.


def full_disk(run: Run) -> None:
    """Fill the disk under a server until it refuses, make room and go on."""
    chance = random.Random(run.seed)
    with _disk() as folder, world.world(folder=folder):
        people, kept = world.people(2), Kept()
        for nth in range(run.count):
            world.keep_tables(people, 2)
            with _little_room(folder, chance.randint(0, ROOM)):
                refused = _move_until_refused(run, kept, chance)
            run.tried(f"disk {nth}: {wrong}" for wrong in _wrong_after_refusal(run, kept, refused))


def read_only_disk(run: Run) -> None:
    """Let the disk become read-only under a server, and writable again."""
    chance = random.Random(run.seed)
    with _disk() as folder, world.world(folder=folder):
        if not folder.is_mount():
            run.counts["left out, since this user may not mount a disk"] = run.count
            return
        people, kept = world.people(2), Kept()
        for nth in range(run.count):
            world.keep_tables(people, 2)
            # Nothing may be open for writing when a disk is made read-only.
            db.session.remove()
            db.engine.dispose()
            _mount("remount,ro", folder)
            refused = _move_until_refused(run, kept, chance)
            db.engine.dispose()
            _mount("remount,rw", folder)
            run.tried(f"disk {nth}: {wrong}" for wrong in _wrong_after_refusal(run, kept, refused))


@contextmanager
def _disk() -> Iterator[Path]:
    """Give a folder on a small disk of its own, where this user may mount one."""
    with tempfile.TemporaryDirectory(prefix="disk") as name:
        folder = Path(name)
        is_mounted = _mount(f"size={DISK}", folder)
        try:
            yield folder
        finally:
            if is_mounted:
                subprocess.run(["umount", "--lazy", name], check=True)


def _mount(options: str, folder: Path) -> bool:
    """Mount memory as a disk, or change how it is mounted; returns whether that was done."""
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    with suppress(OSError):
        return subprocess.run(command, check=False, capture_output=True).returncode == 0
    return False


@contextmanager
def _little_room(folder: Path, room: int) -> Iterator[None]:
    """Leave so many bytes on a disk; where it is not of its own, to the database's files."""
    if folder.is_mount():
        filler = folder / "filler"
        with filler.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, max(1, shutil.disk_usage(folder).free - room))
        yield
        filler.unlink()
        return
    most = max(file.stat().st_size for file in _files() if file.exists()) + room
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


Refused = tuple[int, str, bytes, inbox.Envelope]


def _move_until_refused(run: Run, kept: Kept, chance: random.Random) -> Refused | None:
    """Make moves until one is refused; returns it with a mail that is refused as well.

    None if the tables end before.
    """
    turn_id, made = 0, ""
    raw, envelope = b"", inbox.Envelope("")
    try:
        while turns := world.open_turns():
            turn = chance.choice(turns)
            turn_id, made = turn.id, world.choice(turn, chance)[1]
            raw, envelope = world.reply(turn, made)
            play.make_move(turn_id, made, by="link", now=world.NOW)
            kept.moves[turn_id] = made
            run.counts["acknowledged"] += 1
    except DBAPIError as error:
        run.counts[f"refused: {str(error.orig)[:60]}"] += 1
        with suppress(DBAPIError):
            db.session.rollback()
        return turn_id, made, raw, envelope
    return None


def _wrong_after_refusal(run: Run, kept: Kept, refused: Refused | None) -> Iterator[str]:
    """Do again what was refused; yield what is wrong then."""
    if refused is not None and refused[0]:
        turn_id, made, raw, envelope = refused
        if turn_id not in kept.moves:
            again = play.make_move(turn_id, made, by="link", now=world.NOW)
            kept.moves[turn_id] = made
            run.counts["stored, not acknowledged" if again.repeated else "made again"] += 1
        if not inbox.take(raw, envelope, now=world.NOW):
            yield "a mail that nobody has taken is known"
        inbox.read_all(now=world.NOW)
        verdict = db.session.query(Note.verdict).order_by(Note.id.desc()).first()
        if verdict is None or verdict[0] != "repeated":
            yield f"the same move by mail is {verdict}"
    yield from kept.wrongs()
