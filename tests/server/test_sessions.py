"""A session ends: by idling, after half a year, and everywhere at once by one button."""

from __future__ import annotations

import time
from collections.abc import Mapping

import pytest
from cast import (
    TOKEN,
    KnownDevice,
    letters_to,
    path,
    player,
    running_match,
    seat_of,
    sign_in_path,
)
from conftest import KEYS
from flask import Flask
from itsdangerous import TimestampSigner

from pbem import account
from pbem.ext import db
from pbem.links import Links
from pbem.models import Player

DAY = 24 * 3600


@pytest.fixture
def database_url(sqlite: str) -> str:
    """One kind is enough: what a cookie says does not depend on the database."""
    return sqlite


@pytest.fixture
def ann(app: Flask, now) -> Player:
    return player("ann", now=now)


def by_link(app: Flask, now) -> KnownDevice:
    """Return a browser in which ann has pressed the button of her link."""
    account.ask_to_sign_in("ann@players.example", language="en", now=now)
    client = app.test_client()
    assert client.post(sign_in_path("ann")).status_code == 303
    return client


def with_cookie(app: Flask, values: Mapping[str, object], *, age: int = 0) -> KnownDevice:
    """Return a browser with a session that was signed so many seconds ago."""

    class Old(TimestampSigner):
        def get_timestamp(self) -> int:
            return int(time.time()) - age

    serializer = app.session_interface.get_signing_serializer(app)
    serializer.signer = Old
    client = app.test_client()
    client.set_cookie("session", serializer.dumps(dict(values)))
    return client


def is_in(client: KnownDevice) -> bool:
    db.session.rollback()
    return client.get("/account").status_code == 200


def test_one_button_signs_out_every_browser_at_its_next_request(app, ann, now) -> None:
    phone, laptop = by_link(app, now), by_link(app, now)
    account.ask_to_sign_in("ann@players.example", language="en", now=now)
    waiting = sign_in_path("ann")
    assert (is_in(phone), is_in(laptop)) == (True, True)
    with laptop.session_transaction() as session:
        session["form"] = TOKEN
    stolen = laptop.get_cookie("session").value
    answer = laptop.post("/account", data={"form_token": TOKEN, "do": "sign_out"})
    assert (answer.status_code, answer.location) == (303, "/")
    assert (is_in(phone), is_in(laptop)) == (False, False)
    # A copy of the old cookie is worth nothing, nor is a link that was on its way.
    thief = app.test_client()
    thief.set_cookie("session", stolen)
    assert not is_in(thief)
    assert "used already" in thief.post(waiting).text
    assert is_in(by_link(app, now))
    assert len(letters_to("ann", "sign_in")) == 4


def test_nobody_else_signs_a_player_out(app, ann, now) -> None:
    client = by_link(app, now)
    assert client.post("/account", data={"do": "sign_out"}).status_code == 400
    assert app.test_client().post("/account", data={"do": "sign_out"}).status_code == 400
    assert is_in(client)


def test_a_session_ends_after_half_a_year_however_it_is_used(app, ann, now) -> None:
    begun = int(time.time())
    for age, is_good in ((179 * DAY, True), (181 * DAY, False)):
        values = {"player": ann.id, "sign_outs": 0, "since": begun - age}
        assert is_in(with_cookie(app, values)) == is_good, age


def test_a_session_that_idles_for_a_month_ends(app, ann, now) -> None:
    values = {"player": ann.id, "sign_outs": 0, "since": int(time.time())}
    assert is_in(with_cookie(app, values, age=29 * DAY))
    assert not is_in(with_cookie(app, values, age=31 * DAY))


def test_a_session_that_has_ended_shows_no_hand_that_it_followed(app, now) -> None:
    match = running_match(["ann", "bob"], now=now)
    client, url = by_link(app, now), path(Links().seat(seat_of(match, "ann")))
    assert client.post(url, data={"do": "follow"}).status_code == 303
    assert url in client.get(f"/g/{match.code}").text
    account.sign_out_everywhere(seat_of(match, "ann").player_id)
    page, onlooker = (one.get(f"/g/{match.code}").text for one in (client, app.test_client()))
    assert page == onlooker
    assert url not in page


def test_signing_in_begins_anew(app, ann, now) -> None:
    client = app.test_client()
    with client.session_transaction() as session:
        session["form"], session["seats"] = "known to a thief", [[1, 2, 0]]
    account.ask_to_sign_in("ann@players.example", language="en", now=now)
    client.post(sign_in_path("ann"))
    with client.session_transaction() as session:
        assert session.keys() == {"player", "sign_outs", "since", "_permanent"}


def test_a_forged_or_foreign_cookie_is_no_session(app, ann, now) -> None:
    own = {"player": ann.id, "sign_outs": 0, "since": int(time.time())}
    assert is_in(with_cookie(app, own))
    elsewhere = Flask("elsewhere")
    elsewhere.secret_key = KEYS[-1][::-1]
    foreign = elsewhere.session_interface.get_signing_serializer(elsewhere).dumps(own)
    good = with_cookie(app, own).get_cookie("session").value
    payload, stamp, proof = good.rsplit(".", 2)
    forged = (
        foreign,
        payload,
        f"{payload}.{stamp}.",
        f"{payload}.{stamp}.{proof[::-1]}",
        "",
        "A.B.C",
    )
    for cookie in forged:
        client = app.test_client()
        client.set_cookie("session", cookie)
        assert client.get("/account").status_code == 303, cookie
        assert client.get("/host").status_code == 404, cookie
    # A link's token is no cookie, and a cookie no link.
    device = app.test_client()
    device.set_cookie("session", device.get_cookie("device").value)
    assert not is_in(device)
    assert device.get(f"/y/{good}").status_code == 404


def test_a_device_that_is_remembered_opens_nothing(app, ann) -> None:
    client = app.test_client()
    assert client.get_cookie("device") is not None
    assert not is_in(client)
    assert client.get("/you").location == "/"
