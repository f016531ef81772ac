"""Replies that a real Postfix hands on to us: by LMTP to the listener, by a pipe to a command."""

from __future__ import annotations

import smtplib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from cast import text_of
from mail_host import BY_LMTP, MailHost
from replies import Asked, asked, notes
from sqlalchemy.exc import OperationalError
from worker_process import wait_for

from pbem.links import Links
from pbem.mail import inbox
from pbem.mail.listener import Listener
from pbem.tokens import Named


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """SQLite alone: what a mail server does is the same for each database."""
    return f"sqlite:///{tmp_path / 'pbem.sqlite3'}"


@pytest.fixture
def host(mail_host) -> MailHost:
    mail_host.empty()
    return mail_host


@pytest.fixture
def by_lmtp(app, host, mailbox, now) -> Iterator[Asked]:
    """A turn letter whose replies Postfix brings to our listener."""
    app.extensions["pbem.settings"] = replace(
        app.extensions["pbem.settings"],
        mail_domain=BY_LMTP,
        listen_protocol="lmtp",
        listen_port=host.to_us,
    )
    listener = Listener(app)
    listener.start()
    yield asked(mailbox, now)
    listener.stop()


def send(host: MailHost, turn: Asked, raw: bytes, *recipients: str) -> None:
    with smtplib.SMTP("127.0.0.1", host.smtp) as relay:
        relay.sendmail(turn.sender, recipients or [turn.address], raw)


def returned(host: MailHost, turn: Asked) -> str:
    """Return what Postfix wrote to the sender of a mail that it could not hand on."""
    host.wait_until_delivered()
    (mail,) = host.mails(turn.sender)
    assert mail.get_content_type() == "multipart/report"
    return " ".join(text_of(mail).split())


def test_a_reply_by_lmtp_becomes_a_move(host, by_lmtp) -> None:
    send(host, by_lmtp, by_lmtp.reply())
    host.wait_until_delivered()
    assert by_lmtp.moves() == 1
    (note,) = notes()
    assert (note.recipient, note.return_path) == (by_lmtp.address, by_lmtp.sender)


def test_an_address_in_upper_case_works(host, by_lmtp) -> None:
    send(host, by_lmtp, by_lmtp.reply(), by_lmtp.address.upper())
    host.wait_until_delivered()
    assert by_lmtp.moves() == 1


def test_a_mail_to_two_addresses_is_answered_for_both(host, by_lmtp) -> None:
    other = Links().reply(Named.SEAT, 1)
    send(host, by_lmtp, by_lmtp.reply(), by_lmtp.address, other)
    host.wait_until_delivered()
    assert sorted(note.recipient for note in notes()) == sorted([by_lmtp.address, other])
    assert host.log().count("status=sent (250 2.0.0 taken)") == 2
    assert by_lmtp.moves() == 1


def test_who_writes_to_an_unknown_address_is_told(host, by_lmtp) -> None:
    send(host, by_lmtp, by_lmtp.reply(), f"nobody@{BY_LMTP}")
    assert "there is no such address here; reply to one of our letters" in returned(host, by_lmtp)
    assert notes() == []


def test_who_sends_more_than_a_megabyte_is_told(host, by_lmtp) -> None:
    send(host, by_lmtp, by_lmtp.reply("word " * 300_000))
    assert "message size" in returned(host, by_lmtp)
    assert notes() == []


def test_what_is_written_to_the_offices_of_the_domain_is_kept(host, by_lmtp) -> None:
    offices = [f"abuse@{BY_LMTP}", f"Postmaster@{BY_LMTP}"]
    send(host, by_lmtp, by_lmtp.reply(message_id="<1@players.example>"), *offices)
    host.wait_until_delivered()
    assert sorted(note.recipient for note in notes()) == sorted(offices)


def test_a_mail_that_cannot_be_stored_now_comes_again(host, by_lmtp, monkeypatch) -> None:
    really, asked_for = inbox.take, []

    def fails_once(*given, **more) -> bool:
        asked_for.append(given)
        if len(asked_for) == 1:
            raise OperationalError("INSERT", {}, Exception("the disk is full"))
        return really(*given, **more)

    monkeypatch.setattr(inbox, "take", fails_once)
    send(host, by_lmtp, by_lmtp.reply())
    wait_for(lambda: len(notes()) == 1)
    assert "status=deferred" in host.log()
    host.wait_until_delivered()
    assert by_lmtp.moves() == 1
    assert len(asked_for) == 2
