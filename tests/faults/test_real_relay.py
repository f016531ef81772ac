"""Our outbox against a real Postfix, and what then lies in the mailboxes of a real Dovecot."""

from __future__ import annotations

import os
import select
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from email.policy import SMTP
from pathlib import Path

import pytest
from cast import ADDRESSES, letters_to, open_turn, player, running_match
from flask import Flask
from mail_host import GONE, LATER, PASSWORD, MailHost
from sqlalchemy import update

from pbem import create_app, lobby, play, post
from pbem.ext import db, writing
from pbem.links import Links
from pbem.lobby import Chair
from pbem.mail import letters, outbox
from pbem.models import Letter, Match, Player, Turn

MINUTE = timedelta(minutes=1)
# Letters that wait when the relay is back; RELAY_QUEUE=2000 takes two minutes.
QUEUE = int(os.environ.get("RELAY_QUEUE", "200"))
TRACE = (b"Return-Path:", b"Delivered-To:", b"Received:")


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """SQLite alone: what a mail server does is the same for each database."""
    return f"sqlite:///{tmp_path / 'pbem.sqlite3'}"


@pytest.fixture
def relay(app, mail_host) -> MailHost:
    """An empty mail host, which the application sends through."""
    mail_host.empty()
    send_through(app, smtp_port=mail_host.smtp)
    return mail_host


def send_through(app: Flask, **settings: object) -> None:
    """Give the application the way out that it would have with these settings."""
    other = create_app(replace(app.extensions["pbem.settings"], **settings))
    app.extensions["pbem.postman"] = other.extensions["pbem.postman"]


def queued(*addresses: str, now: datetime) -> list[int]:
    """Return the ids of letters that wait, one to each address."""
    for address in addresses:
        with writing():
            who = lobby.new_player(address, name="Ann", language="en", zone="UTC", now=now)
            post.sign_in(who.address, who, language="en", now=now)
    return [letter.id for letter in db.session.query(Letter).order_by(Letter.id)]


def states() -> list[str]:
    db.session.rollback()
    return [letter.state for letter in db.session.query(Letter).order_by(Letter.id)]


def without_trace(raw: bytes) -> bytes:
    """Return a mail without the headers that mail servers put above it on its way."""
    lines = raw.splitlines(keepends=True)
    while lines[0].startswith((*TRACE, b"\t", b" ")):
        lines.pop(0)
    return b"".join(lines)


def test_letters_of_a_game_arrive_as_they_were_written(relay, now) -> None:
    match = running_match(["ann", "bob", "cleo"], now=now)
    for _ in range(2):
        turn_id = open_turn(match).id
        play.make_move(turn_id, play.choose_for(turn_id, "greedy"), by="link", now=now)
    with writing():
        post.notice(match, "paused", {"by": "Ann"}, now=now)
    assert outbox.send_due(now=now) == 6
    relay.wait_until_delivered()
    sent = db.session.query(Letter).filter_by(state="sent").all()
    assert Counter(letter.kind for letter in sent) == {"your_turn": 1, "notice": 3, "started": 2}
    for letter in sent:
        here = [
            (raw, mail)
            for raw, mail in zip(
                relay.raw_mails(letter.address), relay.mails(letter.address), strict=True
            )
            if mail["Message-ID"] == letter.message_id("play.example")
        ]
        ((raw, mail),) = here
        assert without_trace(raw) == letters.build(letter).as_bytes(policy=SMTP)
        assert mail["Return-Path"] == f"<{Links().bounce(letter.id)}>"
        assert mail["List-Id"] == f"<{match.code}.play.example>"
        assert mail["Auto-Submitted"] == "auto-generated"
        assert mail["Delivered-To"] == letter.address
    assert relay.connections() == 1


def test_an_address_refused_for_now_gets_its_letter_once_when_it_is_taken(relay, now) -> None:
    late, *_others = queued(f"ann@{LATER}", ADDRESSES["bob"], ADDRESSES["cleo"], now=now)
    assert outbox.send_due(now=now) == 2
    letter = db.session.get_one(Letter, late)
    assert states() == ["retry", "sent", "sent"]
    assert letter.due_at == now + MINUTE
    assert letter.error.startswith("450 4.7.1")
    assert "greylisted" in letter.error
    relay.accept(LATER)
    assert outbox.send_due(now=now + MINUTE) == 1
    assert outbox.send_due(now=now + timedelta(days=1)) == 0
    assert states() == ["sent"] * 3
    relay.wait_until_delivered()
    for letter in db.session.query(Letter):
        (mail,) = relay.mails(letter.address)
        assert mail["Message-ID"] == letter.message_id("play.example")


def test_an_address_refused_for_good_stops_its_players_clock_and_is_told(relay, now) -> None:
    match = running_match(["ann", "bob", "cleo"], now=now)
    asked = open_turn(match).asked.player
    others = {"ann", "bob", "cleo"} - {asked.name.lower()}
    gone = f"ann@{GONE}"
    with writing():
        asked.address = gone
        db.session.execute(update(Letter).where(Letter.player_id == asked.id).values(address=gone))
        post.notice(match, "paused", {"by": "Bob"}, now=now)
    while outbox.send_due(now=now):
        pass
    unreached = db.session.get_one(Player, asked.id)
    failed = db.session.query(Letter).filter_by(player_id=unreached.id, kind="notice").all()
    assert {letter.state for letter in failed} == {"failed"}
    assert failed[0].error.startswith("550 5.1.1")
    assert unreached.unreachable_at == now
    assert unreached.unreachable_why == failed[0].error
    assert [stop["kind"] for stop in open_turn(match).stops] == ["unreachable"]
    relay.wait_until_delivered()
    for name in others:
        told = [letter.message_id("play.example") for letter in letters_to(name, "notice")]
        assert len(told) == 2  # of the pause, and that one of them can't be reached
        assert set(told) <= {mail["Message-ID"] for mail in relay.mails(ADDRESSES[name])}


def table(ann: Player, bob: Player, *, now: datetime) -> Match:
    """A game of the two in which one move is made, so that one turn is over and one is open."""
    match = lobby.open_table(ann, "biscuit", [Chair(address=bob.address)], {}, now=now)
    lobby.sit(match.seats[1].id, name="", phrase="", language="en", zone="UTC", now=now)
    turn_id = open_turn(match).id
    play.make_move(turn_id, play.choose_for(turn_id, "greedy"), by="link", now=now)
    return db.session.get_one(Match, match.id)


def fill_queue(matches: list[Match], number: int, *, now: datetime) -> None:
    """Queue letters of which seven in ten ask for a turn that is over."""
    with writing():
        for nth in range(number):
            match = matches[nth % len(matches)]
            over, asked = db.session.query(Turn).filter_by(match_id=match.id).order_by(Turn.id)
            if nth % 10 < 7:
                post.your_turn(over.asked, over, now=now)
            elif nth % 100 == 99:
                post.your_turn(asked.asked, asked, now=now)
            else:
                seat = match.seats[nth % 2]
                post.notice(match, "paused", {"by": "Ann"}, but=seat, now=now)


def test_after_an_outage_what_is_still_true_arrives_once_and_in_order(relay, now) -> None:
    ann, bob = player("ann", now=now), player("bob", now=now)
    matches = [table(ann, bob, now=now) for _ in range(5)]
    outbox.send_due(now=now + 10 * MINUTE)  # who is asked once more gets that letter last
    relay.empty()
    first = db.session.query(Letter).count() + 1
    fill_queue(matches, QUEUE, now=now)
    with relay.relay_down():
        for minutes in (10, 11, 16):
            assert outbox.send_due(now=now + minutes * MINUTE) == 0
    for _ in range(QUEUE // (outbox.BATCH * outbox.BATCHES) + 1):
        outbox.send_due(now=now + timedelta(hours=5))
    relay.wait_until_delivered()
    fresh = db.session.query(Letter).filter(Letter.id >= first).order_by(Letter.id).all()
    over = {turn.id for turn in db.session.query(Turn) if turn.closed_at is not None}
    assert Counter((letter.state, letter.turn_id in over) for letter in fresh) == {
        ("stale", True): QUEUE * 7 // 10,
        ("sent", False): QUEUE * 3 // 10,
    }
    # Turns leave before news, and each in the order in which they were queued.
    fresh.sort(key=lambda letter: letter.kind != "your_turn")
    true = [one.message_id("play.example") for one in fresh if one.turn_id not in over]
    assert relay.taken() == true
    arrived = [mail["Message-ID"] for who in ("ann", "bob") for mail in relay.mails(ADDRESSES[who])]
    assert Counter(arrived) == Counter(true)


@contextmanager
def forgetful_line(port: int) -> Iterator[int]:
    """Pass everything on to a relay, but hang up in place of its word that it has a mail."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            while True:
                ours, _ = server.accept()
                with ours, socket.create_connection(("127.0.0.1", port)) as theirs:
                    pass_on(ours, theirs)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield server.getsockname()[1]
    finally:
        # Closing alone would not wake the thread that waits in accept.
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join(timeout=10)


def pass_on(ours: socket.socket, theirs: socket.socket) -> None:
    """Pass on what both say, up to the answer to the final dot."""
    is_whole = False
    while True:
        for side in select.select([ours, theirs], [], [], 10)[0]:
            said = side.recv(65536)
            if not said or (side is theirs and is_whole):
                return
            is_whole = said.endswith(b"\r\n.\r\n")
            (theirs if side is ours else ours).sendall(said)


def test_a_letter_whose_receipt_is_lost_comes_twice_under_one_name(relay, app, now) -> None:
    doubtful, other = queued(ADDRESSES["ann"], ADDRESSES["bob"], now=now)
    with forgetful_line(relay.smtp) as port:
        send_through(app, smtp_port=port)
        assert outbox.send_due(now=now) == 0
    assert states() == ["unknown", "retry"]
    send_through(app, smtp_port=relay.smtp)
    assert outbox.send_due(now=now + MINUTE) == 1
    assert outbox.send_due(now=now + outbox.UNKNOWN_GAP) == 1
    assert outbox.send_due(now=now + timedelta(days=1)) == 0
    assert states() == ["sent", "sent"]
    relay.wait_until_delivered()
    for letter_id, address, times in ((doubtful, "ann", 2), (other, "bob", 1)):
        name = db.session.get_one(Letter, letter_id).message_id("play.example")
        mails = relay.mails(ADDRESSES[address])
        assert [mail["Message-ID"] for mail in mails] == [name] * times


def logged_in(relay: MailHost, security: str) -> dict[str, object]:
    """Return the settings of a host whose provider wants TLS of this kind and a login."""
    return {
        "smtp_host": "localhost",
        "smtp_port": getattr(relay, security),
        "smtp_security": security,
        "smtp_username": ADDRESSES["dan"],
        "smtp_password": PASSWORD,
    }


@pytest.fixture
def trusted(relay, monkeypatch) -> None:
    """Let this machine trust the authority that signed the relay's certificate."""
    monkeypatch.setenv("SSL_CERT_FILE", str(relay.authority))


def the_letter() -> Letter:
    db.session.rollback()
    return db.session.query(Letter).one()


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_a_relay_that_proves_who_it_is_and_a_login_take_a_letter(
    relay, trusted, app, now, security
) -> None:
    send_through(app, **logged_in(relay, security))
    queued(ADDRESSES["ann"], now=now)
    assert outbox.send_due(now=now) == 1
    relay.wait_until_delivered()
    (mail,) = relay.mails(ADDRESSES["ann"])
    # E is extended, S encrypted, A authenticated.
    assert "with ESMTPSA id" in " ".join(mail.get_all("Received"))


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_a_relay_that_cannot_prove_who_it_is_gets_nothing(relay, app, now, security) -> None:
    send_through(app, **logged_in(relay, security))
    queued(ADDRESSES["ann"], now=now)
    assert outbox.send_due(now=now) == 0
    assert the_letter().state == "retry"
    assert the_letter().due_at == now + MINUTE
    assert "certificate verify failed: unable to get local issuer" in the_letter().error
    assert relay.taken() == []
    assert "sasl_username" not in relay.log()


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_a_relay_under_another_name_gets_nothing(relay, trusted, app, now, security) -> None:
    send_through(app, **logged_in(relay, security) | {"smtp_host": "127.0.0.1"})
    queued(ADDRESSES["ann"], now=now)
    assert outbox.send_due(now=now) == 0
    assert the_letter().state == "retry"
    assert "certificate is not valid for '127.0.0.1'" in the_letter().error
    assert relay.taken() == []


def test_a_relay_without_starttls_gets_nothing_in_the_clear(relay, trusted, app, now) -> None:
    send_through(app, **logged_in(relay, "starttls") | {"smtp_port": relay.smtp})
    queued(ADDRESSES["ann"], now=now)
    assert outbox.send_due(now=now) == 0
    assert the_letter().state == "retry"
    assert "STARTTLS extension not supported" in the_letter().error
    assert relay.taken() == []


def test_a_wrong_password_is_told_and_the_letter_waits_for_the_right_one(
    relay, trusted, app, now
) -> None:
    send_through(app, **logged_in(relay, "starttls") | {"smtp_password": "wrong"})
    queued(ADDRESSES["ann"], now=now)
    assert outbox.send_due(now=now) == 0
    assert the_letter().state == "retry"
    assert the_letter().error.startswith("535 5.7.8 Error: authentication failed")
    send_through(app, **logged_in(relay, "starttls"))
    assert outbox.send_due(now=now + MINUTE) == 1
    relay.wait_until_delivered()
    assert len(relay.mails(ADDRESSES["ann"])) == 1


@pytest.mark.parametrize(
    ("left_out", "answer"),
    [
        ({"smtp_security": "none", "smtp_username": ""}, "530 5.7.0 Must issue a STARTTLS"),
        ({"smtp_username": ""}, "554 5.7.1"),
    ],
)
def test_a_relay_that_refuses_us_says_nothing_against_the_players(
    relay, trusted, app, now, left_out, answer
) -> None:
    send_through(app, **logged_in(relay, "starttls") | left_out)
    queued(ADDRESSES["ann"], now=now)
    assert outbox.send_due(now=now) == 0
    assert the_letter().state == "retry"
    assert the_letter().error.startswith(answer)
    assert the_letter().player.unreachable_at is None
    send_through(app, **logged_in(relay, "starttls"))
    assert outbox.send_due(now=now + MINUTE) == 1
