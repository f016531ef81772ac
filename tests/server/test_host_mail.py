"""What the host sees and does about mail; nobody else sees any of it."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import pytest
from cast import (
    ADDRESSES,
    TOKEN,
    first_turn,
    letters_to,
    open_turn,
    player,
    reply_to,
    run_worker,
    signed_in,
    signed_in_host,
    words,
)
from mail_server import Mailbox
from sqlalchemy import func, select

from pbem import account, away, lobby
from pbem.ext import db, writing
from pbem.mail import inbox, outbox
from pbem.models import Letter, LetterState, Match, Move, Note, Suppression

DAY = timedelta(days=1)


@pytest.fixture
def host(app, now):
    """A browser in which dan, the host, is signed in; he plays nowhere."""
    player("dan", now=now)
    return signed_in_host(app, "dan")


def do(client, what: str, **fields: object):
    return client.post("/host/mail", data={"form_token": TOKEN, "do": what} | fields)


def letter(kind: str, state: str, *, made: datetime, due: datetime) -> int:
    """Store a letter to dan and return its id."""
    with writing():
        row = Letter(
            kind=kind, tail="t", address=ADDRESSES["dan"], language="en", zone="UTC",
            player_id=lobby.find_player(ADDRESSES["dan"]).id, state=state, created_at=made,
            wanted_at=due, due_at=due, error=f"why {kind}", about={"sign_ins": 0},
        )  # fmt: skip
        db.session.add(row)
    return row.id


def test_nobody_but_the_host_finds_any_of_it(app, host, mailbox: Mailbox, now) -> None:
    name, sent, _match = first_turn(mailbox, now=now)
    inbox.take(reply_to(sent, "1", sender="eve@x.example"), inbox.Envelope("x"), now=now)
    note = db.session.scalars(select(Note.id)).one()
    for client in (app.test_client(), signed_in(app, name)):
        for page in (
            client.get("/host/mail"),
            client.get(f"/host/mail/{note}"),
            do(client, "block", address=ADDRESSES["ann"]),
        ):
            assert page.status_code == 404
    assert db.session.scalar(select(func.count()).select_from(Suppression)) == 0
    assert host.get("/host/mail").headers["Cache-Control"] == "no-store"
    assert host.get("/host/mail/999").status_code == 404


def test_letters_that_wait_or_were_given_up_are_told_with_the_reason(host, now) -> None:
    letter("lost", LetterState.FAILED, made=now - DAY, due=now - DAY)
    letter("old", LetterState.FAILED, made=now - 8 * DAY, due=now - 8 * DAY)
    letter("tried", LetterState.RETRY, made=now - DAY, due=now - timedelta(hours=1))
    letter("later", LetterState.QUEUED, made=now, due=now + timedelta(hours=1))
    letter("gone", LetterState.SENT, made=now, due=now)
    page = words(host.get("/host/mail"))
    assert "failed 1, queued 1, retry 1, sent 1" in page
    waiting, lost = page.split("Letters of the last week that were given up")
    assert re.search(r"Late. tried , dan@players.example, retry , due .*: why tried", waiting)
    assert re.search(r"(?<!Late. )later , dan@players.example, queued , due .*: why later", waiting)
    assert "why lost" in lost
    assert "why old" not in page
    assert "why gone" not in page
    front = words(host.get("/host"))
    assert "1 letter is late, 1 was given up this week, 0 mails came to nothing" in front


def test_a_letter_that_was_given_up_leaves_once_more_under_the_same_id(
    host, mailbox: Mailbox, now
) -> None:
    number = letter("sign_in", LetterState.FAILED, made=now - DAY, due=now - DAY)
    assert do(host, "again", letter=number).status_code == 303
    run_worker(now + timedelta(minutes=1))
    (arrived,) = mailbox.to(ADDRESSES["dan"])
    assert arrived["Message-ID"] == f"<{number}.t@play.example>"
    # What has left is not sent again, and what is no letter is nothing.
    for nothing in (number, 999, "x", "9" * 30):
        assert do(host, "again", letter=nothing).status_code == 303
    assert not outbox.try_again(number, now=now)
    run_worker(now + timedelta(minutes=2))
    assert len(mailbox.to(ADDRESSES["dan"])) == 1


def test_a_mail_that_came_to_nothing_is_shown_as_it_came_and_does_nothing(host, now) -> None:
    raw = b"From: eve@x.example\r\nSubject: hi\r\n\r\n<script>alert(1)</script> \xff\r\n"
    inbox.take(raw, inbox.Envelope("g+aaaa@play.example", "e@x.example"), now=now)
    inbox.read_all(now=now)
    page = host.get("/host/mail")
    assert "no address of it holds a token of ours" in words(page)
    shown = host.get(re.search(r'href="(/host/mail/\d+)"', page.text)[1])
    assert "Subject: hi" in shown.text
    assert "&lt;script&gt;alert(1)" in shown.text
    assert "<script>alert" not in shown.text


def test_a_mail_that_could_not_be_read_is_told_without_its_words(host, now) -> None:
    for text, at in ((b"a secret", now - DAY), (b"(" * 70_000, now - 2 * DAY), (b"\0(", now)):
        raw = b"From: " + text + b"\r\n\r\nmy cards\r\n"
        inbox.take(raw, inbox.Envelope("g+aaaa@play.example", "x@y.example"), now=at)
    inbox.take(b"X: " + b"(" * 9_000 + b"\n\n", inbox.Envelope("g+a@b", "x@y"), now=now - 8 * DAY)
    inbox.read_all(now=now)
    told = words(host.get("/host/mail"))
    assert told.count("unparseable") == 1
    assert "the headers of this mail have more" in told
    assert "my cards" not in told


def test_a_host_reads_no_mail_of_a_running_game_that_they_play(app, mailbox: Mailbox, now) -> None:
    name, sent, match = first_turn(mailbox, now=now)
    (other,) = {"ann", "bob"} - {name}
    host = signed_in_host(app, other)
    for place in (str(sent["Reply-To"]), "catch-all@elsewhere.example"):
        raw = reply_to(sent, f"my hand is {place[:1]} 5SW", sender="eve@x.example")
        inbox.take(raw, inbox.Envelope(place, "e@x.example"), now=now)
    run_worker(now)
    numbers = db.session.scalars(select(Note.id).order_by(Note.id)).all()
    assert len(numbers) == 2
    for number in numbers:
        page = host.get(f"/host/mail/{number}")
        assert "From: eve@x.example" in page.text
        assert "my hand" not in page.text
        assert "about a game that you play yourself" in words(page)
    with writing():
        db.session.get_one(Match, match.id).status = "over"
    assert "my hand" in host.get(f"/host/mail/{numbers[0]}").text


def test_a_blocked_address_gets_no_letter_and_its_mail_no_answer(
    app, host, mailbox: Mailbox, now
) -> None:
    name, sent, match = first_turn(mailbox, now=now)
    before, had = match.ply, len(mailbox.to(ADDRESSES[name]))
    assert do(host, "block", address=f" {ADDRESSES[name].upper()} ").status_code == 303
    assert ADDRESSES[name] in words(host.get("/host/mail"))
    raw = reply_to(sent, "1", sender=ADDRESSES[name])
    inbox.take(raw, inbox.Envelope(str(sent["Reply-To"]), ADDRESSES[name]), now=now)
    with writing():
        lobby.post.your_turn(open_turn(match).asked, open_turn(match), now=now)
    account.ask_to_sign_in(ADDRESSES[name], language="en", now=now)
    # Its owner can't lift the block.
    away.want_mails(ADDRESSES[name], now=now)
    run_worker(now)
    assert db.session.scalar(select(func.count(Move.id))) == before
    assert [note.verdict for note in db.session.scalars(select(Note))] == ["blocked"]
    assert len(mailbox.to(ADDRESSES[name])) == had
    assert {one.state for one in letters_to(name, "sign_in")} == {"stale"}


def test_a_block_can_be_lifted(host, mailbox: Mailbox, now) -> None:
    player("ann", now=now)
    do(host, "block", address=ADDRESSES["ann"])
    do(host, "block", address=ADDRESSES["ann"])
    do(host, "unblock", address=ADDRESSES["ann"])
    do(host, "unblock", address="nobody@x.example")
    account.ask_to_sign_in(ADDRESSES["ann"], language="en", now=now)
    run_worker(now)
    assert len(mailbox.to(ADDRESSES["ann"])) == 1


def test_lifting_a_block_leaves_alone_what_an_owner_wanted(host, now) -> None:
    away.stop_mails(ADDRESSES["ann"], now=now)
    do(host, "unblock", address=ADDRESSES["ann"])
    assert db.session.scalars(select(Suppression.address)).all() == [ADDRESSES["ann"]]


@pytest.mark.parametrize("typed", ["", "no address", "x" * 10_000, "<b>@x", "\u202e@x.example"])
def test_what_is_no_address_is_refused_with_what_was_typed(host, typed) -> None:
    page = do(host, "block", address=typed)
    assert page.status_code == 400
    assert "does not look like a mail address" in words(page)
    assert "<b>@x" not in page.text
    assert db.session.scalar(select(func.count()).select_from(Suppression)) == 0
