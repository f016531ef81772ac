"""Replies that lie in a real mailbox: Postfix delivers, Dovecot keeps, and we read by IMAP."""

from __future__ import annotations

import imaplib
import os
import pwd
import smtplib
import ssl
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cast import on_time, open_turn, running_match
from mail_host import PASSWORD, MailHost
from replies import Asked, asked, notes
from sqlalchemy import select
from worker_process import wait_for

from pbem import worker
from pbem.commands import CannotRun, doctor
from pbem.ext import db, writing
from pbem.mail import imap, inbox
from pbem.models import Mailbox, Move, Turn

OURS = "g@play.example"  # the mailbox in which all replies lie
HOUR = timedelta(hours=1)


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """SQLite alone: what a mailbox does is the same for each database."""
    return f"sqlite:///{tmp_path / 'pbem.sqlite3'}"


@pytest.fixture
def host(app, mail_host) -> MailHost:
    """An empty mail host, whose mailbox the application reads."""
    mail_host.empty()
    set_up(
        app,
        imap_host="127.0.0.1",
        imap_port=mail_host.imap,
        imap_security="none",
        imap_username=OURS,
        imap_password=PASSWORD,
    )
    return mail_host


@pytest.fixture
def turn(host, mailbox, now) -> Asked:
    return asked(mailbox, now)


def set_up(app, **settings: object) -> None:
    app.extensions["pbem.settings"] = replace(app.extensions["pbem.settings"], **settings)


def send(host: MailHost, turn: Asked, raw: bytes | None = None) -> None:
    with smtplib.SMTP("127.0.0.1", host.smtp) as relay:
        relay.sendmail(turn.sender, [turn.address], raw or turn.reply())


@contextmanager
def watching(app, *, number: int = 1) -> Iterator[None]:
    """Watch the mailbox beside the block, from after the first look into it."""
    with ExitStack() as stack:
        for _ in range(number):
            watcher = imap.Watcher(app)
            watcher.start()
            stack.callback(watcher.stop)
        wait_for(lambda: state() is not None)
        yield


def state() -> Mailbox | None:
    db.session.rollback()
    return db.session.scalar(select(Mailbox))


def look() -> int:
    """Look into the mailbox once."""
    folder = imap.opened()
    try:
        return imap.poll(folder, Counter(), now=datetime.now(UTC))
    finally:
        folder.line.client.shutdown()


def flags(host: MailHost) -> list[bool]:
    """Return of each mail in the mailbox whether it is marked as seen."""
    with imaplib.IMAP4("127.0.0.1", host.imap) as line:
        line.login(OURS, PASSWORD)
        line.select("INBOX", readonly=True)
        _, answers = line.fetch("1:*", "(FLAGS)")
        return [b"\\Seen" in answer for answer in answers]


def folder_of(host: MailHost) -> Path:
    return host.folder / "mail" / OURS


def put(host: MailHost, name: str, raw: bytes) -> Path:
    """Put a mail into the mailbox behind the server's back, as it does itself."""
    path = folder_of(host) / "new" / name
    path.write_bytes(raw)
    os.chown(path, pwd.getpwnam("mail").pw_uid, -1)
    return path


def test_a_reply_is_told_of_by_idle_and_becomes_a_move(app, host, turn, monkeypatch) -> None:
    monkeypatch.setattr(imap, "POLL", 3600)
    with watching(app):
        send(host, turn)
        wait_for(lambda: len(notes()) == 1)
    (note,) = notes()
    assert (note.recipient, note.return_path) == (turn.address, f"<{turn.sender}>")
    assert turn.moves() == 1
    assert flags(host) == [True]


def test_a_poll_finds_the_reply_where_the_server_has_no_idle(app, host, turn, monkeypatch) -> None:
    monkeypatch.setattr(imap, "POLL", 0.05)
    really = imap.opened
    monkeypatch.setattr(imap, "opened", lambda: replace(really(), can_idle=False))
    with watching(app):
        send(host, turn)
        wait_for(lambda: len(notes()) == 1)
    assert turn.moves() == 1


def test_five_thousand_old_mails_are_left_alone_at_the_first_start(app, host, turn) -> None:
    send(host, turn)
    host.wait_until_delivered()
    for nth in range(5000):
        put(host, f"{nth}.old", f"To: {turn.address}\n\n{nth}\n".encode())
    with watching(app):
        send(host, turn, turn.reply(message_id="<new@players.example>"))
        wait_for(lambda: len(notes()) == 1)
    assert turn.moves() == 1
    assert b"<new@players.example>" in notes()[0].raw
    assert state().last_uid == 5002


def test_what_came_while_nobody_watched_is_read_at_the_next_start(app, host, turn) -> None:
    with watching(app):
        pass
    send(host, turn)
    host.wait_until_delivered()
    with watching(app):
        wait_for(lambda: len(notes()) == 1)
    assert turn.moves() == 1


def cut(host: MailHost) -> None:
    host.hang_up(OURS)


def restart(host: MailHost) -> None:
    with host.mailboxes_down():
        pass


def number_anew(host: MailHost) -> None:
    with host.mailboxes_down():
        for path in folder_of(host).glob("dovecot*"):
            if path.name != "dovecot-uidvalidity":
                path.unlink()


@pytest.mark.parametrize("happens", [cut, restart, number_anew])
def test_after_a_fault_it_goes_on_and_loses_and_doubles_nothing(
    app, host, turn, monkeypatch, happens: Callable[[MailHost], None]
) -> None:
    monkeypatch.setattr(imap, "RETRY", 0.1)
    with watching(app):
        send(host, turn)
        wait_for(lambda: len(notes()) == 1)
        before = state().uid_validity
        happens(host)
        send(host, turn, turn.reply("hello", message_id="<2@players.example>"))
        wait_for(lambda: len(notes()) == 2)
        wait_for(lambda: state().last_uid == 2)
    assert (state().uid_validity == before) is (happens is not number_anew)
    assert turn.moves() == 1
    assert [note.verdict for note in notes()] == ["move", "too late"]
    assert flags(host) == [True, True]


def test_a_mail_that_the_server_cannot_give_does_not_stop_the_folder(
    app, host, turn, monkeypatch
) -> None:
    monkeypatch.setattr(imap, "RETRY", 0.01)
    with watching(app):
        pass
    send(host, turn, turn.reply("2"))
    host.wait_until_delivered()
    (file,) = (folder_of(host) / "new").iterdir()
    file.chmod(0)
    send(host, turn, turn.reply(message_id="<2@players.example>"))
    host.wait_until_delivered()
    with watching(app):
        wait_for(lambda: len(notes()) == 1)
    assert turn.moves() == 1
    assert b"<2@players.example>" in notes()[0].raw


def test_a_mail_that_is_too_large_is_kept_in_part_and_the_next_is_read(app, host, turn) -> None:
    with watching(app):
        pass
    put(host, "1.large", turn.reply("x" * 3_000_000))
    look()
    send(host, turn)
    host.wait_until_delivered()
    look()
    assert turn.moves() == 1
    assert [note.verdict for note in notes()] == ["unparseable", "move"]
    assert len(notes()[0].raw) == 1024 * 1024 + 1


def test_two_workers_on_one_mailbox_take_each_mail_once(app, host, turn) -> None:
    with watching(app, number=2):
        for nth in range(10):
            send(host, turn, turn.reply(message_id=f"<{nth}@players.example>"))
        wait_for(lambda: len(notes()) == 10)
        wait_for(lambda: state().last_uid == 10)
    assert turn.moves() == 1
    assert Counter(note.verdict for note in notes()) == {"move": 1, "repeated": 9}


def test_a_mail_that_came_by_the_listener_too_is_taken_once(host, turn, listener) -> None:
    look()
    with smtplib.SMTP("127.0.0.1", listener.port) as relay:
        relay.sendmail(turn.sender, [turn.address], turn.reply())
    send(host, turn)
    host.wait_until_delivered()
    assert look() == 1
    assert len(notes()) == 1
    assert turn.moves() == 1


def test_killed_between_the_store_and_the_flag_the_second_look_does_nothing(
    host, turn, monkeypatch
) -> None:
    look()
    send(host, turn)
    host.wait_until_delivered()
    really = inbox.take

    def take_and_die(*given, **more) -> None:
        really(*given, **more)
        raise ConnectionResetError

    monkeypatch.setattr(inbox, "take", take_and_die)
    with pytest.raises(ConnectionResetError):
        look()
    monkeypatch.undo()
    assert (len(notes()), flags(host), state().last_uid) == (1, [False], 0)
    assert look() == 1
    assert (len(notes()), flags(host), state().last_uid) == (1, [True], 1)
    assert look() == 0
    assert turn.moves() == 1


@pytest.mark.parametrize(("security", "port"), [("starttls", "imap"), ("tls", "imaps")])
def test_an_encrypted_mailbox_must_prove_who_it_is(app, host, monkeypatch, security, port) -> None:
    set_up(app, imap_host="localhost", imap_port=getattr(host, port), imap_security=security)
    with pytest.raises(ssl.SSLCertVerificationError):
        imap.opened()
    monkeypatch.setenv("SSL_CERT_FILE", str(host.authority))
    assert look() == 0
    set_up(app, imap_host="127.0.0.1")
    with pytest.raises(ssl.SSLCertVerificationError):
        imap.opened()


def test_the_doctor_says_whether_the_mailbox_opens(app, host) -> None:
    assert doctor.mailbox_answers().startswith(f"the mailbox opens: INBOX of {OURS} at 127.0.0.1")
    set_up(app, imap_password="wrong")
    with pytest.raises(CannotRun, match=r"AUTHENTICATIONFAILED.*look at the imap_ settings"):
        doctor.mailbox_answers()
    set_up(app, imap_host="")
    assert doctor.mailbox_answers() == "no mailbox is read"


@pytest.fixture
def late(app, now) -> Turn:
    """A turn whose limit is over after 73 hours, where replies lie in a mailbox."""
    set_up(app, imap_host="imap.players.example", imap_username=OURS)
    return open_turn(running_match(["ann", "bob"], now=now))


def polled(when: datetime) -> None:
    with writing():
        key = imap._key()
        db.session.add(Mailbox(folder=key, uid_validity=1, last_uid=1, polled_at=when))


@pytest.mark.parametrize(
    ("hours_polled", "hours_now", "acts"),
    [
        (None, 73.5, False),
        (None, 74.5, True),
        (72.9, 73.5, False),
        (73.1, 73.5, True),
        (72.9, 74.5, True),
    ],
)
def test_the_clock_waits_until_the_mailbox_was_polled_after_the_limit_but_no_longer_than_an_hour(
    late, now, hours_polled, hours_now, acts
) -> None:
    if hours_polled is not None:
        polled(now + hours_polled * HOUR)
    on_time(worker.time_out, now + hours_now * HOUR)
    assert (db.session.query(Move).count() > 0) is acts


def test_the_clock_does_not_ask_for_a_mailbox_that_nobody_reads(app, late, now) -> None:
    set_up(app, imap_host="")
    on_time(worker.time_out, now + 73.5 * HOUR)
    assert db.session.query(Move).count() > 0
