"""Letters against a relay that is busy, slow or silent, and two workers on one queue."""

from __future__ import annotations

import smtplib
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from email.message import EmailMessage
from email.policy import SMTP

import pytest
from cast import ADDRESSES, letters_to, open_turn, parsed, player, run_worker, running_match
from flask import current_app
from mail_server import Mailbox, free_port, running_mailbox

from pbem import create_app, play, post, talk, worker
from pbem.ext import db, settings, writing
from pbem.mail import outbox
from pbem.mail.smtp import Parcel
from pbem.models import Letter, Move, Wanted

MINUTE = timedelta(minutes=1)
HOUR = timedelta(hours=1)


@pytest.fixture
def letters(app, now) -> None:
    """Three letters of one kind that wait, to ann, bob and cleo."""
    for name in ("ann", "bob", "cleo"):
        who = player(name, now=now)
        with writing():
            post.sign_in(who.address, who, language="en", now=now)


def states() -> list[str]:
    return [letter.state for letter in db.session.query(Letter).order_by(Letter.id)]


def test_a_message_refused_for_now_comes_again_as_itself(letters, mailbox, now) -> None:
    refused = []

    def later(raw: bytes) -> str | None:
        if ADDRESSES["bob"].encode() not in raw or refused:
            return None
        refused.append(parsed(raw)["Message-ID"])
        return "451 4.7.1 try again later"

    mailbox.on_data = later
    assert outbox.send_due(now=now) == 2
    assert states() == ["sent", "retry", "sent"]
    assert letters_to("bob")[0].error == "451 4.7.1 try again later"
    assert outbox.send_due(now=now + MINUTE) == 1
    assert [mail["Message-ID"] for mail in mailbox.to(ADDRESSES["bob"])] == refused
    assert states() == ["sent"] * 3


def test_a_relay_is_left_alone_while_there_is_nothing_to_send(app, now) -> None:
    with socket.create_server(("127.0.0.1", 0)) as relay:
        relay.setblocking(False)
        current_app.extensions["pbem.postman"].state.port = relay.getsockname()[1]
        run_worker(now)
        with pytest.raises(BlockingIOError):
            relay.accept()


def limited(**limits: int) -> None:
    current_app.extensions["pbem.settings"] = replace(settings(), **limits)


def test_no_more_leave_in_a_day_than_the_relay_takes_and_the_rest_later(letters, now) -> None:
    limited(mails_a_day=2)
    assert outbox.send_due(now=now) == 2
    assert outbox.send_due(now=now + 23 * HOUR) == 0
    assert states() == ["sent", "sent", "queued"]
    assert outbox.send_due(now=now + 24 * HOUR) == 1


def test_no_more_leave_in_a_second_than_the_relay_takes(letters, now) -> None:
    limited(mails_a_second=1)
    # In the two seconds until the worker looks again.
    assert outbox.send_due(now=now) == 2
    assert outbox.send_due(now=now + timedelta(seconds=1)) == 0
    assert outbox.send_due(now=now + timedelta(seconds=2)) == 1


def test_two_workers_keep_one_limit_together(app, letters, now) -> None:
    limited(mails_a_day=2)
    run_worker(now)  # which notes that somebody keeps time
    with writing():
        who = letters_to("ann")[0].player
        for _ in range(4):
            post.sign_in(who.address, who, language="en", now=now)
    limited(mails_a_day=4)
    sent = []

    def work() -> None:
        with app.app_context():
            sent.append(outbox.send_due(now=now))

    workers = [threading.Thread(target=work) for _ in range(2)]
    for one in workers:
        one.start()
    for one in workers:
        one.join()
    assert sum(sent) == 2
    assert sorted(states()) == ["queued"] * 3 + ["sent"] * 4


def test_what_is_urgent_leaves_first(app, mailbox, now) -> None:
    match = running_match(["ann", "bob", "cleo"], now=now)
    turn = open_turn(match)
    others = [seat for seat in match.seats if seat.id != turn.asked.id]
    with writing():
        for seat in others:
            seat.player.digest_at = 12 * 60
            seat.player.mails = {"talk": Wanted.NOW}
    talk.say(turn.asked.id, "hello", now=now)
    with writing():
        post.reminder(turn, turn.asked, now=now)
        post.sign_in(ADDRESSES["ann"], turn.asked.player, language="en", now=now)
    outbox.send_due(now=now)
    kinds = [kind_of(mail) for mail in mailbox.arrived]
    assert kinds == sorted(kinds, key=["sign_in", "your_turn", "reminder", "started", "talk"].index)
    assert len(set(kinds)) == 5


def kind_of(arrived) -> str:
    message_id = parsed(arrived[2])["Message-ID"]
    return db.session.get_one(Letter, int(message_id[1:].partition(".")[0])).kind


@pytest.mark.parametrize("verb", ["on_rcpt", "on_data"])
def test_a_relay_that_closes_for_now_gets_the_rest_later(letters, mailbox, now, verb) -> None:
    def closing(what: str | bytes) -> str | None:
        words = what if isinstance(what, str) else what.decode()
        return "421 4.3.2 shutting down" if ADDRESSES["bob"] in words else None

    setattr(mailbox, verb, closing)
    assert outbox.send_due(now=now) == 1
    assert states() == ["sent", "retry", "retry"]
    # What the host reads is the relay's own word, for the letters behind as well.
    assert letters_to("cleo")[0].error == "421 4.3.2 shutting down"
    setattr(mailbox, verb, lambda _what: None)
    assert outbox.send_due(now=now + MINUTE) == 2
    assert [len(mailbox.to(ADDRESSES[name])) for name in ("ann", "bob", "cleo")] == [1, 1, 1]


class Halting:
    """A relay that hangs up, or falls silent, once it has read so many bytes of a message."""

    def __init__(self, most: int, *, hangs_up: bool) -> None:
        self._most, self._hangs_up = most, hangs_up
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = self._server.getsockname()[1]
        self._held: list[socket.socket] = []
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                line, _ = self._server.accept()
            except OSError:
                return
            self._held.append(line)
            line.settimeout(10)
            self._talk(line)

    def _talk(self, line: socket.socket) -> None:
        line.sendall(b"220 halting\r\n")
        for answer in (b"250 hello", b"250 ok", b"250 ok", b"354 go on"):
            if not line.recv(4096):
                return
            line.sendall(answer + b"\r\n")
        came = 0
        while came < self._most:
            came += len(line.recv(min(4096, self._most - came))) or self._most
        if self._hangs_up:
            # Unread bytes make this a reset, as when a relay crashes.
            line.close()

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self._thread.join(timeout=10)
        for line in self._held:
            line.close()


@pytest.mark.parametrize("hangs_up", [True, False])
def test_a_message_cut_in_its_middle_was_not_handed_over(app, hangs_up) -> None:
    # Longer than what our system takes off our hands before the relay has read it.
    content = EmailMessage(policy=SMTP)
    content["From"] = content["Subject"] = "play@play.example"
    content.set_content(("x" * 70 + "\n") * 400_000)
    halting = Halting(100_000, hangs_up=hangs_up)
    postman = current_app.extensions["pbem.postman"]
    postman._timeout, postman.state.port = 1, halting.port
    try:
        with postman.connect() as connection, pytest.raises(smtplib.SMTPServerDisconnected):
            connection.send(Parcel(content, recipient=ADDRESSES["ann"]))
    finally:
        halting.close()


@pytest.mark.parametrize("hangs_up", [True, False])
def test_letters_cut_in_their_middle_arrive_once(letters, mailbox, now, hangs_up) -> None:
    halting = Halting(1000, hangs_up=hangs_up)
    postman = current_app.extensions["pbem.postman"]
    postman._timeout, good, postman.state.port = 1, postman.state.port, halting.port
    try:
        assert outbox.send_due(now=now) == 0
    finally:
        halting.close()
    # Our system may have taken all of it off our hands before the line was cut.
    assert states()[0] in ("retry", "unknown")
    assert states()[1:] == ["retry", "retry"]
    postman.state.port = good
    for when in (now + MINUTE, now + MINUTE + outbox.UNKNOWN_GAP):
        outbox.send_due(now=when)
    assert states() == ["sent"] * 3
    assert [len(mailbox.to(ADDRESSES[name])) for name in ("ann", "bob", "cleo")] == [1, 1, 1]


def test_a_relay_silent_behind_the_dot_may_have_it(letters, mailbox, now) -> None:
    halting = Halting(10**6, hangs_up=False)
    postman = current_app.extensions["pbem.postman"]
    postman._timeout, postman.state.port = 1, halting.port
    began = time.monotonic()
    try:
        assert outbox.send_due(now=now) == 0
    finally:
        halting.close()
    assert time.monotonic() - began < 5
    assert states() == ["unknown", "retry", "retry"]


def test_a_silent_relay_costs_one_time_limit_whatever_waits(app, now) -> None:
    ann = player("ann", now=now)
    with writing():
        for _ in range(3 * outbox.BATCH):
            post.sign_in(ann.address, ann, language="en", now=now)
    postman = current_app.extensions["pbem.postman"]
    postman._timeout = 0.5
    with socket.create_server(("127.0.0.1", 0)) as silent:
        postman.state.port = silent.getsockname()[1]
        assert outbox.send_due(now=now) == 0
    assert states() == ["retry"] * outbox.BATCH + ["queued"] * 2 * outbox.BATCH


def test_letters_leave_in_their_order_after_a_relay_was_away(app, mailbox, now) -> None:
    ann = player("ann", now=now)
    with writing():
        for _ in range(2 * outbox.BATCH):
            post.sign_in(ann.address, ann, language="en", now=now)
    postman = current_app.extensions["pbem.postman"]
    port, postman.state.port = postman.state.port, free_port()
    assert outbox.send_due(now=now) == 0
    postman.state.port = port
    assert outbox.send_due(now=now + MINUTE) == 2 * outbox.BATCH
    written = [letter.message_id("play.example") for letter in letters_to("ann")]
    assert [mail["Message-ID"] for mail in mailbox.to(ADDRESSES["ann"])] == written


@pytest.fixture
def other_mailbox() -> Iterator[Mailbox]:
    with running_mailbox() as found:
        yield found


def test_a_worker_slower_than_its_lease_leaves_the_rest_to_others(
    letters, app, mailbox, other_mailbox, now
) -> None:
    site = replace(app.extensions["pbem.settings"], smtp_port=other_mailbox.port)
    other = create_app(site)

    def slow(_raw: bytes) -> None:
        # While the first mail is on its way the leases run out and another worker comes.
        mailbox.on_data = lambda _raw: None
        with other.app_context():
            outbox.send_due(now=now + outbox.LEASE + MINUTE)
            db.engine.dispose()

    mailbox.on_data = slow
    outbox.send_due(now=now)
    db.session.rollback()
    assert states() == ["sent"] * 3
    # The one that was under way came twice, under one name; the others once.
    assert [to for _sender, to, _raw in mailbox.arrived] == [ADDRESSES["ann"]]
    assert [to for _sender, to, _raw in other_mailbox.arrived] == [
        ADDRESSES[name] for name in ("ann", "bob", "cleo")
    ]
    ids = {
        mail["Message-ID"] for box in (mailbox, other_mailbox) for mail in box.to(ADDRESSES["ann"])
    }
    assert len(ids) == 1


def test_a_turn_that_ends_while_others_are_sent_is_not_told(app, mailbox, now) -> None:
    who = player("cleo", now=now)
    with writing():
        post.sign_in(who.address, who, language="en", now=now)
    match = running_match(["ann", "bob"], now=now)
    turn_id = open_turn(match).id

    def moves(_raw: bytes) -> None:
        mailbox.on_data = lambda _raw: None
        with app.app_context():
            play.make_move(turn_id, play.choose_for(turn_id, "greedy"), by="link", now=now)

    mailbox.on_data = moves
    outbox.send_due(now=now)
    db.session.rollback()
    told = db.session.query(Letter).filter_by(turn_id=turn_id, kind="your_turn").one()
    assert told.state == "stale"
    assert [raw for _sender, _to, raw in mailbox.arrived if b"(move 1)" in raw] == []


def test_two_workers_let_the_house_play_once(app, now) -> None:
    turn_id = open_turn(running_match(["ann", "bob"], now=now)).id
    start = threading.Barrier(2)

    def work() -> None:
        with app.app_context():
            start.wait()
            worker.time_out(now + timedelta(hours=74))

    workers = [threading.Thread(target=work) for _ in range(2)]
    for one in workers:
        one.start()
    for one in workers:
        one.join()
    db.session.rollback()
    assert [(move.turn_id, move.by) for move in db.session.query(Move)] == [(turn_id, "timeout")]
    assert db.session.query(Letter).filter_by(kind="house_played").count() == 1


def test_a_run_leaves_the_rest_of_a_long_queue_to_the_next(app, mailbox, now) -> None:
    most = outbox.BATCH * outbox.BATCHES
    who = player("ann", now=now)
    with writing():
        for _ in range(most + 1):
            post.sign_in(who.address, who, language="en", now=now)
    assert outbox.send_due(now=now) == most
    assert outbox.send_due(now=now + MINUTE) == 1
