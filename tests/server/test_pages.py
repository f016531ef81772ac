"""The pages: links show, POST acts, and what is over says what stands."""

from __future__ import annotations

import json
import re

import pytest
from cast import (
    ADDRESSES,
    finished,
    form_token,
    letters_to,
    move_links,
    open_turn,
    path,
    player,
    run_worker,
    running_match,
    seat_of,
    sign_in_path,
    words,
)
from flask import g
from sqlalchemy import func, select

from engine import GAMES
from engine.errors import IllegalMove
from engine.record import loads, verify
from pbem import examples, lobby, play, worker
from pbem.ext import db, tokens
from pbem.links import Links
from pbem.models import Letter, Match, Move, Player, Seat, Turn


def counts() -> list[int]:
    kinds = (Match, Seat, Turn, Move, Letter, Player)
    return [db.session.scalar(select(func.count()).select_from(kind)) for kind in kinds]


@pytest.fixture
def client(app):
    return app.test_client()


@pytest.fixture
def match(app, now):
    return running_match(["ann", "bob"], now=now)


def first_link(match: Match, n: int = 1) -> str:
    return path(Links().move(open_turn(match), n))


def shown(response) -> str:
    """Return a page without links and outlines: their letters may look like any card.

    Nor with the help on orders, which names a card to show how one is written.
    """
    page = re.sub(r'<small id="order-hint">.*?</small>', "", response.text, flags=re.DOTALL)
    return re.sub(r' (?:href|d|action)="[^"]*"', "", page)


def test_a_link_shows_and_only_the_button_plays(client, match) -> None:
    link = first_link(match)
    before = counts()
    for _ in range(5):
        page = client.get(link)
        assert page.status_code == 200
        assert client.head(link).status_code == 200
    assert counts() == before
    assert "Nothing is played yet" in page.text
    assert page.text.count("<button") == 1
    assert page.headers["Cache-Control"] == "no-store"
    assert page.headers["Referrer-Policy"] == "no-referrer"
    assert "noindex" in page.headers["X-Robots-Tag"]
    assert "Set-Cookie" not in page.headers
    assert "script" not in page.text
    assert client.post(link).status_code == 200
    assert db.session.scalar(select(func.count()).select_from(Move)) == 1


def test_a_second_click_says_that_it_is_played(client, match) -> None:
    link = first_link(match)
    client.post(link)
    assert "This move is played already" in words(client.get(link))
    again = client.post(link)
    assert again.status_code == 200
    assert "This move is played already" in words(again)
    assert db.session.scalar(select(func.count()).select_from(Move)) == 1


def test_another_move_of_the_same_turn_is_told_what_stands(client, app, now) -> None:
    match = running_match(["ann", "bob"], now=now)
    while client.get(first_link(match, 2)).status_code != 200:
        turn = open_turn(match)
        play.make_move(turn.id, play.choose_for(turn.id, "greedy"), by="link", now=now)
        match = db.session.get_one(Match, match.id)
    one, two = first_link(match), first_link(match, 2)
    client.post(one)
    page = client.post(two)
    assert page.status_code == 409
    assert "Nothing was played now" in words(page)
    assert "/s/" in page.text


def test_what_mail_programs_glue_on_does_no_harm(client, match) -> None:
    link = first_link(match)
    for glue in (".", ">", ")", "),"):
        assert client.get(link + glue).status_code == 200


@pytest.mark.parametrize("forged", ["x", "1-1.x", "1-1.", "%00", "1-1." + "A" * 43])
def test_a_forged_link_gets_words(client, match, forged) -> None:
    for kind in ("m", "s", "i", "j", "sign-in"):
        page = client.get(f"/{kind}/{forged}")
        assert page.status_code == 404
        assert "This link does not work" in words(page)


def test_a_token_of_one_kind_opens_no_other_page(client, match) -> None:
    seat = tokens().link("seat", 1)
    for kind in ("i", "j", "m"):
        assert client.get(f"/{kind}/{seat}").status_code == 404


def test_a_seats_page_shows_its_own_hand_only(client, match) -> None:
    ann, bob = seat_of(match, "ann"), seat_of(match, "bob")
    page = shown(client.get(path(Links().seat(ann))))
    from pbem.table import load

    table = load(match)
    mine, theirs = table.view(ann.number).hand, table.view(bob.number).hand
    for card in mine:
        assert f"({card.code})" in page
    for card in theirs:
        assert card.code not in page
    onlooker = shown(client.get(f"/g/{match.code}"))
    for card in (*mine, *theirs):
        assert card.code not in onlooker


def test_a_link_of_another_seat_is_refused_to_who_is_signed_in(client, match, now) -> None:
    sign_in(client, "dan", now)
    link, seat = first_link(match), path(Links().seat(match.seats[0]))
    for page in (client.get(link), client.post(link), client.get(seat)):
        assert page.status_code == 409
        assert "belongs to another player" in words(page)
    assert db.session.scalar(select(func.count()).select_from(Move)) == 0


def test_history_has_an_address_for_each_ply(client, match, now) -> None:
    match = finished(match, now=now)
    seen = set()
    for ply in range(match.ply + 1):
        page = client.get(f"/g/{match.code}/{ply}")
        assert page.status_code == 200
        assert f"{ply} / {match.ply}" in page.text
        assert (f'href="/g/{match.code}/{ply + 1}"' in page.text) or ply == match.ply
        # The drawing has ids of its own: a second one would hide its cards.
        ids = re.findall(r' id="([^"]+)"', page.text)
        assert len(ids) == len(set(ids))
        seen.add(page.text)
    assert len(seen) == match.ply + 1
    assert client.get(f"/g/{match.code}/{match.ply + 1}").status_code == 302
    assert "All hands" in client.get(f"/g/{match.code}/0").text
    for odd in ("nothing-here", "%00", "x" * 10_000, "%F0%9F%83%8F", "%FF"):
        assert client.get(f"/g/{odd}").status_code == 404


def test_hands_are_shown_only_after_the_end(client, match) -> None:
    assert "All hands" not in client.get(f"/g/{match.code}").text
    assert match.server_key.hex() not in client.get(f"/g/{match.code}").text


def test_the_record_can_be_downloaded_and_checked(client, match, now) -> None:
    running = json.loads(client.get(f"/g/{match.code}/record.json").text)
    assert "key" not in running["deal"]
    match = finished(match, now=now)
    answer = client.get(f"/g/{match.code}/record.json")
    assert answer.mimetype == "application/json"
    verify(loads(answer.text))


def test_a_link_after_the_end_says_that_the_game_is_over(client, app, now) -> None:
    match = running_match(["ann", "bob"], now=now)
    link = first_link(match)
    last = None
    while match.status == "running":
        last = open_turn(match)
        play.make_move(last.id, play.choose_for(last.id, "greedy"), by="timeout", now=now)
        match = db.session.get_one(Match, match.id)
    # Another move of the first turn than the one that was made, or the same one.
    page = client.get(link)
    assert page.status_code == 200
    assert "The game is over" in words(page) or "This move is played already" in words(page)


def sign_in(client, name: str, now) -> None:
    client.post("/sign-in", data={"address": ADDRESSES[name], "form_token": form_token(client)})
    assert client.post(sign_in_path(name)).status_code == 303


def test_signing_in_opening_a_table_and_sitting_down(client, app, mailbox, now) -> None:
    sign_in(client, "ann", now)
    data = {
        "form_token": form_token(client, "/new/biscuit"),
        "place_2": "invite",
        "address_2": ADDRESSES["bob"],
        "place_3": "open",
        "place_4": "bot-greedy",
        "option_excuse": "1",
        "option_target": "20",
        "pace_hours": "48",
    }
    opened = client.post("/new/biscuit", data=data)
    assert opened.status_code == 303
    match = db.session.scalars(select(Match)).one()
    assert match.options == {
        "excuse": True, "pawns": False, "courts": False, "partners": False, "target": 20,
    }  # fmt: skip
    assert match.commitment in client.get(opened.location).text
    # Bob answers the invitation as a stranger, in French and with a phrase.
    stranger = app.test_client()
    invitation = path(Links().invitation(match.seats[1]))
    assert "Sit down" in stranger.get(invitation).text
    answer = {
        "answer": "sit", "name": "Bob", "language": "fr", "zone": "America/Montreal",
        "phrase": "chance",
    }  # fmt: skip
    assert stranger.post(invitation, data=answer | {"zone": "Mars/Base"}).status_code == 409
    assert stranger.post(invitation, data=answer).status_code == 303
    assert lobby.find_player(ADDRESSES["bob"]).language == "fr"
    # Cleo has the shared link and proves her address by its mail.
    shared = path(Links().join(match))
    assert stranger.post(shared, data={"address": "no address"}).status_code == 409
    assert "on its way" in stranger.post(shared, data={"address": ADDRESSES["cleo"]}).text
    run_worker(now)
    held = db.session.scalars(select(Seat).where(Seat.invited == ADDRESSES["cleo"])).one()
    stranger.post(path(Links().invitation(held)), data=answer | {"name": "Cleo"})
    match = db.session.get_one(Match, match.id)
    assert match.status == "running"
    assert [seat.phrase for seat in match.seats] == ["", "chance", "chance", ""]
    assert "all places" in stranger.get(shared).text.lower()


def test_a_phrase_may_be_changed_until_the_game_starts(client, app, now) -> None:
    ann = player("ann", now=now)
    bob = lobby.Chair(address=ADDRESSES["bob"])
    match = lobby.open_table(ann, "biscuit", [bob], {}, phrase="first", now=now)
    seat = path(Links().seat(match.seats[0]))
    assert 'value="first"' in client.get(seat).text
    assert client.post(seat, data={"phrase": "x" * 101}).status_code == 409
    assert client.post(seat, data={"phrase": "  last  word "}).status_code == 303
    lobby.sit(match.seats[1].id, name="Bob", phrase="", language="en", zone="UTC", now=now)
    assert client.post(seat, data={"phrase": "too late"}).status_code == 409
    page = client.get(f"/g/{match.code}").text
    assert "“last word”" in page
    assert "too late" not in page


def test_declining_on_the_page_frees_the_place_and_tells_the_opener(client, app, now) -> None:
    ann = player("ann", now=now)
    match = lobby.open_table(ann, "biscuit", [lobby.Chair(address=ADDRESSES["bob"])], {}, now=now)
    link = path(Links().invitation(match.seats[1]))
    for _ in range(2):
        assert client.post(link, data={"answer": "decline"}).status_code == 200
    assert len(letters_to("ann", "declined")) == 1
    assert "not held for you any more" in client.get(link).text


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"pace_hours": "0"}, "from 1 to 720"),
        ({"pace_hours": "87600"}, "from 1 to 720"),
        ({"option_target": "-1"}, "Option target"),
        ({"place_2": "invite", "address_2": "x"}, "mail address"),
        ({"place_2": "invite", "address_2": ""}, "give the address"),
        ({"place_2": "invite", "address_2": ADDRESSES["ann"]}, "not your own"),
        ({"place_2": "none"}, "seats"),
        ({"place_2": "bot-hal"}, "no bot"),
        ({"option_partners": "1"}, "4 seats"),
        ({"phrase": "x" * 101}, "at most 100 characters"),
    ],
)
def test_a_wrong_form_is_answered_in_words(client, app, now, wrong, said) -> None:
    sign_in(client, "ann", now)
    data = {
        "form_token": form_token(client, "/new/biscuit"),
        "place_2": "bot-greedy",
        "pace_hours": "72",
    }
    page = client.post("/new/biscuit", data=data | wrong)
    assert page.status_code == 400
    assert said in words(page)
    assert db.session.scalar(select(func.count()).select_from(Match)) == 0


def test_a_bots_strength_is_chosen_by_a_word(client, app, now) -> None:
    sign_in(client, "ann", now)
    page = client.get("/new/bisque").text
    assert "a bot (easy)" in page
    assert "a bot (strong)" in page
    assert "strong – imagines the cards it cannot see" in page
    assert "careless" not in page
    data = {
        "form_token": form_token(client, "/new/bisque"),
        "place_2": "bot-strong",
        "place_3": "bot-greedy",
        "pace_hours": "72",
    }
    assert client.post("/new/bisque", data=data).status_code == 303
    seats = db.session.scalars(select(Seat).order_by(Seat.place)).all()
    assert [seat.bot for seat in seats] == [None, "strong", "greedy"]
    worker.play_bots(now)
    chosen = db.session.scalars(select(Move).order_by(Move.ply)).all()
    assert sorted(move.seat for move in chosen) == [2, 3]


def test_a_form_without_its_token_is_refused(client, app, now) -> None:
    sign_in(client, "ann", now)
    page = client.post("/new/biscuit", data={"place_2": "bot-greedy", "pace_hours": "72"})
    assert page.status_code == 400
    assert db.session.scalar(select(func.count()).select_from(Match)) == 0


def test_no_page_shows_an_address_of_somebody_else(client, match) -> None:
    pages = [f"/g/{match.code}", path(Links().seat(seat_of(match, "ann"))), first_link(match)]
    for page in pages:
        assert "@players.example" not in client.get(page).text


def test_strangers_read_the_language_of_their_browser(client, app) -> None:
    assert '<html lang="fr">' in client.get("/", headers={"Accept-Language": "fr-CA,fr"}).text
    # The test's own context outlives a request, and the language is kept in it.
    g.pop("_flask_babel")
    assert '<html lang="en">' in client.get("/", headers={"Accept-Language": "de"}).text
    g.pop("_flask_babel")
    # What they would rather read counts, though only the other is named as it is here.
    page = client.get("/", headers={"Accept-Language": "de-CH, fr-CH;q=0.9, en;q=0.5, fr-FR;q=0"})
    assert '<html lang="fr">' in page.text


@pytest.mark.parametrize(
    ("chair", "is_offered"),
    [(lobby.Chair(), True), (lobby.Chair(address="bob@players.example"), False)],
)
def test_a_tables_link_is_offered_only_while_a_place_is_free(
    client, app, now, chair, is_offered
) -> None:
    ann = player("ann", now=now)
    match = lobby.open_table(ann, "biscuit", [chair], {}, now=now)
    with client.session_transaction() as session:
        session["player"] = ann.id
    page = client.get(f"/g/{match.code}").text
    assert ("Whoever has this link" in page) is is_offered


@pytest.mark.parametrize("language", ["en", "fr"])
@pytest.mark.parametrize("name", list(GAMES))
def test_the_rules_can_be_read_in_both_languages(client, app, name, language) -> None:
    page = client.get(f"/rules/{name}", headers={"Accept-Language": language})
    assert page.status_code == 200
    assert page.text.count("<h1>") == 1
    assert page.text.count("<h2>") >= 4
    assert f'<html lang="{language}">' in page.text
    assert client.get("/rules/chess").status_code == 404


@pytest.mark.parametrize("language", ["en", "fr"])
@pytest.mark.parametrize("name", list(GAMES))
def test_the_rules_show_every_example_played_and_drawn(client, app, name, language) -> None:
    page = client.get(f"/rules/{name}", headers={"Accept-Language": language}).text
    given = examples.examples(name)
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert {found.split("-")[0] for found in ids if "-" in found} == set(given)
    assert page.count('<figure class="table">') == len(given)
    for example in given.values():
        code = example["moves"][-1].removeprefix("pot ").removeprefix("play ")[:3].strip()
        assert f"({code})" in page, "the last move is told"


def test_an_example_that_the_rules_forbid_is_no_picture(app, monkeypatch) -> None:
    stale = {"old": {"deal": "biscuit 0", "seats": 2, "moves": ["EX left"]}}
    monkeypatch.setattr(examples, "examples", lambda _name: stale)
    with pytest.raises(IllegalMove):
        examples.example("biscuit", "old")


def test_a_bug_is_told_by_a_number_and_shows_nothing_inside(client, app, match) -> None:
    match.game = "chess"
    db.session.commit()
    app.config["PROPAGATE_EXCEPTIONS"] = False
    page = client.get(f"/g/{match.code}")
    assert page.status_code == 500
    assert "tell the host this number" in words(page)
    assert "Traceback" not in page.text
    assert "KeyError" not in page.text


def test_the_move_letters_links_are_those_that_work(client, app, mailbox, now) -> None:
    running_match(["ann", "bob"], now=now)
    run_worker(now)
    from cast import parsed

    (message,) = [parsed(raw) for _s, _t, raw in mailbox.arrived if b"your turn" in raw]
    for link in move_links(message):
        assert client.get(link).status_code == 200
        assert len(link.removeprefix("/m/")) <= 60
