"""The account: signing in by a link in a mail, and the addresses that are one player's."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from cast import (
    ADDRESSES,
    form_token,
    letters_to,
    player,
    run_worker,
    sign_in_path,
)
from flask import g
from flask.testing import FlaskClient
from itsdangerous import TimestampSigner
from sqlalchemy import event, func, select

from pbem import account, away
from pbem.errors import OldLink
from pbem.ext import db, tokens
from pbem.lobby import find_player
from pbem.models import Letter, Player

TOO_OLD = "This link was used already, or is too old; ask for another one."
MINUTE = timedelta(minutes=1)


@pytest.fixture
def client(app) -> FlaskClient:
    return app.test_client()


def ask(client: FlaskClient, name: str):
    data = {"address": ADDRESSES[name], "form_token": form_token(client)}
    return client.post("/sign-in", data=data)


def sign_in(client: FlaskClient, name: str) -> None:
    ask(client, name)
    assert client.post(sign_in_path(name)).status_code == 303


def words(page) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page.text).split())


def players() -> int:
    return db.session.scalar(select(func.count()).select_from(Player))


# Signing in.


def test_looking_at_the_link_signs_nobody_in_and_uses_nothing_up(client, now) -> None:
    ask(client, "dan")
    for _ in range(3):
        page = client.get(sign_in_path("dan"))
        assert (page.status_code, "Sign in on this device" in page.text) == (200, True)
        assert "Your games" not in client.get("/").text
    # Nobody is a player before they have pressed the button.
    assert players() == 0
    assert client.post(sign_in_path("dan")).status_code == 303
    assert "Your games, dan" in words(client.get("/"))
    assert players() == 1


def test_a_used_link_says_so_and_offers_another(client, app) -> None:
    sign_in(client, "ann")
    other = app.test_client()
    for page in (other.get(sign_in_path("ann")), other.post(sign_in_path("ann"))):
        assert page.status_code == 404
        assert TOO_OLD in words(page)
        assert "Mail me the link" in page.text
        assert page.headers["Cache-Control"] == "no-store"
    assert "Your games" not in other.get("/").text


def test_signing_in_uses_up_older_links_too(client, app) -> None:
    ask(client, "ann")
    first = sign_in_path("ann")
    sign_in(client, "ann")
    assert app.test_client().post(first).status_code == 404


def test_a_link_is_good_for_half_an_hour(client, monkeypatch) -> None:
    ask(client, "ann")
    link, made = sign_in_path("ann"), TimestampSigner.get_timestamp
    for minutes, status in ((29, 200), (31, 404)):
        later = minutes * 60
        monkeypatch.setattr(TimestampSigner, "get_timestamp", lambda own, s=later: made(own) + s)
        assert client.get(link).status_code == status
    assert client.post(link).status_code == 404
    assert TOO_OLD in words(client.get(link))


def test_a_link_that_was_not_made_here_signs_nobody_in(client) -> None:
    ask(client, "ann")
    letter = letters_to("ann", "sign_in")[-1]
    for token in (tokens().link("sign-in", letter.id), tokens().timed_link("address", letter.id)):
        page = client.post(f"/sign-in/{token}")
        assert page.status_code == 404
        assert "was not made here" in words(page)
    assert players() == 0


def test_of_two_presses_one_signs_in(app, now) -> None:
    account.ask_to_sign_in(ADDRESSES["ann"], language="en", now=now)
    (letter,) = letters_to("ann", "sign_in")
    account.sign_in(letter.id, now=now)
    with pytest.raises(OldLink):
        account.sign_in(letter.id, now=now)
    assert find_player(ADDRESSES["ann"]).sign_ins == 1


def test_the_answer_and_the_work_never_tell_whether_an_address_is_known(client, app, now) -> None:
    player("ann", now=now)
    away.stop_mails(ADDRESSES["cleo"], now=now)
    for _ in range(10):
        account.ask_to_sign_in(ADDRESSES["bob"], language="en", now=datetime.now(UTC))
    token, found = form_token(client), []
    # Known, mailed too often, a stranger who wants no mail, a stranger.
    for name in ADDRESSES:
        done: list[str] = []

        def note(_connection, _cursor, statement, *_more, done=done) -> None:
            done.append(statement.split(" ", 1)[0])

        event.listen(db.engine, "before_cursor_execute", note)
        page = client.post("/sign-in", data={"address": ADDRESSES[name], "form_token": token})
        event.remove(db.engine, "before_cursor_execute", note)
        found.append((page.status_code, page.text.replace(f"{name}@", "somebody@"), done))
    assert found == [found[0]] * 4
    assert found[0][2].count("INSERT") == 1


def test_what_is_not_to_go_out_never_leaves(app, mailbox, now) -> None:
    away.stop_mails(ADDRESSES["cleo"], now=now)
    account.ask_to_sign_in(ADDRESSES["cleo"], language="en", now=now)
    run_worker(now)
    assert mailbox.arrived == []
    assert [letter.state for letter in letters_to("cleo")] == ["stale"]


def test_a_stranger_is_mailed_and_becomes_a_player_in_the_language_of_their_browser(app) -> None:
    client = app.test_client()
    token = form_token(client)
    g.pop("_flask_babel")
    client.post(
        "/sign-in",
        data={"address": ADDRESSES["dan"], "form_token": token},
        headers={"Accept-Language": "fr-CA, en;q=0.5"},
    )
    assert [letter.language for letter in letters_to("dan")] == ["fr"]
    client.post(sign_in_path("dan"))
    assert find_player(ADDRESSES["dan"]).language == "fr"
    assert db.session.scalar(select(func.count()).select_from(Letter)) == 1


def test_who_signs_out_is_forgotten(client) -> None:
    sign_in(client, "ann")
    client.post("/sign-out", data={"form_token": form_token(client)})
    assert "Your games" not in client.get("/").text
