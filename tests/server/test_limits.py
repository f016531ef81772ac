"""Nobody does anything without end, however many processes serve them."""

from __future__ import annotations

import io
import os
import smtplib
import sys
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cast import ADDRESSES, form_token, letters_to, player, running_match, signed_in
from conftest import KEYS
from flask import Flask
from sqlalchemy import func, select

from pbem import create_app, limits, lobby
from pbem.commands import inbox as pipe
from pbem.config import Settings
from pbem.errors import TooOften
from pbem.ext import db
from pbem.limits import Limit
from pbem.links import Links
from pbem.lobby import Chair
from pbem.mail import inbox
from pbem.models import Attempt, Letter, Match, Note
from pbem.tokens import Named

THREE = Limit("threes", 3, timedelta(hours=1))
TRIES = int(os.environ.get("ATTEMPTS", "100"))  # `make torture` makes 10,000
HOME, ELSEWHERE = "192.0.2.7", "198.51.100.7"


@pytest.fixture
def database_url(request: pytest.FixtureRequest) -> str:
    """SQLite where a test does not ask for both: the one statement is held on each."""
    wanted = getattr(request, "param", "sqlite")
    url: str = request.getfixturevalue("sqlite" if wanted == "sqlite" else "postgres")
    return url


BOTH = pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)


def allow(app: Flask, **limited: int) -> None:
    app.extensions["pbem.settings"] = replace(app.extensions["pbem.settings"], **limited)


def asks(app: Flask, address: str, *, source: str) -> Any:
    """Ask for a mail that signs in, from some machine."""
    client = app.test_client()
    token = {"form_token": form_token(client), "address": address}
    return client.post("/sign-in", data=token, environ_base={"REMOTE_ADDR": source})


def count(what: type) -> int:
    db.session.rollback()
    return db.session.scalar(select(func.count()).select_from(what)) or 0


@BOTH
def test_a_limit_holds_for_its_time_and_for_each_alone(app, now) -> None:
    now = now.replace(minute=20)
    for _ in range(3):
        limits.try_one_more(THREE, "ann", now=now)
    with pytest.raises(TooOften) as refused:
        limits.try_one_more(THREE, "ann", now=now)
    assert "40 minutes" in str(refused.value)
    assert refused.value.seconds == 40 * 60
    daily = Limit("days", 1, timedelta(days=1))
    limits.try_one_more(daily, "ann", now=now)
    with pytest.raises(TooOften, match="in 12 hours"):
        limits.try_one_more(daily, "ann", now=now)
    limits.try_one_more(THREE, "bob", now=now)
    limits.try_one_more(replace(THREE, what="fours"), "ann", now=now)
    limits.try_one_more(THREE, "ann", now=now + timedelta(minutes=41))


@BOTH
def test_two_processes_count_together(app, database_url, tmp_path, now) -> None:
    """Each application has connections of its own, as a process has."""
    site = Settings(instance=tmp_path, database_url=database_url, secret_keys=KEYS)
    taken: list[str] = []

    def try_often(one: Flask) -> None:
        with one.app_context():
            for _ in range(20):
                try:
                    limits.try_one_more(replace(THREE, most=25), "ann", now=now)
                except TooOften:
                    continue
                taken.append("ann")
            db.session.remove()
            db.engine.dispose()

    both = [threading.Thread(target=try_often, args=[create_app(site)]) for _ in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert len(taken) == 25
    assert db.session.scalars(select(Attempt.times)).all() == [25]


@BOTH
def test_what_is_counted_names_nobody_and_is_forgotten(app, now) -> None:
    limits.try_one_more(THREE, ADDRESSES["ann"], now=now)
    (kept,) = db.session.scalars(select(Attempt))
    assert "ann" not in kept.who
    assert len(kept.who) == 32
    limits.forget_old(now=now + timedelta(days=1))
    assert count(Attempt) == 1
    limits.forget_old(now=now + timedelta(days=3))
    assert count(Attempt) == 0


def test_a_network_is_mailed_so_many_links_and_told_when_to_come_again(app, now) -> None:
    player("ann", now=now)
    allow(app, sign_ins_an_hour=3)
    for name in ("ann", "bob", "cleo"):
        assert asks(app, ADDRESSES[name], source=HOME).status_code == 200
    # The same words for whoever is known and whoever is not.
    told = [asks(app, ADDRESSES[name], source="192.0.2.200") for name in ("ann", "dan")]
    assert {page.status_code for page in told} == {429}
    texts = {
        page.text.replace("ann@", "@").replace("dan@", "@").split("form_token")[0] for page in told
    }
    assert len(texts) == 1
    assert 0 < int(told[0].headers["Retry-After"]) <= 3600
    assert f'value="{ADDRESSES["dan"]}"' in told[1].text  # what was typed is not lost
    assert letters_to("dan") == []
    assert asks(app, ADDRESSES["dan"], source=ELSEWHERE).status_code == 200
    assert len(letters_to("dan")) == 1


def test_a_house_with_many_addresses_is_one_source(app) -> None:
    allow(app, sign_ins_an_hour=1)
    for first, second, other in (
        ("2001:db8::1", "2001:db8::ffff:ffff:2", "2001:db8:0:1::1"),
        ("::ffff:192.0.2.1", "192.0.2.9", "192.0.3.1"),
    ):
        assert asks(app, "a@x.example", source=first).status_code == 200
        assert asks(app, "b@x.example", source=second).status_code == 429
        assert asks(app, "c@x.example", source=other).status_code == 200


def test_ten_thousand_tries_to_sign_in_mail_sixty_links_and_open_nothing(app) -> None:
    client = app.test_client()
    token = form_token(client)
    met: dict[int, int] = {}
    for nth in range(TRIES):
        for page in (
            client.post("/sign-in", data={"form_token": token, "address": f"p{nth}@x.example"}),
            client.post(f"/sign-in/{nth:x}.aaaa.{'A' * 43}"),
        ):
            met[page.status_code] = met.get(page.status_code, 0) + 1
    assert set(met) == {200, 404, 429}
    assert met[200] + met[404] == 60
    assert count(Letter) == met[200]
    assert count(Attempt) == 1


def test_a_player_opens_so_many_tables_in_a_day(app, now) -> None:
    ann = player("ann", now=now)
    allow(app, tables_a_day=2)
    client = signed_in(app, "ann")
    form = {"form_token": "a-token", "place_2": "bot-greedy", "phrase": "my words"}
    form |= {"pace_hours": "72", "bank_hours": "72"}
    opened = [client.post("/new/biscuit", data=form) for _ in range(3)]
    assert [page.status_code for page in opened] == [303, 303, 429]
    assert "my words" in opened[2].text
    assert int(opened[2].headers["Retry-After"]) <= 24 * 3600
    assert count(Match) == 2
    # A table that is refused for another reason is not counted.
    with pytest.raises(TooOften):
        lobby.open_table(ann, "biscuit", [Chair(bot="greedy")], {}, now=datetime.now(UTC))


def test_a_refused_table_counts_for_nothing(app, now) -> None:
    ann = player("ann", now=now)
    allow(app, tables_a_day=1, invitations_a_day=0)
    with pytest.raises(lobby.TooMany):
        lobby.open_table(ann, "biscuit", [Chair(address="a@x.example")], {}, now=now)
    lobby.open_table(ann, "biscuit", [Chair(bot="greedy")], {}, now=now)
    assert count(Match) == 1


def test_strangers_at_a_shared_link_are_counted_too(app, now) -> None:
    match = lobby.open_table(player("ann", now=now), "biscuit", [Chair()] * 3, {}, now=now)
    allow(app, sign_ins_an_hour=2)
    url = Links().join(match).removeprefix("https://play.example")
    client = app.test_client()
    pages = [client.post(url, data={"address": f"p{nth}@x.example"}) for nth in range(3)]
    assert [page.status_code for page in pages] == [200, 200, 429]
    assert "p2@x.example" in pages[2].text
    assert count(Letter) == 2


def test_a_flood_of_mail_to_one_address_is_put_off_and_others_are_taken(app, listener, now) -> None:
    allow(app, mails_in_an_hour=3)
    turn, other = (Links().reply(Named.TURN, number) for number in (1, 2))
    answers = []
    for nth in range(5):
        # However it is spelt, it is one address; and each has another sender.
        to = turn.upper() if nth % 2 else turn
        answers.append(send(listener.port, f"p{nth}@x.example", to, nth))
    assert answers[:3] == [250] * 3
    assert answers[3:] == [451] * 2
    assert send(listener.port, "p9@x.example", other, 9) == 250
    assert count(Note) == 4


def test_a_flood_from_one_sender_is_put_off_by_every_way_in(
    app, listener, monkeypatch, now
) -> None:
    secret = "0123456789abcdefghij"
    allow(app, mails_in_an_hour=2, postmark_secret=secret)
    for nth in range(2):
        assert send(listener.port, "eve@x.example", Links().reply(Named.TURN, nth), nth) == 250
    assert send(listener.port, "EVE@x.example", Links().reply(Named.TURN, 7), 7) == 451
    # Bounces have no sender, and are of different letters.
    for nth in range(4):
        assert send(listener.port, "", Links().bounce(nth), nth) == 250
    to = Links().reply(Named.TURN, 8)
    taken = [
        app.test_client().post(
            f"/hooks/postmark/{secret}",
            json={"OriginalRecipient": to, "RawEmail": f"Subject: {nth}\r\n\r\n1\r\n"},
        )
        for nth in range(3)
    ]
    assert [answer.status_code for answer in taken] == [200, 200, 429]
    assert "Retry-After" in taken[2].headers
    monkeypatch.setattr(pipe, "ready_application", lambda: app)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"Subject: x\r\n\r\n2\r\n")))
    from argparse import ArgumentParser

    assert pipe.run(ArgumentParser(), [to, "--sender", "bob@x.example"]) == os.EX_TEMPFAIL
    # A mailbox keeps its mail itself, and nothing of it is put off.
    assert inbox.take(b"Subject: y\r\n\r\n2\r\n", inbox.Envelope(to), now=now)


def send(port: int, sender: str, to: str, nth: int) -> int:
    """Send a mail to the listener; returns the code of its answer."""
    db.session.rollback()
    with smtplib.SMTP("127.0.0.1", port) as line:
        line.ehlo()
        line.mail(sender)
        line.rcpt(to)
        code, _words = line.data(f"Subject: {nth}\r\n\r\n1\r\n".encode())
    return code


def test_a_game_in_play_meets_no_limit(app, now) -> None:
    """What a table of people does in a day is far below all of them."""
    running_match(["ann", "bob", "cleo"], now=now)
    db.session.rollback()
    assert [(one.what, one.times) for one in db.session.scalars(select(Attempt))] == [("tables", 1)]
