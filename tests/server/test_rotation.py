"""Keys change while games run: the last signs, the others verify, and a dropped one is told."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
from cast import (
    ADDRESSES,
    KnownDevice,
    first_turn,
    move_links,
    open_turn,
    path,
    reply_to,
    run_worker,
    seat_of,
    sign_in_path,
    words,
)
from conftest import KEYS
from flask import Flask
from mail_server import Mailbox
from sqlalchemy import func, select

from pbem import account, config
from pbem.ext import db
from pbem.links import Links
from pbem.mail import inbox
from pbem.models import Match, Move, Note
from pbem.tokens import Tokens

NEW = "cd" * 32


@pytest.fixture
def database_url(sqlite: str) -> str:
    """One kind is enough: keys sign the same on each database."""
    return sqlite


def with_keys(app: Flask, *keys: str) -> None:
    """Let the application go on as one that was started with these keys."""
    app.extensions["pbem.tokens"] = Tokens(keys)
    app.config["SECRET_KEY"], app.config["SECRET_KEY_FALLBACKS"] = keys[-1], list(keys[:-1])


def moves() -> int:
    db.session.rollback()
    return db.session.scalar(select(func.count()).select_from(Move)) or 0


def signed_in_ann(app: Flask, now: datetime) -> KnownDevice:
    account.ask_to_sign_in(ADDRESSES["ann"], language="en", now=now)
    client = app.test_client()
    assert client.post(sign_in_path("ann")).status_code == 303
    return client


def test_a_running_game_goes_on_over_a_change_of_keys(app: Flask, mailbox: Mailbox, now) -> None:
    name, letter, match = first_turn(mailbox, now=now)
    browser, old_seat = signed_in_ann(app, now), path(Links().seat(seat_of(match, name)))
    with_keys(app, *KEYS, NEW)
    # By a link, a cookie, a remembered device and a reply from before.
    assert browser.get("/account").status_code == 200
    assert browser.get(old_seat).status_code in (200, 409)  # ann's browser; it may be bob's seat
    before = moves()
    device = app.test_client()
    device.set_cookie("device", Tokens(KEYS).link("device", 1))
    assert device.post(move_links(letter)[0]).status_code == 200
    assert moves() > before
    run_worker(now)
    raw = reply_to(letter, "1", sender=ADDRESSES[name])
    inbox.take(raw, inbox.Envelope(str(letter["Reply-To"]), ADDRESSES[name]), now=now)
    run_worker(now)
    # That turn is over, and its reply address still tells which one it is.
    assert db.session.scalars(select(Note.verdict)).one() == "repeated"
    assert [mail["Reply-To"] for mail in mailbox.to(ADDRESSES[name])][-1] is not None
    # What is signed now is signed by the new key.
    fresh = path(Links().seat(seat_of(db.session.get_one(Match, match.id), name)))
    assert fresh != old_seat
    with_keys(app, NEW)
    assert app.test_client().get(fresh).status_code == 200


def test_a_key_that_is_dropped_leaves_words_and_no_error(app: Flask, mailbox, now) -> None:
    name, letter, match = first_turn(mailbox, now=now)
    browser, before = signed_in_ann(app, now), moves()
    seat = path(Links().seat(seat_of(match, name)))
    with_keys(app, NEW)
    for link in (seat, move_links(letter)[0]):
        for page in (app.test_client().get(link), app.test_client().post(link)):
            assert page.status_code == 404
            assert "was not made here; open it again from the mail" in words(page)
    assert browser.get("/account").location == "/"  # signed out
    assert browser.get("/").status_code == 200
    raw = reply_to(letter, "1", sender=ADDRESSES[name])
    inbox.take(raw, inbox.Envelope(str(letter["Reply-To"]), ADDRESSES[name]), now=now)
    run_worker(now)
    assert db.session.scalars(select(Note.verdict)).one() == "unknown"
    assert moves() == before
    # The game itself needs no key of the server's: it goes on by fresh links.
    turn = open_turn(db.session.get_one(Match, match.id))
    client = app.test_client()
    assert client.post(path(Links().move(turn, 1)), data={"me": "1"}).status_code == 200
    assert moves() > before


def test_a_line_in_the_file_of_keys_is_all_that_a_change_takes(tmp_path: Path) -> None:
    first = config.load(tmp_path, {}).secret_keys
    file = tmp_path / "secret_keys"
    file.write_text(f"{file.read_text()}{NEW}\n")
    assert config.load(tmp_path, {}).secret_keys == (*first, NEW)
    assert (file.stat().st_mode & 0o777) == 0o600
