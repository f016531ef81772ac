"""What people, or machines, may type into any field: stored safely, or refused in words."""

from __future__ import annotations

import html

import pytest
from cast import ADDRESSES, form_token, player, running_match
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select

from engine import GAMES
from pbem import lobby
from pbem.ext import db, writing
from pbem.links import Links
from pbem.lobby import Chair
from pbem.models import Match, Player, PrivateNote, Seat, Talk

HOSTILE = {
    "emoji": "🃏👩‍👩‍👧",
    "right to left": "\u202eevil\u2066",
    "long": "x" * 10_000,
    "digits": "9" * 10_000,
    "control": "a\x00b\x07\x1b[31m\r\nc",
    "html": "<script>alert('1')</script>\"><img src=x>",
}


# Each on the quick database; what PostgreSQL could not store there too.
CASES = [*(("sqlite", kind) for kind in HOSTILE), ("postgresql", "control")]


@pytest.fixture(params=CASES, ids=" ".join)
def case(request) -> tuple[str, str]:
    return request.param


@pytest.fixture
def hostile(case) -> str:
    return HOSTILE[case[1]]


@pytest.fixture
def database_url(case, request, tmp_path) -> str:
    if case[0] == "sqlite":
        return f"sqlite:///{tmp_path / 'pbem.sqlite3'}"
    return request.getfixturevalue("postgres")


@pytest.fixture
def anns(app, now) -> FlaskClient:
    ann, client = player("ann", now=now), app.test_client()
    with client.session_transaction() as session:
        session["player"] = ann.id
    return client


def path(url: str) -> str:
    return url.removeprefix("https://play.example")


def post_each(client: FlaskClient, url: str, right: dict, fields: list[str], hostile: str):
    """Post a right form with one wrong field after the other; what is refused is typed again."""
    for field in fields:
        page = client.post(url, data=right | {field: hostile})
        assert page.status_code in (200, 303, 400, 409), (url, field)
        assert "<script" not in page.text.replace("<script src=", ""), (url, field)
        if page.status_code in (400, 409):
            assert 'role="alert"' in page.text, (url, field)
            assert typed(page.text, hostile), (url, field)


def typed(text: str, hostile: str) -> bool:
    # As a browser sends line breaks and reads a page.
    return hostile in html.unescape(text)


def names_and_phrases() -> list[str]:
    db.session.rollback()
    found = [*db.session.scalars(select(Player.stored_name))]
    found += [name for name in db.session.scalars(select(Seat.stored_name)) if name]
    return found + [phrase for phrase in db.session.scalars(select(Seat.phrase)) if phrase]


def assert_stored_safely() -> None:
    for text in names_and_phrases():
        assert len(text) <= 100
        assert not set(text) & set("\x00\x07\x1b\r\n\u202e\u2066")


def test_signing_in(app: Flask, hostile) -> None:
    client = app.test_client()
    token = {"form_token": form_token(client)}
    page = client.post("/sign-in", data=token | {"address": hostile})
    assert page.status_code == 400
    assert "That does not look like a mail address" in page.text
    assert typed(page.text, hostile)
    assert "<script" not in page.text
    assert client.post("/sign-in", data={"form_token": hostile}).status_code == 400
    assert client.post("/sign-in", data=token | {hostile: hostile}).status_code == 400


def test_the_account(anns, hostile) -> None:
    right = {"form_token": form_token(anns, "/account"), "do": "add", "address": "a@b.example"}
    post_each(anns, "/account", right, ["address"], hostile)
    for do in ("prefer", "remove"):
        anns.post("/account", data=right | {"do": do, "address": hostile})
    assert anns.post("/account", data=right | {"do": hostile}).status_code == 303
    (ann,) = db.session.scalars(select(Player))
    assert ann.every_address == [ADDRESSES["ann"]]


def test_the_settings(anns, hostile) -> None:
    (ann,) = db.session.scalars(select(Player))
    url = path(Links().you(ann))
    right = {"do": "settings", "name": "Ann", "language": "en", "zone": "UTC", "entries": "none"}
    fields = ["zone", "quiet_from", "quiet_until", "digest_at", "name"]
    post_each(anns, url, right | {"quiet_from": "22:00", "quiet_until": "07:00"}, fields, hostile)
    for field in ("language", "entries", "steps", "mail_notice"):
        refused = anns.post(url, data=right | {field: hostile})
        assert (refused.status_code, "one of the choices" in refused.text) == (409, True), field
    dates = {"do": "away", "first": "2027-01-01", "last": "2027-01-02"}
    post_each(anns, url, dates, ["first", "last"], hostile)
    assert anns.post(url, data={"do": "end", "absence": hostile}).status_code == 303
    assert anns.get(url).status_code == 200
    assert_stored_safely()


def test_a_new_table(anns, hostile) -> None:
    right = {
        "form_token": form_token(anns, "/new/biscuit"),
        "place_2": "invite",
        "address_2": ADDRESSES["bob"],
        "pace_hours": "72",
        "bank_hours": "72",
    }
    options = [f"option_{option.name}" for option in GAMES["biscuit"].options]
    numbers = [name for name in options if name == "option_target"]
    typed_in = ["address_2", "pace_hours", "bank_hours", "phrase", *numbers]
    post_each(anns, "/new/biscuit", right, typed_in, hostile)
    for field in ("place_2", "policy", "weekends", "draws_seats", "is_listed", *options):
        page = anns.post("/new/biscuit", data=right | {field: hostile})
        assert page.status_code in (303, 400), field
        assert "<script>" not in page.text, field
    assert_stored_safely()


def test_talk_and_notes(app: Flask, hostile, now) -> None:
    match = running_match(["ann", "bob"], now=now)
    with writing():
        db.session.get_one(Match, match.id).allows_whispers = True
    seat = db.session.get_one(Match, match.id).seats[0]
    client, url = app.test_client(), path(Links().seat(seat))
    post_each(client, url, {"do": "say", "text": "hello", "to": "Bob"}, ["text"], hostile)
    post_each(client, url, {"do": "note", "text": "hello"}, ["text"], hostile)
    for form in ({"do": "say", "text": "hello", "to": hostile}, {"do": "mute", "name": hostile}):
        page = client.post(url, data=form)
        assert (page.status_code, 'role="alert"' in page.text) == (409, True)
        assert "<script>" not in page.text
    page = client.get(url)
    assert page.status_code == 200
    assert "<script>" not in page.text
    db.session.rollback()
    kept = [*db.session.scalars(select(Talk.text)), *db.session.scalars(select(PrivateNote.text))]
    for text in kept:
        assert len(text) <= 2000
        assert not any(char in text for char in "\x00\x07\x1b\r\u202e\u2066")


def test_joining(app: Flask, anns, hostile, now) -> None:
    bob = player("bob", now=now)
    chairs = [Chair(), Chair(), Chair(address=ADDRESSES["cleo"])]
    match = lobby.open_table(bob, "biscuit", chairs, {}, now=now)
    code, invited = match.code, path(Links().invitation(match.seats[3]))
    shared, stranger = path(Links().join(match)), app.test_client()
    post_each(stranger, shared, {}, ["address"], hostile)
    post_each(anns, shared, {"form_token": form_token(anns, shared)}, ["phrase"], hostile)
    right = {"answer": "sit", "name": "Cleo", "language": "en", "zone": "UTC", "phrase": ""}
    post_each(stranger, invited, right, ["zone", "phrase", "name", "language"], hostile)
    own = path(Links().seat(db.session.get_one(Match, match.id).seats[0]))
    post_each(stranger, own, {}, ["phrase"], hostile)
    assert_stored_safely()
    page = stranger.get(f"/g/{code}")
    assert page.status_code == 200
    assert "<script>alert" not in page.text


def test_asking_the_table(app: Flask, hostile, now) -> None:
    ann = player("ann", now=now)
    match = lobby.open_table(ann, "biscuit", [Chair(bot="greedy")] * 2, {}, now=now)
    seat, client = path(Links().seat(match.seats[0])), app.test_client()
    for do in ("more_time", "deadline", "replace", "pause", hostile):
        for field in ("turn", "hours", "place", "address"):
            page = client.post(seat, data={"do": do, field: hostile})
            assert page.status_code in (303, 409), (do, field)
            assert "<script>" not in page.text
