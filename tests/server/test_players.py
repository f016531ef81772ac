"""Players' public pages: for who wants one, their results by game and how quickly they move."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from cast import open_turn, player, running_match, seat_of
from sqlalchemy import event

from pbem import play
from pbem.ext import db
from pbem.links import Links
from pbem.models import Match, Player, Seat
from pbem.results import Results, results, usual_seconds


@pytest.fixture
def client(app):
    return app.test_client()


def words(response) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", response.text).split())


def public(who: Player) -> str:
    """Let a player have a page, and return its path."""
    who.has_page = True
    db.session.commit()
    return f"/players/{who.id}"


def ended(match: Match, winners: list[int]) -> None:
    match.status, match.winners, match.ended = "over", winners, "stopped"
    db.session.commit()


def again(match: Match, **changed: object) -> Match:
    """Return another match of the same people in the same seats."""
    names = [column.key for column in Match.__table__.columns if column.key != "id"]
    copy = Match(**{name: getattr(match, name) for name in names})
    copy.code = f"{match.code}-{db.session.query(Match).count()}"
    for name, value in changed.items():
        setattr(copy, name, value)
    for seat in match.seats:
        copy.seats.append(
            Seat(place=seat.place, number=seat.number, player_id=seat.player_id, name=seat.name)
        )
    db.session.add(copy)
    db.session.commit()
    return copy


def test_a_page_is_there_only_for_who_wants_one(client, now) -> None:
    ann, bob = player("ann", now=now), player("bob", now=now)
    page = client.get(public(ann))
    assert page.status_code == 200
    assert "Ann" in words(page)
    assert "No game is over yet." in words(page)
    assert "@" not in page.text
    of_bob, of_nobody = client.get(f"/players/{bob.id}"), client.get("/players/12345")
    assert (of_bob.status_code, of_nobody.status_code) == (404, 404)
    assert of_bob.text == of_nobody.text
    for odd in ("0", "-1", "9" * 30, "ann@players.example", "%00", "x"):
        assert client.get(f"/players/{odd}").status_code == 404


def test_a_player_turns_the_page_on_and_off_with_a_tick(client, now) -> None:
    ann = player("ann", now=now)
    settings = Links().you(ann).removeprefix("https://play.example")
    given = {"do": "settings", "name": "Ann", "language": "en", "zone": "UTC", "entries": "none"}
    assert 'name="has_page" value="1">' in client.get(settings).text
    assert client.post(settings, data=given | {"has_page": "1"}).status_code == 303
    page = client.get(settings).text
    assert 'name="has_page" value="1" checked>' in page
    assert f'href="/players/{ann.id}"' in page
    assert client.get(f"/players/{ann.id}").status_code == 200
    assert client.post(settings, data=given).status_code == 303
    assert client.get(f"/players/{ann.id}").status_code == 404


def test_results_count_games_that_are_over_won_and_won_with_others(client, now) -> None:
    match = running_match(["ann", "bob"], now=now)
    ann, bob = seat_of(match, "ann"), seat_of(match, "bob")
    again(match, status="over", winners=[ann.number])
    again(match, status="over", winners=[1, 2])
    again(match, status="over", winners=[bob.number])
    again(match, status="over", winners=[], game="snakebit")
    # A seat of a higher number is not taken for that of its last digit.
    again(match, status="over", winners=[10 + ann.number], game="snakebit")
    assert results(ann.player) == [Results("biscuit", 3, 2, 1), Results("snakebit", 2, 0, 0)]
    assert results(bob.player) == [Results("biscuit", 3, 2, 1), Results("snakebit", 2, 0, 0)]
    assert results(player("dan", now=now)) == []
    page = words(client.get(public(ann.player)))
    assert "Biscuit 3 2 1" in page
    assert "Snakebit 2 0 0" in page
    # Unlisted tables are not led to, and whom they were played with is not told.
    assert match.code not in page
    assert "Bob" not in page


@pytest.mark.parametrize(
    ("minutes", "told"),
    [([], None), ([7], 420), ([90, 3, 5], 300), ([1, 2, 4, 600], 180)],
)
def test_half_of_the_moves_come_within_the_median(app, now, minutes, told) -> None:
    ann = timed_moves(now, minutes)
    assert usual_seconds(ann) == told


def timed_moves(now, minutes: list[int]) -> Player:
    """Return Ann once she has needed so many minutes for her moves; the others do not count."""
    match = running_match(["ann", "bob"], now=now)
    ann, left = seat_of(match, "ann"), list(minutes)
    while True:
        match = db.session.get_one(Match, match.id)
        turn = open_turn(match)
        by, late = "timeout", timedelta(days=1)
        if turn.seat == ann.number:
            if not left:
                return ann.player
            by, late = "reply", timedelta(minutes=left.pop())
        play.make_move(
            turn.id, play.choose_for(turn.id, "greedy"), by=by, now=turn.opened_at + late
        )


def test_the_pace_is_told_in_words(client, now) -> None:
    assert "Half of the moves come within 7 minutes." in words(
        client.get(public(timed_moves(now, [7])))
    )


def test_moves_of_the_house_and_of_seats_taken_over_tell_nothing_of_a_player(app, now) -> None:
    match = running_match(["ann", "bob"], now=now)
    turn = open_turn(match)
    who = turn.asked
    play.make_move(turn.id, play.choose_for(turn.id, "greedy"), by="timeout", now=now)
    assert usual_seconds(who.player) is None
    (move,) = db.session.get_one(Match, match.id).moves
    move.by = "link"
    db.session.commit()
    assert usual_seconds(who.player) == 0
    who.taken_over = True
    db.session.commit()
    assert usual_seconds(who.player) is None


def test_the_page_takes_as_many_statements_for_many_games_as_for_one(client, now) -> None:
    match = running_match(["ann", "bob"], now=now)
    path = public(seat_of(match, "ann").player)
    ended(match, [1])
    assert client.get(path).status_code == 200
    few = statements(client, path)
    for _ in range(20):
        again(match)
    assert statements(client, path) == few


def statements(client, path: str) -> int:
    seen = []
    db.session.rollback()

    def note(_connection, _cursor, statement, *_more) -> None:
        seen.append(statement)

    event.listen(db.engine, "before_cursor_execute", note)
    client.get(path)
    event.remove(db.engine, "before_cursor_execute", note)
    return len(seen)
