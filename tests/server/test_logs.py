"""The log says what happened, with ids; never a card, a token, an address or a subject."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from cast import ADDRESSES, by_link, by_number, html_of, run_worker, running_match, text_of
from mail_server import Mailbox

from engine.decktet import CARDS
from pbem import logs
from pbem.ext import db
from pbem.mail import inbox, letters
from pbem.mail.listener import Listener
from pbem.models import Match
from pbem.tokens import Named

CODE = re.compile(r"(?<![0-9A-Za-z])(?:" + "|".join(CARDS) + r")(?![0-9a-z])")


@pytest.fixture
def database_url(sqlite: str) -> str:
    """One kind is enough for what is told."""
    return sqlite


@pytest.fixture
def written() -> Iterator[dict[str, io.StringIO]]:
    """What is logged in each format, at its most talkative."""
    texts = {name: io.StringIO() for name in logs.FORMATS}
    handlers = [logging.StreamHandler(text) for text in texts.values()]
    for name, handler in zip(texts, handlers, strict=True):
        handler.setFormatter(logs.FORMATS[name]())
        logging.getLogger().addHandler(handler)
    ours = logging.getLogger("pbem")
    ours.setLevel(logging.DEBUG)
    yield texts
    ours.setLevel(logging.NOTSET)
    for handler in handlers:
        logging.getLogger().removeHandler(handler)


def play(app, mailbox: Mailbox, listener: Listener, now) -> int:
    """Play a game of two by links and by replies; return its match's id."""
    match_id = running_match(["ann", "bob"], now=now, target=5).id
    for nth in range(100):
        now += timedelta(minutes=10)
        run_worker(now)
        if db.session.get_one(Match, match_id).status == "over":
            return match_id
        for message in [m for m in mailbox.fresh() if "your turn" in m["Subject"]]:
            if nth % 2:
                by_link(app, message, nth)
            else:
                by_number(listener, message, nth)
    raise AssertionError("it never ended")


def stumble(app, mailbox: Mailbox, monkeypatch, now) -> None:
    """Let everything go wrong that is told in the log."""
    to = str(mailbox.to(ADDRESSES["ann"])[0]["Reply-To"])
    mailbox.on_rcpt = lambda address: f"421 4.7.0 <{address}>: too many mails"
    running_match(["cleo", "dan"], now=now)
    run_worker(now)
    mailbox.on_rcpt = lambda _address: None

    def fails(*_given, **_more) -> None:
        raise RuntimeError(f"no {to}")

    monkeypatch.setattr(letters, "build", fails)
    run_worker(now + timedelta(hours=1))
    inbox.take(b"From: cleo@players.example\n\nHello\n", inbox.Envelope(to), now=now)
    monkeypatch.setattr(inbox, "_named", fails)
    run_worker(now + timedelta(hours=2))
    monkeypatch.setattr("pbem.web.stop._address", fails)
    assert app.test_client().get("/u/some-token").status_code == 500


def secrets_of(mailbox: Mailbox) -> set[str]:
    """Return every token, address and subject that a mail has told anybody."""
    found = set(ADDRESSES.values())
    for message in (one for name in ADDRESSES for one in mailbox.to(ADDRESSES[name])):
        told = html_of(message) + text_of(message) + str(message["Reply-To"])
        found.update(re.findall(r"play\.example/\w+/([\w.-]{20,})", told))
        found.update(re.findall(r"[gb]\+([a-z2-7]{24})", told))
        found.add(str(message["Subject"]))
    found.update(
        sender.partition("@")[0].partition("+")[2] for sender, _to, _raw in mailbox.arrived
    )
    return found


def check_lines(lines: list[dict]) -> None:
    """Check that a line of JSON has its ids, and the number of its request."""
    moves = [line for line in lines if line["message"].endswith("moved, by link")]
    assert moves
    for line in moves:
        assert line.keys() == {
            "at", "level", "logger", "message", "match", "turn", "seat", "request",
        }  # fmt: skip
        assert isinstance(line["turn"], int)
        asked = [one for one in lines if one.get("request") == line["request"]]
        assert asked[-1]["message"].startswith("POST seat.make_move: 200 in ")
    sent = next(line for line in lines if line["message"].endswith(" sent"))
    assert (type(sent["letter"]), sent["logger"]) == (int, "pbem.mail.outbox")


def test_a_whole_game_leaves_ids_and_no_secret_in_the_log(
    app, mailbox: Mailbox, listener: Listener, monkeypatch, now, written
) -> None:
    match_id = play(app, mailbox, listener, now)
    stumble(app, mailbox, monkeypatch, now + timedelta(days=2))
    secrets = secrets_of(mailbox)
    assert len(secrets) > 100
    for name, text in written.items():
        told = text.getvalue()
        assert [secret for secret in secrets if secret in told] == [], name
        assert CODE.findall(told) == [], name
        for fact in (
            f"match {match_id} turn",
            "moved, by reply",
            "moved, by link",
            "POST seat.make_move: 200 in",
            "the relay cannot be used now: 421 4.7.0 <",
            "…@players.example>: too many mails",
            "cannot be written",
            "Traceback",
        ):
            assert fact in told, (name, fact)
    check_lines([json.loads(line) for line in written["json"].getvalue().splitlines()])


def test_what_looks_like_a_secret_is_not_written(app) -> None:
    tokens = app.extensions["pbem.tokens"]
    secrets = (
        tokens.link("move", 12, 3),
        tokens.timed_link("sign-in", 5),
        tokens.address(Named.TURN, 7),
        "ann@players.example",
        "o'neil+cards@players.example",
    )
    for secret in secrets:
        assert secret not in logs.without_secrets(f"/m/{secret} {secret}, <{secret}>.")
    plain = 'File "/opt/pbem/worker.py", line 233, in _make_up_for_standstill: 12.5 a b-c'
    assert logs.without_secrets(plain) == plain


def test_a_long_line_takes_no_longer_than_its_length() -> None:
    for piece in ("a", "a-", "a.", "a+", "0f."):
        text = piece * 200_000
        assert logs.without_secrets(text) == text


def test_the_server_writes_the_format_that_its_settings_name(tmp_path: Path, capsys) -> None:
    root = logging.getLogger()
    kept, root.handlers = root.handlers, []
    level = root.level
    try:
        logs.to_stderr("json")
        logging.getLogger("pbem").info("turn 3: hello to %s", "ann@players.example")
        logging.getLogger("apscheduler").info("a job ran")
    finally:
        root.handlers = kept
        root.setLevel(level)
    (line,) = capsys.readouterr().err.splitlines()
    told = json.loads(line)
    assert (told["message"], told["turn"]) == ("turn 3: hello to a…@players.example", 3)
