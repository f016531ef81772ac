"""Processes killed between any two steps: a move stands once, a letter has one Message-ID."""

from __future__ import annotations

import importlib.util
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from cast import open_turn, parsed, run_worker, running_match
from flask_migrate import upgrade
from mail_server import Mailbox
from sqlalchemy import select

from pbem import audit, create_app, play
from pbem.ext import db
from pbem.links import Links
from pbem.models import Letter, Match, Move, Turn
from pbem.tokens import Named

HERE = Path(__file__).parent
spec = importlib.util.spec_from_file_location("child", HERE / "child.py")
child = importlib.util.module_from_spec(spec)
spec.loader.exec_module(child)


@pytest.fixture
def server(tmp_path: Path, mailbox: Mailbox) -> Iterator[Path]:
    """An instance with a running match of ann and bob, in this process's context too."""
    app = create_app(child.settings(tmp_path, mailbox.port))
    with app.app_context():
        upgrade()
        running_match(["ann", "bob"], now=child.NOW)
        yield tmp_path
        db.session.remove()
        db.engine.dispose()


def start(what: str, server: Path, mailbox: Mailbox) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(HERE / "child.py"), what, str(server), str(mailbox.port)],
        stdout=subprocess.PIPE, text=True, cwd=HERE.parents[1],
        env={"PYTHONPATH": str(HERE.parents[1]), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip


def run(what: str, server: Path, mailbox: Mailbox) -> tuple[int, list[str]]:
    """Run a child to its end; gives its exit code and what it acknowledged."""
    process = start(what, server, mailbox)
    out, _ = process.communicate(timeout=60)
    db.session.rollback()
    return process.returncode, out.splitlines()


def moves() -> list[Move]:
    return list(db.session.scalars(select(Move).order_by(Move.ply)))


def test_killed_before_the_commit_nothing_stands_and_it_can_be_done_again(server, mailbox) -> None:
    asked = db.session.scalars(select(Turn)).one().id
    assert run("before", server, mailbox) == (-signal.SIGKILL, [])
    assert moves() == []
    assert list(audit.wrongs()) == []
    assert run("move", server, mailbox)[0] == 0
    assert [move.turn_id for move in moves()] == [asked]
    assert list(audit.wrongs()) == []


def test_killed_after_the_commit_the_move_stands_and_the_repeat_is_known(server, mailbox) -> None:
    asked = db.session.scalars(select(Turn)).one().id
    assert run("after", server, mailbox) == (-signal.SIGKILL, [])
    (move,) = moves()
    assert move.turn_id == asked
    again = play.make_move(asked, move.text, by="link", now=child.NOW)
    assert again.repeated is True
    assert len(moves()) == 1
    assert list(audit.wrongs()) == []


def test_killed_between_sending_and_marking_the_letter_comes_again_as_itself(
    server, mailbox
) -> None:
    def take_and_kill(_raw: bytes) -> None:
        # The relay has the whole mail; the worker never hears that it does.
        os.kill(process.pid, signal.SIGKILL)

    mailbox.on_data = take_and_kill
    process = start("send", server, mailbox)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    db.session.rollback()
    assert len(mailbox.arrived) == 1
    assert {letter.state for letter in db.session.query(Letter)} >= {"sending"}
    mailbox.on_data = lambda _raw: None
    later = child.NOW + timedelta(minutes=6)
    run_worker(later)
    run_worker(later + timedelta(minutes=6))
    assert {letter.state for letter in db.session.query(Letter)} <= {"sent", "stale"}
    by_id: dict[str, set[bytes]] = {}
    for _sender, _to, raw in mailbox.arrived:
        by_id.setdefault(str(parsed(raw)["Message-ID"]), set()).add(raw)
    # What came twice came with the same name and the same bytes.
    assert all(len(bytes_of) == 1 for bytes_of in by_id.values())
    sent = db.session.query(Letter).filter_by(state="sent").count()
    assert len(by_id) == sent
    assert len(mailbox.arrived) == sent + 1


def test_killed_between_storing_and_reading_the_reply_is_read_once(server, mailbox) -> None:
    turn = db.session.scalars(select(Turn)).one()
    sender = db.session.query(Letter).filter_by(kind="your_turn").one().address
    (server / "reply_to").write_text(Links().reply(Named.TURN, turn.id))
    for _ in range(2):
        assert run("store", server, mailbox)[0] == -signal.SIGKILL
    assert moves() == []
    run_worker(child.NOW)
    run_worker(child.NOW)
    assert [move.turn_id for move in moves()] == [turn.id]
    receipts = db.session.query(Letter).filter_by(kind="receipt").all()
    assert [letter.address for letter in receipts] == [sender]
    assert list(audit.wrongs()) == []


def test_killed_at_any_moment_no_acknowledged_move_is_lost(server, mailbox) -> None:
    chance = random.Random(11)
    acknowledged: list[str] = []
    for _ in range(8):
        process = start("on", server, mailbox)
        # The first acknowledgement tells that it is at work; then it dies somewhere.
        first = process.stdout.readline()
        time.sleep(chance.random() / 10)
        process.kill()
        out, _ = process.communicate(timeout=60)
        acknowledged += [line for line in (first + out).splitlines() if line]
        db.session.rollback()
        if db.session.scalars(select(Match)).one().status == "over":
            break
    stored = [f"{move.turn_id} {move.text}" for move in moves()]
    assert [line for line in stored if line in acknowledged] == acknowledged
    assert len(stored) >= len(acknowledged) > 3
    assert list(audit.wrongs()) == []
    if db.session.scalars(select(Match)).one().status == "running":
        assert open_turn(db.session.scalars(select(Match)).one()).closed_at is None
