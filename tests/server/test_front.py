"""The front page and what strangers may do there: look, try a game, find a table."""

from __future__ import annotations

import re

import pytest
from cast import ADDRESSES, TOKEN, open_turn, player, running_match, signed_in, words
from sqlalchemy import func, select

from engine import GAMES
from pbem import lobby, practice
from pbem.ext import db
from pbem.lengths import MOST, lengths
from pbem.lobby import Chair
from pbem.models import Letter, Match, Move, Player, Seat


@pytest.fixture
def client(app):
    return app.test_client()


def defaults(game_name: str) -> dict:
    return {option.name: option.default for option in GAMES[game_name].options}


def test_the_front_page_shows_each_game_with_a_picture(client) -> None:
    page = client.get("/")
    for game in GAMES.values():
        assert f'href="/rules/{game.name}"' in page.text
        assert f'action="/try/{game.name}"' in page.text
    assert page.text.count("<svg") == len(GAMES)
    ids = re.findall(r' id="([^"]+)"', page.text)
    assert len(ids) == len(set(ids))
    assert "/new/" not in page.text


def test_the_front_page_tells_a_player_where_it_is_their_turn(app, now) -> None:
    match = running_match(["ann", "bob"], now=now)
    asked = open_turn(match).asked.name.lower()
    (other,) = {"ann", "bob"} - {asked}
    assert "your turn" in words(signed_in(app, asked).get("/"))
    assert "your turn" not in words(signed_in(app, other).get("/"))


def test_a_listed_table_is_found_by_all_and_taken_through_the_page(app, client, now) -> None:
    ann = player("ann", now=now)
    opened = lobby.open_table(ann, "biscuit", [Chair()], {}, is_listed=True, now=now)
    hidden = lobby.open_table(ann, "biscuit", [Chair()], {}, now=now)
    front = client.get("/").text
    assert f'href="/g/{opened.code}"' in front
    assert hidden.code not in front
    link = re.search(r'href="https://play.example(/j/[^"]+)"', client.get(f"/g/{opened.code}").text)
    assert "/j/" not in client.get(f"/g/{hidden.code}").text
    player("bob", now=now)
    form = {"form_token": TOKEN, "phrase": ""}
    assert signed_in(app, "bob").post(link[1], data=form).status_code == 303
    assert db.session.get_one(Match, opened.id).status == "running"
    assert opened.code not in client.get("/").text


def test_a_table_without_a_free_place_is_not_listed(client, now) -> None:
    invited = [Chair(address=ADDRESSES["bob"])]
    ann = player("ann", now=now)
    match = lobby.open_table(ann, "biscuit", invited, {}, is_listed=True, now=now)
    assert match.code not in client.get("/").text


def test_the_form_lists_a_table_only_if_asked_to(app, now) -> None:
    player("ann", now=now)
    browser = signed_in(app, "ann")
    form = {"form_token": TOKEN, "place_2": "open", "pace_hours": "72"}
    browser.post("/new/biscuit", data=form)
    browser.post("/new/biscuit", data=form | {"is_listed": "1"})
    found = db.session.scalars(select(Match.is_listed).order_by(Match.id))
    assert list(found) == [False, True]


@pytest.mark.parametrize("game_name", GAMES)
def test_a_practice_game_is_played_to_its_end_and_stored_nowhere(client, game_name) -> None:
    answer = client.post(f"/try/{game_name}")
    assert answer.status_code == 303
    seen = [answer.location]
    page = client.get(answer.location)
    while "Your turn" in words(page):
        # Whoever comes back to an address finds the same position.
        assert client.get(seen[-1]).text == page.text
        buttons = re.findall(r'name="move" value="(\d+)"', page.text)
        answer = client.post(seen[-1], data={"move": buttons[len(seen) % len(buttons)]})
        assert answer.status_code == 303
        page = client.get(answer.location)
        assert "nofollow" in page.headers["X-Robots-Tag"]
        assert "Set-Cookie" not in page.headers
        if len(seen) > 1:
            assert f'href="{seen[-1]}"' in page.text
        seen.append(answer.location)
    assert "The game is over" in words(page)
    rows = [db.session.scalar(select(func.count()).select_from(kind)) for kind in (
        Match, Seat, Move, Letter, Player,
    )]  # fmt: skip
    assert rows == [0, 0, 0, 0, 0]


def test_a_practice_page_names_no_card_that_its_seat_does_not_know(app, client) -> None:
    with app.test_request_context():
        table = practice.played("biscuit", "some-deal", [])
    own, *others = (table.view(number).hand for number in range(1, len(table.seats) + 1))
    page = re.sub(r' (?:d|href)="[^"]*"', "", client.get("/try/biscuit/some-deal").text)
    assert all(f"({card.code})" in page for card in own)
    assert not any(card.code in page for hand in others for card in hand)


@pytest.mark.parametrize(
    "address",
    [
        "/try/chess/abc", "/try/biscuit/abc/99", "/try/biscuit/abc/0", "/try/biscuit/abc/x",
        "/try/biscuit/abc/1..2", "/try/biscuit/abc/1234", "/try/biscuit/abc/" + ".1" * 600,
    ],
)  # fmt: skip
def test_an_address_of_no_practice_game_gets_words(client, address) -> None:
    for page in (client.get(address), client.post(address, data={"move": "1"})):
        assert page.status_code in (303, 404, 405)
        assert "Traceback" not in page.text
    assert client.get(address).status_code == 404


@pytest.mark.parametrize("typed", ["", "x", "-1", "99999"])
def test_a_practice_move_that_is_none_changes_nothing(client, typed) -> None:
    assert client.post("/try/biscuit/abc", data={"move": typed}).status_code == 404


def test_a_game_of_more_hands_takes_longer() -> None:
    one = {length.seats: length for length in lengths("biscuit", defaults("biscuit"), 72)}
    many = lengths("biscuit", defaults("biscuit") | {"target": 60}, 72)
    assert set(one) == {2, 3, 4}
    for length in many:
        assert one[length.seats].moves < length.moves < MOST
        assert length.at_most == length.moves * 3
        assert one[length.seats].often < length.often < length.at_most
        assert not length.is_longer
    quick = lengths("biscuit", defaults("biscuit"), 1)
    assert [length.moves for length in quick] == [length.moves for length in one.values()]
    assert all(length.at_most == 1 or length.moves > 24 for length in quick)


def test_only_numbers_of_players_that_the_rules_allow_are_counted() -> None:
    partners = defaults("biscuit") | {"partners": True}
    assert [length.seats for length in lengths("biscuit", partners, 72)] == [4]


def test_a_game_that_takes_very_long_is_counted_to_a_limit() -> None:
    (length, *_more) = lengths("biscuit", defaults("biscuit") | {"target": 1000}, 72)
    assert length.is_longer


def test_the_form_tells_how_long_a_game_takes_with_what_was_typed(app, now) -> None:
    player("ann", now=now)
    browser = signed_in(app, "ann")
    page = browser.get("/new/snakebit")
    first, *_more = lengths("snakebit", defaults("snakebit"), 72)
    assert f"{first.seats} {first.moves} {first.often} days {first.at_most} days" in words(page)
    wrong = {"form_token": TOKEN, "place_2": "none", "pace_hours": "24"}
    page = browser.post("/new/snakebit", data=wrong)
    first, *_more = lengths("snakebit", defaults("snakebit"), 24)
    assert page.status_code == 400
    assert f"{first.seats} {first.moves} {first.often} days {first.at_most} days" in words(page)
