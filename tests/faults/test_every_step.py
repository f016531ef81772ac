"""Processes killed at every step of what they write: all rows agree, and it is done once."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from cast import ADDRESSES, player, running_match
from faults import steps
from flask import Flask
from flask_migrate import upgrade
from mail_server import Mailbox
from sqlalchemy import select

from pbem import lobby
from pbem.ext import db
from pbem.links import Links
from pbem.models import Letter, Match, Move, Seat, Turn
from torture.world import choices, disagreements

# Behind every lease of a worker that died.
LATER = steps.NOW + timedelta(minutes=6)


@pytest.fixture
def server(tmp_path: Path, mailbox: Mailbox) -> Iterator[Flask]:
    """The application on an empty database in a folder of its own, inside its context."""
    app = steps.application(tmp_path / "instance", mailbox.port)
    with app.app_context():
        upgrade()
        yield app
        db.session.remove()
        db.engine.dispose()


def deaths(what: str, server: Flask, tmp_path: Path, mailbox: Mailbox) -> Iterator[int]:
    """Let a thing die at each step, last at none, and start again behind each; gives the step."""
    db.session.remove()
    db.engine.dispose()
    instance, start, out = tmp_path / "instance", tmp_path / "start", tmp_path / "out"
    shutil.copytree(instance, start)
    root = Path(__file__).parents[2]
    subprocess.run(
        [sys.executable, steps.__file__, what, str(start), str(out), str(mailbox.port)],
        check=True, timeout=60, cwd=root,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": f"{root}:{root / 'tests'}"},
    )  # fmt: skip
    for folder in sorted(out.iterdir(), key=lambda folder: int(folder.name)):
        steps.put(folder, instance)
        yield int(folder.name)


def two_play() -> None:
    running_match(["ann", "bob"], now=steps.NOW)


def test_a_turn_times_out_once_wherever_its_process_dies(server, tmp_path, mailbox) -> None:
    two_play()
    stood = []
    for _ in deaths("time_out", server, tmp_path, mailbox):
        assert list(disagreements()) == []
        stood.append(db.session.query(Move).count())
        for _ in range(2):
            steps.time_out(LATER)
        assert list(disagreements()) == []
        assert [move.by for move in db.session.query(Move)] == ["timeout"]
    # Nothing before the commit, everything from it on; both were seen.
    assert set(stood) == {0, 1}
    assert stood == sorted(stood)


def test_the_same_link_gives_the_move_after_any_death(server, tmp_path, mailbox) -> None:
    two_play()
    client, stood = server.test_client(), []
    for _ in deaths("move", server, tmp_path, mailbox):
        assert list(disagreements()) == []
        stood.append(db.session.query(Move).count())
        turn = db.session.scalars(select(Turn).order_by(Turn.id)).first()
        legal = choices(turn)
        chosen = turn.match.moves[0].text if turn.match.moves else legal[0]
        link = Links().move(turn, legal.index(chosen) + 1).removeprefix("https://play.example")
        assert [client.get(link).status_code] + [
            client.post(link, data={"me": "1"}).status_code for _ in range(2)
        ] == [200, 200, 200]
        assert [move.text for move in db.session.query(Move)] == [chosen]
        assert list(disagreements()) == []
    assert set(stood) == {0, 1}
    assert stood == sorted(stood)


def test_a_turn_is_reminded_once_wherever_the_process_dies(server, tmp_path, mailbox) -> None:
    two_play()
    for _ in deaths("remind", server, tmp_path, mailbox):
        assert list(disagreements()) == []
        steps.remind(LATER)
        assert db.session.query(Letter).filter_by(kind="reminder").count() == 1
        assert list(disagreements()) == []


def test_a_match_starts_whole_or_not_at_all(server, tmp_path, mailbox) -> None:
    ann = player("ann", now=steps.NOW)
    lobby.open_table(ann, "biscuit", [lobby.Chair(address=ADDRESSES["bob"])], {}, now=steps.NOW)
    started = []
    for _ in deaths("sit", server, tmp_path, mailbox):
        match = db.session.query(Match).one()
        seated = db.session.query(Seat).where(Seat.joined_at.is_not(None)).count()
        assert (match.status, seated) in (("open", 1), ("running", 2))
        started.append(match.status)
        assert list(disagreements()) == []
        steps.sit(LATER)
        assert db.session.query(Match).one().status == "running"
        assert db.session.query(Letter).filter_by(kind="your_turn").count() == 1
        assert list(disagreements()) == []
    assert set(started) == {"open", "running"}
