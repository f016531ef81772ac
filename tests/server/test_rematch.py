"""The same game once more: one link, one table, whoever presses first."""

from __future__ import annotations

import re

import pytest
from cast import (
    ADDRESSES,
    html_of,
    letters_to,
    path,
    player,
    run_worker,
    running_match,
    seat_of,
    text_of,
    words,
)
from mail_server import Mailbox
from sqlalchemy import func, select

from pbem import agreements, lobby, rematch, suppression
from pbem.errors import NotYours, SeatTaken
from pbem.ext import db, writing
from pbem.links import Links
from pbem.models import Match, Seat, Why


@pytest.fixture
def over(app, now) -> Match:
    """A game of ann, a bot, bob and cleo that is over, with options of its own."""
    match = running_match(["ann", "bot", "bob", "cleo"], now=now, pace_hours=48, excuse=True)
    agreements.as_host(match.id, "end", {}, now=now)
    return db.session.get_one(Match, match.id)


def link(match: Match, name: str) -> str:
    return path(Links().rematch(seat_of(match, name)))


def again(match: Match) -> Match:
    found = rematch.rematch_of(match)
    assert found is not None
    db.session.refresh(found)
    return found


def test_the_letter_and_the_seats_page_lead_to_another_game(app, over, mailbox: Mailbox, now):
    run_worker(now)
    (letter,) = [m for m in mailbox.to(ADDRESSES["bob"]) if "the game is over" in m["Subject"]]
    assert link(over, "bob") in text_of(letter)
    assert link(over, "bob") in html_of(letter)
    page = app.test_client().get(path(Links().seat(seat_of(over, "bob"))))
    assert link(over, "bob") in page.text


def test_one_button_invites_all_the_others_with_the_same_rules(app, over, now) -> None:
    client = app.test_client()
    page = client.get(link(over, "bob"))
    assert "Ann and Cleo" in words(page)
    assert rematch.rematch_of(over) is None
    answer = client.post(link(over, "bob"), data={"phrase": "once more"})
    assert answer.status_code == 303
    found = again(over)
    assert path(answer.location) == path(Links().seat(found.seats[0]))
    assert (found.options, found.pace_hours) == (over.options, 48)
    assert found.seats[0].phrase == "once more"
    # Clockwise from bob, as they sat.
    invited = [(seat.name, seat.invited) for seat in found.seats]
    assert invited == [
        ("Bob", None),
        (None, ADDRESSES["cleo"]),
        (None, ADDRESSES["ann"]),
        ("Bot 3", None),
    ]
    assert len(letters_to("ann", "invitation")) == 1


def test_who_presses_later_sits_down_at_the_same_table(app, over, now) -> None:
    client = app.test_client()
    for name in ("bob", "bob", "cleo", "ann", "ann"):
        assert client.post(link(over, name)).status_code == 303
    assert db.session.scalar(select(func.count()).select_from(Match)) == 2
    assert again(over).status == "running"
    assert "Bob has opened another game" in words(client.get(link(over, "ann")))


def test_who_takes_no_invitations_is_not_named_and_comes_by_the_link(app, over, now) -> None:
    with writing():
        suppression.suppress(ADDRESSES["cleo"], Why.ASKED, now=now)
    client = app.test_client()
    page = client.get(path(client.post(link(over, "ann")).location))
    assert ADDRESSES["cleo"] not in page.text
    assert [seat.invited for seat in again(over).seats] == [None, None, ADDRESSES["bob"], None]
    # The open place is cleo's if she asks for it.
    app.test_client().post(link(over, "cleo"))
    assert "Cleo" in [seat.name for seat in again(over).seats]


def test_the_same_game_can_be_asked_for_once_a_table_has_not_filled(app, over, now) -> None:
    client = app.test_client()
    client.post(link(over, "ann"))
    first = again(over)
    assert lobby.expire(first.id, now=now + lobby.WAITS)
    assert client.post(link(over, "bob")).status_code == 303
    assert again(over).id != first.id


def test_a_place_that_somebody_else_has_is_told_in_words(app, over, now) -> None:
    with writing():
        suppression.suppress(ADDRESSES["cleo"], Why.ASKED, now=now)
    app.test_client().post(link(over, "ann"))
    lobby.join(again(over).id, player("dan", now=now), phrase="", now=now)
    with pytest.raises(SeatTaken):
        rematch.play_again(seat_of(over, "cleo").id, phrase="", now=now)
    page = app.test_client().post(link(over, "cleo"))
    assert page.status_code == 409
    assert "somebody else sits there" in words(page).lower()


def test_a_phrase_that_is_too_long_is_refused_with_what_was_typed(app, over) -> None:
    page = app.test_client().post(link(over, "ann"), data={"phrase": "y" * 101})
    assert page.status_code == 409
    assert re.search('value="y{101}"', page.text)
    assert rematch.rematch_of(over) is None


def test_a_running_game_is_not_asked_for_again(app, now) -> None:
    match = running_match(["ann", "bob"], now=now)
    with pytest.raises(NotYours):
        rematch.play_again(match.seats[0].id, phrase="", now=now)
    assert app.test_client().post(link(match, "ann")).status_code == 409


def test_another_players_link_is_refused_to_who_is_signed_in(app, over) -> None:
    client = app.test_client()
    with client.session_transaction() as session:
        session["player"] = db.session.scalar(
            select(Seat.player_id).where(Seat.name == "Ann", Seat.match_id == over.id)
        )
    assert client.post(link(over, "bob")).status_code == 409
    assert rematch.rematch_of(over) is None
