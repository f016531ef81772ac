"""A game's history: every ply at its address, what its reader may know, scores, and the text."""

from __future__ import annotations

import re
from datetime import timedelta
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from cast import ADDRESSES, open_turns, player, running_match, seat_of
from flask import g, session
from flask.testing import FlaskClient
from sqlalchemy import event

from engine import GAMES
from pbem import agreements, lobby, play
from pbem.ext import db, writing
from pbem.links import Links
from pbem.models import Match, Seat
from pbem.table import load
from pbem.tableau import Course, chart
from pbem.web.edition import edition
from pbem.web.security import follow, own_seat
from pbem.words import card_title


@pytest.fixture
def database_url(sqlite: str) -> str:
    """One kind is enough: a history is read alike from both."""
    return sqlite


@pytest.fixture
def client(app):
    return app.test_client()


@pytest.fixture
def match(app, now):
    return moved(running_match(["ann", "bob"], now=now), 5, now)


def moved(match: Match, moves: int, now) -> Match:
    """Return a match some moves later, or at its end."""
    for _ in range(moves):
        if match.status == "over":
            break
        turn = open_turns(match)[0]
        now += timedelta(minutes=5)
        play.make_move(turn.id, play.choose_for(turn.id, "greedy"), by="link", now=now)
        match = db.session.get_one(Match, match.id)
    return match


def over(match: Match, now) -> Match:
    return moved(match, 1000, now)


def stopped(name: str, moves: int, now) -> Match:
    """Return a match of a game with all its seats that was ended after some moves."""
    seats = list(ADDRESSES)[: GAMES[name].seat_counts[-1]]
    match = moved(running_match(seats, now=now, game=name), moves, now)
    agreements.as_host(match.id, "end", {}, now=now)
    return db.session.get_one(Match, match.id)


def two_hands(match: Match, now) -> Match:
    """Return a match that was ended in its second hand."""
    while not deals(match):
        match = moved(match, 1, now)
    match = moved(match, 2, now)
    agreements.as_host(match.id, "end", {}, now=now)
    return db.session.get_one(Match, match.id)


def deals(match: Match) -> list[int]:
    """Return the plies that dealt another hand."""
    plies = load(match).plies
    return [ply.number for ply in plies if any(event.kind == "deal" for event in ply.events)]


def path(url: str) -> str:
    return url.removeprefix("https://play.example")


def words(response) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", response.text).split())


def shown(response) -> str:
    """Return a page without links and outlines: their letters may look like any card."""
    return re.sub(r' (?:href|d|action)="[^"]*"', "", response.text)


def titles(seat: Seat, ply: int) -> list[str]:
    """Return how a page names the cards that a seat held after a ply."""
    hand = load(seat.match, ply=ply).view(seat.number).hand
    return [f'title="{card_title(card)}"' for card in hand]


def sign_in(client, who) -> None:
    with client.session_transaction() as session:
        session["player"] = who.id


def follow_as(client, seat: Seat):
    """Press the button of a seat's page that keeps the seat in the session."""
    return client.post(path(Links().seat(seat)), data={"do": "follow"})


def test_an_onlooker_sees_no_hand_while_the_game_runs(client, match) -> None:
    ann, bob = seat_of(match, "ann"), seat_of(match, "bob")
    for ply in range(match.ply + 1):
        page = client.get(f"/g/{match.code}/{ply}")
        assert "Your hand" not in page.text
        assert "All hands" not in page.text
        assert f'href="/g/{match.code}/deal"' in page.text
        for title in titles(ann, ply) + titles(bob, ply):
            assert title not in page.text


def test_who_is_signed_in_sees_what_their_seat_knew_at_each_ply(client, match) -> None:
    ann, bob = seat_of(match, "ann"), seat_of(match, "bob")
    sign_in(client, ann.player)
    for ply in range(match.ply + 1):
        page = client.get(f"/g/{match.code}/{ply}")
        assert "You see here what you knew then, Ann." in words(page)
        for title in titles(ann, ply):
            assert title in page.text
        for title in titles(bob, ply):
            assert title not in page.text
        assert page.headers["Cache-Control"] == "private, no-store"
        assert {"Cookie", "Accept-Language"} <= page.vary.as_set(preserve_casing=True)
        assert "ETag" not in page.headers


def test_the_seats_button_opens_it_to_this_session_and_to_no_other(client, app, match) -> None:
    ann = seat_of(match, "ann")
    seat_page = path(Links().seat(ann))
    assert "The game so far, as you saw it" in words(client.get(seat_page))
    answer = follow_as(client, ann)
    assert (answer.status_code, path(answer.location)) == (303, f"/g/{match.code}")
    page = client.get(f"/g/{match.code}/{match.ply}")
    assert all(title in page.text for title in titles(ann, match.ply))
    assert "as you saw it" not in words(client.get(seat_page))
    # The same address, shared, gives nothing away.
    other = app.test_client().get(f"/g/{match.code}/{match.ply}")
    assert not any(title in other.text for title in titles(ann, match.ply))
    assert "/s/" not in other.text
    assert other.headers["Cache-Control"] == "private, no-cache"


def test_opening_the_seats_link_keeps_nothing_in_the_session(client, match) -> None:
    ann = seat_of(match, "ann")
    for _ in range(2):
        assert "Set-Cookie" not in client.get(path(Links().seat(ann))).headers
        assert "Set-Cookie" not in client.head(path(Links().seat(ann))).headers
        assert "Set-Cookie" not in client.get(f"/g/{match.code}").headers
    assert "Your hand" not in client.get(f"/g/{match.code}").text


def test_a_machine_that_presses_the_button_opens_nothing(app, match) -> None:
    stranger = FlaskClient(app)
    assert follow_as(stranger, seat_of(match, "ann")).status_code == 409
    assert "Your hand" not in stranger.get(f"/g/{match.code}").text


def test_a_seat_that_is_another_players_now_shows_nothing(client, match, now) -> None:
    ann = seat_of(match, "ann")
    follow_as(client, ann)
    assert "Your hand" in client.get(f"/g/{match.code}").text
    dan = player("dan", now=now)
    with writing():
        db.session.get_one(Seat, ann.id).player_id = dan.id
    page = client.get(f"/g/{match.code}")
    assert "Your hand" not in page.text
    assert "what you knew" not in page.text
    assert not any(title in page.text for title in titles(ann, match.ply))


def test_who_signs_in_on_the_same_device_does_not_see_the_others_seat(client, match, now) -> None:
    follow_as(client, seat_of(match, "ann"))
    sign_in(client, player("dan", now=now))
    assert "Your hand" not in client.get(f"/g/{match.code}").text
    assert follow_as(client, seat_of(match, "ann")).status_code == 409


def test_a_session_follows_the_newest_seats_only(app, match) -> None:
    ann = seat_of(match, "ann")
    with app.test_request_context():
        for number in range(100, 130):
            follow(Seat(id=number, player_id=1, renewed=0))
        follow(ann)
        follow(ann)
        assert len(session["seats"]) == 20
        assert session["seats"][-1] == [ann.id, ann.player_id, 0]
        assert session["seats"].count([ann.id, ann.player_id, 0]) == 1
        assert own_seat(match) == ann


@pytest.mark.parametrize("name", list(GAMES))
def test_after_the_end_every_ply_shows_all_hands(client, now, name) -> None:
    match = stopped(name, 12, now)
    for ply in (0, 2, 7, match.ply):
        page = client.get(f"/g/{match.code}/{ply}").text
        for seat in match.seats:
            assert all(title in page for title in titles(seat, ply))
        if name == "bisque":
            assert page.count("face down:") == min(ply, 3)


@pytest.mark.parametrize("name", list(GAMES))
def test_what_a_move_put_on_the_table_is_marked(client, now, name) -> None:
    seats = list(ADDRESSES)[: GAMES[name].seat_counts[-1]]
    match = moved(running_match(seats, now=now, game=name), 8, now)
    table = load(match)
    for ply in table.plies:
        page = client.get(f"/g/{match.code}/{ply.number}").text
        if ply.events[0].kind == "play" and len(ply.events) == 1:
            assert page.count('href="#mark-fresh"') == 1
            assert "A ribbon marks the cards of this move." in page
        if ply.events[0].kind == "aim":
            assert "mark-fresh" not in page
            assert "ribbon" not in page


def test_the_jump_list_goes_by_hands(client, now) -> None:
    match = two_hands(running_match(["ann", "bob"], now=now, target=100), now)
    starts = [0, *deals(match)]
    for number, (first, end) in enumerate(pairwise([*starts, match.ply + 1]), 1):
        for ply in (first, end - 1):
            page = client.get(f"/g/{match.code}/{ply}").text
            assert jumps(page) == {"Hand": starts, "Move": list(range(first, end))}
            assert page.count('aria-current="true"') == 1
            assert page.count('aria-current="step"') == 2
            assert f'aria-current="true">{number}</a>' in page
        assert "was dealt" in re.findall(rf'<li value="{first}".*</li>', page)[0]
    assert re.findall(r"<h3>(.*)</h3>", page) == [f"Hand {n}" for n, _ in enumerate(starts, 1)]


def jumps(page: str) -> dict[str, list[int]]:
    """Return where the jump list leads, by its rows."""
    (nav,) = re.findall(r'<nav class="jump".*?</nav>', page, re.DOTALL)
    rows = re.findall(r"<p>(\w+):(.*?)</p>", nav, re.DOTALL)
    return {name: [int(nth) for nth in re.findall(r'/(\d+)"', row)] for name, row in rows}


def test_a_finished_page_asked_for_again_reads_no_move(client, match, now) -> None:
    match = over(match, now)
    for address in (f"/g/{match.code}", f"/g/{match.code}/2", f"/g/{match.code}/game.txt",
                    f"/g/{match.code}/record.json"):  # fmt: skip
        first = client.get(address)
        tag = first.headers["ETag"]
        assert first.status_code == 200
        assert first.headers["Cache-Control"] == "private, no-cache"
        with Statements() as seen:
            again = client.get(address, headers={"If-None-Match": tag})
        assert (again.status_code, again.data) == (304, b"")
        assert again.headers["ETag"] == tag
        assert [re.search(r'FROM "?(\w+)', one)[1] for one in seen] == ["match", "seat"]
        with Statements() as seen:
            whole = client.get(address)
        assert whole.data == first.data
        if not address.endswith(".json"):
            assert not any("FROM move" in statement for statement in seen)
        assert client.get(address, headers={"If-None-Match": '"other"'}).status_code == 200


class Statements:
    """Holds the statements that the database was asked while it is open."""

    def __enter__(self) -> list[str]:
        db.session.rollback()
        self.seen: list[str] = []
        event.listen(db.engine, "before_cursor_execute", self.note)
        return self.seen

    def __exit__(self, *_error: object) -> None:
        event.remove(db.engine, "before_cursor_execute", self.note)
        self.seen[:] = [" ".join(one.split()) for one in self.seen if "FROM" in one]

    def note(self, _connection, _cursor, statement, *_more) -> None:
        self.seen.append(statement)


def test_a_finished_page_is_replayed_once(client, match, now, monkeypatch) -> None:
    match = over(match, now)
    counted = Counted(GAMES[match.game])
    monkeypatch.setitem(GAMES, match.game, counted)
    first = client.get(f"/g/{match.code}/3")
    replayed = counted.steps
    assert replayed >= match.ply
    for _ in range(3):
        assert client.get(f"/g/{match.code}/3").data == first.data
        tag = {"If-None-Match": first.headers["ETag"]}
        assert client.get(f"/g/{match.code}/3", headers=tag).status_code == 304
    assert counted.steps == replayed


class Counted:
    """A game that counts how many moves it makes."""

    def __init__(self, game) -> None:
        self._game = game
        self.steps = 0

    def __getattr__(self, name: str):
        return getattr(self._game, name)

    def step(self, *given):
        self.steps += 1
        return self._game.step(*given)


def test_a_running_page_has_no_tag_and_is_made_anew(client, match, now) -> None:
    address = f"/g/{match.code}"
    before = client.get(address)
    assert "ETag" not in before.headers
    match = moved(match, 1, now)
    assert client.get(address, headers={"If-None-Match": "*"}).status_code == 200
    assert f"{match.ply} / {match.ply}" in client.get(address).text


def test_the_tag_changes_with_all_that_the_page_depends_on(client, match, now) -> None:
    match = over(match, now)
    address = f"/g/{match.code}/2"
    tags = [client.get(address).headers["ETag"]]
    tags.append(client.get(f"/g/{match.code}/3").headers["ETag"])
    # The test's own context outlives a request, and the language is kept in it.
    g.pop("_flask_babel")
    tags.append(client.get(address, headers={"Accept-Language": "fr"}).headers["ETag"])
    g.pop("_flask_babel")
    ann = seat_of(match, "ann")
    with writing():
        ann.player.has_page = True
    public = client.get(address)
    tags.append(public.headers["ETag"])
    assert f'<a href="/players/{ann.player_id}">Ann</a>' in public.text
    sign_in(client, ann.player)
    own = client.get(address)
    tags.append(own.headers["ETag"])
    assert "/s/" in own.text
    assert len(set(tags)) == len(tags)


def test_names_lead_to_the_pages_of_those_who_want_one(client, match) -> None:
    ann, bob = seat_of(match, "ann"), seat_of(match, "bob")
    assert "/players/" not in client.get(f"/g/{match.code}").text
    with writing():
        bob.player.has_page = True
    page = client.get(f"/g/{match.code}").text
    assert f'<a href="/players/{bob.player_id}">Bob</a>' in page
    assert f"/players/{ann.player_id}" not in page


@pytest.mark.parametrize("name", list(GAMES))
def test_the_whole_game_is_one_text_of_72_columns(client, now, name) -> None:
    match = stopped(name, 15, now)
    for language in ("en", "fr"):
        # The test's own context outlives a request, and the language is kept in it.
        g.pop("_flask_babel", None)
        told = client.get(f"/g/{match.code}/game.txt", headers={"Accept-Language": language})
        assert told.mimetype == "text/plain"
        lines = told.text.splitlines()
        assert lines[0] == f"{GAMES[name].title} {match.code}"
        assert max(map(len, lines)) <= 72
        for fact in (match.commitment, match.server_key.hex(), f"/g/{match.code}/record.json"):
            assert fact in told.text
        numbers = [int(nth) for nth in re.findall(r"^ *(\d+)\. ", told.text, re.MULTILINE)]
        assert numbers == list(range(match.ply + 1))
        assert ("CE QUI S'EST PASSÉ" in told.text) is (language == "fr")
        assert "&" not in told.text


def test_the_text_of_a_running_game_keeps_its_secrets(client, match) -> None:
    told = client.get(f"/g/{match.code}/game.txt")
    assert "THE TABLE AS IT STANDS" in told.text
    assert match.commitment in told.text
    assert match.server_key.hex() not in told.text
    assert "ETag" not in told.headers
    sign_in(client, seat_of(match, "ann").player)
    assert client.get(f"/g/{match.code}/game.txt").text == told.text


def test_the_text_tells_options_phrases_and_hostile_names_as_they_are(client, now) -> None:
    chair = lobby.Chair(address=ADDRESSES["bob"])
    options = {"target": 100, "excuse": True}
    ann = player("ann", now=now)
    match = lobby.open_table(ann, "biscuit", [chair], options, phrase="to be & not to be", now=now)
    lobby.sit(match.seats[1].id, name="Bob", phrase="", language="en", zone="UTC", now=now)
    match = db.session.get_one(Match, match.id)
    ann, bob = seat_of(match, "ann"), seat_of(match, "bob")
    with writing():
        ann.name = "<b>Ann & co</b>"
        bob.name = "\u202eBob \N{PERFORMING ARTS}"
    match = two_hands(match, now)
    text = client.get(f"/g/{match.code}/game.txt")
    assert text.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert text.headers["X-Content-Type-Options"] == "nosniff"
    assert "Players: <b>Ann & co</b> and \u202eBob \N{PERFORMING ARTS}." in text.text
    assert "Target (100)" in text.text
    assert "\n  to be & not to be\n" in text.text
    assert re.findall("^HAND .*", text.text, re.MULTILINE) == ["HAND 1", "HAND 2"]
    page = client.get(f"/g/{match.code}").text
    assert "<b>Ann & co</b>" not in page
    assert "&lt;b&gt;Ann &amp; co&lt;/b&gt;" in page


def test_a_table_that_waits_has_no_text_and_no_record(client, now) -> None:
    ann = player("ann", now=now)
    match = lobby.open_table(ann, "biscuit", [lobby.Chair()], {}, now=now)
    for address in ("game.txt", "record.json"):
        assert client.get(f"/g/{match.code}/{address}").status_code == 404
        assert client.get(f"/g/nothing/{address}").status_code == 404


def test_the_scores_are_drawn_and_told_in_numbers(client, match, now) -> None:
    match = over(match, now)
    page = client.get(f"/g/{match.code}/4").text
    after = load(match, ply=4).scores
    first, second = (seat.name for seat in sorted(match.seats, key=lambda seat: seat.number))
    points = [f"{total} point{'' if total == 1 else 's'}" for total in after]
    told = f"After move 4: {first}: {points[0]} and {second}: {points[1]}."
    assert told in page
    (table,) = re.findall(r'<table class="results">.*?</table>', page, re.DOTALL)
    rows = re.findall(r"<tr>(.*?)</tr>", table)
    numbers = [[int(n) for n in re.findall(r">(-?\d+)<", row)] for row in rows[1:]]
    assert numbers[-1][1:] == match.scores
    moves = {move.ply: move.scores for move in match.moves}
    assert all(moves[ply] == scores for ply, *scores in numbers)


def test_nothing_is_drawn_before_anybody_has_scored(client, now) -> None:
    match = moved(running_match(["ann", "bob", "cleo"], now=now, game="bisque"), 4, now)
    page = client.get(f"/g/{match.code}").text
    assert page.count("<figure") == 1
    assert "The scores in numbers" not in page


def test_a_chart_tells_seats_apart_without_colours() -> None:
    courses = [Course(f"{name} <&>", (0, 1, 3, 3)) for name in ("Ann", "Bob", "Cleo", "Dan")]
    drawn = ElementTree.fromstring(chart(courses, now=2, title="Scores <&>"))
    lines = drawn.findall(".//{*}path[@stroke-width='2.4']")
    assert len({line.get("stroke-dasharray") for line in lines}) == 4
    names = [text for text in drawn.findall(".//{*}text") if "<&>" in (text.text or "")]
    assert [text.text for text in names] == [course.name for course in courses]
    # Lines that end at one place have their names below each other all the same.
    heights = sorted(float(text.get("y")) for text in names)
    assert min(b - a for a, b in pairwise(heights)) >= 14


@pytest.mark.parametrize(
    "totals", [((0,), (0,)), ((0, -3, -7), (0, 0, -1)), ((0, 1000), (0, -1000)), ((0, 0), (0, 0))]
)
def test_a_chart_holds_any_scores(totals) -> None:
    courses = [Course("A" * 40, one) for one in totals]
    drawn = ElementTree.fromstring(chart(courses, now=len(totals[0]) - 1, title=""))
    high = float(drawn.get("height"))
    for text in drawn.findall(".//{*}text"):
        assert 0 <= float(text.get("y")) <= high
    assert len(drawn.findall(".//{*}text")) <= 12


def test_an_edition_is_told_by_its_files_and_not_by_where_they_lie(tmp_path) -> None:
    for name, words in (("one", "{{ same }}"), ("two", "{{ same }}"), ("three", "{{ other }}")):
        (tmp_path / name / "web").mkdir(parents=True)
        (tmp_path / name / "web" / "table.html").write_text(words)
    one, two, three = (edition(str(tmp_path / name)) for name in ("one", "two", "three"))
    assert one == two
    assert one != three
