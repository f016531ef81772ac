"""Every page as a browser shows it, in both languages, light and dark: nothing shuts anybody out.

A page that is not in the list below fails by its address.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import EmailMessage

import pytest
from axe_playwright_python.sync_playwright import Axe
from cast import ADDRESSES, finished, open_turn, running_match, seat_of
from conftest import KEYS
from flask import Flask, request
from flask_migrate import upgrade
from mail_server import free_port
from sqlalchemy import select
from werkzeug.serving import WSGIRequestHandler, make_server

from pbem import agreements, create_app, lobby, play, post
from pbem.config import Settings
from pbem.ext import db, tokens, writing
from pbem.links import Links
from pbem.lobby import Chair
from pbem.mail import inbox
from pbem.models import Letter, Match, Note, Player
from pbem.samples import Sample

playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
pytestmark = pytest.mark.browser

# What is no page: files, and what programs ask for.
NO_PAGES = {
    "static",
    "account.download",
    "match.download",
    "match.text",
    "you.feed",
    "letters.html",
    "letters.picture",
    "watch.healthz",
    "watch.figures",
}
SAMPLE = "your_turn-biscuit"


class OneSample:
    """A shelf with one sample; the true ones take long to make."""

    def samples(self, _language: str) -> dict[str, Sample]:
        message = EmailMessage()
        message["Subject"], message["From"], message["To"] = "It & you", "play@x.example", "a@x"
        message.set_content("text\n")
        message.add_alternative("<html><p>html</p></html>", subtype="html")
        return {SAMPLE: Sample(SAMPLE, message, ())}


class Quiet(WSGIRequestHandler):
    """Answers, and logs no line for each picture."""

    def log_request(self, *_given: object) -> None:
        pass


@dataclass(frozen=True)
class Site:
    """A running server: its address, its pages for anybody, and those of ann, who is a host."""

    home: str
    anybody: tuple[str, ...]
    signed_in: tuple[str, ...]
    cookie: str
    seen: set[str]
    app: Flask


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    port = free_port()
    home = f"http://127.0.0.1:{port}"
    app = create_app(
        Settings(
            instance=tmp_path_factory.mktemp("site"),
            base_url=home,
            mail_domain="play.example",
            host_addresses=(ADDRESSES["ann"],),
            secret_keys=KEYS,
        )
    )
    app.extensions["pbem.samples"] = OneSample()
    seen: set[str] = set()
    app.before_request(lambda: seen.add(request.endpoint or ""))
    server = make_server("127.0.0.1", port, app, threaded=True, request_handler=Quiet)
    with app.app_context():
        upgrade()
        anybody, own = pages(datetime.now(UTC))
        cookie = session_of(app, lobby.find_player(ADDRESSES["ann"]).id)
        db.session.remove()
    running = threading.Thread(target=server.serve_forever)
    running.start()
    yield Site(home, anybody, own, cookie, seen, app)
    server.shutdown()
    running.join()
    server.server_close()
    app.extensions["pbem.parser"].close()
    with app.app_context():
        db.engine.dispose()


def session_of(app: Flask, player_id: int) -> str:
    signer = app.session_interface.get_signing_serializer(app)
    assert signer is not None
    return signer.dumps({"player": player_id, "form": "a-token"})


def pages(now: datetime) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Let much happen, and return the addresses of the pages about it."""
    links = Links()
    match = running_match(["ann", "bob", "cleo"], now=now)
    first = open_turn(match)
    gone = links.move(first, 1)
    for _ in range(6):
        turn = open_turn(match)
        play.make_move(turn.id, play.choose_for(turn.id, "greedy"), by="link", now=now)
    match = db.session.get_one(Match, match.id)
    turn = open_turn(match)
    agreements.as_host(match.id, "pause", {}, now=now)
    agreements.as_host(match.id, "resume", {}, now=now)
    proposed = agreements.propose(seat_of(match, "ann").id, "pause", {}, now=now)
    held = held_move(match, now=now)
    others = [running_match(["dan", "bot", "bot"], now=now, game="bisque")]
    dan = lobby.find_player(ADDRESSES["dan"])
    bots = [Chair(bot="greedy")] * 2
    others.append(lobby.open_table(dan, "snakebit", bots, {}, now=now))
    over = lobby.open_table(dan, "biscuit", bots[1:], {}, now=now)
    over = finished(over, now=now)
    chairs = [Chair(address="eve@x.example"), Chair()]
    waiting = lobby.open_table(dan, "biscuit", chairs, {}, is_listed=True, now=now)
    ann = lobby.find_player(ADDRESSES["ann"])
    with writing():
        ann.has_page = True
    letter = db.session.scalars(select(Letter).where(Letter.player_id == ann.id)).first()
    anybody = (
        *("/", "/about", "/no/such/page", "/m/broken"),
        *("/rules/biscuit", "/rules/bisque", "/rules/snakebit"),
        *("/try/biscuit/abc", "/try/bisque/abc/1.1", "/try/snakebit/abc/1"),
        *(f"/g/{one.code}" for one in (match, *others, over, waiting)),
        *(f"/g/{over.code}/{ply}" for ply in (0, 3)),
        *(f"/g/{one.code}/deal" for one in (match, over, waiting)),
        gone,
        links.move(turn, 1),
        held,
        links.invitation(waiting.seats[1]),
        links.join(waiting),
        links.yes(proposed, seat_of(match, "bob")),
        links.rematch(over.seats[0]),
        *(links.seat(seat_of(one, "dan")) for one in (*others, over, waiting)),
        *(links.seat(seat_of(match, name)) for name in ("ann", "bob")),
        links.stop(letter),
        links.you(dan),
        links.sign_in(tokens().timed_link("sign-in", mailed(dan, "sign_in", now=now))),
        links.add_address(tokens().timed_link("address", mailed(dan, "add_address", now=now))),
        f"/players/{ann.id}",
    )
    note = db.session.scalars(select(Note.id).order_by(Note.id.desc())).first()
    own = (
        *("/", "/you", "/account", "/account/delete"),
        *("/new/biscuit", "/new/bisque", "/new/snakebit"),
        *("/host", "/host/mail", f"/host/mail/{note}", "/host/letters"),
        f"/host/letters/{SAMPLE}",
    )
    return anybody, own


def mailed(who: Player, kind: str, *, now: datetime) -> int:
    """Return a letter with a link that is good for half an hour."""
    with writing():
        row = Letter(
            kind=kind, tail="t", address=f"new-{who.address}", language="en", zone="UTC",
            player_id=who.id, state="sent", created_at=now, wanted_at=now, due_at=now,
            sent_at=now, about={"sign_ins": who.sign_ins, "player": who.id},
        )  # fmt: skip
        db.session.add(row)
    return row.id


def held_move(match: Match, *, now: datetime) -> str:
    """Let somebody else answer the open turn, and return the link that confirms it."""
    turn = open_turn(match)
    with writing():
        post.confirm(turn, turn.asked, play.choose_for(turn.id, "greedy"), "stranger", now=now)
    raw = b"From: eve@x.example\r\nSubject: hello\r\n\r\nWhat is this?\r\n"
    inbox.take(raw, inbox.Envelope("g+aaaa@play.example", "eve@x.example"), now=now)
    inbox.read_all(now=now)
    letter = db.session.scalars(select(Letter).where(Letter.kind == "confirm")).one()
    return Links().confirm(letter)


@pytest.mark.parametrize(
    ("language", "scheme", "width"), [("en", "light", 375), ("fr", "dark", 1280)]
)
def test_axe_finds_nothing_on_any_page(
    browser: playwright.Browser, site: Site, language: str, scheme: str, width: int
) -> None:
    site.seen.clear()
    with site.app.app_context(), writing():
        lobby.find_player(ADDRESSES["ann"]).language = language
    context = browser.new_context(
        locale=language, color_scheme=scheme, viewport={"width": width, "height": 800}
    )
    found = list(troubles(context, site, site.anybody, language))
    context.add_cookies([{"name": "session", "value": site.cookie, "url": site.home}])
    found += troubles(context, site, site.signed_in, language)
    context.close()
    assert found == []
    rules = {
        rule.endpoint
        for rule in site.app.url_map.iter_rules()
        if "GET" in (rule.methods or ()) and rule.endpoint not in NO_PAGES
    }
    assert rules - site.seen == set(), "add these pages to the list"


def troubles(
    context: playwright.BrowserContext, site: Site, addresses: tuple[str, ...], language: str
) -> Iterator[str]:
    """Give what axe, the console and the width of the page have against each of them."""
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda m: said.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    for address in addresses:
        page.goto(address if address.startswith("http") else site.home + address)
        assert page.locator("html").get_attribute("lang") == language
        for one in Axe().run(page).response["violations"]:
            where = "; ".join(node["html"][:150] for node in one["nodes"][:3])
            yield f"{page.url}: {one['id']}: {where}"
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            yield f"{page.url}: it scrolls sideways"
    # A page that is not there is told by the browser too, and is meant to be.
    yield from (text for text in said if "404" not in text)
    page.close()
