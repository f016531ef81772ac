"""Processes killed at every step of what they write: all rows agree, and it is done once."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from cast import ADDRESSES, parsed, player, running_match
from faults import steps
from flask import Flask
from flask_migrate import upgrade
from mail_server import Mailbox
from sqlalchemy import select

from pbem import lobby
from pbem.ext import db
from pbem.links import Links
from pbem.mail import inbox
from pbem.models import Letter, Match, Move, Note, Seat, Turn
from pbem.tokens import Named
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


def a_reply_waits() -> None:
    two_play()
    turn = db.session.scalars(select(Turn)).one()
    sender = db.session.query(Letter).filter_by(kind="your_turn").one().address
    address = Links().reply(Named.TURN, turn.id)
    raw = f"From: {sender}\r\nTo: {address}\r\nMessage-ID: <r@x.example>\r\n\r\n1\r\n"
    inbox.take(raw.encode(), inbox.Envelope(address, sender), now=steps.NOW)


DONE_BY = {"read": "reply", "time_out": "timeout"}


@pytest.mark.parametrize("what", DONE_BY)
def test_a_move_stands_once_wherever_its_process_dies(what, server, tmp_path, mailbox) -> None:
    a_reply_waits() if what == "read" else two_play()
    stood = []
    for _ in deaths(what, server, tmp_path, mailbox):
        assert list(disagreements()) == []
        stood.append(db.session.query(Move).count())
        steps.WHAT[what](LATER)
        steps.WHAT[what](LATER)
        assert list(disagreements()) == []
        assert [move.by for move in db.session.query(Move)] == [DONE_BY[what]]
        assert db.session.query(Note).filter_by(read_at=None).count() == 0
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


def test_no_letter_is_lost_nor_renamed_wherever_its_worker_dies(server, tmp_path, mailbox) -> None:
    ann = player("ann", now=steps.NOW)
    chairs = [lobby.Chair(address=ADDRESSES[name]) for name in ("bob", "cleo", "dan")]
    lobby.open_table(ann, "biscuit", chairs, {}, now=steps.NOW)
    runs = 1  # the whole one that goes before
    for _ in deaths("send", server, tmp_path, mailbox):
        runs += 1
        # A dead worker's lease is over by now, whatever it had done.
        steps.send(LATER)
        assert {letter.state for letter in db.session.query(Letter)} == {"sent"}
    arrived: dict[str, list[bytes]] = defaultdict(list)
    for _sender, _to, raw in mailbox.arrived:
        arrived[str(parsed(raw)["Message-ID"])].append(raw)
    assert len(arrived) == 3
    for copies in arrived.values():
        assert len(set(copies)) == 1
        # Twice it came again: when the death was before the mark, and before its commit.
        assert len(copies) == runs + 2
