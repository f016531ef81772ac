"""HTML and scripts in every field, as a real browser shows them: no script runs, nothing is asked.

The pages' own policy would stop scripts too; it is switched off here, so that it is not what
holds this.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
from cast import ADDRESSES, html_of, open_turn, parsed, running_match
from conftest import KEYS
from flask import Flask
from flask.testing import FlaskClient
from flask_migrate import upgrade
from mail_server import free_port
from sqlalchemy import select
from werkzeug.serving import WSGIRequestHandler, make_server

from pbem import agreements, create_app, lobby
from pbem.config import Settings
from pbem.ext import db
from pbem.links import Links
from pbem.lobby import Chair
from pbem.mail import inbox, letters
from pbem.models import Letter, Note, Player
from pbem.tokens import Named

playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
pytestmark = pytest.mark.browser

NAME = "<img src=x onerror=alert(1)>"  # a name has 40 characters
WORDS = (
    '"><script>alert(1)</script><img src=/x onerror=alert(1)>'
    "<svg onload=alert(1)></svg><iframe src=https://elsewhere.example></iframe>"
)
LONG = f"{WORDS} <a href='javascript:alert(1)'>x</a> <base href=//elsewhere.example> {{{{ 7*7 }}}}"


class Quiet(WSGIRequestHandler):
    """Answers, and logs no line for each picture."""

    def log_request(self, *_given: object) -> None:
        pass


@dataclass(frozen=True)
class Site:
    """A running server on which everything that can hold words holds hostile ones."""

    home: str
    pages: tuple[str, ...]
    mails: tuple[str, ...]
    cookie: str


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    port = free_port()
    home = f"http://127.0.0.1:{port}"
    app = create_app(
        Settings(
            instance=tmp_path_factory.mktemp("hostile"),
            base_url=home,
            mail_domain="play.example",
            host_addresses=(ADDRESSES["ann"],),
            secret_keys=KEYS,
        )
    )
    server = make_server("127.0.0.1", port, app, threaded=True, request_handler=Quiet)
    with app.app_context():
        upgrade()
        pages, mails = filled(app, datetime.now(UTC))
        ann = lobby.find_player(ADDRESSES["ann"])
        signer = app.session_interface.get_signing_serializer(app)
        cookie = signer.dumps({"player": ann.id, "form": "a-token"})
        db.session.remove()
    running = threading.Thread(target=server.serve_forever)
    running.start()
    yield Site(home, pages, mails, cookie)
    server.shutdown()
    running.join()
    server.server_close()
    app.extensions["pbem.parser"].close()
    with app.app_context():
        db.engine.dispose()


def post(client: FlaskClient, url: str, **form: str) -> None:
    """Send a form as a person does on a device that is known."""
    client.post("/" + url.split("/", 3)[3], data={"me": "1", **form})
    db.session.rollback()


def filled(app: Flask, now: datetime) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Type hostile words into every field; returns the pages and the mails that show them."""
    client, links = app.test_client(), Links()
    match = running_match(["ann", "bob"], now=now)
    for name in ("ann", "bob"):
        player = lobby.find_player(ADDRESSES[name])
        settings = {"do": "settings", "name": NAME, "language": "en", "zone": "UTC"}
        post(client, links.you(player), **settings, entries="none", has_page="1")
        assert lobby.find_player(ADDRESSES[name]).name == NAME
    ann, bob = (lobby.find_player(ADDRESSES[name]) for name in ("ann", "bob"))
    chairs = [Chair(address=ADDRESSES["cleo"]), Chair()]
    waiting = lobby.open_table(
        ann, "biscuit", chairs, {}, is_listed=True, phrase=WORDS[:99], now=now
    )
    two = lobby.open_table(ann, "biscuit", [Chair(address=ADDRESSES["bob"])], {}, now=now)
    post(
        client,
        links.invitation(two.seats[1]),
        answer="sit",
        name=NAME,
        phrase=WORDS[:99],
        language="en",
        zone="UTC",
    )
    two = db.session.merge(two)
    for seat in list(two.seats):
        post(client, links.seat(seat), do="say", text=LONG)
        post(client, links.seat(seat), do="note", text=LONG)
    agreements.propose(two.seats[0].id, "end", {}, now=now)
    proposed = agreements.open_proposals(two)[0]
    head = f"From: {NAME} <{ADDRESSES['bob']}>\r\nSubject: {WORDS}\r\n"
    mail = f"{head}Content-Type: text/html\r\n\r\n{LONG}\r\n"
    for turn in (open_turn(match), open_turn(two)):
        asked = turn.asked.player.address
        reply = mail.replace(ADDRESSES["bob"], asked)
        inbox.take(reply.encode(), inbox.Envelope(links.reply(Named.TURN, turn.id), asked), now=now)
    inbox.take(mail.encode(), inbox.Envelope(f"g+{'a' * 24}@play.example", NAME), now=now)
    inbox.read_all(now=now)
    turn, seats = open_turn(two), list(two.seats)
    notes = list(db.session.scalars(select(Note.id)))
    pages = (
        *("/", "/account", "/you", "/host", "/host/mail", "/new/biscuit", "/account?done=" + WORDS),
        *(f"/host/mail/{note}" for note in notes),
        *(f"/g/{one.code}" for one in (match, waiting, two)),
        *(f"/g/{two.code}/deal", f"/g/{two.code}/game.txt", f"/g/{WORDS}"),
        *(f"/players/{one.id}" for one in (ann, bob)),
        *(links.seat(seat) for seat in (*seats, seat_of_ann(match))),
        *(links.move(turn, 1), links.yes(proposed, seats[1]), links.you(ann), links.join(waiting)),
        *(
            links.invitation(waiting.seats[1]),
            f"/rules/{WORDS}",
            f"/try/biscuit/{WORDS}",
            f"/s/{WORDS}",
        ),
    )
    mails = [
        html_of(parsed(bytes(letters.build(letters.read(letter.id)))))
        for letter in db.session.scalars(select(Letter).where(Letter.address != "")).all()
    ]
    assert any("alert(1)" in one for one in mails)
    assert db.session.scalars(select(Player.stored_name)).all().count(NAME) == 2
    return pages, tuple(mails)


def seat_of_ann(match):
    return next(one for one in match.seats if one.player.address == ADDRESSES["ann"])


@pytest.fixture
def watched(browser: playwright.Browser, site: Site) -> Iterator[tuple[playwright.Page, list[str]]]:
    """A page without the policy, and what it did that no page of ours does."""
    context = browser.new_context(bypass_csp=True)
    context.add_cookies([{"name": "session", "value": site.cookie, "url": site.home}])
    page, met = context.new_page(), []

    def dialog(one: playwright.Dialog) -> None:
        met.append(f"dialog on {page.url}")
        one.dismiss()

    def asked(request: playwright.Request) -> None:
        is_ours = request.url.startswith((site.home, "data:", "about:", "cid:"))
        if not is_ours or re.search(r"/x$", request.url):
            met.append(f"{page.url} asked for {request.url}")

    page.on("dialog", dialog)
    page.on("request", asked)
    yield page, met
    context.close()


def test_no_words_of_anybody_run_as_a_script_on_any_page(site: Site, watched) -> None:
    page, met = watched
    shown = 0
    for address in site.pages:
        page.goto(address if address.startswith("http") else site.home + address)
        shown += "alert(1)" in page.locator("body").inner_text()
        assert page.locator("main script, main iframe, [onerror], [onload], base").count() == 0
        assert page.locator("a[href^='javascript:']").count() == 0
        assert "49" not in re.findall(r"\{\{.*?\}\}|\b49\b", page.locator("body").inner_text())
    assert met == []
    assert shown > 12, "the words are there to be read"


def test_nor_in_what_a_form_shows_again(site: Site, watched) -> None:
    page, met = watched
    page.context.clear_cookies()
    for address, field in (("/", "address"), ("/", "form_token")):
        page.goto(site.home + address)
        with page.expect_navigation():
            page.evaluate(
                """([field, words]) => {
                const input = document.querySelector(`[name=${field}]`);
                input.type = "text"; input.value = words;
                input.form.noValidate = true; input.form.submit();
            }""",
                [field, LONG],
            )
        assert page.url.endswith("/sign-in")
        assert page.locator("main script, [onerror], [onload]").count() == 0
    assert met == []


def test_nor_in_any_mail(site: Site, watched) -> None:
    page, met = watched
    for mail in site.mails:
        page.set_content(mail)
        assert page.locator("script, iframe, [onerror], [onload], base, form").count() == 0
    assert met == []
