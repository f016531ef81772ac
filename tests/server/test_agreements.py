"""What a table agrees on: more time, pause, replacing, ending; and who resigns."""

from __future__ import annotations

from datetime import timedelta

import pytest
from cast import ADDRESSES, letters_to, on_time, open_turn, player, run_worker, running_match
from flask.testing import FlaskClient
from mail_server import Mailbox

from engine.record import verify
from pbem import agreements, audit, lobby, play, worker
from pbem.errors import BadAddress, BadChoice, BadPace, MatchOver, NotYours
from pbem.ext import db
from pbem.links import Links
from pbem.models import Match, Proposal, Seat, Turn
from pbem.table import record

HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
PEOPLE = ["ann", "bob", "cleo"]


@pytest.fixture
def match(app, now) -> Match:
    """A match of ann (its opener), bob and cleo."""
    return running_match(PEOPLE, now=now)


def seat_of(match: Match, name: str) -> Seat:
    return next(seat for seat in match.seats if seat.name == name.title())


def asked(match: Match) -> Seat:
    return open_turn(match).asked


def notices_to(name: str) -> list[str]:
    return [letter.about["what"] for letter in letters_to(name, "notice")]


def path(url: str) -> str:
    return url.removeprefix("https://play.example")


def played_out(match_id: int, now) -> Match:
    while (match := db.session.get_one(Match, match_id)).status == "running":
        turn = open_turn(match)
        if turn.asked.is_asked_by_mail:
            play.make_move(turn.id, play.choose_for(turn.id, "greedy"), by="link", now=now)
        else:
            on_time(worker.play_bots, now)
    return match


def test_more_time_is_granted_by_one_other_players_link(app, match, mailbox: Mailbox, now) -> None:
    seat = asked(match)
    due = open_turn(match).deadline
    proposed = agreements.propose(seat.id, "more_time", {}, now=now)
    others = [other for other in match.seats if other.id != seat.id]
    assert [len(letters_to(other.name.lower(), "proposal")) for other in others] == [1, 1]
    assert letters_to(seat.name.lower(), "proposal") == []
    run_worker(now)
    url = path(Links().yes(proposed, others[0]))
    client = app.test_client()
    # Any number of robots may look.
    for _ in range(2):
        assert "asks for more time for this move: 3 days on top" in client.get(url).text
    assert open_turn(match).deadline == due
    assert "it is done" in client.post(url).text
    assert open_turn(match).deadline == due + 3 * DAY
    # The second one comes to what is done already, and so does a second press.
    assert "it is done" in client.post(path(Links().yes(proposed, others[1]))).text
    assert "it is done" in client.post(url).text
    assert open_turn(match).deadline == due + 3 * DAY
    assert {notice for name in PEOPLE for notice in notices_to(name)} == {"more_time"}


def test_nobody_grants_themselves_more_time(app, match, now) -> None:
    seat = asked(match)
    proposed = agreements.propose(seat.id, "more_time", {}, now=now)
    with pytest.raises(NotYours):
        agreements.say_yes(proposed.id, seat.id, now=now)
    idle = next(other for other in match.seats if other.id != seat.id)
    with pytest.raises(NotYours, match="whose turn it is"):
        agreements.propose(idle.id, "more_time", {}, now=now)


def test_a_pause_stops_all_clocks_and_moves_deadlines_by_its_length(match, now) -> None:
    run_worker(now)
    match = db.session.get_one(Match, match.id)
    due = open_turn(match).deadline
    ann, bob = seat_of(match, "ann"), seat_of(match, "bob")
    proposed = agreements.propose(ann.id, "pause", {}, now=now + HOUR)
    agreements.say_yes(proposed.id, bob.id, now=now + HOUR)
    run_worker(now + HOUR)
    match = db.session.get_one(Match, match.id)
    assert match.paused_at == now + HOUR
    for days in range(20):
        on_time(worker.time_out, now + days * DAY)
        on_time(worker.remind, now + days * DAY)
    assert db.session.get_one(Match, match.id).ply == 0
    assert all(letters_to(name, "reminder") == [] for name in PEOPLE)
    assert list(audit.wrongs(now=now + 20 * DAY)) == []
    proposed = agreements.propose(ann.id, "resume", {}, now=now + 10 * DAY)
    agreements.say_yes(proposed.id, bob.id, now=now + 10 * DAY)
    assert db.session.get_one(Match, match.id).paused_at is None
    assert open_turn(match).deadline == due + 10 * DAY - HOUR
    assert notices_to("cleo") == ["paused", "resumed"]


def test_only_the_opener_asks_for_a_pause_or_another_player(match, now) -> None:
    bob = seat_of(match, "bob")
    for kind in ("pause", "resume", "deadline", "replace"):
        with pytest.raises(NotYours, match="only the opener"):
            agreements.propose(bob.id, kind, {}, now=now)
    with pytest.raises(BadChoice):
        agreements.propose(bob.id, "win", {}, now=now)
    assert db.session.query(Proposal).count() == 0


@pytest.mark.parametrize(
    ("kind", "about", "error"),
    [
        ("deadline", {"hours": 0}, BadPace),
        ("deadline", {"hours": 721}, BadPace),
        ("deadline", {"hours": -5}, BadPace),
        ("deadline", {"turn": 999, "hours": 5}, BadChoice),
        ("replace", {"place": 9, "address": "dan@players.example"}, BadChoice),
        ("replace", {"place": 2, "address": "not an address"}, BadAddress),
        ("replace", {"place": 2, "address": ADDRESSES["cleo"]}, BadChoice),
    ],
)
def test_what_cannot_be_asked_for_is_refused(match, now, kind, about, error) -> None:
    about = {"turn": open_turn(match).id} | about
    with pytest.raises(error):
        agreements.propose(seat_of(match, "ann").id, kind, about, now=now)
    assert db.session.query(Proposal).count() == 0


def test_another_player_takes_over_after_the_tables_yes(match, mailbox: Mailbox, now) -> None:
    ann, bob, cleo = (seat_of(match, name) for name in PEOPLE)
    match_id, bob_id = match.id, bob.id
    about = {"place": bob.place, "address": ADDRESSES["dan"]}
    proposed = agreements.propose(ann.id, "replace", about, now=now)
    assert db.session.get_one(Seat, bob_id).is_free is False
    agreements.say_yes(proposed.id, cleo.id, now=now)
    run_worker(now)
    bob = db.session.get_one(Seat, bob_id)
    assert (bob.is_free, bob.is_kept, bob.invited) == (True, True, ADDRESSES["dan"])
    assert any("invit" in str(mail["Subject"]).lower() for mail in mailbox.to(ADDRESSES["dan"]))
    lobby.sit(bob_id, name="Dan", phrase="", language="en", zone="UTC", now=now)
    bob = db.session.get_one(Seat, bob_id)
    assert (bob.name, bob.player.address, bob.taken_over) == ("Dan", ADDRESSES["dan"], True)
    played_out(match_id, now)
    verify(record(db.session.get_one(Match, match_id)))
    assert list(audit.wrongs()) == []


def test_all_together_end_a_game_as_it_stands(match, now) -> None:
    ann, bob, cleo = (seat_of(match, name) for name in PEOPLE)
    proposed = agreements.propose(bob.id, "end", {}, now=now)
    agreements.say_yes(proposed.id, ann.id, now=now)
    agreements.say_yes(proposed.id, ann.id, now=now)
    assert db.session.get_one(Match, match.id).status == "running"
    agreements.say_yes(proposed.id, cleo.id, now=now)
    match = db.session.get_one(Match, match.id)
    assert (match.status, match.ended) == ("over", "stopped")
    assert sorted(match.winners) == [1, 2, 3]
    verify(record(match))
    assert db.session.query(Turn).filter_by(closed_at=None).count() == 0
    with pytest.raises(MatchOver):
        agreements.propose(bob.id, "end", {}, now=now)


def test_with_bots_only_nobody_else_need_agree(app, now) -> None:
    match = running_match(["ann", "bot"], now=now)
    agreements.propose(seat_of(match, "ann").id, "end", {}, now=now)
    assert db.session.get_one(Match, match.id).ended == "stopped"


def test_of_two_the_other_wins_when_one_resigns(app, mailbox: Mailbox, now) -> None:
    match = running_match(["ann", "bob"], now=now)
    ann, bob = seat_of(match, "ann"), seat_of(match, "bob")
    agreements.resign(ann.id, now=now)
    match = db.session.get_one(Match, match.id)
    assert (match.status, match.ended, match.winners) == ("over", "resigned", [bob.number])
    found = record(match)
    assert found.resigned == {ann.number}
    verify(found)
    run_worker(now)
    last = mailbox.to(ADDRESSES["bob"])[-1]
    assert "Ann has resigned" in last.get_body(("plain",)).get_content()
    # The letter of the end tells it all: nobody plays that seat on.
    assert notices_to("bob") == []
    assert list(audit.wrongs()) == []


def test_among_more_the_house_plays_on_and_the_seat_is_placed_last(
    match, mailbox: Mailbox, now
) -> None:
    bob = seat_of(match, "bob")
    agreements.resign(bob.id, now=now)
    agreements.resign(bob.id, now=now)
    assert notices_to("ann") == notices_to("cleo") == ["resigned"]
    match = played_out(match.id, now)
    assert bob.number not in match.winners
    verify(record(match))
    run_worker(now)
    assert not any("your turn" in str(mail["Subject"]) for mail in mailbox.to(ADDRESSES["bob"]))
    assert list(audit.wrongs()) == []


def test_resigning_asks_once_more(app, match, now) -> None:
    url = path(Links().seat(seat_of(match, "bob")))
    client: FlaskClient = app.test_client()
    asking = client.post(url, data={"do": "resign"})
    assert "Do you really resign?" in asking.text
    assert seat_of(db.session.get_one(Match, match.id), "bob").resigned is False
    assert client.post(url, data={"do": "resign", "sure": "1"}).status_code == 303
    db.session.rollback()
    assert seat_of(db.session.get_one(Match, match.id), "bob").resigned is True


def test_the_seats_page_says_at_the_form_what_is_wrong(app, match, now) -> None:
    client: FlaskClient = app.test_client()
    url = path(Links().seat(seat_of(match, "ann")))
    answer = client.post(url, data={"do": "replace", "place": "2", "address": "nobody"})
    assert answer.status_code == 409
    assert "does not look like a mail address" in answer.text
    assert "Traceback" not in answer.text


def test_the_players_own_page_keeps_what_it_is_given(app, now) -> None:
    ann = player("ann", now=now)
    client: FlaskClient = app.test_client()
    url = path(Links().you(ann))
    page = client.get(url)
    assert page.status_code == 200
    assert page.headers["Cache-Control"] == "no-store"
    given = {
        "do": "settings", "name": "Annie", "language": "fr", "zone": "Pacific/Apia",
        "quiet_from": "22:00", "quiet_until": "08:00", "steps": ["-1", "2"],
        "digest_at": "07:30", "entries": "feed", "plays_forced": "1",
    }  # fmt: skip
    assert client.post(url, data=given).status_code == 303
    db.session.rollback()
    assert (ann.name, ann.language, ann.zone) == ("Annie", "fr", "Pacific/Apia")
    assert (ann.quiet_from, ann.quiet_until, ann.digest_at) == (1320, 480, 450)
    assert (ann.reminder_steps, ann.entries, ann.plays_forced) == ([-1, 2], "feed", True)
    wrong = client.post(url, data=given | {"quiet_from": "25:00"})
    assert wrong.status_code == 409
    assert "22:00" in wrong.text
    past = client.post(url, data={"do": "away", "first": "2020-01-01", "last": "2020-01-02"})
    assert past.status_code == 409
    assert client.get("/y/forged").status_code == 404


def test_an_absence_is_set_and_ended_on_the_page(app, now) -> None:
    ann = player("ann", now=now, zone="UTC")
    client: FlaskClient = app.test_client()
    url = path(Links().you(ann))
    from datetime import UTC, datetime

    day = datetime.now(UTC).date() + 2 * DAY
    given = {"do": "away", "first": f"{day}", "last": f"{day + DAY}"}
    assert client.post(url, data=given).status_code == 303
    db.session.rollback()
    (absence,) = ann.absences
    assert absence.ends_at - absence.starts_at == 2 * DAY
    assert client.post(url, data={"do": "end", "absence": absence.id}).status_code == 303
    db.session.rollback()
    assert ann.absences == []
