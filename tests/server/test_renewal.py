"""Links that got into other hands: made anew, the earlier ones open nothing any more."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from cast import (
    ADDRESSES,
    TOKEN,
    first_turn,
    html_of,
    letters_to,
    move_links,
    open_turn,
    path,
    player,
    reply_to,
    run_worker,
    running_match,
    seat_of,
    signed_in,
    text_of,
    words,
)
from flask import Flask
from sqlalchemy import func, select

from pbem import agreements, away, lobby, post, renewal
from pbem.errors import TooMany, TooOften
from pbem.ext import db, tokens, writing
from pbem.links import Links
from pbem.lobby import Chair
from pbem.mail import inbox
from pbem.models import Letter, Match, Move, Note, Seat
from pbem.tokens import MOST_RENEWED, Named

REPLACED = "This link was replaced by a new one"


@pytest.fixture
def database_url(sqlite: str) -> str:
    """One kind is enough: the rows are locked as for every move."""
    return sqlite


def moves() -> int:
    db.session.rollback()
    return db.session.scalar(select(func.count()).select_from(Move)) or 0


def links_in(message) -> set[str]:
    """Return the paths of all links of a mail that hold a token."""
    return set(re.findall(r"https://play\.example(/[a-z]/[\w.-]+)", html_of(message)))


def every_link(match: Match, name: str) -> dict[str, str]:
    """Return a link of each kind that leads to a seat."""
    seat, links = seat_of(match, name), Links()
    turn = open_turn(match)
    proposed = agreements.open_proposals(match)[0]
    letter = db.session.scalars(select(Letter).where(Letter.kind == "confirm")).first()
    seat = db.session.get_one(Seat, seat.id)
    return {
        "seat": links.seat(seat),
        "move": links.move(turn, 1),
        "rematch": links.rematch(seat),
        "yes": links.yes(proposed, seat),
        "confirm": links.confirm(letter),
        "invitation": links.invitation(seat),
    }


def test_all_links_of_the_seat_are_replaced_and_no_other(app: Flask, mailbox, now) -> None:
    name, _letter, match = first_turn(mailbox, now=now)
    other = next(one for one in ("ann", "bob") if one != name)
    agreements.propose(seat_of(match, other).id, "end", {}, now=now)
    turn = open_turn(match)
    with writing():
        post.confirm(turn, turn.asked, "1", "stranger", now=now)
    old, theirs = every_link(match, name), Links().seat(seat_of(match, other))
    client, before = app.test_client(), moves()
    answer = client.post(path(old["seat"]), data={"do": "new_links"})
    assert answer.status_code == 200
    assert "New links are on their way" in answer.text
    # Who asked may be who must lose them.
    assert not re.search(r"/[a-z]/[\w-]+\.[\w-]+", answer.text)
    db.session.rollback()
    match = db.session.get_one(Match, match.id)
    fresh = every_link(match, name)
    for kind, link in old.items():
        for page in (client.get(path(link)), client.post(path(link))):
            assert (page.status_code, REPLACED in words(page)) == (404, True), kind
        assert fresh[kind] != link
    assert moves() == before
    assert client.get(path(theirs)).status_code == 200
    for kind in ("seat", "move", "yes"):
        assert client.get(path(fresh[kind])).status_code == 200, kind
    assert client.get(path(fresh["invitation"])).location == fresh["seat"]


def test_the_new_links_are_mailed_at_once_and_play(app: Flask, mailbox, now) -> None:
    name, letter, match = first_turn(mailbox, now=now)
    old = links_in(letter)
    renewal.renew_seat(seat_of(match, name).id, now=now)
    run_worker(now)
    asked, told = mailbox.to(ADDRESSES[name])[-2:]
    assert "were made anew" in " ".join(text_of(told).split())
    assert "your turn" in asked["Subject"]
    assert links_in(asked) & old == {f"/g/{match.code}"}
    assert asked["Reply-To"] != letter["Reply-To"]
    assert all(len(link) < 70 for link in links_in(asked))
    before = moves()
    assert app.test_client().post(move_links(letter)[0]).status_code == 404
    assert app.test_client().post(move_links(asked)[0]).status_code == 200
    assert moves() > before


def test_a_reply_to_a_replaced_address_does_nothing_and_only_the_player_hears(
    app: Flask, mailbox, now
) -> None:
    name, letter, match = first_turn(mailbox, now=now)
    renewal.renew_seat(seat_of(match, name).id, now=now)
    run_worker(now)
    (new,) = [m for m in mailbox.to(ADDRESSES[name])[-2:] if "your turn" in m["Subject"]]
    before = moves()
    # By a thief, and by the player who takes the wrong letter; to each address of the old one.
    envelope = Links()._tokens.address(Named.LETTER, letters_to(name, "your_turn")[0].id)
    for nth, sender in enumerate(("eve@elsewhere.example", ADDRESSES[name])):
        for to in (str(letter["Reply-To"]), f"b+{envelope}@play.example"):
            raw = reply_to(letter, "1", sender=sender, message_id=f"<{nth}{to[0]}@x.example>")
            raw = raw.replace(str(letter["Reply-To"]).encode(), to.encode())
            assert inbox.take(raw, inbox.Envelope(to, sender), now=now)
    run_worker(now)
    assert moves() == before
    assert set(db.session.scalars(select(Note.verdict))) == {"replaced"}
    assert mailbox.to("eve@elsewhere.example") == []
    last = " ".join(text_of(mailbox.to(ADDRESSES[name])[-1]).split())
    assert "A mail came to an address of this game that was replaced" in last
    # The new letter's address plays.
    raw = reply_to(new, "1", sender=ADDRESSES[name])
    inbox.take(raw, inbox.Envelope(str(new["Reply-To"]), ADDRESSES[name]), now=now)
    run_worker(now)
    assert moves() > before


def test_no_old_letter_leads_to_the_seat_by_a_way_round(app: Flask, mailbox, now) -> None:
    """Each letter leads to the settings, these to the calendar, and that to the seat."""
    name, letter, match = first_turn(mailbox, now=now)
    who, links = seat_of(match, name).player, Links()
    old, calendar = links_in(letter), path(links.feed(who))
    client = app.test_client()
    assert path(links.seat(seat_of(match, name))) in client.get(calendar).text.replace("\r\n ", "")
    renewal.renew_seat(seat_of(match, name).id, now=now)
    fresh = path(Links().seat(seat_of(db.session.get_one(Match, match.id), name)))
    for link in {*old, calendar}:
        page = client.get(link)
        assert fresh not in page.text.replace("\r\n ", "") + page.headers.get("Location", ""), link
        assert page.status_code == (200 if link[:3] in ("/g/", "/u/") else 404), link


def test_a_bounce_of_an_earlier_letter_still_counts(app, mailbox, now) -> None:
    name, _letter, match = first_turn(mailbox, now=now)
    back = Links().bounce(letters_to(name, "your_turn")[-1].id)
    renewal.renew_seat(seat_of(match, name).id, now=now)
    assert back != Links().bounce(letters_to(name, "your_turn")[0].id)
    assert tokens().read_address(back.split("+")[1].split("@")[0])[0] is Named.LETTER


def test_who_followed_the_game_by_an_old_link_sees_the_hand_no_more(app: Flask, now) -> None:
    match = running_match(["ann", "bob"], now=now)
    seat, client = seat_of(match, "ann"), app.test_client()
    client.post(path(Links().seat(seat)), data={"do": "follow"})
    seen = client.get(f"/g/{match.code}")
    assert Links().seat(seat) in seen.text
    renewal.renew_seat(seat.id, now=now)
    page = client.get(f"/g/{match.code}")
    onlooker = app.test_client().get(f"/g/{match.code}")
    assert page.text == onlooker.text
    assert Links().seat(db.session.get_one(Seat, seat.id)) not in page.text


def test_a_table_that_waits_has_the_button_too(app: Flask, mailbox, now) -> None:
    match = lobby.open_table(player("ann", now=now), "biscuit", [Chair(), Chair()], {}, now=now)
    old, client = path(Links().seat(match.seats[0])), app.test_client()
    assert "Make new links for this game" in client.get(old).text
    assert client.post(old, data={"do": "new_links"}).status_code == 200
    run_worker(now)
    (letter,) = mailbox.to(ADDRESSES["ann"])
    assert client.get(old).status_code == 404
    (seat_link,) = {link for link in links_in(letter) if link.startswith("/s/")}
    assert client.get(seat_link).status_code == 200


def test_the_account_makes_all_links_anew(app: Flask, now) -> None:
    one = running_match(["ann", "bob"], now=now)
    two = lobby.open_table(lobby.find_player(ADDRESSES["ann"]), "biscuit", [Chair()], {}, now=now)
    ann, links = lobby.find_player(ADDRESSES["ann"]), Links()
    old = [
        links.you(ann),
        links.feed(ann),
        links.seat(seat_of(one, "ann")),
        links.seat(two.seats[0]),
    ]
    bobs = links.seat(seat_of(one, "bob"))
    client, stranger = signed_in(app, "ann"), app.test_client()
    answer = client.post("/account", data={"form_token": TOKEN, "do": "new_links"})
    assert answer.location == "/account?done=new_links"
    assert "Your links are made anew" in client.get(answer.location).text
    for link in old:
        page = stranger.get(path(link))
        assert (page.status_code, REPLACED in words(page)) == (404, True), link
    assert stranger.get(path(bobs)).status_code == 200
    assert stranger.get(path(client.get("/you").location)).status_code == 200
    db.session.rollback()
    ann = lobby.find_player(ADDRESSES["ann"])
    assert stranger.get(path(Links().feed(ann))).status_code == 200
    assert len(letters_to("ann", "answer")) == 2


def test_no_more_mails_is_heard_by_every_letters_link(app: Flask, now) -> None:
    """A click in an old mail stops mails, as providers want it; it opens nothing."""
    match = running_match(["ann", "bob"], now=now)
    stop = path(Links().stop(letters_to("ann")[-1]))
    renewal.renew_seat(seat_of(match, "ann").id, now=now)
    page = app.test_client().post(stop, data={"List-Unsubscribe": "One-Click"})
    assert page.status_code == 200
    assert not re.search(r"/[sym]/[\w-]+\.", page.text)


def test_who_has_stopped_mails_is_told_all_the_same(app, mailbox, now) -> None:
    match = running_match(["ann", "bob"], now=now)
    away.stop_mails(ADDRESSES["ann"], now=now)
    renewal.renew_seat(seat_of(match, "ann").id, now=now)
    run_worker(now)
    (letter,) = mailbox.to(ADDRESSES["ann"])
    assert "were made anew" in " ".join(text_of(letter).split())


def test_new_links_are_made_five_times_a_day_and_not_without_end(app, now, clock) -> None:
    match = running_match(["ann", "bob"], now=now)
    seat = seat_of(match, "ann")
    for _ in range(5):
        renewal.renew_seat(seat.id, now=now)
    with pytest.raises(TooOften):
        renewal.renew_seat(seat.id, now=now)
    seat = db.session.get_one(Seat, seat.id)
    assert seat.renewed == 5
    clock.shift(timedelta(days=1))
    page = app.test_client().post(path(Links().seat(seat)), data={"do": "new_links"})
    db.session.rollback()
    assert page.status_code == 200
    with writing():
        db.session.get_one(Seat, seat.id).renewed = MOST_RENEWED
    with pytest.raises(TooMany):
        renewal.renew_seat(seat.id, now=now + timedelta(days=2))
    seat = db.session.get_one(Seat, seat.id)
    token = tokens().address(Named.SEAT, seat.id, renewed=seat.renewed)
    assert tokens().read_renewable_address(token) == (Named.SEAT, seat.id, MOST_RENEWED)


def test_tokens_of_earlier_releases_are_those_of_links_never_renewed(app) -> None:
    assert tokens().link("seat", 7, 8) == tokens().link("seat", 7, 8, renewed=0)
    assert tokens().read_renewable("seat", tokens().link("seat", 7, 8), ids=2) == ((7, 8), 0)
    renewed = tokens().link("seat", 7, 8, renewed=3)
    assert tokens().read_renewable("seat", renewed, ids=2) == ((7, 8), 3)
    assert tokens().address(Named.TURN, 9) == tokens().address(Named.TURN, 9, renewed=0)
