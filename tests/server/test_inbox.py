"""Mail that comes in: each is stored once, read once, and answered in words or not at all."""

from __future__ import annotations

import os
import smtplib
import subprocess
import sys
from dataclasses import dataclass, replace
from datetime import timedelta

import pytest
from cast import (
    ADDRESSES,
    first_turn,
    letters_to,
    move_links,
    open_turn,
    parsed,
    reply_to,
    run_worker,
    running_match,
    text_of,
)
from demo_process import ROOT
from mail_server import free_port
from sqlalchemy import select

from pbem import lobby, play
from pbem.ext import db
from pbem.links import Links
from pbem.mail import errands, inbox, letters
from pbem.mail.listener import Listener
from pbem.models import (
    Heard,
    Match,
    Move,
    Note,
    PrivateNote,
    StandingOrder,
    Talk,
    WithdrawnMove,
)
from pbem.tokens import Named


@pytest.fixture
def asked(app, mailbox, now):
    """Ann's first turn letter as it arrived, and the match."""
    name, letter, match = first_turn(mailbox, now=now)
    return name, letter, _Moves(match.id, match.ply)


def send(letter, text, *, sender, now, **options) -> None:
    raw = reply_to(letter, text, sender=sender, **options)
    inbox.take(raw, inbox.Envelope(str(letter["Reply-To"]), sender), now=now)
    run_worker(now)


@dataclass(frozen=True)
class _Moves:
    match_id: int
    before: int


def moves(since: _Moves) -> list[str]:
    """Return the moves that were made since the letter was asked for."""
    made = select(Move.text).where(Move.match_id == since.match_id, Move.ply > since.before)
    return list(db.session.scalars(made))


def verdicts() -> list[tuple[str, str]]:
    return [
        (note.verdict, note.reason) for note in db.session.scalars(select(Note).order_by(Note.id))
    ]


def test_a_number_plays_the_same_move_as_its_link(asked, now) -> None:
    name, letter, since = asked
    send(letter, "1", sender=ADDRESSES[name], now=now)
    assert len(moves(since)) == 1
    (receipt,) = letters_to(name, "receipt")
    assert receipt.state == "sent"
    assert verdicts() == [("move", None)]


def test_the_same_mail_twice_is_one_move_and_one_receipt(asked, now) -> None:
    name, letter, since = asked
    for _ in range(3):
        send(letter, "1", sender=ADDRESSES[name], now=now)
    assert len(moves(since)) == 1
    assert len(letters_to(name, "receipt")) == 1
    assert verdicts() == [("move", None)]


def test_the_same_move_in_another_mail_is_known_and_not_made_again(asked, now) -> None:
    name, letter, since = asked
    send(letter, "1", sender=ADDRESSES[name], message_id="<a@x.example>", now=now)
    send(letter, "1", sender=ADDRESSES[name], message_id="<b@x.example>", now=now)
    assert len(moves(since)) == 1
    assert verdicts() == [("move", None), ("repeated", None)]


def test_a_message_id_that_somebody_else_used_first_stops_no_move(asked, now) -> None:
    name, letter, since = asked
    for sender in (ADDRESSES["dan"], ADDRESSES[name]):
        send(letter, "1", sender=sender, message_id="<same@x.example>", now=now)
    assert len(moves(since)) == 1
    assert [verdict for verdict, _ in verdicts()] == ["held", "move"]


def test_two_replies_with_one_message_id_are_one_move_and_both_are_kept(asked, now) -> None:
    name, letter, since = asked
    for text in ("1", "2"):
        send(letter, text, sender=ADDRESSES[name], message_id="<same@x.example>", now=now)
    assert len(moves(since)) == 1
    assert [verdict for verdict, _ in verdicts()] == ["move", "too late"]


def test_replies_without_a_message_id_are_told_apart_by_what_they_say(asked, now) -> None:
    name, letter, since = asked
    for text in ("1", "1", "2", "2"):
        send(letter, text, sender=ADDRESSES[name], now=now)
    assert len(moves(since)) == 1
    assert [verdict for verdict, _ in verdicts()] == ["move", "too late"]


def test_a_reply_to_an_old_turn_is_told_what_stands(asked, now, app) -> None:
    name, letter, since = asked
    app.test_client().post(move_links(letter)[0])
    send(letter, "pass please", sender=ADDRESSES[name], now=now)
    assert len(moves(since)) == 1
    (told,) = letters_to(name, "stands")
    assert told.state == "sent"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("what a lovely day", "it began ‹what a lovely day›"),
        ("99", "that is not possible now: there is no move with that number"),
        ("play 1\nplay 2", "can be read in more than one way"),
        ("", "No move was found in your mail."),
    ],
)
def test_what_cannot_be_done_is_answered_with_the_reason_and_the_moves(
    asked, mailbox, now, text, words
) -> None:
    name, letter, since = asked
    send(letter, text, sender=ADDRESSES[name], now=now)
    assert moves(since) == []
    answer = mailbox.to(ADDRESSES[name])[-1]
    assert "not done, your turn still" in answer["Subject"]
    assert words in " ".join(text_of(answer).split())
    assert move_links(answer) == move_links(letter)
    assert answer["Auto-Submitted"] == "auto-replied"


def test_a_seat_gets_at_most_six_answers_an_hour_and_every_mail_is_kept(asked, now) -> None:
    name, letter, since = asked
    for nth in range(9):
        identity = f"<{nth}@x.example>"
        send(letter, "what?", sender=ADDRESSES[name], message_id=identity, now=now)
    assert len(letters_to(name, "not_done")) == errands.MOST_ANSWERS == 6
    assert len(verdicts()) == 9
    later = now + timedelta(hours=2)
    send(letter, "what now?", sender=ADDRESSES[name], now=later)
    assert len(letters_to(name, "not_done")) == 7
    assert moves(since) == []


def test_an_invitation_of_the_hour_is_no_answer_and_takes_none_away(app, now) -> None:
    match = running_match(["ann", "bob"], now=now)
    while open_turn(match).asked.name != "Bob":
        turn = open_turn(match)
        play.make_move(turn.id, play.choose_for(turn.id, "greedy"), by="link", now=now)
    turn = open_turn(match)
    address = Links().reply(Named.TURN, turn.id)
    for nth in range(7):
        raw = f"From: {ADDRESSES['bob']}\nTo: {address}\nSubject: {nth}\n\nwhat?\n".encode()
        inbox.take(raw, inbox.Envelope(address, ADDRESSES["bob"]), now=now)
    inbox.read_all(now=now)
    assert len(letters_to("bob", "not_done")) == errands.MOST_ANSWERS


def test_a_move_from_another_address_is_not_played(asked, mailbox, now) -> None:
    name, letter, since = asked
    send(letter, "1", sender=ADDRESSES["dan"], now=now)
    assert moves(since) == []
    assert mailbox.to(ADDRESSES["dan"]) == []
    assert "came from another address" in text_of(mailbox.to(ADDRESSES[name])[-1])


def test_automatic_mail_moves_nothing_and_gets_no_answer(asked, mailbox, now) -> None:
    name, letter, since = asked
    raw = b"Auto-Submitted: auto-replied\r\n" + reply_to(letter, "1", sender=ADDRESSES[name])
    before = len(mailbox.arrived)
    inbox.take(raw, inbox.Envelope(str(letter["Reply-To"]), ADDRESSES[name]), now=now)
    # The same from the null return path, where bounces come from.
    again = reply_to(letter, "1", sender=ADDRESSES[name])
    inbox.take(again, inbox.Envelope(str(letter["Reply-To"]), "<>"), now=now)
    run_worker(now)
    assert moves(since) == []
    assert len(mailbox.arrived) == before
    assert [verdict for verdict, _ in verdicts()] == ["automatic", "automatic"]


def test_a_mail_without_our_token_is_kept_and_not_answered(app, mailbox, now) -> None:
    raw = b"From: dan@players.example\r\nTo: g+aaaa@play.example\r\n\r\nhello\r\n"
    inbox.take(raw, inbox.Envelope("g+aaaa@play.example", "dan@players.example"), now=now)
    run_worker(now)
    assert verdicts() == [("unknown", "no address of it holds a token of ours")]
    assert mailbox.arrived == []


def test_mail_that_cannot_be_parsed_is_kept_and_the_next_is_read(asked, now) -> None:
    name, letter, since = asked
    bad = b"From: " + b"(" * 70_000 + b"\r\n\r\nx\r\n"
    inbox.take(bad, inbox.Envelope(str(letter["Reply-To"]), "x@y.example"), now=now)
    send(letter, "1", sender=ADDRESSES[name], now=now)
    assert [verdict for verdict, _ in verdicts()] == ["unparseable", "move"]
    assert len(moves(since)) == 1


def test_a_reply_to_the_envelope_address_is_read_too(asked, mailbox, now) -> None:
    name, letter, since = asked
    (bounce_to,) = {s for s, to, raw in mailbox.arrived if to == ADDRESSES[name]}
    del letter["Reply-To"]
    letter["Reply-To"] = bounce_to
    send(letter, "1", sender=ADDRESSES[name], now=now)
    assert len(moves(since)) == 1


def test_the_listener_refuses_what_is_not_for_us_and_takes_upper_case(asked, listener, now) -> None:
    name, letter, since = asked
    raw = reply_to(letter, "1", sender=ADDRESSES[name])
    with smtplib.SMTP("127.0.0.1", listener.port) as relay:
        with pytest.raises(smtplib.SMTPRecipientsRefused):
            relay.sendmail(ADDRESSES[name], ["nobody@play.example"], raw)
        relay.sendmail(ADDRESSES[name], [str(letter["Reply-To"]).upper()], raw)
    run_worker(now)
    assert len(moves(since)) == 1


def test_an_invitation_is_answered_by_reply(app, mailbox, now) -> None:
    from cast import player

    ann = player("ann", now=now)
    chairs = [lobby.Chair(address=ADDRESSES["bob"]), lobby.Chair(address=ADDRESSES["cleo"])]
    match_id = lobby.open_table(ann, "biscuit", chairs, {}, now=now).id
    run_worker(now)
    (to_bob,), (to_cleo,) = mailbox.to(ADDRESSES["bob"]), mailbox.to(ADDRESSES["cleo"])
    match = db.session.get_one(Match, match_id)
    assert match.commitment in text_of(to_bob)
    send(to_bob, "Sit down, gladly", sender=ADDRESSES["bob"], now=now)
    send(to_bob, "sit down", sender=ADDRESSES["bob"], now=now)
    send(to_cleo, "decline", sender=ADDRESSES["cleo"], now=now + timedelta(hours=1))
    match = db.session.get_one(Match, match_id)
    assert [seat.name for seat in match.seats] == ["Ann", "bob", None]
    assert match.status == "open"
    assert "declined your invitation" in mailbox.to(ADDRESSES["ann"])[-1]["Subject"]
    # What could not be read is answered by the invitation once more.
    assert len(mailbox.to(ADDRESSES["bob"])) == 2


def test_the_listener_speaks_lmtp_too(asked, app, now) -> None:
    name, letter, since = asked
    raw = reply_to(letter, "1", sender=ADDRESSES[name])
    app.extensions["pbem.settings"] = replace(
        app.extensions["pbem.settings"], listen_protocol="lmtp", listen_port=free_port()
    )
    listener = Listener(app)
    listener.start()
    try:
        with smtplib.LMTP("127.0.0.1", listener.port) as relay:
            relay.sendmail(ADDRESSES[name], [str(letter["Reply-To"])], raw)
    finally:
        listener.stop()
    run_worker(now)
    assert len(moves(since)) == 1


def pipe(app, raw: bytes, recipient: str, **changed: str) -> int:
    """Hand a mail to `pbem inbox` as a mail server does; gives its exit code."""
    site = app.extensions["pbem.settings"]
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "PBEM_DATABASE_URL": site.database_url,
        "PBEM_MAIL_DOMAIN": site.mail_domain,
        "PBEM_SECRET_KEYS": site.secret_keys[0],
    }
    return subprocess.run(
        [sys.executable, "-m", "pbem", "inbox", recipient],
        input=raw, env=environment | changed, cwd=ROOT, capture_output=True, check=False,
    ).returncode  # fmt: skip


def test_a_mail_from_a_pipe_is_taken_once(asked, app, now) -> None:
    name, letter, since = asked
    raw = reply_to(letter, "1", sender=ADDRESSES[name])
    db.session.rollback()
    assert pipe(app, raw, str(letter["Reply-To"])) == 0
    assert pipe(app, raw, str(letter["Reply-To"])) == 0
    run_worker(now)
    assert len(moves(since)) == 1
    assert verdicts() == [("move", None)]


def test_a_pipe_that_cannot_store_says_try_again_or_too_large(asked, app, tmp_path) -> None:
    name, letter, _ = asked
    raw = reply_to(letter, "1", sender=ADDRESSES[name])
    nowhere = {"PBEM_DATABASE_URL": f"sqlite:///{tmp_path / 'empty.sqlite3'}"}
    assert pipe(app, raw, str(letter["Reply-To"]), **nowhere) == os.EX_TEMPFAIL
    assert pipe(app, b"x" * (1024 * 1024 + 1), str(letter["Reply-To"])) == os.EX_NOPERM


def test_what_is_said_noted_and_asked_for_is_done_once_and_answered(asked, now) -> None:
    name, letter, since = asked
    text = "status\naway until 5 Dec\nsay: hello\nnote: mine"
    send(letter, text, sender=ADDRESSES[name], now=now)
    send(letter, text, sender=ADDRESSES[name], now=now)
    assert moves(since) == []
    assert verdicts() == [("words", None)]
    assert [one.text for one in db.session.scalars(select(Talk))] == ["hello"]
    assert [one.text for one in db.session.scalars(select(PrivateNote))] == ["mine"]
    (answer,) = letters_to(name, "answer")
    assert [part["what"] for part in answer.about["parts"]] == ["said", "noted", "status", "away"]
    other = next(one for one in ("ann", "bob") if one != name)
    send(letter, "1", sender=ADDRESSES[name], message_id="<b@x.example>", now=now)
    told = letters_to(other)[-1]
    assert [one.talk.text for one in db.session.scalars(select(Heard))] == ["hello"]
    assert "hello" in text_of(parsed(letters.build(told).as_bytes()))


def test_an_order_is_kept_and_a_move_is_taken_back(app, mailbox, now) -> None:
    # A first lead of Snakebit shows nobody more than its card, so it can be taken back.
    match = running_match(["ann", "bob", "cleo"], now=now, game="snakebit")
    run_worker(now)
    name, since = open_turn(match).asked.name.lower(), _Moves(match.id, 0)
    sender = ADDRESSES[name]
    letter = next(mail for mail in mailbox.to(sender) if "your turn" in mail["Subject"])
    send(letter, "1\nthen lowest", sender=sender, now=now)
    assert len(moves(since)) == 1
    assert [one.text for one in db.session.scalars(select(StandingOrder))] == ["lowest"]
    send(letter, "undo", sender=sender, message_id="<u@x.example>", now=now)
    assert moves(since) == []
    (gone,) = db.session.scalars(select(WithdrawnMove))
    assert gone.by == "reply"
    send(letter, "2\ncancel orders", sender=sender, message_id="<c@x.example>", now=now)
    assert len(moves(since)) == 1
    (left,) = db.session.scalars(select(StandingOrder))
    assert (left.ended_at is None, left.ply) == (False, None)
