"""Machines that answer machines: a real vacation responder, and two servers of ours."""

from __future__ import annotations

import os
import pwd
import shutil
import smtplib
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from email.message import EmailMessage
from pathlib import Path

import pytest
from cast import ADDRESSES, letters_to, open_turn, running_match
from conftest import KEYS
from flask import Flask
from mail_host import MailHost
from sqlalchemy import func, select

from pbem import create_app, post
from pbem.ext import db, settings, writing
from pbem.links import Links
from pbem.mail import errands, inbox, outbox
from pbem.models import Letter, Match, Move, Note, Player, Turn
from pbem.tokens import Named

# What tells other machines that a machine wrote a letter.
MARKS = (
    *("Auto-Submitted", "List-Id", "List-Unsubscribe", "List-Unsubscribe-Post"),
    *("X-Auto-Response-Suppress", "x-ms-reactions", "Return-Path"),
)
AWAY = """\
require ["vacation"];
vacation :subject "I am away" "1
play 1
I shall read your mail on Monday.";
"""


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """SQLite alone: what is answered is the same for each database."""
    return f"sqlite:///{tmp_path / 'pbem.sqlite3'}"


def count(what: type) -> int:
    db.session.rollback()
    return db.session.scalar(select(func.count()).select_from(what)) or 0


def unmarked(mail: EmailMessage) -> bytes:
    """Return a letter as it is after something on its way has thrown our marks away."""
    for name in MARKS:
        del mail[name]
    return mail.as_bytes()


# A vacation responder.


@pytest.fixture
def host(app, mail_host: MailHost, listener) -> MailHost:
    """A mail host through which all our mail goes, out and in."""
    mail_host.empty()
    mail_host.route("play.example", f"smtp:[127.0.0.1]:{listener.port}")
    site = replace(app.extensions["pbem.settings"], smtp_port=mail_host.smtp)
    app.extensions["pbem.postman"] = create_app(site).extensions["pbem.postman"]
    return mail_host


def go_away(host: MailHost, name: str) -> None:
    """Set up a vacation responder at the mailbox of one of the cast."""
    home = host.folder / "mail" / ADDRESSES[name]
    home.mkdir(exist_ok=True)
    (home / ".dovecot.sieve").write_text(AWAY)
    user = pwd.getpwnam("mail")
    for path in (home, home / ".dovecot.sieve"):
        os.chown(path, user.pw_uid, user.pw_gid)


def test_a_vacation_responder_ends_the_conversation_with_its_first_word(app, host, now) -> None:
    match = running_match(["ann", "bob"], now=now)
    name = open_turn(match).asked.name.lower()
    go_away(host, name)
    outbox.send_due(now=now)
    host.wait_until_delivered()
    own = host.mails(ADDRESSES[name])
    # It keeps quiet about our letters as they are.
    assert own
    assert count(Note) == 0
    # It answers one that has lost its marks, to where bounces go.
    queued = count(Letter)
    (letter,) = letters_to(name, "your_turn")
    (asking,) = [mail for mail in own if "your turn" in mail["Subject"]]
    with smtplib.SMTP("127.0.0.1", host.smtp) as line:
        line.sendmail(Links().bounce(letter.id), [ADDRESSES[name]], unmarked(asking))
    host.wait_until_delivered()
    assert inbox.read_all(now=now) == 1
    note = db.session.scalars(select(Note)).one()
    assert note.recipient == Links().bounce(letter.id)
    assert b"play 1" in note.raw
    assert (note.verdict, count(Move)) == ("automatic", 0)
    assert db.session.get_one(Player, letter.player_id).offers_absence
    # Nothing goes back to it, and so nothing more comes.
    assert count(Letter) == queued
    assert outbox.send_due(now=now) == 0
    host.wait_until_delivered()
    assert count(Note) == 1


# Two servers of ours.


@pytest.fixture
def servers(app, tmp_path: Path, empty_sqlite: Path) -> Iterator[dict[str, Flask]]:
    """Two servers by their domains; each has a match in which the other's turn is a player."""
    path = tmp_path / "other.sqlite3"
    shutil.copyfile(empty_sqlite, path)
    site = app.extensions["pbem.settings"]
    url = f"sqlite:///{path}"
    other = create_app(
        replace(site, database_url=url, mail_domain="other.example", secret_keys=("cd" * 32, *KEYS))
    )
    other.extensions["pbem.parser"] = app.extensions["pbem.parser"]
    found = {"play.example": app, "other.example": other}
    yield found
    with other.app_context():
        db.session.remove()
        db.engine.dispose()


def begin(server: Flask, now: datetime) -> str:
    """Begin a match; gives the address of its first turn."""
    with server.app_context():
        turn = open_turn(running_match(["ann", "bob"], now=now))
        return Links().reply(Named.TURN, turn.id)


def point(server: Flask, address: str, now: datetime) -> None:
    """Make an address that of the player who is asked, and remind them."""
    with server.app_context(), writing():
        turn = db.session.scalars(select(Turn)).one()
        assert turn.asked.player is not None
        turn.asked.player.address = address
        post.reminder(turn, turn.asked, now=now)


def send_as(server: Flask, address: str) -> None:
    with server.app_context():
        server.extensions["pbem.settings"] = replace(settings(), mail_from=address)


def exchange(servers: dict[str, Flask], mailbox, now: datetime, *, loses_marks: bool) -> int:
    """Let each server send and read, until nothing is under way; gives the rounds it took."""
    for rounds in range(50):
        seen = len(mailbox.arrived)
        for server in servers.values():
            with server.app_context():
                outbox.send_due(now=now)
        fresh = mailbox.arrived[seen:]
        if not fresh:
            return rounds
        for (sender, to, raw), mail in zip(fresh, mailbox.fresh(), strict=True):
            server = servers.get(to.partition("@")[2])
            if server is not None:
                with server.app_context():
                    told = unmarked(mail) if loses_marks else raw
                    inbox.take(told, inbox.Envelope(to, sender), now=now)
                    inbox.read_all(now=now)
    pytest.fail("they talk for ever")


@pytest.mark.parametrize("is_known", [True, False], ids=["its player", "a stranger"])
@pytest.mark.parametrize("loses_marks", [False, True], ids=["marked", "unmarked"])
def test_two_servers_stop_talking_to_each_other_by_themselves(
    servers, mailbox, now, loses_marks, is_known
) -> None:
    first, second = servers.values()
    address, other = begin(first, now), begin(second, now)
    if is_known:
        # Each writes from the address that the other knows as its player's.
        send_as(first, address)
        send_as(second, other)
    point(first, other, now)
    point(second, address, now)
    rounds = exchange(servers, mailbox, now, loses_marks=loses_marks)
    assert rounds <= 2 * errands.MOST_ANSWERS
    for server in (first, second):
        with server.app_context():
            answers = select(Letter).where(Letter.kind.in_(errands.ANSWERS))
            found = db.session.scalars(answers).all()
            assert len(found) == (errands.MOST_ANSWERS if loses_marks else 0)
            assert {letter.kind for letter in found} <= {"not_done"}
            assert count(Move) == 0
            assert {match.ply for match in db.session.scalars(select(Match))} == {0}
            verdicts = set(db.session.scalars(select(Note.verdict)))
            assert verdicts == {"not done" if loses_marks else "automatic"}
