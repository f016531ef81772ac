"""The host's page of sample letters: who sees it, how a letter is shown, a true one sent."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.message import EmailMessage

import pytest
from cast import (
    ADDRESSES,
    TOKEN,
    letters_to,
    player,
    run_worker,
    signed_in,
    signed_in_host,
)
from sqlalchemy import func, select

from engine import GAMES
from pbem import account, lobby
from pbem.ext import db, writing
from pbem.models import Letter, LetterState, Match
from pbem.samples import Sample, story
from pbem.worker import play_bots

NAME = "your_turn-biscuit"


class FakeShelf:
    """One sample, whose words are its language."""

    def samples(self, language: str) -> dict[str, Sample]:
        message = EmailMessage()
        message["Subject"], message["From"], message["To"] = "It & you", "play@x.example", "a@x"
        message.set_content(f"text <b> in {language}\n")
        message.add_alternative(
            f'<html><p>html in {language}</p><img src="cid:table.1@x.example"></html>',
            subtype="html",
        )
        message.get_payload()[1].add_related(b"PNG", "image", "png", cid="<table.1@x.example>")
        return {NAME: Sample(NAME, message, ())}


@pytest.fixture
def database_url(sqlite: str) -> str:
    """One kind is enough: the page stores nothing by itself."""
    return sqlite


@pytest.fixture
def host(app, now):
    """A browser in which ann, the host, is signed in."""
    app.extensions["pbem.samples"] = FakeShelf()
    player("ann", now=now)
    return signed_in_host(app, "ann")


def send(client, game: str, token: str = TOKEN):
    return client.post("/host/letters", data={"form_token": token, "game": game})


def test_nobody_but_the_host_finds_any_of_it(app, host, now) -> None:
    player("bob", now=now)
    for client in (app.test_client(), signed_in(app, "bob")):
        for path in ("", f"/{NAME}", f"/{NAME}/html", f"/{NAME}/picture/table.1@x.example"):
            assert client.get(f"/host/letters{path}").status_code == 404
        assert send(client, "biscuit").status_code == 404
    assert db.session.scalar(select(func.count()).select_from(Match)) == 0


def test_the_hosts_page_leads_there_and_nobody_keeps_it(host) -> None:
    assert 'href="/host/letters"' in host.get("/host").text
    page = host.get("/host/letters")
    assert page.headers["Cache-Control"] == "no-store"
    assert "noindex" in page.headers["X-Robots-Tag"]


def test_every_kind_and_game_is_listed(host) -> None:
    found = re.findall(r'href="/host/letters/([^"?]+)\?lang=en"', host.get("/host/letters").text)
    assert found == [
        *story.OF_SITE,
        *(f"{kind}-{game}" for kind in story.OF_TABLE for game in GAMES),
    ]


def test_a_sample_is_shown_with_its_pictures_and_its_text(host) -> None:
    page = host.get(f"/host/letters/{NAME}").text
    assert "<h1>It &amp; you</h1>" in page
    assert "text &lt;b&gt; in en" in page
    assert f'src="/host/letters/{NAME}/html?lang=en" sandbox="allow-same-origin"' in page
    frame = host.get(f"/host/letters/{NAME}/html?lang=fr")
    assert "html in fr" in frame.text
    (source,) = re.findall(r'src="([^"]+)"', frame.text)
    picture = host.get(source.replace("&amp;", "&"))
    assert (picture.data, picture.mimetype) == (b"PNG", "image/png")


def test_no_script_and_no_foreign_address_works_in_the_frame(host) -> None:
    policy = host.get(f"/host/letters/{NAME}/html").headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; img-src 'self';")
    assert "script" not in policy


def test_what_is_not_there_is_not_found(host) -> None:
    for path in ("no-such", "no-such/html", f"{NAME}/picture/other"):
        assert host.get(f"/host/letters/{path}").status_code == 404
    assert send(host, "no-such").status_code == 404


@pytest.mark.parametrize("token", ["", "another"])
def test_a_form_without_its_token_opens_nothing(host, token) -> None:
    assert send(host, "biscuit", token).status_code == 400
    assert db.session.scalar(select(func.count()).select_from(Match)) == 0


@pytest.mark.parametrize("game", list(GAMES))
def test_the_button_mails_the_host_a_true_turn(app, host, mailbox, game) -> None:
    answer = send(host, game)
    assert answer.status_code == 303
    match = db.session.scalars(select(Match)).one()
    assert [seat.bot for seat in match.seats[1:]] == ["greedy"] * (len(match.seats) - 1)
    assert f"The table {match.code} is open." in host.get(answer.location).text
    while not letters_to("ann", "your_turn"):
        play_bots(datetime.now(UTC))
    run_worker(datetime.now(UTC))
    assert "your turn" in mailbox.fresh()[0]["Subject"]
    db.session.rollback()
    assert "was taken by the mail server" in host.get("/host/letters").text


def test_the_page_says_how_the_hosts_own_letters_went_and_nobody_elses(host, now) -> None:
    assert "There is none yet." in host.get("/host/letters").text
    account.ask_to_sign_in(ADDRESSES["bob"], language="en", now=now)
    account.ask_to_sign_in(ADDRESSES["ann"], language="en", now=now)
    with writing():
        for letter in db.session.scalars(select(Letter)):
            letter.state, letter.error = LetterState.FAILED, f"550 <{letter.address}>"
    page = host.get("/host/letters").text
    assert "was given up (550 &lt;ann@players.example&gt;)" in page
    assert "bob@" not in page


def test_of_another_hosts_table_nothing_is_said(host, now) -> None:
    bob = player("bob", now=now)
    other = lobby.open_table(bob, "biscuit", [lobby.Chair(bot="greedy")], {}, now=now)
    assert other.code not in host.get(f"/host/letters?opened={other.code}").text
