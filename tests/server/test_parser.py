"""The process that reads mail: hostile mail ends it at most, and the next mail is read."""

from __future__ import annotations

import os
import random
import re
import time
from base64 import b64encode
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from sqlalchemy import select

from bench import fuzz
from bench.measure import Asked
from pbem.ext import db
from pbem.mail import bounce, inbox, note
from pbem.mail.parser import MEGABYTES, SECONDS, Parser, Reading
from pbem.models import Note

MAILS = Path(__file__).parents[1] / "mails"
PLAIN = b"From: ann@players.example\r\n\r\n5SW left\r\n"


def packed(size: int) -> bytes:
    """Return a zip file that is a thousand times as large when unpacked."""
    file = BytesIO()
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        archive.writestr("zeros", bytes(size))
    return file.getvalue()


def nested(levels: int) -> bytes:
    level = b'Content-Type: multipart/mixed; boundary="b%d"\r\n\r\n--b%d\r\n'
    return b"From: a@b.example\r\n" + b"".join(level % (nth, nth) for nth in range(levels))


HOSTILE = {
    "two kilobytes of brackets in From": b"From: " + b"(" * 2048 + b"\r\n\r\nx",
    "brackets in every header": b"".join(b"X%d: " % n + b"(" * 8000 + b"\r\n" for n in range(8)),
    "a thousand multiparts in each other": nested(1000),
    "a hundred thousand parts": b"From: a@b.example\r\n"
    b"Content-Type: multipart/mixed; boundary=b\r\n\r\n" + b"--b\r\n\r\n\r\n" * 100_000,
    "a flood of boundaries": nested(9) + b"--b1--\r\n--b2\r\n--b3\r\n" * 45_000,
    "448 KB of encoded words": b"Subject: " + b"=?utf-8?q?a?=\r\n " * 28_000 + b"\r\n\r\nx",
    "565 KB of addresses": b"To: " + b"ann@players.example, " * 27_000 + b"\r\n\r\nx",
    "32 KB of quotes": b"From: " + b'"' * 32_768 + b"\r\n\r\nx",
    "made-up charsets": b"From: =?made-up?b?////?= <a@b.example>\r\n"
    b"Content-Type: text/plain; charset=unicode_escape\r\n\r\n\\ud800",
    "base64 that breaks off": b"From: a@b.example\r\nContent-Transfer-Encoding: base64\r\n\r\n"
    + b64encode(b"5SW left " * 60_000)[:-3],
    "a packed file that is large inside": b"From: a@b.example\r\nContent-Type: application/zip\r\n"
    b"Content-Transfer-Encoding: base64\r\n\r\n" + b64encode(packed(500_000_000)),
    "a report of many recipients": b"Content-Type: message/delivery-status\r\n\r\n"
    + b"Action: failed\r\nStatus: 5.1.1\r\n\r\n" * 20_000,
    "a page of entities": b"From: a@b.example\r\nContent-Type: text/html\r\n\r\n"
    + b"&#1" * 300_000,
    "a megabyte of zeros": bytes(1024 * 1024),
    "more than a megabyte": b"From: a@b.example\r\n\r\n" + b"x" * 3_000_000,
}


@pytest.mark.parametrize("raw", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_mail_is_done_with_soon_and_in_little_memory(parser, raw) -> None:
    parser.read(PLAIN)
    started = time.monotonic()
    for return_path in ("", "<>"):
        with suppress(note.Unparseable):
            parser.read(raw, return_path=return_path)
    assert time.monotonic() - started < 2 * SECONDS
    if parser._child is not None:
        assert peak(parser) < MEGABYTES
    assert parser.read(PLAIN).facts.text.split() == ["5SW", "left"]


def peak(parser: Parser) -> int:
    """Return the megabytes of address space that the process has had at most."""
    status = Path(f"/proc/{parser._child.pid}/status").read_text()
    return int(re.search(r"VmPeak:\s+(\d+)", status)[1]) // 1024


def test_the_process_reads_as_the_server_itself_would(parser) -> None:
    bounced = b"Content-Type: message/delivery-status\n\n\nAction: failed\nStatus: 5.1.1\n"
    complaint = b"Content-Type: message/feedback-report\n\nFeedback-Type: abuse\n"
    for raw in (*(path.read_bytes() for path in MAILS.glob("*.eml")), bounced, complaint):
        try:
            facts = note.read(raw)
        except note.Unparseable as error:
            with pytest.raises(note.Unparseable, match=re.escape(str(error))):
                parser.read(raw)
            continue
        expected = Reading(facts, bounce.read(raw), bounce.complaint(raw))
        assert parser.read(raw, return_path="<>") == expected
    assert parser.read(PLAIN) == Reading(note.read(PLAIN), None, None)


def test_a_mail_that_takes_too_long_costs_one_process_and_not_the_next_mail() -> None:
    slow = b"From: a@b.example\nContent-Type: text/html\n\n" + b"<p></b>" * 140_000
    parser = Parser(seconds=0.01)
    try:
        with pytest.raises(note.Unparseable, match=r"took more than 0.01 seconds"):
            parser.read(slow)
        assert parser.read(PLAIN).facts.sender == "ann@players.example"
    finally:
        parser.close()


def test_a_mail_that_ends_the_process_is_told_and_the_next_is_read(capfd) -> None:
    parser = Parser(megabytes=60)
    try:
        with pytest.raises(note.Unparseable, match="ended the process"):
            parser.read(b"x" * 100_000_000)
        assert "MemoryError" in capfd.readouterr().err
        assert parser.read(PLAIN).facts.sender == "ann@players.example"
        # It may also be ended from outside, between two mails; that is no mail's fault.
        os.kill(parser._child.pid, 9)
        os.waitid(os.P_PID, parser._child.pid, os.WEXITED | os.WNOWAIT)
        assert parser.read(PLAIN).facts.sender == "ann@players.example"
    finally:
        parser.close()


def test_the_process_gets_neither_secrets_nor_connections(app, parser, monkeypatch) -> None:
    db.session.scalar(select(Note.id))
    monkeypatch.setenv("PBEM_SECRET_KEYS", "ab" * 32)
    own = Parser()
    try:
        own.read(PLAIN)
        folder = Path(f"/proc/{own._child.pid}")
        given = (folder / "environ").read_bytes().split(b"\0")
        assert {one.partition(b"=")[0] for one in given if one} == {b"PATH", b"PYTHONPATH"}
        assert {int(one.name) for one in (folder / "fd").iterdir()} == {0, 1, 2}
    finally:
        own.close()


def test_hostile_mail_is_kept_and_the_mail_after_each_is_read(app, now) -> None:
    address = "g+aaaa@play.example"
    for nth, raw in enumerate(HOSTILE.values()):
        inbox.take(raw, inbox.Envelope(address, "x@y.example"), now=now)
        good = b"From: a@b.example\r\nSubject: %d\r\n\r\nx\r\n" % nth
        inbox.take(good, inbox.Envelope(address, "a@b.example"), now=now)
    assert inbox.read_all(now=now) == 2 * len(HOSTILE)
    rows = db.session.execute(select(Note.raw, Note.verdict, Note.reason).order_by(Note.id)).all()
    assert [row.raw for row in rows[::2]] == list(HOSTILE.values())
    assert {row.verdict for row in rows[::2]} == {"unparseable", "unknown"}
    assert {row.verdict for row in rows[1::2]} == {"unknown"}
    assert all(row.reason for row in rows)


def test_damaged_mails_are_read_without_any_exception() -> None:
    (bar,) = fuzz.run(Asked(), seconds=3, seed=random.randrange(2**32))
    assert bar.is_met, bar.words
