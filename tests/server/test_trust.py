"""Whose mail it is: what may not be the player's is held until they say so at their address."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime
from email.message import EmailMessage

import pytest
from cast import (
    ADDRESSES,
    first_turn,
    letters_to,
    move_links,
    open_turn,
    player,
    reply_to,
    run_worker,
    text_of,
)
from mail_server import Mailbox
from sqlalchemy import select

from pbem import lobby, telling
from pbem.ext import db, tokens
from pbem.links import Links, token_in
from pbem.mail import errands, inbox
from pbem.mail.trust import has_failed, is_from
from pbem.models import Match, Move, Note
from pbem.table import load
from pbem.tokens import Named

OURS = "mx.play.example"
FORGED = f"{OURS}; spf=fail smtp.mailfrom=players.example; dkim=none; dmarc=fail"


@dataclass(frozen=True)
class Asked:
    """The one who is to move, the letter that asked them, and the match."""

    name: str
    letter: EmailMessage
    match_id: int
    ply: int

    @property
    def address(self) -> str:
        return ADDRESSES[self.name]


@pytest.fixture
def asked(app, mailbox: Mailbox, now) -> Asked:
    app.extensions["pbem.settings"] = replace(app.extensions["pbem.settings"], authserv_id=OURS)
    name, letter, match = first_turn(mailbox, now=now)
    return Asked(name, letter, match.id, match.ply)


def send(asked: Asked, text: str, *, now: datetime, sender: str = "", headers: str = "") -> None:
    raw = reply_to(asked.letter, text, sender=sender or asked.address)
    raw = headers.replace("\n", "\r\n").encode() + raw
    inbox.take(raw, inbox.Envelope(str(asked.letter["Reply-To"]), "x@y.example"), now=now)
    run_worker(now)


def moves(asked: Asked) -> list[str]:
    """Return the moves that were made since the letter was asked for."""
    since = select(Move.text).where(Move.match_id == asked.match_id, Move.ply > asked.ply)
    return list(db.session.scalars(since))


def verdicts() -> list[str | None]:
    return list(db.session.scalars(select(Note.verdict).order_by(Note.id)))


def confirm_path(letter: EmailMessage) -> str:
    (path,) = re.findall(r"<https://play\.example(/h/[\w.-]+)>", text_of(letter))
    assert len(path) < 70
    return path


def second_move(asked: Asked) -> str:
    turn = open_turn(db.session.get_one(Match, asked.match_id))
    return telling.tell(load(turn.match), turn.seat).choices[1].text


def test_a_move_from_a_foreign_address_is_held_until_the_player_confirms_it(
    app, asked, mailbox, now
) -> None:
    wanted = second_move(asked)
    send(asked, "2", sender="Eve <eve@elsewhere.example>", now=now)
    assert moves(asked) == []
    assert verdicts() == ["held"]
    assert mailbox.to("eve@elsewhere.example") == []
    letter = mailbox.to(asked.address)[-1]
    assert "was this you?" in letter["Subject"]
    assert "came from another address than yours" in " ".join(text_of(letter).split())
    browser = app.test_client()
    path = confirm_path(letter)
    for _ in range(3):
        page = browser.get(path)
        assert page.status_code == 200
        assert "A mail that may not be yours asks for this move" in page.text
        assert browser.head(path).status_code == 200
    assert moves(asked) == []
    assert page.headers["Cache-Control"] == "no-store"
    assert browser.post(path).status_code == 200
    assert moves(asked)[0] == wanted
    assert db.session.scalars(select(Move.by).where(Move.ply == asked.ply + 1)).one() == "link"
    # The same once more is known.
    assert "played already" in browser.get(path).text
    assert browser.post(path).status_code == 200
    assert moves(asked).count(wanted) == 1


def test_a_button_pressed_by_a_machine_plays_no_held_move(app, asked, mailbox, now) -> None:
    send(asked, "1", sender=ADDRESSES["dan"], now=now)
    browser = app.test_client()
    browser.delete_cookie("device")
    path = confirm_path(mailbox.to(asked.address)[-1])
    assert 'name="me"' in browser.get(path).text
    assert browser.post(path).status_code == 409
    assert moves(asked) == []
    assert browser.post(path, data={"me": "1"}).status_code == 200
    assert len(moves(asked)) >= 1


def test_a_confirmation_after_the_turn_says_what_stands(app, asked, mailbox, now) -> None:
    send(asked, "2", sender=ADDRESSES["dan"], now=now)
    path = confirm_path(mailbox.to(asked.address)[-1])
    browser = app.test_client()
    browser.post(move_links(asked.letter)[0])
    made = moves(asked)
    page = browser.get(path)
    assert page.status_code == 200
    assert "That turn is over" in page.text
    page = browser.post(path)
    assert page.status_code == 409
    assert "Nothing was played now" in page.text
    assert moves(asked) == made


def test_a_letter_about_a_held_move_is_not_sent_once_the_turn_is_over(app, asked, now) -> None:
    raw = reply_to(asked.letter, "2", sender=ADDRESSES["dan"])
    inbox.take(raw, inbox.Envelope(str(asked.letter["Reply-To"]), ""), now=now)
    inbox.read_all(now=now)
    app.test_client().post(move_links(asked.letter)[0])
    run_worker(now)
    (letter,) = letters_to(asked.name, "confirm")
    assert letter.state == "stale"


def test_another_players_seat_is_not_confirmed_by_who_is_signed_in(app, asked, mailbox, now):
    send(asked, "2", sender=ADDRESSES["dan"], now=now)
    other = next(name for name in ("ann", "bob") if name != asked.name)
    browser = app.test_client()
    with browser.session_transaction() as session:
        session["player"] = letters_to(other)[-1].player_id
    assert browser.post(confirm_path(mailbox.to(asked.address)[-1])).status_code == 409
    assert moves(asked) == []
    token = confirm_path(mailbox.to(asked.address)[-1])
    assert browser.get(token[:-1] + ("a" if token[-1] != "a" else "b")).status_code == 404


@pytest.mark.parametrize("text", ["hello there", "play 1\nplay 2", "99", ""])
def test_a_strangers_mail_without_one_move_is_told_and_moves_nothing(
    asked, mailbox, now, text
) -> None:
    send(asked, text, sender=ADDRESSES["dan"], now=now)
    assert verdicts() == ["not done"]
    assert letters_to(asked.name, "confirm") == []
    assert "came from another address" in text_of(mailbox.to(asked.address)[-1])
    assert mailbox.to(ADDRESSES["dan"]) == []


def test_a_strangers_mails_are_told_six_times_an_hour_and_no_more(asked, now) -> None:
    for nth in range(5):
        send(asked, f"{nth % 2 + 1}\n{'.' * nth}", sender=ADDRESSES["dan"], now=now)
        send(asked, f"hello {nth}", sender=ADDRESSES["dan"], now=now)
    told = letters_to(asked.name, "confirm") + letters_to(asked.name, "not_done")
    assert len(told) == errands.MOST_ANSWERS == 6
    assert len(verdicts()) == 10
    assert moves(asked) == []


def test_a_stranger_brings_no_kept_seat_back(asked, now) -> None:
    turn = open_turn(db.session.get_one(Match, asked.match_id))
    turn.asked.is_kept = True
    db.session.commit()
    raw = reply_to(asked.letter, "1", sender=ADDRESSES["dan"])
    inbox.take(raw, inbox.Envelope(str(asked.letter["Reply-To"]), ""), now=now)
    inbox.read_all(now=now)
    assert open_turn(db.session.get_one(Match, asked.match_id)).asked.is_kept


def test_a_forwarded_mail_that_somebody_else_answers_is_held(asked, mailbox, now) -> None:
    forwarded = EmailMessage()
    forwarded["From"] = asked.address
    forwarded["Reply-To"] = str(asked.letter["Reply-To"])
    forwarded["Subject"] = "Fwd: what would you do?"
    forwarded["Message-ID"] = "<fwd@players.example>"
    forwarded.set_content(text_of(asked.letter))
    raw = reply_to(forwarded, "1", sender=ADDRESSES["dan"])
    inbox.take(raw, inbox.Envelope(str(asked.letter["Reply-To"]), ADDRESSES["dan"]), now=now)
    run_worker(now)
    assert moves(asked) == []
    assert verdicts() == ["held"]
    assert confirm_path(mailbox.to(asked.address)[-1])


def test_a_sender_whom_our_mail_server_calls_forged_is_held(app, asked, mailbox, now) -> None:
    send(asked, "1", headers=f"Authentication-Results: {FORGED}\n", now=now)
    assert moves(asked) == []
    assert verdicts() == ["held"]
    letter = mailbox.to(asked.address)[-1]
    assert "in your name, but it may be forged" in " ".join(text_of(letter).split())
    assert app.test_client().post(confirm_path(letter)).status_code == 200
    assert len(moves(asked)) >= 1


def test_a_forged_mail_without_a_move_is_told_as_such(asked, mailbox, now) -> None:
    send(asked, "what now?", headers=f"Authentication-Results: {FORGED}\n", now=now)
    assert verdicts() == ["not done"]
    assert "it may be forged" in " ".join(text_of(mailbox.to(asked.address)[-1]).split())


def test_a_forged_answer_to_an_invitation_gets_the_invitation_once_more(
    app, mailbox: Mailbox, now
) -> None:
    app.extensions["pbem.settings"] = replace(app.extensions["pbem.settings"], authserv_id=OURS)
    chairs = [lobby.Chair(address=ADDRESSES["bob"])]
    lobby.open_table(player("ann", now=now), "biscuit", chairs, {}, now=now)
    run_worker(now)
    (invitation,) = mailbox.to(ADDRESSES["bob"])
    for text in ("sit down", "decline"):
        raw = f"Authentication-Results: {FORGED}\r\n".encode()
        raw += reply_to(invitation, text, sender=ADDRESSES["bob"])
        inbox.take(raw, inbox.Envelope(str(invitation["Reply-To"]), "x@y.example"), now=now)
    run_worker(now)
    assert verdicts() == ["held", "held"]
    assert [seat.name for seat in db.session.scalars(select(Match)).one().seats] == ["Ann", None]
    assert {letter["Subject"] for letter in mailbox.to(ADDRESSES["bob"])} == {invitation["Subject"]}
    assert len(mailbox.to(ADDRESSES["bob"])) == 3


def test_results_that_the_sender_wrote_below_ours_change_nothing(asked, now) -> None:
    injected = f"Authentication-Results: {OURS}; dmarc=pass; dkim=pass; spf=pass\n"
    ours = f"Authentication-Results: {FORGED}\n"
    foreign = "Authentication-Results: mx.evil.example; dmarc=pass\n"
    send(asked, "1", headers=foreign + ours + injected, now=now)
    assert moves(asked) == []
    assert verdicts() == ["held"]


def test_results_of_another_server_hold_nothing(asked, now) -> None:
    headers = f"Authentication-Results: {FORGED.replace(OURS, 'mx.evil.example')}\n"
    send(asked, "1", headers=headers, now=now)
    assert len(moves(asked)) >= 1


def test_without_the_setting_no_results_are_looked_at(app, asked, now) -> None:
    app.extensions["pbem.settings"] = replace(app.extensions["pbem.settings"], authserv_id="")
    send(asked, "1", headers=f"Authentication-Results: {FORGED}\n", now=now)
    assert len(moves(asked)) >= 1


@pytest.mark.parametrize(
    ("results", "failed"),
    [
        ((), False),
        (("mx.play.example; none",), False),
        (("mx.play.example; dmarc=fail (p=none) header.from=a.example",), True),
        (("MX.Play.Example 1; DMARC=Fail",), True),
        (("mx.play.example; dkim=fail; spf=fail",), True),
        (("mx.play.example; dkim=fail; spf=pass",), False),
        (("mx.play.example; dkim=fail; dkim=pass; spf=fail",), False),
        (("mx.play.example; dkim=fail",), False),
        (("mx.play.example; spf=fail",), False),
        (("mx.play.example; spf=softfail; dkim=none; dmarc=none",), False),
        (("mx.play.example; dmarc=pass (why; dmarc=fail)",), False),
        (('mx.play.example; dmarc=pass reason="; dmarc=fail"',), False),
        (("mx.play.example; dmarc=pass", "mx.play.example; dmarc=fail"), False),
        (("elsewhere.example; dmarc=pass", "mx.play.example; dmarc=fail"), True),
        (("mx.play.example.evil; dmarc=fail",), False),
        (("; dmarc=fail",), False),
    ],
)
def test_only_the_topmost_results_of_our_server_count(results, failed) -> None:
    assert has_failed(results, OURS) == failed


def test_a_wrong_token_is_unknown_whoever_sends_it(asked, mailbox, now) -> None:
    address = str(asked.letter["Reply-To"])
    wrong = address.replace(token_in(address), "a" * 24)
    raw = f"From: {asked.address}\nTo: {wrong}\n\n1\n".encode()
    before = len(mailbox.arrived)
    inbox.take(raw, inbox.Envelope(wrong, asked.address), now=now)
    run_worker(now)
    assert verdicts() == ["unknown"]
    assert moves(asked) == []
    assert len(mailbox.arrived) == before


def test_an_old_token_moves_nothing_in_the_turn_that_is_open(app, asked, mailbox, now) -> None:
    app.test_client().post(move_links(asked.letter)[0])
    made = moves(asked)
    send(asked, "2", now=now)
    send(asked, "2", sender=ADDRESSES["dan"], now=now)
    assert moves(asked)[: len(made)] == made
    assert verdicts() == ["too late", "not done"]
    assert letters_to(asked.name, "confirm") == []
    assert len(letters_to(asked.name, "stands")) == 1


@pytest.mark.parametrize("glue", ["{}", "{}.", "<{}>", "{}..."])
@pytest.mark.parametrize("change", [str, str.upper, lambda text: text.replace("@", ".@")])
def test_a_token_in_upper_case_or_with_dots_glued_on_is_known(app, now, change, glue) -> None:
    address = Links().reply(Named.TURN, 7)
    token = token_in(glue.format(change(address)))
    assert tokens().read_address(token) == (Named.TURN, 7)


def test_a_mail_to_such_an_address_is_a_move(asked, now) -> None:
    address = str(asked.letter["Reply-To"]).upper().replace("@", ".@")
    raw = f"From: {asked.address.upper()}\nTo: <{address}>\n\n1\n".encode()
    inbox.take(raw, inbox.Envelope("catch-all@elsewhere.example", asked.address), now=now)
    run_worker(now)
    assert len(moves(asked)) >= 1
    assert verdicts() == ["move"]


def test_who_takes_the_seat_over_is_not_bound_to_what_was_held(app, asked, mailbox, now) -> None:
    send(asked, "2", sender=ADDRESSES["dan"], now=now)
    path = confirm_path(mailbox.to(asked.address)[-1])
    turn = open_turn(db.session.get_one(Match, asked.match_id))
    turn.asked.player = player("cleo", now=now)
    db.session.commit()
    assert app.test_client().get(path).status_code == 409
    assert app.test_client().post(path).status_code == 409
    assert moves(asked) == []


@pytest.mark.parametrize(
    ("sender", "is_theirs"),
    [
        ("ann@players.example", True),
        ("ann+cards@players.example", True),
        ("ann+@players.example", True),
        ("annie@home.example", True),
        ("ann@home.example", False),
        ("ann@players.example.evil.example", False),
        ("an@players.example", False),
        ("+ann@players.example", False),
        ("", False),
    ],
)
def test_a_mail_is_a_players_from_each_address_whatever_follows_a_plus(sender, is_theirs) -> None:
    assert is_from(sender, ["ann@players.example", "annie+decktet@home.example"]) == is_theirs
