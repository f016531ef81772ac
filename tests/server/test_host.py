"""What the host sees and may do, on the page and in the terminal; nobody else does."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cast import (
    ADDRESSES,
    TOKEN,
    letters_to,
    open_turn,
    path,
    player,
    running_match,
    seat_of,
    signed_in,
    signed_in_host,
    words,
)
from conftest import KEYS
from sqlalchemy import func, select

from pbem import agreements, lobby
from pbem.commands import matches
from pbem.ext import db, settings, writing
from pbem.links import Links
from pbem.models import Letter, LetterState, Match, Player, Proposal, Turn
from pbem.table import load

ROOT = Path(__file__).parents[2]
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


@pytest.fixture
def match(app, now) -> Match:
    """A match of ann and bob that began just now."""
    return running_match(["ann", "bob"], now=now)


@pytest.fixture
def late(match, now) -> Match:
    """A match of cleo and dan, stored after the other; its first turn is two days late."""
    return running_match(["cleo", "dan"], now=now - 5 * DAY)


@pytest.fixture
def host(app, match):
    """A browser in which ann, the host, is signed in."""
    return signed_in_host(app, "ann")


def act(client, match: Match, do: str, **fields: object):
    data = {"form_token": TOKEN, "do": do} | fields
    return client.post(f"/host/{match.code}", data=data)


def stored() -> list[object]:
    """Return what a refused form must leave as it was."""
    db.session.rollback()
    counted = [db.session.scalar(select(func.count()).select_from(k)) for k in (Letter, Proposal)]
    matches = db.session.execute(select(Match.status, Match.paused_at).order_by(Match.id)).all()
    turns = db.session.execute(select(Turn.deadline, Turn.extra).order_by(Turn.id)).all()
    seats = [(s.is_kept, s.invited) for m in db.session.scalars(select(Match)) for s in m.seats]
    return [counted, matches, turns, seats]


# Who may see it.


def test_nobody_but_the_host_finds_the_page(app, host, match) -> None:
    before = stored()
    for client in (app.test_client(), signed_in(app, "bob")):
        for page in (client.get("/host"), act(client, match, "pause"), act(client, match, "end")):
            assert page.status_code == 404
            assert match.code not in page.text
            assert "Ann" not in page.text
    assert stored() == before
    assert host.get("/host").status_code == 200


def test_the_front_page_leads_the_host_there_and_nobody_else(app, host) -> None:
    assert 'href="/host"' in host.get("/").text
    assert "/host" not in signed_in(app, "bob").get("/").text


def test_without_a_host_there_is_no_page(app, match) -> None:
    app.extensions["pbem.settings"] = dataclasses.replace(settings(), host_addresses=())
    assert signed_in(app, "ann").get("/host").status_code == 404


def test_the_page_is_kept_by_nobody(host) -> None:
    page = host.get("/host")
    assert page.headers["Cache-Control"] == "no-store"
    assert "noindex" in page.headers["X-Robots-Tag"]


# What it shows.


def test_the_host_sees_whom_each_game_waits_for_the_late_first(host, match, late) -> None:
    page = host.get("/host")
    assert page.text.index(late.code) < page.text.index(match.code)
    for one in (match, late):
        assert f'href="/g/{one.code}"' in page.text
        asked = open_turn(one).asked.name
        assert f"The table waits for {asked} since " in words(page)
    assert words(page).count("Late.") == 1
    assert f"Late. The table waits for {open_turn(late).asked.name}" in words(page)
    assert words(page).count("Due: ") == 2


def test_times_are_told_in_the_hosts_zone(host, match) -> None:
    turn = open_turn(match)
    with writing():
        turn.opened_at = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
        turn.deadline = datetime(2026, 7, 6, 12, 0, tzinfo=UTC)
    page = words(host.get("/host"))
    assert "since Mon 5 Jan, 13:00 (Paris time)." in page
    assert "Due: Mon 6 Jul, 14:00 (Paris time)." in page


def test_a_paused_game_is_not_late_and_says_why(host, late, now) -> None:
    with writing():
        db.session.get_one(Match, late.id).paused_at = now
    page = words(host.get("/host"))
    assert "Late." not in page
    assert "The game is paused since" in page


def test_kept_and_resigned_seats_are_named_once_each(host, match) -> None:
    turn_seat = open_turn(match).asked
    other = next(seat for seat in match.seats if seat.id != turn_seat.id)
    with writing():
        turn_seat.is_kept = other.resigned = True
    page = words(host.get("/host"))
    for name in (turn_seat.name, other.name):
        assert page.count(f"The house plays for {name}.") == 1


def test_open_proposals_are_told(host, match, now) -> None:
    agreements.propose(seat_of(match, "ann").id, "pause", {}, now=now)
    assert "Open: Ann would like to pause the game." in words(host.get("/host"))
    (proposed,) = agreements.open_proposals(match)
    agreements.say_yes(proposed.id, seat_of(match, "bob").id, now=now)
    assert "would like to pause" not in words(host.get("/host"))


def test_players_whom_no_mail_reaches_are_told_with_their_address(host, now) -> None:
    assert "no mail reaches" not in words(host.get("/host"))
    with writing():
        bob = lobby.find_player(ADDRESSES["bob"])
        bob.unreachable_at, bob.unreachable_why = now, "550 <no> such user"
    page = host.get("/host")
    assert re.search(r"Bob, bob@players\.example, since .*: 550 <no> such user", unescaped(page))
    assert "<no>" not in page.text


def unescaped(page) -> str:
    return words(page).replace("&lt;", "<").replace("&gt;", ">")


def test_tables_that_wait_are_told_with_what_is_missing(host, match, now) -> None:
    opener = lobby.find_player(ADDRESSES["bob"])
    chairs = [lobby.Chair(address=ADDRESSES["dan"]), lobby.Chair()]
    table = lobby.open_table(opener, "biscuit", chairs, {}, now=now)
    page = host.get("/host")
    assert f'href="/g/{table.code}"' in page.text
    assert f"Biscuit {table.code} 2 players are missing · since " in words(page)


def test_no_card_no_key_and_no_phrase_is_shown(host, match, now) -> None:
    with writing():
        for seat in match.seats:
            seat.phrase = "a phrase of their own"
    agreements.propose(seat_of(match, "ann").id, "pause", {}, now=now)
    page, table = host.get("/host"), load(match)
    for seat in match.seats:
        hand = table.view(seat.number).hand
        assert hand
        for card in hand:
            assert not re.search(rf"\b{card.code}\b", words(page))
    assert match.server_key.hex() not in page.text
    assert "a phrase of their own" not in page.text
    # Nor a link that opens a seat.
    assert not re.search(r"/[simjpyc]/", page.text)


def test_an_empty_server_says_so(host, match, now) -> None:
    agreements.as_host(match.id, "end", {}, now=now)
    assert "No game is running." in words(host.get("/host"))


# What it does.


def test_the_host_pauses_and_resumes(host, match) -> None:
    done = act(host, match, "pause")
    assert (done.status_code, done.location) == (303, "/host")
    assert db.session.get_one(Match, match.id).paused_at is not None
    assert len(letters_to("bob", "notice")) == 1
    assert "Go on after the pause" in host.get("/host").text
    assert act(host, match, "resume").status_code == 303
    assert db.session.get_one(Match, match.id).paused_at is None


def test_the_host_gives_hours(host, match) -> None:
    turn = open_turn(match)
    before = turn.deadline
    assert act(host, match, "deadline", turn=turn.id, hours=" 10 ").status_code == 303
    assert db.session.get_one(Turn, turn.id).deadline == before + 10 * HOUR


def test_the_host_offers_a_seat(host, match) -> None:
    place = seat_of(match, "bob").place
    given = act(host, match, "replace", place=place, address="DAN@players.example ")
    assert given.status_code == 303
    bob = seat_of(db.session.get_one(Match, match.id), "bob")
    assert (bob.is_kept, bob.invited) == (True, ADDRESSES["dan"])
    assert len(letters_to("dan", "invitation")) == 1
    assert "The house plays for Bob." in words(host.get("/host"))


def test_the_host_mails_a_turn_once_more(host, match, now) -> None:
    turn = open_turn(match)
    name = turn.asked.name.lower()
    assert len(letters_to(name, "your_turn")) == 1
    assert act(host, match, "mail_again", turn=turn.id).status_code == 303
    assert len(letters_to(name, "your_turn")) == 2
    assert act(host, match, "mail_again", turn=turn.id + 1).status_code == 400
    assert len(letters_to(name, "your_turn")) == 2
    # For whoever gets one mail a day it does not wait for that.
    with writing():
        db.session.get_one(Turn, turn.id).asked.player.digest_at = 18 * 60
    assert act(host, match, "mail_again", turn=turn.id).status_code == 303
    assert len(letters_to(name, "your_turn")) == 3


def test_the_table_reads_each_act_of_the_host_with_its_time(app, host, match, caplog) -> None:
    caplog.set_level("INFO")
    turn = open_turn(match)
    act(host, match, "pause")
    act(host, match, "resume")
    act(host, match, "deadline", turn=turn.id, hours="10")
    act(host, match, "mail_again", turn=turn.id)
    act(host, match, "end", sure="1")
    told = [
        "The game is paused, as the host asked.",
        "The game goes on, as the host asked.",
        f"{turn.asked.name} has more time now",
        f"The turn of {turn.asked.name} was mailed once more, as the host asked.",
        "The game was ended as it stands, as the host asked.",
    ]
    for name in ("ann", "bob"):
        page = words(app.test_client().get(path(Links().seat(seat_of(match, name)))))
        beside = page[page.index("Beside the game") :]
        places = [beside.index(line) for line in told]
        assert places == sorted(places)
    assert "Beside the game" not in app.test_client().get(f"/g/{match.code}").text
    logged = [
        record.getMessage() for record in caplog.records if "a host did" in record.getMessage()
    ]
    done = ("pause", "resume", "deadline", "mail_again", "end")
    assert logged == [f"match {match.id}: a host did {kind}" for kind in done]


def test_the_host_ends_a_game(host, match) -> None:
    assert act(host, match, "end", sure="1").status_code == 303
    over = db.session.get_one(Match, match.id)
    assert (over.status, over.ended) == ("over", "stopped")
    assert match.code not in host.get("/host").text
    again = act(host, match, "end", sure="1")
    assert again.status_code == 400
    assert "This game is over" in words(again)


@pytest.mark.parametrize(
    ("do", "fields", "said"),
    [
        ("", {}, "not one of the choices"),
        ("resign", {}, "not one of the choices"),
        ("more_time", {}, "not one of the choices"),
        ("end", {}, "Tick that you are sure"),
        ("deadline", {"hours": "0"}, "from 1 to 720"),
        ("deadline", {"hours": "721"}, "from 1 to 720"),
        ("deadline", {"hours": "many"}, "from 1 to 720"),
        ("deadline", {"turn": "0", "hours": "5"}, "not one of the choices"),
        ("deadline", {"turn": "9" * 30, "hours": "5"}, "not one of the choices"),
        ("deadline", {"turn": "9" * 18, "hours": "5"}, "not one of the choices"),
        ("replace", {"place": "1", "address": "dan"}, "mail address"),
        ("replace", {"place": "1", "address": ""}, "mail address"),
        ("replace", {"place": "9", "address": ADDRESSES["dan"]}, "not one of the choices"),
        ("replace", {"place": "1", "address": ADDRESSES["bob"]}, "has a seat at this table"),
    ],
)
def test_a_wrong_form_says_why_and_changes_nothing(host, match, do, fields, said) -> None:
    before = stored()
    page = act(host, match, do, **{"turn": open_turn(match).id} | fields)
    assert page.status_code == 400
    assert said in words(page)
    assert 'role="alert"' in page.text
    assert page.text.count("<details open>") == 1
    assert stored() == before


def test_a_turn_of_another_game_is_refused(host, match, late) -> None:
    before = stored()
    page = act(host, match, "deadline", turn=open_turn(late).id, hours="5")
    assert page.status_code == 400
    assert stored() == before


@pytest.mark.parametrize("token", ["", "another"])
def test_a_form_without_its_token_is_refused(host, match, token) -> None:
    before = stored()
    for do in ("pause", "end"):
        assert act(host, match, do, sure="1", form_token=token).status_code == 400
    assert stored() == before


def test_an_unknown_game_is_not_found(host) -> None:
    data = {"form_token": TOKEN, "do": "pause"}
    assert host.post("/host/no-such-game", data=data).status_code == 404


def test_every_form_of_the_page_carries_its_token_and_works_as_it_stands(host, match) -> None:
    forms = re.findall(r"<form.*?</form>", host.get("/host").text, re.DOTALL)
    done = re.findall(r'name="do" value="(\w+)"', "".join(forms))
    assert sorted(set(done)) == ["deadline", "end", "mail_again", "pause", "replace"]
    for form in forms:
        assert f'name="form_token" value="{TOKEN}"' in form
        assert f'action="/host/{match.code}"' in form
    ids = re.findall(r' id="([^"]+)"', host.get("/host").text)
    assert len(ids) == len(set(ids))
    hidden = dict(re.findall(r'name="(\w+)"(?: type="\w+"[^>]*)? value="([^"]*)"', forms[1]))
    assert hidden["do"] == "deadline"
    assert host.post(f"/host/{match.code}", data=hidden | {"hours": "24"}).status_code == 303


# The same in the terminal.


def test_a_turn_is_a_line_with_its_times_and_marks(match, late, now) -> None:
    moment = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
    turn, other = open_turn(late), open_turn(match)
    with writing():
        turn.opened_at, turn.deadline = moment, moment + 3 * DAY
        other.opened_at, other.deadline = moment, moment + 5 * DAY
        other.asked.is_kept = True
    name, kept = turn.asked.name, other.asked.name
    first = f"{late.code}  biscuit  {name}  since 2026-12-01 12:00Z  due 2026-12-04 12:00Z  late"
    second = (
        f"{match.code}  biscuit  {kept}  since 2026-12-01 12:00Z  due 2026-12-06 12:00Z"
        f"  kept  The house plays for {kept}."
    )
    assert list(matches.all_lines(now=moment + 4 * DAY)) == [first, second]
    assert list(matches.late_lines(now=moment + 4 * DAY)) == [first]
    with writing():
        db.session.get_one(Match, late.id).paused_at = moment + DAY
    assert list(matches.late_lines(now=moment + 4 * DAY)) == []
    assert next(matches.all_lines(now=moment + 4 * DAY)) == (
        f"{late.code}  biscuit  {name}  since 2026-12-01 12:00Z  due 2026-12-04 12:00Z"
        "  paused  The game is paused since Wed 2 Dec, 12:00 (UTC); no clock runs."
    )


def test_what_mail_failed_comes_after_the_turns_and_steers_no_terminal(match, now) -> None:
    moment = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
    with writing():
        bob = db.session.scalars(select(Player).where(Player.name == "Bob")).one()
        bob.unreachable_at, bob.unreachable_why = moment, "550\x1b[2J\nno such user"
        letter = letters_to("bob")[0]
        letter.state, letter.error, letter.created_at = LetterState.FAILED, "554 no", moment
    turn_line, *lines = matches.all_lines(now=moment + DAY)
    assert turn_line.startswith(match.code)
    assert lines == [
        "unreachable  Bob  bob@players.example  since 2026-12-01 12:00Z: 550 [2J no such user",
        f"given up  {letter.kind}  bob@players.example  of 2026-12-01 12:00Z: 554 no",
    ]
    assert not any("given up" in line for line in matches.all_lines(now=moment + 8 * DAY))


def test_the_command_runs_from_a_shell(match, late, database_url, tmp_path) -> None:
    db.session.rollback()
    for arguments, codes in (((), [late.code, match.code]), (("--late",), [late.code])):
        out = subprocess.run(
            [sys.executable, "-m", "pbem", "matches", *arguments], capture_output=True, text=True,
            cwd=ROOT, check=False, timeout=60,
            env={
                "PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8",
                "PBEM_DATABASE_URL": database_url, "PBEM_SECRET_KEYS": KEYS[0],
                "PBEM_LANGUAGE": "fr",
            },
        )  # fmt: skip
        assert (out.returncode, out.stderr) == (0, "")
        assert [line.split()[0] for line in out.stdout.splitlines()] == codes


def test_hands_and_keys_are_in_no_line(match, now) -> None:
    text, table = "\n".join(matches.all_lines(now=now)), load(match)
    for seat in match.seats:
        for card in table.view(seat.number).hand:
            assert not re.search(rf"\b{card.code}\b", text)
    assert match.server_key.hex() not in text


def test_a_game_alone_with_bots_can_be_looked_after(app, host, match, now) -> None:
    player("dan", now=now)
    dan = lobby.find_player(ADDRESSES["dan"])
    alone = lobby.open_table(dan, "biscuit", [lobby.Chair(bot="greedy")], {}, now=now)
    page = host.get("/host")
    assert f'href="/g/{alone.code}"' in page.text
    assert "Offer the seat of Dan" in page.text
    assert "Offer the seat of Bot" not in page.text
