"""Mail that Mailgun and Postmark post: proven, in time, taken once; and never half."""

from __future__ import annotations

import hmac
import time
from dataclasses import replace

import pytest
from replies import Asked, asked, notes
from sqlalchemy.exc import OperationalError

from pbem.ext import db
from pbem.mail import inbox

KEY = "key-of-mailgun"
SECRET = "0123456789abcdefghij"
POSTMARK = f"/hooks/postmark/{SECRET}"


@pytest.fixture
def database_url(sqlite: str) -> str:
    """SQLite alone: what providers are told is the same for each database."""
    return sqlite


@pytest.fixture
def turn(app, mailbox, now) -> Asked:
    app.extensions["pbem.settings"] = replace(
        app.extensions["pbem.settings"], mailgun_signing_key=KEY, postmark_secret=SECRET
    )
    return asked(mailbox, now)


def signed(turn: Asked, raw: bytes, *, age: int = 0, key: str = KEY) -> dict[str, str]:
    """Return the form that Mailgun posts."""
    timestamp, token = str(int(time.time()) - age), "0123456789" * 5
    return {
        "recipient": turn.address,
        "sender": turn.sender,
        "timestamp": timestamp,
        "token": token,
        "signature": hmac.digest(key.encode(), (timestamp + token).encode(), "sha256").hex(),
        "body-mime": raw.decode(),
    }


def as_json(turn: Asked, raw: bytes) -> dict[str, object]:
    """Return what Postmark posts, its own reading of the mail aside."""
    return {"OriginalRecipient": turn.address, "RawEmail": raw.decode(), "TextBody": "1"}


@pytest.fixture
def post(app):
    """Post to the application, from outside of its context as a server does."""

    def found(path: str, **given) -> tuple[int, str]:
        db.session.rollback()
        answer = app.test_client().post(path, **given)
        assert "Set-Cookie" not in answer.headers
        return answer.status_code, answer.text.strip()

    return found


@pytest.mark.parametrize("path", ["/hooks/mailgun", "/hooks/mailgun/mime"])
@pytest.mark.parametrize("kind", ["multipart/form-data", "application/x-www-form-urlencoded"])
def test_a_mail_from_mailgun_becomes_a_move(turn, post, path, kind) -> None:
    given = {"data": signed(turn, turn.reply()), "content_type": kind}
    assert post(path, **given) == (200, "taken")
    (note,) = notes()
    assert (note.recipient, note.return_path) == (turn.address, turn.sender)
    assert note.raw == turn.reply()
    assert turn.moves() == 1


def test_a_mail_from_postmark_becomes_a_move(turn, post) -> None:
    assert post(POSTMARK, json=as_json(turn, turn.reply())) == (200, "taken")
    (note,) = notes()
    assert note.recipient == turn.address
    assert turn.moves() == 1


@pytest.mark.parametrize(
    "wrong", [{"age": 121}, {"age": -121}, {"key": "another"}], ids=["late", "early", "forged"]
)
def test_a_signature_that_is_old_or_forged_is_refused(turn, post, wrong) -> None:
    given = signed(turn, turn.reply(), **wrong)
    refused = (401, "the signature is wrong or older than two minutes")
    assert post("/hooks/mailgun", data=given) == refused
    for left_out in ("signature", "timestamp", "token"):
        assert post("/hooks/mailgun", data=given | {left_out: ""}) == refused
    assert post("/hooks/mailgun", data={}) == refused
    assert notes() == []


def test_a_mail_that_is_posted_again_is_taken_once(turn, post) -> None:
    for _ in range(3):
        assert post("/hooks/mailgun", data=signed(turn, turn.reply())) == (200, "taken")
        assert post(POSTMARK, json=as_json(turn, turn.reply())) == (200, "taken")
    assert len(notes()) == 1
    assert turn.moves() == 1


@pytest.mark.parametrize("path", ["/hooks/mailgun", "/hooks/postmark/", POSTMARK])
def test_without_its_setting_a_hook_is_not_there(app, mailbox, post, now, path) -> None:
    turn = asked(mailbox, now)
    assert post(path, data=signed(turn, turn.reply(), key=""))[0] == 404
    assert post(path, json=as_json(turn, turn.reply()))[0] == 404
    assert notes() == []


def test_a_wrong_secret_is_answered_as_any_address_that_is_not_there(turn, post) -> None:
    assert post("/hooks/postmark/guessed", json=as_json(turn, turn.reply()))[0] == 404
    assert post("/hooks/postmark/é", json=as_json(turn, turn.reply()))[0] == 404
    assert notes() == []


@pytest.mark.parametrize("given", [{"json": {"TextBody": "1"}}, {"json": [1]}, {"data": b"{"}])
def test_postmark_is_told_what_to_switch_on(turn, post, given) -> None:
    status, words = post(POSTMARK, **given)
    assert status == 422
    assert 'switch on "Include raw email content in JSON"' in words


def test_mailgun_is_told_what_the_address_must_end_in(turn, post) -> None:
    given = signed(turn, b"")
    assert post("/hooks/mailgun", data=given) == (
        422,
        "there is no body-mime; let the route's address end in /mime",
    )


def test_more_than_a_megabyte_is_refused_for_good_and_much_more_unread(turn, post) -> None:
    large = turn.reply("word " * 250_000)
    told = "the mail is larger than 1 MB"
    assert post("/hooks/mailgun", data=signed(turn, large)) == (406, told)
    assert post(POSTMARK, json=as_json(turn, large)) == (403, told)
    much = b"x" * (5 * 1024 * 1024)
    assert post("/hooks/mailgun", data=signed(turn, much))[0] == 413
    assert post(POSTMARK, json=as_json(turn, much))[0] == 413
    assert notes() == []
    nearly = turn.reply("word " * 100_000)
    assert post("/hooks/mailgun", data=signed(turn, nearly)) == (200, "taken")


def test_who_posts_a_mail_that_cannot_be_stored_now_is_to_try_again(
    turn, post, monkeypatch
) -> None:
    def fails(*_given, **_more) -> bool:
        raise OperationalError("INSERT", {}, Exception("the disk is full"))

    monkeypatch.setattr(inbox, "take", fails)
    assert post("/hooks/mailgun", data=signed(turn, turn.reply()))[0] == 503
    assert post(POSTMARK, json=as_json(turn, turn.reply()))[0] == 503
