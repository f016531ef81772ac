from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pbem.mail.bounce import MAIL, Bounce, read

MAILS = Path(__file__).parents[1] / "mails" / "bounces"
PATHS = sorted(MAILS.glob("*.eml"))
OURS = ("<l14.k3v9@play.example>",)

BOUNCES = {
    "postfix": Bounce(
        is_permanent=True,
        reason="550 5.1.1 <ann@players.example>: Recipient address rejected: "
        "User unknown in virtual mailbox table",
        message_ids=OURS,
    ),
    "postfix-delayed": Bounce(
        is_permanent=False,
        reason="connect to imap.players.example[192.0.2.7]:25: Connection timed out",
        message_ids=OURS,
    ),
    "exim": Bounce(
        is_permanent=True,
        reason="host imap.players.example [192.0.2.7]: 550 5.1.1 No such user here",
        message_ids=OURS,
    ),
    "exim-report": Bounce(is_permanent=True, reason="5.0.0", message_ids=OURS),
    "gmail": Bounce(
        is_permanent=True,
        reason="550-5.1.1 The email account that you tried to reach does not exist. Please try "
        "550-5.1.1 double-checking the recipient's email address for typos or "
        "550-5.1.1 unnecessary spaces. For more information,",
        message_ids=OURS,
    ),
    "exchange": Bounce(
        is_permanent=True,
        reason="554 5.2.2 mailbox full; STOREDRV.Deliver.Exception:QuotaExceededException",
        message_ids=OURS,
    ),
    "qmail": Bounce(
        is_permanent=True,
        reason="Sorry, no mailbox here by that name. (#5.1.1)",
        message_ids=OURS,
    ),
    "warning": Bounce(
        is_permanent=False,
        reason="Warning: message 1vPq2a-0003aW-1b delayed 24 hours",
        message_ids=(),
    ),
    "smtputf8": Bounce(is_permanent=True, reason='unknown user: "ann"', message_ids=OURS),
}
OTHERS = ("abuse", "forwarded", "reply", "vacation")


def stored(name: str) -> bytes:
    return (MAILS / f"{name}.eml").read_bytes()


def report(
    *recipients: str, kind: str = "delivery-status", original: str = "", headers: str = ""
) -> bytes:
    """Return a report on these recipients, each a group of fields."""
    fields = "\n\n".join(("Reporting-MTA: dns; mx.players.example", *recipients))
    return (
        "From: MAILER-DAEMON@players.example\n"
        f"{headers}"
        f"Content-Type: multipart/report; report-type={kind}; boundary=b\n\n"
        "--b\nContent-Type: text/plain\n\nsee below\n"
        f"--b\nContent-Type: message/delivery-status\n\n{fields}\n\n"
        f"{original}--b--\n"
    ).encode("utf-8", "surrogateescape")


def verdict(*recipients: str) -> bool | None:
    found = read(report(*recipients))
    return None if found is None else found.is_permanent


def test_all_stored_mails_are_tested() -> None:
    assert {path.stem for path in PATHS} == {*BOUNCES, *OTHERS}


@pytest.mark.parametrize("name", BOUNCES)
def test_a_bounce_tells_how_long_why_and_of_which_letter(name: str) -> None:
    assert read(stored(name)) == BOUNCES[name]


@pytest.mark.parametrize("name", BOUNCES)
def test_line_ends_make_no_difference(name: str) -> None:
    assert read(stored(name).replace(b"\n", b"\r\n")) == BOUNCES[name]


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_no_bounce_gives_none(name: str) -> None:
    assert read(stored(name)) is None


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ("Action: failed\nStatus: 5.1.1", True),
        ("Action: FAILED (gone)\nStatus: 5.1.1", True),
        ("Action: failed", True),
        ("Action: error\nStatus: 5.1.1", True),
        ("Status: 5.1.1", True),
        ("Action: failed\nStatus: 4.4.7", False),
        ("Action: delayed\nStatus: 4.4.1", False),
        ("Action: delayed", False),
        ("Status: 4.2.2", False),
        ("Action: delivered\nStatus: 2.0.0", None),
        ("Action: relayed\nStatus: 2.0.0", None),
        ("Action: expanded\nStatus: 2.0.0", None),
        ("Status: 2.0.0", None),
        ("Action: lost", None),
    ],
)
def test_action_and_status_decide(fields: str, expected: bool | None) -> None:
    assert verdict(f"Final-Recipient: rfc822; ann@players.example\n{fields}") is expected


def test_a_permanent_failure_outweighs_what_else_became_of_a_letter() -> None:
    failed, delayed, arrived = "Action: failed", "Action: delayed", "Action: delivered"
    assert verdict(arrived, delayed, failed) is True
    assert verdict(arrived, delayed) is False
    assert verdict(arrived) is None


def test_a_failure_of_an_auto_replied_report_is_a_bounce() -> None:
    raw = report("Action: failed\nStatus: 5.1.1", headers="Auto-Submitted: auto-replied\n")
    assert read(raw) == Bounce(is_permanent=True, reason="5.1.1", message_ids=())


def test_a_receipt_is_no_bounce() -> None:
    assert read(report("Action: failed", kind="disposition-notification")) is None


def test_a_report_of_abuse_is_no_bounce_even_with_failures() -> None:
    part = "--b\nContent-Type: message/feedback-report\n\nFeedback-Type: abuse\n\n"
    assert read(report("Action: failed", original=part)) is None


def test_an_answer_that_calls_itself_automatic_is_no_bounce() -> None:
    text = "\n\nHi. This is the office of Ann.\n\n<ann@players.example>:\n5.1.1 away\n"
    person = "From: Ann <ann@players.example>\nAuto-Submitted: Auto-Replied"
    assert read((person + text).encode()) is None
    robot = "From: MAILER-DAEMON@players.example\nAuto-Submitted: auto-replied"
    assert read((robot + text).encode()) == Bounce(True, "5.1.1 away", ())


def test_a_reason_is_one_short_line_without_control_characters() -> None:
    code = "smtp; 550 \x00no\x1b[31m\u202esuch\u2028user\x85\n\there " + "x" * 400
    found = read(report(f"Action: failed\nDiagnostic-Code: {code}"))
    assert found is not None
    assert found.reason.startswith("550 no [31m")
    assert "here xxx" in found.reason
    assert len(found.reason) <= 200
    assert found.reason.isprintable()


def test_the_ids_come_from_the_returned_letter_only() -> None:
    original = (
        "--b\nContent-Type: message/rfc822\n\n"
        "Message-ID:\n <l14.k3v9@play.example>\nReferences: <l01.k3v9@play.example>\n\n"
        "Message-ID: <in-the-text@play.example>\n\n"
    )
    found = read(report("Action: failed", original=original, headers="Message-ID: <own@x>\n"))
    assert found is not None
    assert found.message_ids == OURS


def test_headers_that_are_returned_in_base64_are_read() -> None:
    original = (
        "--b\nContent-Type: text/rfc822-headers\nContent-Transfer-Encoding: base64\n\n"
        "TWVzc2FnZS1JRDogPGwxNC5rM3Y5QHBsYXkuZXhhbXBsZT4K\n\n"
    )
    found = read(report("Action: failed", original=original))
    assert found is not None
    assert found.message_ids == OURS


def test_a_mail_of_more_than_the_limit_is_read_up_to_it() -> None:
    within = stored("postfix") + b"x" * 2 * MAIL
    assert read(within) == BOUNCES["postfix"]
    beyond = b"X-Long: " + b"x" * MAIL + b"\n" + stored("postfix")
    assert read(beyond) is None


HOSTILE = {
    "nothing": b"",
    "a header only": b"From",
    "a broken encoded word": b"From: =?utf-8?b?\xff?=\nX-Failed-Recipients: =?x?q?\xfc?=\n\n\xff",
    "an unknown charset": stored("qmail").replace(
        b"Subject:", b"Content-Type: text/plain; charset=nope\nSubject:"
    ),
    "an unknown encoding": b"Content-Transfer-Encoding: \xff\n" + stored("qmail"),
    "levels of parts": b"".join(
        b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n) for n in range(20_000)
    ),
    "levels of attached mails": b"Content-Type: message/rfc822\n\n" * 30_000,
    "a long run of spaces": b"From: x\n\nMessage-ID:" + b" " * 900_000,
    "many empty lines": report("Action: failed\n" + "\n" * 900_000),
    "many groups": report("Action: failed\n\n" * 60_000),
    "many ids": stored("qmail") + b"Message-ID: <a@b>\n" * 50_000,
    "a long address": b"X-Failed-Recipients: " + b"(" * 900_000 + b"\n\n",
    "many addresses": b"X-Failed-Recipients: " + b"a@b," * 100_000 + b"\n\n",
    "a long code": report("Action: failed\nDiagnostic-Code: " + "x-" * 400_000),
    "many quotes": b'Content-Type: multipart/report; report-type="' + b'\\"' * 400_000 + b"\n\n",
    "surrogates": report("Action: failed\udcff\nStatus: \udcfe\nDiagnostic-Code: \udcff\udcfe"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_mail_is_read_without_an_error_and_soon(name: str) -> None:
    start = time.process_time()
    found = read(HOSTILE[name])
    assert found is None or isinstance(found, Bounce)
    assert time.process_time() - start < 5


@given(raw=st.binary(max_size=400))
@settings(deadline=None)
def test_any_bytes_are_a_bounce_or_none(raw: bytes) -> None:
    found = read(raw)
    assert found is None or isinstance(found, Bounce)


@given(path=st.sampled_from(PATHS), seed=st.integers(0, 2**32), cuts=st.integers(1, 12))
@settings(max_examples=300, deadline=None)
def test_a_damaged_mail_is_a_bounce_or_none(path: Path, seed: int, cuts: int) -> None:
    chance = random.Random(seed)
    raw = bytearray(path.read_bytes())
    for _ in range(cuts):
        place = chance.randrange(len(raw))
        match chance.randrange(3):
            case 0:
                raw[place] = chance.randrange(256)
            case 1:
                del raw[place : place + chance.randrange(1, 40)]
            case _:
                raw[place:place] = raw[: chance.randrange(1, 80)]
        raw = raw or bytearray(b"x")
    found = read(bytes(raw))
    assert found is None or isinstance(found, Bounce)
    if found is not None:
        assert len(found.reason) <= 200
        assert not found.reason or found.reason.isprintable()
        assert all(one.startswith("<") and one.endswith(">") for one in found.message_ids)
