"""Leaving: all data of a player in one file, and what is left after an account was deleted."""

from __future__ import annotations

import html
import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from cast import (
    ADDRESSES,
    first_turn,
    form_token,
    letters_to,
    open_turn,
    player,
    reply_to,
    run_worker,
    running_match,
    seat_of,
    sign_in_path,
    text_of,
)
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select

from engine.record import loads, verify
from pbem import account, agreements, away, leaving, lobby, play, post
from pbem.errors import BadAddress
from pbem.ext import db, writing
from pbem.links import Links
from pbem.lobby import Chair, find_player
from pbem.mail import inbox
from pbem.mail.inbox import Envelope
from pbem.mail.letters import is_true
from pbem.models import Letter, Match, Note, Player, Proposal, Seat
from pbem.table import record_file

HOUR = timedelta(hours=1)


def signed_in(app: Flask, name: str) -> FlaskClient:
    """A browser in which one of the cast is signed in."""
    client = app.test_client()
    with client.session_transaction() as session:
        session["player"] = find_player(ADDRESSES[name]).id
    return client


def words(page) -> str:
    return html.unescape(" ".join(re.sub(r"<[^>]+>", " ", page.text).split()))


def path(url: str) -> str:
    return url.removeprefix("https://play.example")


def leave(name: str, now: datetime) -> None:
    leaving.delete_account(find_player(ADDRESSES[name]).id, now=now)


def everything() -> str:
    """All rows of all tables as text, but for how often something was tried."""
    db.session.rollback()
    tables = [table for table in db.metadata.sorted_tables if table.name != "attempt"]
    rows = [row for table in tables for row in db.session.execute(select(table))]
    return "\n".join(str(tuple(row)) for row in rows)


def mails_to(mailbox, name: str, subject: str) -> list[str]:
    found = [mail for mail in mailbox.to(ADDRESSES[name]) if subject in mail["Subject"]]
    return [" ".join(text_of(mail).split()) for mail in found]


# All data in one file.


def test_the_file_holds_what_is_the_players_and_nothing_of_others(app, mailbox, now) -> None:
    name, letter, match = first_turn(mailbox, now=now)
    other = {"ann": "bob", "bob": "ann"}[name]
    raw = reply_to(letter, "1", sender=ADDRESSES[name])
    inbox.take(raw, Envelope(str(letter["Reply-To"]), ADDRESSES[name]), now=now)
    inbox.read_all(now=now)
    away.set_absence(find_player(ADDRESSES[name]).id, "2026-12-24", "2026-12-26", now=now)
    agreements.propose(seat_of(match, name).id, "end", {}, now=now)
    page = signed_in(app, name).get("/account/data.json")
    assert page.headers["Cache-Control"] == "no-store"
    assert page.mimetype == "application/json"
    found = json.loads(page.text)
    assert found["player"]["address"] == ADDRESSES[name]
    assert [one["address"] for one in found["addresses"]] == [ADDRESSES[name]]
    assert len(found["absences"]) == 1
    (game,) = found["games"]
    match = db.session.get_one(Match, match.id)
    seat = seat_of(match, name)
    assert (game["code"], game["your_seat"]["name"]) == (match.code, name.title())
    assert sorted(game["players"]) == ["Ann", "Bob"]
    own = [move.text for move in match.moves if move.seat == seat.number]
    assert [move["text"] for move in game["your_moves"]] == own
    assert [one["kind"] for one in game["you_asked_for"]] == ["end"]
    assert {"your_turn", "receipt"} <= {one["kind"] for one in found["letters"]}
    assert [one["verdict"] for one in found["mails_received"]] == ["move"]
    for secret in (ADDRESSES[other], match.server_key.hex(), match.commitment, "/s/", "/y/"):
        assert secret not in page.text
    assert set(found) == {
        "player", "addresses", "mails_off", "absences", "games", "letters", "mails_received",
    }  # fmt: skip


def test_only_who_is_signed_in_gets_it(client, match) -> None:
    for page in ("/account/data.json", "/account/delete"):
        assert client.get(page).location == "/"
    data = {"form_token": form_token(client), "sure": "1"}
    assert client.post("/account/delete", data=data).location == "/"
    assert len(db.session.scalars(select(Player).where(Player.deleted_at.is_(None))).all()) == 2


@pytest.fixture
def client(app) -> FlaskClient:
    return app.test_client()


@pytest.fixture
def match(app, now) -> Match:
    return running_match(["ann", "bob"], now=now)


# Deleting.


def test_nothing_is_deleted_without_the_tick(app, match) -> None:
    client, other = signed_in(app, "ann"), signed_in(app, "ann")
    page = client.get("/account/delete")
    assert "You have 1 such game." in words(page)
    assert "phrase for a deal stays" in words(page)
    data = {"form_token": form_token(client, "/account/delete")}
    refused = client.post("/account/delete", data=data)
    assert (refused.status_code, "Set the tick first" in refused.text) == (409, True)
    assert client.post("/account/delete", data={"sure": "1"}).status_code == 400
    assert find_player(ADDRESSES["ann"]).deleted_at is None
    gone = client.post("/account/delete", data=data | {"sure": "1"})
    assert "Your account is deleted." in words(gone)
    # Here and everywhere else they are signed out.
    for browser in (client, other):
        assert "Your games" not in browser.get("/").text
        assert browser.get("/account").location == "/"


def test_of_two_the_other_wins_and_is_told_and_the_record_holds(app, mailbox, match, now) -> None:
    leave("ann", now)
    run_worker(now)
    match = db.session.get_one(Match, match.id)
    (winner,) = match.winners
    assert (match.status, match.ended, seat_of(match, "bob").number) == ("over", "resigned", winner)
    (told,) = mails_to(mailbox, "bob", "over")
    assert "a former player has resigned." in told
    assert not list(mailbox.to(ADDRESSES["ann"]))
    assert "a former player" in words(app.test_client().get(f"/g/{match.code}"))
    record = loads(record_file(match)[1])
    verify(record)
    assert sorted(record.names) == ["Bob", "a former player"]


def test_among_three_the_house_plays_on_and_the_table_is_told(app, mailbox, now) -> None:
    match = running_match(["ann", "bob", "cleo"], now=now)
    asked = open_turn(match).asked.name.lower()
    run_worker(now)
    seat_id = seat_of(match, asked).id
    leave(asked, now)
    run_worker(now)
    left = [name for name in ("ann", "bob", "cleo") if name != asked]
    for name in left:
        (told,) = mails_to(mailbox, name, "news")
        assert "a former player has resigned. The house plays their seat on to the end." in told
    seat = db.session.get_one(Seat, seat_id)
    assert (seat.name, seat.resigned, seat.match.status) == ("a former player", True, "running")
    assert open_turn(seat.match).seat != seat.number
    turn = open_turn(seat.match)
    play.make_move(turn.id, play.choose_for(turn.id, "greedy"), by="link", now=now)
    run_worker(now)
    assert db.session.get_one(Match, match.id).ply == 2


def test_tables_that_wait_are_closed_or_have_their_place_back(app, mailbox, now) -> None:
    ann, bob, cleo = (player(name, now=now) for name in ("ann", "bob", "cleo"))
    anns = lobby.open_table(ann, "biscuit", [Chair(), Chair()], {}, now=now)
    lobby.join(anns.id, bob, phrase="", now=now)
    bobs = lobby.open_table(bob, "biscuit", [Chair(), Chair()], {}, now=now)
    lobby.join(bobs.id, ann, phrase="soon gone", now=now)
    cleos = lobby.open_table(
        cleo, "biscuit", [Chair(address=ADDRESSES["ann"]), Chair()], {}, now=now
    )
    invitation = path(Links().invitation(cleos.seats[1]))
    run_worker(now)
    leave("ann", now)
    run_worker(now)
    anns, bobs, cleos = (db.session.get_one(Match, m.id) for m in (anns, bobs, cleos))
    assert (anns.status, bobs.status, cleos.status) == ("cancelled", "open", "open")
    assert [(s.name, s.player_id, s.phrase) for s in bobs.seats[1:]] == [(None, None, "")] * 2
    assert [seat.invited for seat in cleos.seats] == [None] * 3
    (closed,) = [told for told in mails_to(mailbox, "bob", "") if "so it is closed" in told]
    assert "deleted their account" in closed
    for name in ("bob", "cleo"):
        assert [told for told in mails_to(mailbox, name, "declined") if "a former player" in told]
    page = app.test_client().get(invitation)
    assert "not held for you any more" in words(page)


def test_nothing_of_theirs_is_left_but_moves_and_phrases(app, mailbox, now) -> None:
    name, letter, match = first_turn(mailbox, now=now)
    who, other = find_player(ADDRESSES[name]), {"ann": "bob", "bob": "ann"}[name]
    seat_id, old_name, work = seat_of(match, name).id, name.title(), "work@else.example"
    account.ask_to_add(who.id, work, now=now)
    account.add(db.session.scalars(select(Letter).where(Letter.address == work)).one().id, now=now)
    account.ask_to_add(who.id, "third@else.example", now=now)
    away.set_absence(who.id, "2026-12-24", "2026-12-26", now=now)
    # Words of theirs that are quoted back, a move, an offer of the seat, and mail that came back.
    for text, sender in (("nonsense-words", work), ("1", ADDRESSES[name])):
        raw = reply_to(letter, text, sender=sender, message_id=f"<{sender}>")
        inbox.take(raw, Envelope(str(letter["Reply-To"]), sender), now=now)
        inbox.read_all(now=now)
    host = Chair(address=ADDRESSES[name])
    waiting = lobby.open_table(
        find_player(ADDRESSES[other]), "biscuit", [host, Chair()], {}, now=now
    )
    away_from = lobby.open_table(
        find_player(ADDRESSES[other]), "biscuit", [Chair(address=work), Chair()], {}, now=now
    )
    lobby.decline(away_from.seats[1].id, now=now)
    invitation = db.session.scalars(
        select(Letter).where(Letter.kind == "invitation", Letter.seat_id == waiting.seats[1].id)
    ).one()
    returned = f"Final-Recipient: rfc822; {ADDRESSES[name].upper()}".encode()
    inbox.take(returned, Envelope(path(Links().bounce(invitation.id)), "<>"), now=now)
    inbox.read_all(now=now)
    before = everything()
    for trace in (ADDRESSES[name], work, "third@else", old_name, "nonsense-words", "2026, 12, 23"):
        assert trace in before, trace
    leaving.delete_account(who.id, now=now)
    after = everything()
    for trace in (ADDRESSES[name], work, "third@else", old_name, "nonsense-words", "2026, 12, 23"):
        assert trace not in after, trace
    assert ADDRESSES[name].upper() not in after
    # Letters that tell of them can still be made.
    run_worker(now + HOUR)
    seat = db.session.get_one(Seat, seat_id)
    assert [move.seat for move in seat.match.moves].count(seat.number) >= 1
    assert ADDRESSES[other] in after
    letters = db.session.scalars(select(Letter).where(Letter.address == "")).all()
    assert {one.state for one in letters} <= {"sent", "stale"}
    assert not any(is_true(one) for one in letters)
    leaving.delete_account(who.id, now=now + HOUR)
    assert db.session.get_one(Player, who.id).deleted_at == now


def test_their_name_is_gone_from_a_game_that_another_plays_on(app, mailbox, now) -> None:
    match, dan = running_match(["ann", "bob", "cleo"], now=now), player("dan", now=now)
    run_worker(now)
    with writing():
        seat = seat_of(match, "ann")
        post.notice(match, "kept", {"name": seat.name}, but=seat, now=now)
        play.take_over(seat, db.session.get_one(Player, dan.id), "Dan", now=now)
    assert "Ann" in everything()
    leave("ann", now)
    assert "Ann" not in everything()
    assert "Dan" in everything()
    run_worker(now)
    assert [told for told in mails_to(mailbox, "bob", "news") if "a former player let" in told]


def test_a_mail_that_waits_to_be_read_is_gone_too(app, mailbox, now) -> None:
    name, letter, match = first_turn(mailbox, now=now)
    ply = match.ply
    raw = reply_to(letter, "1", sender=ADDRESSES[name])
    inbox.take(raw, Envelope(str(letter["Reply-To"]), ADDRESSES[name]), now=now)
    leave(name, now)
    inbox.read_all(now=now)
    (note,) = db.session.scalars(select(Note))
    assert (note.raw, note.return_path, note.verdict) == (b"", "", "not done")
    assert db.session.get_one(Match, match.id).ply == ply
    assert letters_to(name) == []


def test_the_phrase_stays_since_the_proof_needs_it(app, now) -> None:
    ann = player("ann", now=now)
    match = lobby.open_table(
        ann, "biscuit", [Chair(address=ADDRESSES["bob"])], {}, phrase="two swans", now=now
    )
    lobby.sit(match.seats[1].id, name="Bob", phrase="", language="en", zone="UTC", now=now)
    leave("ann", now)
    page = words(app.test_client().get(f"/g/{match.code}"))
    assert "a former player: “two swans”" in page
    assert "Ann" not in page
    verify(loads(record_file(db.session.get_one(Match, match.id))[1]))


def test_every_link_of_theirs_is_dead(app, mailbox, now) -> None:
    name, letter, match = first_turn(mailbox, now=now)
    who, seat = find_player(ADDRESSES[name]), seat_of(match, name)
    account.ask_to_sign_in(ADDRESSES[name], language="en", now=now)
    account.ask_to_add(who.id, "work@else.example", now=now)
    added = db.session.scalars(select(Letter).where(Letter.kind == "add_address")).one()
    agreements.propose(next(one for one in match.seats if one.id != seat.id).id, "end", {}, now=now)
    links, proposed = Links(), db.session.scalars(select(Proposal)).one()
    turn = open_turn(match)
    about = next(one for one in letters_to(name) if one.turn_id == turn.id)
    dead = [
        links.seat(seat),
        links.move(turn, 1),
        links.you(who),
        links.feed(who),
        links.yes(proposed, seat),
        links.stop(about),
        sign_in_path(name),
        links.add_address(app.extensions["pbem.tokens"].timed_link("address", added.id)),
    ]
    client = app.test_client()
    for link in dead:
        assert client.get(path(link)).status_code == 200, link
    leave(name, now)
    before = everything()
    for link in dead:
        page = client.get(path(link))
        assert page.status_code == 404, link
        # The front page asks once more to sign in, and shows people of the same names playing.
        assert "/sign-in/" in link or name.title() not in page.text, link
        if not link.endswith(".ics"):
            assert client.post(path(link), data={"do": "mails_off"}).status_code == 404, link
    assert everything() == before
    assert "This account was deleted" in words(client.get(path(dead[0])))
    # A reply is from a stranger now, and nobody is asked whether it is theirs.
    raw = reply_to(letter, "1", sender=ADDRESSES[name])
    inbox.take(raw, Envelope(str(letter["Reply-To"]), ADDRESSES[name]), now=now)
    inbox.read_all(now=now)
    assert db.session.scalars(select(Note)).one().verdict == "not done"
    assert letters_to(name) == []


def test_the_address_can_sign_up_as_a_new_player(app, match, now) -> None:
    old = find_player(ADDRESSES["ann"]).id
    leave("ann", now)
    account.ask_to_sign_in(ADDRESSES["ann"], language="en", now=now)
    client = app.test_client()
    assert client.post(sign_in_path("ann")).status_code == 303
    assert find_player(ADDRESSES["ann"]).id != old
    assert "You have no game yet." in client.get("/").text


def test_who_wanted_no_mails_is_still_not_invited(app, match, now) -> None:
    away.stop_mails(ADDRESSES["ann"], now=now)
    client = signed_in(app, "ann")
    assert "nobody can invite" in words(client.get("/account/delete"))
    leave("ann", now)
    with pytest.raises(BadAddress):
        lobby.open_table(
            find_player(ADDRESSES["bob"]),
            "biscuit",
            [Chair(address=ADDRESSES["ann"])],
            {},
            now=datetime.now(UTC),
        )
