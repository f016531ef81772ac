"""Letters against a relay that misbehaves at every verb: none lost, none doubled by us."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from cast import ADDRESSES, player, running_match
from flask import current_app
from mail_server import free_port

from pbem import play, post
from pbem.ext import db, writing
from pbem.mail import outbox
from pbem.models import Letter, LetterState, Turn

MINUTE = timedelta(minutes=1)


@pytest.fixture
def letters(app, now) -> list[int]:
    """Three letters of one kind that wait, to ann, bob and cleo; gives their ids."""
    for name in ("ann", "bob", "cleo"):
        who = player(name, now=now)
        with writing():
            post.sign_in(who.address, who, language="en", now=now)
    return [letter.id for letter in db.session.query(Letter).order_by(Letter.id)]


def states() -> list[str]:
    """How far the letters to players are; the hosts are told of one that failed."""
    to_players = db.session.query(Letter).filter(Letter.kind != "for_host")
    return [letter.state for letter in to_players.order_by(Letter.id)]


def addresses(mailbox) -> list[str]:
    return [to for _sender, to, _raw in mailbox.arrived]


def test_a_refusal_for_now_is_tried_again_and_the_others_go_out(letters, mailbox, now) -> None:
    mailbox.on_rcpt = lambda to: "450 4.2.0 greylisted" if to == ADDRESSES["ann"] else None
    assert outbox.send_due(now=now) == 2
    assert states() == ["retry", "sent", "sent"]
    assert "greylisted" in db.session.get_one(Letter, letters[0]).error
    mailbox.on_rcpt = lambda _to: None
    assert outbox.send_due(now=now + timedelta(seconds=59)) == 0
    assert outbox.send_due(now=now + MINUTE) == 1
    assert sorted(addresses(mailbox)) == sorted(ADDRESSES[n] for n in ("ann", "bob", "cleo"))


def test_the_gaps_grow_and_after_two_days_it_is_given_up(letters, mailbox, now) -> None:
    mailbox.on_rcpt = lambda to: "450 4.2.0 full" if to == ADDRESSES["ann"] else None
    gaps, when = [], now
    for _ in range(30):
        outbox.send_due(now=when)
        letter = db.session.get_one(Letter, letters[0])
        if letter.state == LetterState.FAILED:
            break
        gaps.append((letter.due_at - when) / MINUTE)
        when = letter.due_at
    assert gaps[:5] == [1, 5, 15, 60, 240]
    assert timedelta(days=2) < when - now < timedelta(days=2, hours=5)
    assert "given up" in letter.error


@pytest.mark.parametrize("verb", ["on_rcpt", "on_data"])
def test_a_refusal_for_good_is_not_tried_again_and_says_why(letters, mailbox, now, verb) -> None:
    def refuse(what) -> str | None:
        hit = ADDRESSES["bob"] in (what if isinstance(what, str) else what.decode())
        return "550 5.1.1 no such user" if hit else None

    setattr(mailbox, verb, refuse)
    assert outbox.send_due(now=now) == 2
    assert states() == ["sent", "failed", "sent"]
    assert db.session.get_one(Letter, letters[1]).error == "550 5.1.1 no such user"
    setattr(mailbox, verb, lambda _what: None)
    outbox.send_due(now=now + timedelta(days=1))
    assert states() == ["sent", "failed", "sent"]


def test_a_relay_that_is_not_there_loses_nothing(letters, mailbox, now, app) -> None:
    postman = current_app.extensions["pbem.postman"]
    port, postman.state.port = postman.state.port, free_port()
    assert outbox.send_due(now=now) == 0
    assert states() == ["retry"] * 3
    postman.state.port = port
    assert outbox.send_due(now=now + MINUTE) == 3


@contextmanager
def rude_server(script: list[bytes | None]) -> Iterator[tuple[int, list[bytes]]]:
    """Answer each line by the script and hang up at a None; gives the port and what came."""
    came: list[bytes] = []
    server = socket.create_server(("127.0.0.1", 0))
    server.settimeout(10)

    def serve() -> None:
        while True:
            try:
                line, _ = server.accept()
            except OSError:
                return
            with line, line.makefile("rb") as words:
                line.settimeout(10)
                for answer in script:
                    if answer is None:
                        break
                    line.sendall(answer)
                    read_one(words, came, whole=answer.startswith(b"354"))

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield server.getsockname()[1], came
    finally:
        # Closing alone would not wake the thread that waits in accept.
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join(timeout=10)


def read_one(words, came: list[bytes], *, whole: bool) -> None:
    """Read a command's line, or a whole message up to its dot."""
    read = b""
    while True:
        line = words.readline()
        read += line
        if not line or not whole or line == b".\r\n":
            came.append(read)
            return


HELLO = [b"220 rude\r\n", b"250 hello\r\n"]
CUT = {
    "before a command": ([None], "retry"),
    "after the greeting": ([b"220 rude\r\n", None], "retry"),
    "after MAIL": ([*HELLO, None], "retry"),
    "after RCPT": ([*HELLO, b"250 ok\r\n", None], "retry"),
    "before the message": ([*HELLO, b"250 ok\r\n", b"250 ok\r\n", None], "retry"),
    "behind the final dot": (
        [*HELLO, b"250 ok\r\n", b"250 ok\r\n", b"354 go on\r\n", None],
        "unknown",
    ),
}


@pytest.mark.parametrize("where", CUT)
def test_a_line_that_is_cut_is_told_apart_by_where(letters, mailbox, now, where) -> None:
    script, state = CUT[where]
    postman = current_app.extensions["pbem.postman"]
    good = postman.state.port
    with rude_server(script) as (port, came):
        postman.state.port = port
        assert outbox.send_due(now=now) == 0
    assert states()[0] == state
    assert set(states()[1:]) == {"retry"}
    # When the relay is well again the others go out; the doubtful one much later.
    postman.state.port = good
    sent = outbox.send_due(now=now + MINUTE)
    assert sent == (2 if state == "unknown" else 3)
    assert outbox.send_due(now=now + MINUTE + outbox.UNKNOWN_GAP) == 3 - sent
    assert states() == ["sent"] * 3
    if state == "unknown":
        first = [line for line in came[-1].splitlines() if line.startswith(b"Message-ID:")]
        again = [line for line in mailbox.arrived[-1][2].splitlines() if line in first]
        assert len(first) == 1
        assert again == first


def test_a_letter_cut_off_twice_is_left_alone(letters, now) -> None:
    postman = current_app.extensions["pbem.postman"]
    with rude_server(CUT["behind the final dot"][0]) as (port, came):
        postman.state.port = port
        for nth in range(6):
            outbox.send_due(now=now + nth * outbox.UNKNOWN_GAP)
    whole = [message for message in came if b"Message-ID" in message]
    assert states() == ["failed"] * 3
    assert len(whole) == 6  # each of the three once, and once more


def test_a_relay_that_answers_nothing_does_not_hold_the_worker(letters, now) -> None:
    postman = current_app.extensions["pbem.postman"]
    postman._timeout = 0.5
    silent = socket.create_server(("127.0.0.1", 0))
    postman.state.port = silent.getsockname()[1]
    assert outbox.send_due(now=now) == 0
    silent.close()
    assert states() == ["retry"] * 3


def test_a_letter_about_a_turn_that_is_over_is_dropped(app, mailbox, now) -> None:
    match = running_match(["ann", "bob"], now=now)
    letter = db.session.query(Letter).filter_by(kind="your_turn").one()
    turn = db.session.get_one(Turn, letter.turn_id)
    # Claimed by a worker that then slept: the move came before it woke.
    letter.state, letter.leased_until = "sending", now
    db.session.commit()
    play.make_move(turn.id, play.choose_for(turn.id, "greedy"), by="link", now=now)
    outbox.send_due(now=now + MINUTE)
    assert db.session.get_one(Letter, letter.id).state == "stale"
    told = [raw for _s, _t, raw in mailbox.arrived if b"(move 1)" in raw]
    assert told == []
    assert match.ply == 1


def test_two_workers_send_each_letter_once(app, mailbox, now) -> None:
    ann = player("ann", now=now)
    with writing():
        for _ in range(60):
            post.sign_in(ann.address, ann, language="en", now=now)
    start = threading.Barrier(2)

    def work() -> None:
        with app.app_context():
            start.wait()
            outbox.send_due(now=now)

    workers = [threading.Thread(target=work) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    ids = [raw.split(b"Message-ID: ")[1].split(b"\r\n")[0] for _s, _t, raw in mailbox.arrived]
    assert len(ids) == 60
    assert len(set(ids)) == 60
    db.session.rollback()
    assert set(states()) == {"sent"}
