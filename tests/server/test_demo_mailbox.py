"""The demo's mailbox: what it keeps, how it shows a mail, and what its forms do."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from cast import ADDRESSES, letters_to, open_turn, run_worker, running_match
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select
from werkzeug.test import TestResponse

from pbem import account
from pbem.demo.mailbox import Mailbox
from pbem.demo.pages import pages
from pbem.demo.player import ADDRESS, machine_zone, welcome
from pbem.ext import db
from pbem.mail import letters
from pbem.mail.listener import Listener
from pbem.models import Letter, Match, Note
from pbem.worker import play_bots


@pytest.fixture
def database_url(sqlite: str) -> str:
    """The demo runs on SQLite only."""
    return sqlite


@pytest.fixture
def inbox(app: Flask, tmp_path: Path) -> Mailbox:
    """The demo's mailbox, with its pages in the application."""
    found = Mailbox(tmp_path / "demo-mailbox")
    app.extensions["pbem.demo.mailbox"] = found
    app.register_blueprint(pages)
    app.jinja_env.globals["demo"] = True
    return found


@pytest.fixture
def client(app: Flask, inbox: Mailbox) -> FlaskClient:
    return app.test_client()


@pytest.fixture(autouse=True)
def welcomed(app: Flask, now: datetime) -> None:
    welcome(now=now)


def put(inbox: Mailbox, letter: Letter) -> None:
    """Let a letter arrive."""
    inbox.add(letters.build(letter).as_bytes())


def post(client: FlaskClient, path: str, **fields: object) -> TestResponse:
    client.get("/demo/")
    with client.session_transaction() as session:
        token = session.setdefault("form", "as in the form")
    return client.post(path, data={"form_token": token} | fields)


def newest_match() -> Match:
    return db.session.scalars(select(Match).order_by(Match.id.desc())).first()


def letters_of_ada(kind: str) -> Letter:
    """Return the first letter of this kind to the demo's player; bots play until it is there."""
    wanted = select(Letter).where(Letter.address == ADDRESS, Letter.kind == kind)
    while (found := db.session.scalars(wanted).first()) is None:
        play_bots(newest_match().opened_at)
    return found


def test_a_mailbox_goes_on_with_what_it_kept(tmp_path: Path) -> None:
    before = Mailbox(tmp_path)
    before.add(b"Subject: one\r\n\r\nfirst\r\n")
    before.add(b"Subject: two\r\n\r\ncaf\xc3\xa9\r\n")
    before.mark_read(1)
    # What else may lie about is no mail.
    (tmp_path / "000009.new").write_bytes(b"half a")
    (tmp_path / "notes.eml").write_bytes(b"Subject: mine\r\n\r\n")
    after = Mailbox(tmp_path)
    after.add(b"Subject: three\r\n\r\n")
    assert [(m.number, m.message["Subject"], m.is_read) for m in after.all()] == [
        (3, "three", False),
        (2, "two", False),
        (1, "one", True),
    ]
    assert after.get(2).source == "Subject: two\r\n\r\ncafé\r\n"
    assert after.get(4) is None


def test_the_html_is_shown_with_its_pictures_and_without_scripts(
    client: FlaskClient, inbox: Mailbox
) -> None:
    put(inbox, letters_of_ada("your_turn"))
    shown = client.get("/demo/mail/1/html")
    assert "cid:" not in shown.text
    # A link opens the page in the place of the mailbox, not within the frame.
    assert '<head><base target="_top">' in shown.text
    policy = shown.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script" not in policy
    picture = client.get(re.search(r'src="(/demo/mail/1/picture/[^"]+)"', shown.text)[1])
    assert picture.mimetype == "image/png"
    assert picture.data.startswith(b"\x89PNG")
    assert client.get("/demo/mail/1/picture/another").status_code == 404
    assert client.get("/demo/mail/1/file/0").mimetype == "text/calendar"
    assert client.get("/demo/mail/1/file/1").status_code == 404


def test_a_mail_is_unread_until_it_is_opened(client: FlaskClient, inbox: Mailbox) -> None:
    put(inbox, letters_of_ada("your_turn"))
    assert 'class="unread"' in client.get("/demo/").text
    assert client.get("/demo/mail/1").status_code == 200
    assert 'class="unread"' not in client.get("/demo/").text


def test_a_guest_answers_a_mail_as_the_guest(
    client: FlaskClient, inbox: Mailbox, listener: Listener, now: datetime
) -> None:
    match = running_match(["ann", "bob"], now=now)
    asked = next(seat.player for seat in match.seats if seat.number == open_turn(match).seat)
    name = next(name for name, address in ADDRESSES.items() if address == asked.address)
    put(inbox, letters_to(name, "your_turn")[0])
    answer = post(client, "/demo/mail/1/reply", text="1")
    assert (answer.status_code, answer.location) == (303, "/demo/?sent=1")
    assert "Sent; the answer comes in a moment." in client.get(answer.location).text
    run_worker(now)
    note = db.session.scalars(select(Note)).one()
    assert note.verdict == "move"
    assert len(letters_to(name, "receipt")) == 1


def test_a_reply_that_nobody_takes_is_said_in_words(
    client: FlaskClient, inbox: Mailbox, listener: Listener, now: datetime
) -> None:
    account.ask_to_sign_in(ADDRESS, language="en", now=now)
    put(inbox, letters_of_ada("sign_in"))
    answer = post(client, "/demo/mail/1/reply", text="thank you <3")
    assert answer.status_code == 409
    assert "It could not be sent: 5.1.1 there is no such address here" in answer.text
    # What was typed is not lost.
    assert "thank you &lt;3</textarea>" in answer.text
    assert db.session.scalars(select(Note)).all() == []


def test_a_reply_while_nobody_listens_is_said_in_words(client: FlaskClient, inbox: Mailbox) -> None:
    put(inbox, letters_of_ada("your_turn"))
    answer = post(client, "/demo/mail/1/reply", text="1")
    assert answer.status_code == 409
    assert "It could not be sent" in answer.text


def test_another_game_is_offered_when_none_runs(client: FlaskClient, inbox: Mailbox) -> None:
    assert "Another game" not in client.get("/demo/").text
    db.session.get_one(Match, newest_match().id).status = "over"
    db.session.commit()
    assert "Another game" in client.get("/demo/").text
    answer = post(client, "/demo/new", game="biscuit", bots="3", option=["excuse", "partners"])
    assert answer.status_code == 303
    match = newest_match()
    assert len(match.seats) == 4
    assert {name for name, value in match.options.items() if value} == {"excuse", "partners"}
    assert "Another game" not in client.get("/demo/").text


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"game": "biscuit", "bots": "2", "option": ["partners"]}, 409),
        ({"game": "biscuit", "bots": "2", "option": ["target"]}, 409),
        ({"game": "biscuit", "bots": "-7"}, 409),
        ({"game": "biscuit", "bots": "99"}, 409),
        ({"game": "whist", "bots": "2"}, 404),
    ],
)
def test_a_game_that_is_not_possible_is_refused_in_words(
    client: FlaskClient, inbox: Mailbox, fields: dict[str, object], status: int
) -> None:
    before = newest_match().id
    answer = post(client, "/demo/new", **fields)
    assert answer.status_code == status
    assert "<h1>" in answer.text
    assert newest_match().id == before


def test_forms_of_other_pages_do_nothing(client: FlaskClient, inbox: Mailbox) -> None:
    put(inbox, letters_of_ada("your_turn"))
    assert client.post("/demo/new", data={"game": "biscuit"}).status_code == 400
    assert client.post("/demo/mail/1/reply", data={"text": "1"}).status_code == 400


@pytest.mark.parametrize(
    ("told", "zone"), [("America/New_York", "America/New_York"), (":Asia/Tokyo", "Asia/Tokyo")]
)
def test_the_players_time_zone_is_the_machines(
    monkeypatch: pytest.MonkeyPatch, told: str, zone: str
) -> None:
    monkeypatch.setenv("TZ", told)
    assert machine_zone() == zone


@pytest.mark.parametrize("told", ["", "EST5EDT,M3.2.0,M11.1.0", "../../etc/passwd", "Mars/Base"])
def test_a_zone_that_is_none_is_passed_over(monkeypatch: pytest.MonkeyPatch, told: str) -> None:
    monkeypatch.setenv("TZ", told)
    assert ZoneInfo(machine_zone()).key == machine_zone()
