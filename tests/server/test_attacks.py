"""What somebody may try who wants what is not theirs; docs/security.md lists it all.

Pages are found by the application's own list of them, so that a new one fails here by name
until it is known what protects it.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from dataclasses import fields, replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from cast import (
    ADDRESSES,
    TOKEN,
    by_link,
    first_turn,
    open_turn,
    path,
    player,
    run_worker,
    running_match,
    seat_of,
    signed_in,
    signed_in_host,
    words,
)
from conftest import KEYS
from flask import Flask
from sqlalchemy import func, select, text

from engine.decktet import CARDS
from pbem import account, agreements, lobby, post
from pbem.config import Settings
from pbem.ext import db, tokens, writing
from pbem.links import Links
from pbem.lobby import Chair
from pbem.mail import inbox, letters
from pbem.models import Letter, Match, Player, Seat

ROOT = Path(__file__).parents[2]
# What a token of each kind of page is for; "timed" ones know when they were made.
PURPOSES = {
    "account.add": "address (timed)",
    "account.added": "address (timed)",
    "home.really_sign_in": "sign-in (timed)",
    "home.sign_in": "sign-in (timed)",
    "rematch.ask": "rematch",
    "rematch.play_again": "rematch",
    "seat.act": "seat",
    "seat.confirm": "confirm",
    "seat.held_move": "confirm",
    "seat.make_move": "move",
    "seat.move": "move",
    "seat.seat": "seat",
    "sitting.answer_invitation": "invitation",
    "sitting.invitation": "invitation",
    "sitting.join": "join",
    "sitting.take_place": "join",
    "stop.change": "stop",
    "stop.stop": "stop",
    "you.agree": "yes",
    "you.change": "you",
    "you.feed": "feed",
    "you.proposal": "yes",
    "you.you": "you",
}
# Forms that need neither a form's token nor a person's tick, and why.
FREE = {
    "hooks.mailgun": "the provider signs it",
    "hooks.postmark": "the provider knows the secret in the address",
    "practice.begin": "it changes nothing",
    "practice.move": "it changes nothing",
}


@pytest.fixture
def database_url(sqlite: str) -> str:
    """One kind is enough: who may do what does not depend on the database."""
    return sqlite


@pytest.fixture
def match(app: Flask, now: datetime) -> Match:
    """A match of ann and bob in which something of each kind waits."""
    match = running_match(["ann", "bob"], now=now)
    turn = open_turn(match)
    with writing():
        post.confirm(turn, turn.asked, "1", "stranger", now=now)
    agreements.propose(seat_of(match, "ann").id, "end", {}, now=now)
    account.ask_to_sign_in(ADDRESSES["ann"], language="en", now=now)
    account.ask_to_add(seat_of(match, "ann").player_id, "work@else.example", now=now)
    return db.session.get_one(Match, match.id)


def rules(app: Flask, method: str) -> Iterator[tuple[str, str, set[str]]]:
    """Yield the endpoint, the address and the names in it of each page that takes a method."""
    for rule in app.url_map.iter_rules():
        if method in (rule.methods or ()) and rule.endpoint != "static":
            yield rule.endpoint, str(rule), set(rule.arguments)


def filled(rule: str, **values: object) -> str:
    """Return a rule's address with its places filled."""
    standard: dict[str, object] = {"game_name": "biscuit", "code": "a-b-c", "deal": "abc"}
    given = standard | {"moves": "1", "secret": "x", "name": "x", "content_id": "x"} | values
    return re.sub(r"<(?:[^:>]*:)?(\w+)>", lambda found: str(given.get(found[1], 1)), rule)


def rows() -> dict[str, int]:
    db.session.rollback()
    return {
        name: db.session.scalar(select(func.count()).select_from(table)) or 0
        for name, table in db.metadata.tables.items()
        if name != "attempt"
    }


def every_token(match: Match) -> dict[str, str]:
    """Return a good token of each purpose, all of them ann's."""
    links, seat = Links(), seat_of(match, "ann")
    asked = open_turn(match)
    letter = db.session.scalars(select(Letter).where(Letter.kind == "confirm")).one()
    proposed = agreements.open_proposals(match)[0]
    made = {
        "seat": links.seat(seat),
        "move": links.move(asked, 1),
        "rematch": links.rematch(seat),
        "yes": links.yes(proposed, seat),
        "confirm": links.confirm(letter),
        "invitation": links.invitation(seat),
        "join": links.join(match),
        "you": links.you(seat.player),
        "feed": links.feed(seat.player).removesuffix(".ics"),
        "stop": links.stop(letter),
    }
    found = {purpose: url.rsplit("/", 1)[1] for purpose, url in made.items()}
    for purpose, kind in (("sign-in", "sign_in"), ("address", "add_address")):
        letter = db.session.scalars(select(Letter).where(Letter.kind == kind)).one()
        found[f"{purpose} (timed)"] = tokens().timed_link(purpose, letter.id)
    return found


def test_a_token_opens_the_pages_of_its_purpose_and_no_other(app, match) -> None:
    tokens_of, client, before = every_token(match), app.test_client(), rows()
    met = set()
    for method in ("GET", "POST"):
        for endpoint, rule, names in rules(app, method):
            if "token" not in names:
                continue
            met.add(endpoint)
            assert endpoint in PURPOSES, f"say what the tokens of {endpoint} are for"
            for purpose, token in tokens_of.items():
                other = purpose != PURPOSES[endpoint]
                for tried in [token] if other else changed(token):
                    url = filled(rule, token=tried)
                    page = client.open(url, method=method, data={"me": "1"})
                    assert page.status_code == 404, (endpoint, purpose, tried)
    assert met == PURPOSES.keys()
    assert rows() == before


def changed(token: str) -> list[str]:
    """Return tokens that are nearly right."""
    ids, _, proof = token.partition(".")
    return [f"{ids}.{proof[::-1]}", f"{int(ids.split('-')[0], 16) + 1:x}.{proof}", ids, f".{proof}"]


def test_who_is_signed_in_as_another_opens_no_seat(app, match) -> None:
    tokens_of, bob, before = every_token(match), signed_in(app, "bob"), rows()
    name = open_turn(match).asked.name.lower()
    asked = {"move", "confirm"}
    places = {"seat": "s", "rematch": "r", "yes": "p", "invitation": "i", "move": "m"}
    for purpose, prefix in (places | {"confirm": "h"}).items():
        stranger = signed_in(app, "ann") if purpose in asked and name == "bob" else bob
        for method in ("GET", "POST"):
            page = stranger.open(f"/{prefix}/{tokens_of[purpose]}", method=method)
            assert page.status_code == 409, purpose
            assert "belongs to another player" in words(page), purpose
            assert not card_codes_in(page.text), purpose
    assert rows() == before


def card_codes_in(page: str) -> list[str]:
    return re.findall(r"(?<![0-9A-Z])(?:[A2-9C][MSWLYK]{1,2})(?![0-9A-Z])", page)


def test_an_onlooker_who_asks_for_a_seats_page_finds_none(app, match) -> None:
    dan = player("dan", now=match.opened_at)
    seat = seat_of(match, "ann")
    for client in (app.test_client(), signed_in(app, "dan")):
        for token in (
            f"{seat.id:x}-{seat.player_id:x}",
            f"{seat.id:x}-{dan.id:x}.{'A' * 43}",
            str(seat.id),
            match.code,
            "..",
        ):
            assert client.get(f"/s/{token}").status_code in (404, 308), token
        # A token that is right for a seat of nobody's.
        for ids in ((seat.id, dan.id), (seat.id, 0)):
            page = client.get(f"/s/{tokens().link('seat', *ids)}")
            assert page.status_code == 409
            assert not card_codes_in(page.text)
        page = client.get(f"/g/{match.code}")
        assert "/s/" not in page.text
        for held in load_hands(match):
            assert held not in re.sub(r"<svg.*?</svg>", "", page.text, flags=re.DOTALL).split()


def load_hands(match: Match) -> list[str]:
    from pbem.table import load

    table = load(match)
    return [card.code for seat in (1, 2) for card in table.view(seat).hand]


def test_a_hosts_pages_are_not_there_for_a_player_or_a_stranger(app, match) -> None:
    before, met = rows(), 0
    for client in (signed_in(app, "ann"), app.test_client()):
        for method in ("GET", "POST"):
            for endpoint, rule, _names in rules(app, method):
                if not rule.startswith("/host"):
                    continue
                met += 1
                page = client.open(
                    filled(rule, code=match.code), method=method, data={"form_token": TOKEN}
                )
                assert page.status_code == 404, endpoint
                assert "no such page" in words(page)
    assert met >= 20
    assert rows() == before


def test_every_form_wants_its_own_pages_token_or_a_persons_tick(app, match) -> None:
    """Another site can send a form from the browser of who is signed in here."""
    client, tokens_of, before, met = signed_in_host(app, "ann"), every_token(match), rows(), set()
    scanner = app.test_client()
    scanner.delete_cookie("device")
    for endpoint, rule, names in rules(app, "POST"):
        if endpoint in FREE:
            met.add(endpoint)
        elif "token" in names and endpoint != "sitting.take_place":
            # The token is what another site does not know, and a machine sets no tick.
            page = scanner.post(filled(rule, token=tokens_of[PURPOSES[endpoint]]))
            assert page.status_code in (404, 409), endpoint
            assert page.status_code == 404 or "Is it you?" in page.text, endpoint
        else:
            url = filled(rule, code=match.code, token=tokens_of["join"])
            for form in ({}, {"form_token": ""}, {"form_token": "wrong"}, {"form_token": "é"}):
                page = client.post(url, data=form)
                assert (page.status_code, "open for too long" in words(page)) == (400, True), (
                    endpoint
                )
    assert met == FREE.keys(), "these are not there any more"
    assert rows() == before


def test_a_form_of_another_session_is_refused(app, match) -> None:
    ann, bob = signed_in(app, "ann"), app.test_client()
    bob.get("/")
    with bob.session_transaction() as session:
        theirs = session["form"]
    assert theirs != TOKEN
    assert ann.post("/sign-out", data={"form_token": theirs}).status_code == 400
    assert ann.get("/account").status_code == 200


def test_cookies_go_to_no_other_site_and_to_no_script(app, match) -> None:
    app.config["SESSION_COOKIE_SECURE"] = True
    client = app.test_client()
    client.delete_cookie("device")
    client.get("/")
    set_by = [client.get("/").headers.getlist("Set-Cookie") for _ in range(1)]
    answer = client.post(path(Links().move(open_turn(match), 1)), data={"me": "1"})
    set_by.append(answer.headers.getlist("Set-Cookie"))
    fresh = app.test_client().get("/").headers.getlist("Set-Cookie")
    cookies = [cookie for found in [*set_by, fresh] for cookie in found]
    assert {cookie.split("=")[0] for cookie in cookies} == {"session", "device"}
    for cookie in cookies:
        assert {"Secure", "HttpOnly", "SameSite=Lax"} <= set(cookie.split("; ")), cookie


TRAVERSALS = (
    "../../../pyproject.toml",
    "..%2f..%2f..%2fpyproject.toml",
    "%2e%2e/%2e%2e/%2e%2e/pyproject.toml",
    "..%5c..%5cpyproject.toml",
    "%252e%252e%252fpyproject.toml",
    "/etc/passwd",
    "%00",
    "biscuit%00",
    "biscuit.en",
    "../games/biscuit",
)


class EmptyShelf:
    """A shelf without samples; the true ones take long to make."""

    def samples(self, _language: str) -> dict[str, object]:
        return {}


@pytest.mark.parametrize("below", TRAVERSALS)
def test_no_address_leads_out_of_its_folder(app, match, below) -> None:
    app.extensions["pbem.samples"] = EmptyShelf()
    host = signed_in_host(app, "ann")
    for place in (
        "/static/",
        "/rules/",
        "/new/",
        "/try/",
        "/g/",
        "/host/letters/",
        "/players/",
        f"/g/{match.code}/",
    ):
        page = host.get(place + below)
        assert page.status_code in (404, 405, 308, 302), place
        for kept in ("[project]", "root:", "Biscuit is by", "secret"):
            assert kept not in page.text, place
        assert "Traceback" not in page.text


INJECTED = "Ann\r\nBcc: eve@elsewhere.example\r\n\r\nhello"


def test_no_name_or_address_adds_a_header_to_a_mail(app, mailbox, now) -> None:
    with pytest.raises(lobby.BadAddress):
        lobby.clean_address("ann@players.example\r\nBcc: eve@elsewhere.example")
    ann = player("ann", now=now)
    app.test_client().post(
        path(Links().you(ann)),
        data={
            "do": "settings",
            "name": INJECTED,
            "language": "en",
            "zone": "UTC",
            "entries": "none",
        },
    )
    match = lobby.open_table(
        db.session.get_one(Player, ann.id),
        "biscuit",
        [Chair(address=ADDRESSES["bob"])],
        {},
        now=now,
    )
    lobby.sit(match.seats[1].id, name=INJECTED, phrase="", language="en", zone="UTC", now=now)
    # As a database would hold it that was written by other hands.
    with writing():
        for seat in db.session.scalars(select(Seat)):
            seat.stored_name = INJECTED
        for one in db.session.scalars(select(Player)):
            one.stored_name = INJECTED
    for letter in db.session.scalars(select(Letter)).all():
        try:
            raw = bytes(letters.build(letters.read(letter.id)))
        except ValueError:
            continue  # the library refuses it, and the host is told
        head = raw.partition(b"\r\n\r\n")[0].replace(b"\r\n ", b" ")
        assert not re.search(rb"^Bcc:", head, re.MULTILINE), letter.kind
        assert head.count(b"\nTo:") == 1
    run_worker(now)
    assert mailbox.to("eve@elsewhere.example") == []


def test_no_address_adds_a_header_to_an_answer(app, match) -> None:
    for url in (
        f"/g/{match.code}/99%0d%0aSet-Cookie:%20a=b",
        "/try/biscuit/x%0d%0aSet-Cookie:%20a=b",
        "/g/x%0d%0aSet-Cookie:%20a=b",
        "//elsewhere.example/%0d%0aSet-Cookie:%20a=b",
    ):
        for method in ("GET", "POST"):
            answer = app.test_client().open(url, method=method, data={"move": "1"})
            assert answer.status_code < 500, url
            assert "a=b" not in " ".join(answer.headers.getlist("Set-Cookie")), url
            assert not set("\r\n") & set(answer.headers.get("Location", "")), url
            assert "elsewhere.example" not in answer.headers.get("Location", "").split("?")[0], url


def test_a_foreign_host_header_changes_no_link(app, match) -> None:
    """Letters and pages lead to the configured address only."""
    client, seat = app.test_client(), path(Links().seat(seat_of(match, "ann")))
    foreign = {"Host": "evil.example", "X-Forwarded-Host": "evil.example"}
    for url in ("/", seat, f"/g/{match.code}", "/you"):
        page = client.get(url, headers=foreign)
        assert "evil.example" not in page.text + page.headers.get("Location", ""), url
    answer = client.post(seat, data={"do": "follow", "me": "1"}, headers=foreign)
    assert answer.location == Links().match(match)


def test_an_error_page_tells_a_number_and_nothing_inside(app, match, caplog) -> None:
    def broken(**_given: object) -> str:
        raise RuntimeError(f"the key is {KEYS[-1]}, the hand is 5YK")

    app.view_functions["match.table"] = broken
    page = app.test_client().get(f"/g/{match.code}")
    assert page.status_code == 500
    (number,) = re.findall(r"\b[0-9a-f]{8}\b", words(page))
    for inside in ("RuntimeError", "Traceback", KEYS[-1], "5YK", "pbem/", ".py"):
        assert inside not in page.text
    (logged,) = [one for one in caplog.records if one.levelno >= logging.ERROR]
    assert number in logged.getMessage()
    assert logged.exc_info is not None


def test_where_the_database_is_gone_nothing_inside_is_told(app, match, caplog) -> None:
    client = signed_in(app, "ann")
    db.session.rollback()
    with db.engine.begin() as connection:
        connection.execute(text("PRAGMA foreign_keys = OFF"))
        connection.execute(text("ALTER TABLE player RENAME TO gone"))
    page = client.get("/account")
    assert page.status_code == 503
    assert "Wait a minute, then try once more" in words(page)
    for inside in ("OperationalError", "Traceback", "SELECT", "no such table"):
        assert inside not in page.text
    assert "no such table" in caplog.text


def test_no_secret_is_logged(app, mailbox, now, caplog) -> None:
    """Whole turns by page and by mail, a refused mail and a bad link, with all that is logged."""
    for noisy in ("mail.log", "sqlalchemy"):  # as `pbem serve` has them
        caplog.set_level(logging.WARNING, logger=noisy)
    caplog.set_level(logging.DEBUG)
    name, letter, match = first_turn(mailbox, now=now)
    by_link(app, letter, 0)
    app.test_client().get(path(Links().seat(seat_of(match, name))) + "x")
    raw = b"From: eve@elsewhere.example\r\n\r\n1\r\n"
    inbox.take(raw, inbox.Envelope(str(letter["Reply-To"]), ADDRESSES[name]), now=now)
    run_worker(now)
    logged = caplog.text
    match = db.session.get_one(Match, match.id)
    assert logged
    assert match.server_key.hex() not in logged
    assert KEYS[-1] not in logged
    links = Links()
    for link in (
        links.seat(seat_of(match, name)),
        str(letter["Reply-To"]),
        links.you(seat_of(match, name).player),
    ):
        assert re.split(r"[/+@]", link)[-1 if "://" in link else 1] not in logged, link
    assert not [code for code in card_codes_in(logged) if code in CARDS]


def test_settings_tell_no_secret_of_theirs(tmp_path) -> None:
    names = ("smtp_password", "imap_password", "mailgun_signing_key", "postmark_secret")
    given: dict[str, Any] = dict.fromkeys(names, "hidden-away")
    site = replace(Settings(instance=tmp_path, **given), secret_keys=("hidden-away",))
    site = replace(site, database_url="postgresql+psycopg://play:hidden-away@db/play")
    assert "hidden-away" not in repr(site)
    shown = {field.name for field in fields(site) if field.repr}
    assert not [name for name in shown if re.search("password|secret|key", name)]


def test_every_exception_from_the_security_rules_has_its_reason() -> None:
    for file in [*ROOT.glob("pbem/**/*.py"), *ROOT.glob("engine/**/*.py")]:
        lines = file.read_text(encoding="utf-8").splitlines()
        for nth, line in enumerate(lines):
            if re.search(r"# noqa: S\d", line):
                is_told = " - " in line.split("# noqa")[1] or "#" in lines[nth - 1]
                assert is_told, f"{file}:{nth + 1}"
