from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pbem.mail import note
from pbem.mail.flatten import flatten
from pbem.mail.note import Facts, Unparseable, digest

MAILS = sorted((Path(__file__).parents[1] / "mails").glob("*.eml"))


def mail(headers: str = "", body: str = "5SW left\n") -> bytes:
    return f"From: Ann <ann@players.example>\n{headers}\n{body}".encode()


def read(headers: str = "", body: str = "5SW left\n") -> Facts:
    return note.read(mail(headers, body))


def outcome(raw: bytes) -> str:
    """Read the mail; anything but facts and Unparseable is an error of the test."""
    try:
        assert isinstance(note.read(raw), Facts)
    except Unparseable:
        return "unparseable"
    return "facts"


def nested(depth: int) -> str:
    """Return a mail of multiparts inside of each other, with one text within."""
    lines = ["From: a@players.example"]
    for level in range(depth):
        lines += [f'Content-Type: multipart/mixed; boundary="b{level}"', "", f"--b{level}"]
    return "\n".join([*lines, "Content-Type: text/plain", "", "5SW left", ""])


def flat(parts: int) -> str:
    head = "From: a@players.example\nContent-Type: multipart/mixed; boundary=b\n\n"
    return head + "--b\n\n5SW left\n" * parts + "--b--\n"


def test_the_facts_of_a_mail_are_told() -> None:
    raw = (
        b"Return-Path: <ann@players.example>\r\n"
        b"Delivered-To: g+Token@play.example\r\n"
        b"Authentication-Results: mx.play.example; dkim=pass\r\n"
        b"Authentication-Results: elsewhere.example; dkim=fail\r\n"
        b"From: =?utf-8?q?Ann_=22a=40b=22?= <Ann@Players.example>\r\n"
        b"To: Biscuit <g+other@play.example>, bob@players.example\r\n"
        b"Cc: <G+TOKEN@play.example>\r\n"
        b"X-Original-To: x+token@play.example\r\n"
        b"Subject: =?utf-8?B?w6A=?= =?iso-8859-1?q?_toi?=\r\n"
        b"Message-ID: <one@players.example>\r\n"
        b"References: <l1.aa@play.example>,<l2.bb@play.example>\r\n"
        b"In-Reply-To: <l2.bb@play.example>\r\n\r\n5SW left\r\n"
    )
    assert note.read(raw) == Facts(
        sender="ann@players.example",
        recipients=(
            "g+token@play.example",
            "x+token@play.example",
            "g+other@play.example",
            "bob@players.example",
            "l2.bb@play.example",
            "l1.aa@play.example",
        ),
        message_id="<one@players.example>",
        subject="à toi",
        automatic=None,
        text="5SW left\n",
        page="",
        authentication=("mx.play.example; dkim=pass", "elsewhere.example; dkim=fail"),
    )


@pytest.mark.parametrize(
    ("value", "sender"),
    [
        ("Ann@Players.example", "ann@players.example"),
        ('"bob@players.example" <ann@players.example>', "ann@players.example"),
        ('"Bob <bob@players.example>" <ann@players.example>', "ann@players.example"),
        ("(bob@players.example) ann@players.example", "ann@players.example"),
        ("bob@players.example, ann@players.example", ""),
        ("<bob@players.example> <ann@players.example>", ""),
        ("ann@players.example\nFrom: bob@players.example", ""),
        ("Ann", ""),
        ("", ""),
        ("(" * 2000, ""),
    ],
)
def test_the_sender_is_the_one_address_in_from(value: str, sender: str) -> None:
    assert note.read(f"From: {value}\n\n5SW left\n".encode()).sender == sender


@pytest.mark.parametrize(
    ("charset", "codec"),
    [
        ("", "utf-8"),
        ("; charset=utf-8", "utf-8"),
        ("; charset=iso-8859-1", "latin-1"),
        ("; charset=unheard-of", "utf-8"),
        ("; charset=koi8-r", "koi8-r"),
    ],
)
@pytest.mark.parametrize("encoding", ["7bit", "8bit", "quoted-printable"])
def test_bytes_that_were_not_encoded_are_read_in_their_charset(charset, codec, encoding) -> None:
    typed = "да" if codec == "koi8-r" else "à gauche"
    head = f"Content-Type: text/plain{charset}\nContent-Transfer-Encoding: {encoding}\n\n"
    assert note.read(head.encode() + typed.encode(codec)).text == typed


def test_headers_in_raw_bytes_are_read() -> None:
    assert note.read("Subject: à toi\n\n".encode("latin-1")).subject == "à toi"
    assert note.read("Subject: à toi\n\n".encode()).subject == "à toi"


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ("Return-Path: <>\n", "a null return path"),
        ("Auto-Submitted: auto-generated\n", "Auto-Submitted: auto-generated"),
        ("Auto-Submitted: No (really)\n", None),
        ("Precedence: List\n", "Precedence: list"),
        ("Precedence: first-class\n", None),
        ("X-Auto-Response-Suppress: All\n", None),
        ("X-Autorespond: yes\n", "a header x-autorespond"),
        ("List-Id: <x.example>\n", "a header list-id"),
        ("Subject: Out of Office: Re: Biscuit\n", "the subject of an automatic answer"),
        ("Subject: Re: Biscuit\n", None),
    ],
)
def test_automatic_mail_is_told_by_its_headers(header: str, reason: str | None) -> None:
    assert read(header).automatic == reason


@pytest.mark.parametrize(
    "name", ["MAILER-DAEMON", "postmaster", "noreply", "no-reply", "do-not-reply", "bounces+1=a"]
)
def test_a_robots_address_is_automatic(name: str) -> None:
    assert (
        note.read(f"From: {name}@players.example\n\nhello\n".encode()).automatic
        == "a robot's address"
    )


def test_a_digest_knows_a_mail_by_what_its_writer_sent() -> None:
    one = mail("Subject: x\n")
    again = b"Received: by mx.example\n\twith SMTP\nDelivered-To: b@x\n" + one.replace(
        b"\n", b"\r\n"
    )
    assert digest(one, "a@play.example") == digest(again, "A@play.example")
    different = {
        digest(one, "a@play.example"),
        digest(one, "b@play.example"),
        digest(mail("Subject: y\n"), "a@play.example"),
        digest(mail("Subject: x\n", "5SW right\n"), "a@play.example"),
        digest(mail("", "Subject: x\n"), "a@play.example"),
    }
    assert len(different) == 5


def test_trace_headers_in_the_body_count() -> None:
    assert digest(mail("", "Received: x\n"), "a") != digest(mail("", ""), "a")


def test_limits_are_kept_to_the_byte() -> None:
    room = note.MAIL - len(mail("", ""))
    assert outcome(mail("", "x" * room)) == "facts"
    assert outcome(mail("", "x" * (room + 1))) == "unparseable"
    assert outcome(mail("X: " + "y" * (note.HEADER - 5) + "\n")) == "facts"
    assert outcome(mail("X: " + "y" * note.HEADER + "\n")) == "unparseable"
    assert outcome(mail("X: y\n" * 12_000)) == "facts"
    assert outcome(mail("X: y\n" * 14_000)) == "unparseable"


def test_fifty_parts_are_enough_and_ten_levels() -> None:
    assert note.read(flat(50).encode()).text.startswith("5SW left")
    assert outcome(flat(51).encode()) == "unparseable"
    assert note.read(nested(10).encode()).text == "5SW left"
    assert outcome(nested(11).encode()) == "unparseable"


def test_a_long_text_and_long_lines_are_cut() -> None:
    text = read("", ("x" * 5000 + "\n") * 20).text
    assert len(text) <= 64 * 1024
    assert {len(line) for line in text.split("\n")[:10]} == {4000}


HOSTILE = {
    "a mail of nothing": b"",
    "one line end": b"\n",
    "null bytes": b"\0" * 1000,
    "brackets in From": b"From: " + b"(" * 8000 + b"\n\n",
    "quotes in From": b"From: " + b'"' * 8000 + b"\n\n",
    "quotes in a content type": b"Content-Type: text/plain; x=" + b'"' * 8000 + b"\n\nx",
    "semicolons in a content type": b"Content-Type: multipart/mixed" + b";" * 8000 + b"\n\nx",
    "a thousand levels": nested(1000).encode(),
    "a hundred thousand parts": flat(60_000).encode(),
    "parts of a boundary in pieces": flat(60_000)
    .replace("boundary=b", 'boundary*0=""; boundary*1=b')
    .encode(),
    "an empty boundary": flat(60_000).replace("boundary=b", 'boundary=""').encode(),
    "levels of attached mails": b"Content-Type: message/rfc822\n\n" * 30_000,
    "attached mails in digests": b"Content-Type: multipart/digest; boundary=b\n\n--b\n\n" * 10_000,
    "blocks of a report": b"Content-Type: message/delivery-status\n\n" + b"a: b\n\n" * 150_000,
    "encoded words": b"".join(b"X: " + b"=?utf-8?q?a?= " * 500 + b"\n" for _ in range(8)) + b"\n",
    "encoded words in the subject": b"Subject: " + b"=?utf-8?b?YQ==?= " * 450 + b"\n\n",
    "addresses": b"To: " + b"a@b.example, " * 600 + b"\n\n",
    "commas in To": b"To: " + b"," * 8000 + b"\n\n",
    "a long header in a part": flat(1).replace("b\n\n", "b\nX: " + "y" * 500_000 + "\n\n").encode(),
    "headers without end": b"a: b\n" * 200_000,
    "bad base64": b"Content-Transfer-Encoding: base64\n\n" + b"=" * 500_000,
    "bad quoted-printable": b"Content-Transfer-Encoding: quoted-printable\n\n" + b"=" * 500_000,
    "one line of a megabyte": mail("", "-" * 1_000_000),
    "a megabyte of line ends": mail("", "\n" * 1_000_000),
    "a megabyte of returns": b"From: a\r" + b"\r" * 1_000_000,
    "flowed lines": mail("Content-Type: text/plain; format=flowed\n", "> x \n" * 200_000),
    "flowed spaces": mail("Content-Type: text/plain; format=flowed\n", " \n" * 500_000),
    "a report without a boundary": b"Content-Type: multipart/report\n\nx",
    **{
        f"HTML of {shape!r}": mail("Content-Type: text/html\n", shape * (900_000 // len(shape)))
        for shape in (
            "<",
            "<!--",
            "<!",
            '<a "',
            "<a '",
            "<div>",
            "</div>",
            "<blockquote>",
            "<style",
            "<style>",
            "&",
            "&#",
            "&#1",
            "<div class=",
            "<p></b>",
            "<a href='>\">",
            "< ",
            '<div class="x_',
            "border:none;",
            "<p style='border:none;border-top:",
            "<br>",
            "<pre>\n",
            "<?",
            '<a b="x">',
        )
    },
    "a number of HTML without end": mail("Content-Type: text/html\n", "&#" + "1" * 100_000 + ";"),
    **{
        f"charset {name!r}": mail(f"Content-Type: text/plain; charset={name}\n", "5SW left \xff\n")
        for name in (
            "windows-874",
            "x-mac-roman",
            "iso-8859-8-i",
            "unknown-8bit",
            "utf8mb4",
            '""',
            "hex",
            "rot13",
            "idna",
            "unicode_escape",
            "utf-16",
            "utf-7",
            "default_charset",
            "utf-8\0",
            "a" * 3000,
            "é",
        )
    },
}


@pytest.mark.parametrize("raw", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_mail_gives_facts_or_is_unparseable(raw: bytes) -> None:
    assert outcome(raw) in ("facts", "unparseable")


@pytest.mark.parametrize("name", ["hex", "rot13", "utf8mb4", "unknown-8bit", "utf-16", "made-up"])
def test_a_made_up_charset_loses_no_move(name: str) -> None:
    assert read(f"Content-Type: text/plain; charset={name}\n").text == "5SW left\n"


@given(raw=st.binary(max_size=400))
def test_any_bytes_give_facts_or_are_unparseable(raw: bytes) -> None:
    outcome(raw)
    digest(raw, "a@play.example")


@given(
    path=st.sampled_from(MAILS),
    seed=st.integers(0, 2**32),
    cuts=st.integers(1, 12),
)
@settings(max_examples=400, deadline=None)
def test_a_damaged_mail_gives_facts_or_is_unparseable(path: Path, seed: int, cuts: int) -> None:
    chance = random.Random(seed)
    raw = bytearray(path.read_bytes())
    for _ in range(cuts):
        at = chance.randrange(len(raw) + 1)
        match chance.randrange(4):
            case 0:
                raw[at : at + 1] = bytes([chance.randrange(256)])
            case 1:
                del raw[at : at + chance.randrange(40)]
            case 2:
                raw[at:at] = chance.choice(
                    (b"\0", b"\r", b"\n\n", b'"', b"(", b"=?", b"<", b";", b"--b1")
                )
            case _:
                other = chance.randrange(len(raw) + 1)
                raw[at:at] = raw[other : other + chance.randrange(200)]
    outcome(bytes(raw))
    digest(bytes(raw), "a@play.example")


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("5SW <b>left</b>", "5SW left"),
        ("<p>a</p>\n<p>b<br>c</p>", "a\n\nb\nc"),
        ("<blockquote>a<blockquote>b</blockquote>c</blockquote>d", "> a\n> b\n> c\nd"),
        ('<div class="x_gmail_quote">a<div>b</div>c</div>d', "> a\n> b\n> c\nd"),
        ('<div id="appendonsend"></div>a<p>b</p>', "> a\n> b"),
        ("<style>a</style><!-- b --><script>c<d</script>e", "e"),
        ("<pre>a\nb</pre>", "a\nb"),
        ('<img alt="a > b">c', "c"),
        ("1 < 2 &amp; 3&nbsp;4", "1 < 2 & 3 4"),
        ("a</div></p>b", "a\n\nb"),
    ],
)
def test_a_page_is_flattened(page: str, text: str) -> None:
    assert flatten(page) == text
