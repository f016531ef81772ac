"""Replies that a real Postfix hands on to us: by LMTP to the listener, by a pipe to a command."""

from __future__ import annotations

import hmac
import shlex
import shutil
import smtplib
import stat
import sys
import sysconfig
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from cast import text_of
from conftest import missing
from demo_process import ROOT
from mail_host import BY_LMTP, BY_PIPE, MailHost
from replies import Asked, asked, notes
from sqlalchemy.exc import OperationalError
from worker_process import wait_for

from pbem.links import Links
from pbem.mail import inbox
from pbem.mail.listener import Listener
from pbem.tokens import Named

PACKAGES = Path(sysconfig.get_path("purelib"))


@pytest.fixture
def database_url(mail_host, tmp_path: Path) -> str:
    """SQLite alone, in a folder of the user whom Postfix runs a pipe's command as."""
    return f"sqlite:///{mail_host.folder / 'ours' / tmp_path.name}.sqlite3"


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


def test_a_mail_that_comes_by_lmtp_and_by_two_hooks_is_taken_once(app, host, by_lmtp) -> None:
    key, secret = "key-of-mailgun", "0123456789abcdefghij"
    app.extensions["pbem.settings"] = replace(
        app.extensions["pbem.settings"], mailgun_signing_key=key, postmark_secret=secret
    )
    send(host, by_lmtp, by_lmtp.reply())
    host.wait_until_delivered()
    passed_on = b"Received: from mx.players.example by a provider\r\n" + by_lmtp.reply()
    stamp = str(int(time.time()))
    form = {
        "recipient": by_lmtp.address.upper(),
        "timestamp": stamp,
        "token": "0",
        "signature": hmac.digest(key.encode(), f"{stamp}0".encode(), "sha256").hex(),
        "body-mime": "X-Mailgun-Incoming: Yes\r\n" + passed_on.decode(),
    }
    fields = {"OriginalRecipient": by_lmtp.address, "RawEmail": passed_on.decode()}
    assert app.test_client().post("/hooks/mailgun/mime", data=form).status_code == 200
    assert app.test_client().post(f"/hooks/postmark/{secret}", json=fields).status_code == 200
    assert len(notes()) == 1
    assert by_lmtp.moves() == 1


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


@pytest.fixture
def by_pipe(app, host, mailbox, now) -> Asked:
    """A turn letter whose replies Postfix hands to `pbem inbox`, in a process for each."""
    site = replace(app.extensions["pbem.settings"], mail_domain=BY_PIPE)
    app.extensions["pbem.settings"] = site
    shutil.chown(site.database_url.removeprefix("sqlite:///"), "mail")
    command = host.folder / "ours" / "take"
    command.write_text(
        f"""#!/bin/sh
        export PYTHONPATH={shlex.quote(f"{ROOT}:{PACKAGES}")} PYTHONDONTWRITEBYTECODE=1
        export PBEM_DATABASE_URL="$(cat {shlex.quote(str(command.parent / "database_url"))})"
        export PBEM_MAIL_DOMAIN={BY_PIPE} PBEM_SECRET_KEYS={site.secret_keys[0]}
        exec {shlex.quote(python_for_all())} -m pbem inbox --sender "$2" "$1"
        """
    )
    command.chmod(0o755)
    store_in(host, site.database_url)
    return asked(mailbox, now)


def python_for_all() -> str:
    """Return a Python that Postfix's user may run too, which root's own home keeps from it."""
    pythons = (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}")
    seen = [
        python
        for python in pythons
        if all(is_open(path) for path in (Path(python), PACKAGES, ROOT / "pbem"))
    ]
    if not seen:
        missing("a Python and a checkout that all users may see", "put them outside of /root")
    return seen[0]


def is_open(path: Path) -> bool:
    real = path.resolve()
    return real.exists() and all(
        folder.stat().st_mode & stat.S_IXOTH for folder in (real, *real.parents)
    )


def store_in(host: MailHost, database_url: str) -> None:
    (host.folder / "ours" / "database_url").write_text(database_url)


def test_a_reply_by_pipe_becomes_a_move(host, by_pipe) -> None:
    send(host, by_pipe, by_pipe.reply())
    host.wait_until_delivered()
    assert by_pipe.moves() == 1
    (note,) = notes()
    assert (note.recipient, note.return_path) == (by_pipe.address, by_pipe.sender)


def test_a_mail_that_the_pipe_cannot_store_now_waits_and_comes_again(app, host, by_pipe) -> None:
    store_in(host, f"sqlite:///{host.folder / 'ours' / 'empty.sqlite3'}")
    send(host, by_pipe, by_pipe.reply())
    wait_for(lambda: "status=deferred" in host.log())
    assert "the mail could not be stored" in host.log()
    store_in(host, app.extensions["pbem.settings"].database_url)
    host.wait_until_delivered()
    assert by_pipe.moves() == 1


def test_who_sends_more_than_a_megabyte_to_the_pipe_is_told(host, by_pipe) -> None:
    send(host, by_pipe, by_pipe.reply("word " * 300_000))
    assert "the mail is larger than 1 MB" in returned(host, by_pipe)
    assert notes() == []
