"""What players say, note and ask for in words: the same by mail and by the page."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest
from cast import (
    ADDRESSES,
    TOKEN,
    letters_to,
    open_turn,
    parsed,
    path,
    reply_to,
    run_worker,
    running_match,
    seat_of,
    signed_in,
    signed_in_host,
    text_of,
    words,
)
from sqlalchemy import select

from pbem import play, suppression, talk
from pbem.errors import BadTalk, NobodyThere, TooMany
from pbem.ext import db, tokens, writing
from pbem.links import Links
from pbem.mail import errands, inbox, letters
from pbem.mail.answers import WORDS
from pbem.models import (
    Absence,
    Letter,
    Match,
    Move,
    Mute,
    Note,
    Notice,
    Player,
    PrivateNote,
    Proposal,
    Seat,
    Talk,
)
from pbem.tokens import Named

PEOPLE = ["ann", "bob", "cleo"]
DAY = timedelta(days=1)


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """One kind is enough here; test_inbox.py says and asks for something on both."""
    return f"sqlite:///{tmp_path / 'pbem.sqlite3'}"


@pytest.fixture
def match(app, mailbox, now) -> Match:
    """A match of ann (its opener), bob and cleo, in which players may whisper; all were told."""
    found = running_match(PEOPLE, now=now)
    with writing():
        db.session.get_one(Match, found.id).allows_whispers = True
    run_worker(now)
    return db.session.get_one(Match, found.id)


def asked(match: Match) -> str:
    return open_turn(match).asked.name.lower()


def letter_to(mailbox, name: str):
    """The last letter that arrived for one of the cast."""
    return mailbox.to(ADDRESSES[name])[-1]


def by_mail(mailbox, name: str, text: str, *, now) -> str:
    """Reply to one's last letter; returns the text of what came back."""
    letter = letter_to(mailbox, name)
    raw = reply_to(letter, text, sender=ADDRESSES[name])
    inbox.take(raw, inbox.Envelope(str(letter["Reply-To"]), ADDRESSES[name]), now=now)
    run_worker(now)
    return " ".join(text_of(letter_to(mailbox, name)).split())


def by_page(app, match: Match, who: str, **form: str):
    """Post a form of the seat's page."""
    url = path(Links().seat(seat_of(db.session.get_one(Match, match.id), who)))
    page = app.test_client().post(url, data=form)
    db.session.rollback()
    return page


def seat_page(app, match: Match, name: str) -> str:
    url = path(Links().seat(seat_of(db.session.get_one(Match, match.id), name)))
    return words(app.test_client().get(url))


def said() -> list[tuple[str, str | None, str]]:
    db.session.rollback()
    found = db.session.scalars(select(Talk).order_by(Talk.id))
    return [(one.player.name, one.to and one.to.name, one.text) for one in found]


def noted() -> list[tuple[str, str]]:
    db.session.rollback()
    rows = db.session.execute(select(Player, PrivateNote).join(PrivateNote)).all()
    return [(player.name, note.text) for player, note in rows]


def verdict() -> str | None:
    return db.session.scalars(select(Note).order_by(Note.id.desc())).first().verdict


def test_a_note_to_oneself_is_kept_by_mail(match, mailbox, now) -> None:
    name = asked(match)
    answer = by_mail(mailbox, name, "note: keep the Aces\n9 of Waves first", now=now)
    assert noted() == [(name.title(), "keep the Aces\n9 of Waves first")]
    assert "Your note to yourself is kept" in answer
    assert db.session.query(Move).count() == 0
    assert verdict() == "words"


def test_and_by_the_page_it_is_the_same_row(app, match, now) -> None:
    name = asked(match)
    page = by_page(app, match, name, do="note", text="keep the Aces\r\n9 of Waves first")
    assert page.status_code == 303
    assert noted() == [(name.title(), "keep the Aces\n9 of Waves first")]


def test_a_note_is_in_each_letter_of_its_author_and_in_no_other(app, match, mailbox, now) -> None:
    name = asked(match)
    seat = seat_of(match, name)
    talk.write_note(seat.id, "zebra", now=now)
    by_mail(mailbox, name, "again", now=now)
    assert "YOUR NOTE TO YOURSELF ‹zebra›" in " ".join(text_of(letter_to(mailbox, name)).split())
    by_mail(mailbox, name, "1", now=now)
    for letter in db.session.scalars(select(Letter)):
        raw = letters.build(letter).as_bytes()
        if letter.player_id != seat.player_id:
            assert b"zebra" not in raw, (letter.kind, letter.address)
    for other in PEOPLE:
        assert ("zebra" in seat_page(app, match, other)) == (other == name)
    assert "zebra" not in app.test_client().get(f"/g/{match.code}").text


def test_an_empty_note_deletes_it_and_another_takes_its_place(match, mailbox, now) -> None:
    name = asked(match)
    by_mail(mailbox, name, "note: one", now=now)
    by_mail(mailbox, name, "note: two", now=now)
    assert noted() == [(name.title(), "two")]
    by_mail(mailbox, name, "note:", now=now)
    assert noted() == []


def test_a_note_stays_its_authors_when_somebody_else_takes_the_seat(app, match, now) -> None:
    seat = seat_of(match, "bob")
    talk.write_note(seat.id, "zebra", now=now)
    from cast import player

    dan = player("dan", now=now)
    with writing():
        play.take_over(
            db.session.get_one(Seat, seat.id), db.session.get_one(Player, dan.id), "Dan", now=now
        )
    assert talk.note_of(db.session.get_one(Seat, seat.id)) == ""


def test_what_is_said_by_mail_beside_a_move_stands_in_the_next_letters(
    app, match, mailbox, now
) -> None:
    name = asked(match)
    by_mail(mailbox, name, "1\nsay: well met,\nall of you", now=now)
    match = db.session.get_one(Match, match.id)
    assert said() == [(name.title(), None, "well met,\nall of you")]
    assert len(match.moves) >= 1
    assert letters_to(name, "answer") == []
    following = asked(match)
    assert "‹well met,›\n‹all of you›" in text_of(letter_to(mailbox, following))
    # A letter tells it once.
    by_mail(mailbox, following, "again", now=now)
    assert "well met" not in text_of(letter_to(mailbox, following))
    for other in PEOPLE:
        assert "well met" in seat_page(app, match, other)


def test_what_is_said_on_the_page_is_the_same_row(app, match, now) -> None:
    name = asked(match)
    page = by_page(app, match, name, do="say", text="well met,\r\nall of you", to="")
    assert page.status_code == 303
    assert said() == [(name.title(), None, "well met,\nall of you")]


@pytest.mark.parametrize("way", ["mail", "page"])
def test_a_whisper_is_seen_by_its_two_only(app, match, mailbox, now, way) -> None:
    by, to, other = sorted(PEOPLE, key=lambda name: name != asked(match))
    if way == "mail":
        by_mail(mailbox, by, f"say {to.upper()}: zebra", now=now)
    else:
        by_page(app, match, by, do="say", text="zebra", to=to.title())
    assert said() == [(by.title(), to.title(), "zebra")]
    match = db.session.get_one(Match, match.id)
    turn = open_turn(match)
    play.make_move(turn.id, play.choose_for(turn.id, "greedy"), by="reply", now=now)
    while db.session.get_one(Match, match.id).ply < 4:
        turn = open_turn(match)
        play.make_move(turn.id, play.choose_for(turn.id, "greedy"), by="link", now=now)
    told = {
        letter.address
        for letter in db.session.scalars(select(Letter))
        if b"zebra" in letters.build(letter).as_bytes()
    }
    assert told == {ADDRESSES[to]}
    assert {one for one in PEOPLE if "zebra" in seat_page(app, match, one)} == {by, to}
    client = signed_in_host(app, other)
    assert "zebra" not in client.get("/host").text
    assert "zebra" not in client.get(f"/g/{match.code}").text


def test_onlookers_see_no_talk(app, match, now) -> None:
    talk.say(seat_of(match, "ann").id, "zebra", now=now)
    client = app.test_client()
    for page in ("", "/0", "/record.json", "/game.txt"):
        answer = client.get(f"/g/{match.code}{page}")
        assert answer.status_code == 200
        assert "zebra" not in answer.text
    assert "zebra" not in client.get("/").text


@pytest.mark.parametrize("way", ["mail", "page"])
@pytest.mark.parametrize(
    ("to", "whispers", "reason"),
    [
        ("Zoe", True, "nobody here is called"),
        ("Bob", False, "nobody may whisper at this table"),
    ],
)
def test_a_whisper_that_cannot_be_is_answered_and_a_move_beside_it_counts(
    app, match, mailbox, now, way, to, whispers, reason
) -> None:
    with writing():
        db.session.get_one(Match, match.id).allows_whispers = whispers
    name = asked(match)
    if way == "mail":
        before = db.session.query(Move).count()
        by_mail(mailbox, name, f"1\nsay {to}: psst", now=now)
        (answer,) = letters_to(name, "answer")
        text = " ".join(text_of(parsed(letters.build(answer).as_bytes())).split())
        assert reason in text
        assert "‹psst›" in text
        assert db.session.query(Move).count() > before
    else:
        page = by_page(app, match, name, do="say", text="psst", to=to)
        assert page.status_code == 409
        assert reason in words(page).lower()
        assert "psst" in page.text
    assert said() == []


@pytest.mark.parametrize("way", ["mail", "page"])
def test_talk_that_is_too_long_is_refused_in_words(app, match, mailbox, now, way) -> None:
    name = asked(match)
    text = "x" * (talk.MOST + 1)
    if way == "mail":
        assert "at most 2000 are kept" in by_mail(mailbox, name, f"say: {text}", now=now)
    else:
        page = by_page(app, match, name, do="say", text=text, to="")
        assert page.status_code == 409
        assert "at most 2000 are kept" in words(page)
        assert text in page.text
    assert said() == []


def test_two_megabytes_of_talk_are_refused_and_nothing_is_done(app, match, mailbox, now) -> None:
    name = asked(match)
    assert by_page(app, match, name, do="say", text="x" * 2_000_000).status_code == 413
    by_mail(mailbox, name, "say: " + "x" * 2_000_000, now=now)
    assert said() == []
    assert verdict() == "unparseable"


def test_all_of_a_long_line_is_kept(match, mailbox, now) -> None:
    name = asked(match)
    text = "word " * 300
    by_mail(mailbox, name, f"say: {text}", now=now)
    assert said() == [(name.title(), None, text.strip())]


def test_our_addresses_links_and_tokens_are_cut_out(match, now) -> None:
    seat = seat_of(match, "ann")
    turn = open_turn(match)
    links = Links()
    for secret in (
        links.seat(seat),
        links.move(turn, 1),
        links.you(seat.player),
        links.feed(seat.player),
        f"https://elsewhere.example/s/{tokens().link('seat', seat.id, 1)}",
        tokens().link("seat", seat.id, seat.player_id),
        tokens().timed_link("sign-in", 7),
        links.reply(Named.TURN, turn.id),
        links.reply(Named.TURN, turn.id).partition("@")[0].partition("+")[2],
        "ann@players.example",
    ):
        found = talk.say(seat.id, f"look: {secret} ok", now=now).text
        assert found == "look: […] ok"
    kept = f"https://cards.example/rules/9?x=1 {links.match(match)}"
    assert talk.say(seat.id, kept, now=now).text == kept


def test_it_comes_at_once_to_those_who_chose_that(match, now) -> None:
    with writing():
        match.seats[1].player.mails = {"talk": "now"}
    talk.say(match.seats[0].id, "hello", now=now)
    assert [len(letters_to(name, "talk")) for name in PEOPLE] == [0, 1, 0]
    (letter,) = letters_to("bob", "talk")
    assert "‹hello›" in text_of(parsed(letters.build(letter).as_bytes()))
    # One letter has told it, so the next one does not.
    with writing():
        seat = db.session.get_one(Seat, match.seats[1].id)
        from pbem import hearing

        assert not hearing.has_untold(seat)


@pytest.mark.parametrize("way", ["mail", "page"])
def test_a_player_may_be_muted_and_heard_again(app, match, mailbox, now, way) -> None:
    name = asked(match)
    other = next(one for one in PEOPLE if one != name)

    def do(what: str) -> None:
        if way == "mail":
            by_mail(mailbox, name, f"{what} {other}", now=now)
        else:
            assert by_page(app, match, name, do=what, name=other.title()).status_code == 303

    talk.say(seat_of(match, other).id, "zebra", now=now)
    do("mute")
    match = db.session.get_one(Match, match.id)
    rows = [(one.player_id, one.muted_id) for one in db.session.scalars(select(Mute))]
    assert rows == [(seat_of(match, name).player_id, seat_of(match, other).player_id)]
    assert "zebra" not in seat_page(app, match, name)
    assert "zebra" not in by_mail(mailbox, name, "again", now=now)
    do("unmute")
    assert db.session.query(Mute).count() == 0
    assert "zebra" in seat_page(app, match, name)


def test_a_host_hides_what_was_said_and_that_is_logged(app, match, now) -> None:
    one = talk.say(seat_of(match, "ann").id, "zebra", now=now)
    client = signed_in_host(app, "dan") if False else None
    from cast import player

    player("dan", now=now)
    client = signed_in_host(app, "dan")
    assert "zebra" in client.get("/host").text
    form = {"form_token": TOKEN, "do": "hide", "talk": str(one.id)}
    assert client.post(f"/host/{match.code}", data=form).status_code == 303
    assert "zebra" not in client.get("/host").text
    for name in PEOPLE:
        assert "zebra" not in seat_page(app, match, name)
    assert [notice.what for notice in db.session.scalars(select(Notice))] == ["hidden"]
    # Whispers are not a host's to read, nor other tables'.
    db.session.rollback()
    ann = seat_of(db.session.get_one(Match, match.id), "ann")
    whisper = talk.say(ann.id, "psst", to="Bob", now=now)
    refused = client.post(f"/host/{match.code}", data=form | {"talk": str(whisper.id)})
    assert refused.status_code == 400
    assert "psst" not in refused.text


def test_a_mail_that_is_read_twice_says_it_once(match, mailbox, now) -> None:
    name = asked(match)
    by_mail(mailbox, name, "say: once", now=now)
    (row,) = db.session.scalars(select(Talk))
    for _ in range(2):
        again = talk.say(row.seat_id, "once", note_id=row.note_id, nth=row.nth, now=now)
        assert again.id == row.id
    assert len(said()) == 1


def test_talk_has_an_end_for_the_day(match, now) -> None:
    seat_id = match.seats[0].id
    for nth in range(talk.MOST_A_DAY):
        talk.say(seat_id, f"line {nth}", now=now)
    with pytest.raises(TooMany):
        talk.say(seat_id, "one more", now=now)
    talk.say(seat_id, "tomorrow", now=now + DAY)


def test_there_is_nothing_to_say_in_nothing(match, now) -> None:
    seat_id = match.seats[0].id
    for text in ("", "  \n ", "\x00\x07"):
        with pytest.raises(BadTalk):
            talk.say(seat_id, text, now=now)
    with pytest.raises(NobodyThere):
        talk.say(seat_id, "me", to="Ann", now=now)
    assert said() == []


def test_many_lines_of_talk_make_no_heavy_letter(match, mailbox, now) -> None:
    name = asked(match)
    other = next(one for one in PEOPLE if one != name)
    for nth in range(12):
        talk.say(seat_of(match, other).id, f"{nth} " + "<&>" * 600, now=now)
    by_mail(mailbox, name, "again", now=now)
    letter = letters_to(name, "your_turn")[-1]
    message = parsed(letters.build(letter).as_bytes())
    assert "More was said before" in text_of(message)
    assert [line for line in text_of(message).splitlines() if len(line) > 100] == []
    assert len(message.get_body(("html",)).get_content().encode()) < 60_000


# What is asked for in words, by mail and by the page.


@pytest.mark.parametrize("way", ["mail", "page"])
def test_more_time_is_asked_for_both_ways(app, match, mailbox, now, way) -> None:
    name = asked(match)
    if way == "mail":
        assert "The others are asked" in by_mail(mailbox, name, "more time", now=now)
    else:
        by_page(app, match, name, do="more_time")
    (row,) = db.session.scalars(select(Proposal))
    assert (row.kind, row.seat.name, row.about) == (
        "more_time",
        name.title(),
        {"turn": open_turn(db.session.get_one(Match, match.id)).id},
    )


@pytest.mark.parametrize("way", ["mail", "page"])
def test_an_absence_is_kept_both_ways(app, match, mailbox, now, way) -> None:
    name = asked(match)
    if way == "mail":
        answer = by_mail(mailbox, name, "away 24 Dec to 2 Jan", now=now)
        assert "You are away from Thu 24 Dec" in answer
    else:
        player = seat_of(match, name).player
        form = {"do": "away", "first": "2026-12-24", "last": "2027-01-02"}
        app.test_client().post(path(Links().you(player)), data=form)
    (row,) = db.session.scalars(select(Absence))
    assert (row.starts_at.isoformat(), row.ends_at.isoformat()) == (
        "2026-12-23T23:00:00+00:00",
        "2027-01-02T23:00:00+00:00",
    )


def test_an_absence_that_ends_before_it_starts_is_answered_in_words(match, mailbox, now) -> None:
    name = asked(match)
    answer = by_mail(mailbox, name, "away 24 Dec to 20 Dec\nnote: zebra", now=now)
    assert "Not done: the last day comes before the first." in answer
    assert db.session.query(Absence).count() == 0
    # What else the mail asks for is done.
    assert noted() == [(name.title(), "zebra")]


def test_who_is_back_ends_the_absence_that_runs(match, mailbox, now) -> None:
    name = asked(match)
    by_mail(mailbox, name, "away until 20 Dec", now=now)
    (row,) = db.session.scalars(select(Absence))
    assert row.ends_at > now + DAY
    assert "You are back" in by_mail(mailbox, name, "back", now=now + DAY)
    db.session.rollback()
    (row,) = db.session.scalars(select(Absence))
    assert row.ends_at == now + DAY


@pytest.mark.parametrize("way", ["mail", "page"])
def test_resigning_asks_once_more(app, match, mailbox, now, way) -> None:
    name = asked(match)

    def resigned() -> bool:
        db.session.rollback()
        return seat_of(db.session.get_one(Match, match.id), name).resigned

    if way == "mail":
        # Nothing was asked yet, so that even this only asks.
        assert "Do you really resign?" in by_mail(mailbox, name, "yes, resign", now=now)
        assert "Do you really resign?" in by_mail(mailbox, name, "resign", now=now)
        assert not resigned()
        assert "You have resigned." in by_mail(mailbox, name, "yes, resign", now=now)
    else:
        assert "Do you really resign?" in by_page(app, match, name, do="resign").text
        assert not resigned()
        by_page(app, match, name, do="resign", sure="1")
    assert resigned()


@pytest.mark.parametrize("way", ["mail", "page"])
def test_the_same_game_once_more_both_ways(app, match, mailbox, now, way) -> None:
    name = asked(match)
    with writing():
        play.stop(db.session.get_one(Match, match.id), "stopped", now=now)
    run_worker(now)
    seat = seat_of(db.session.get_one(Match, match.id), name)
    if way == "mail":
        assert "is open" in by_mail(mailbox, name, "rematch", now=now)
    else:
        app.test_client().post(path(Links().rematch(seat)))
    db.session.rollback()
    (opened,) = db.session.scalars(select(Match).where(Match.rematch_of == match.id))
    assert opened.opener.name == name.title()
    assert sum(seat.invited is not None for seat in opened.seats) == 2


@pytest.mark.parametrize("way", ["mail", "page"])
def test_a_table_is_opened_both_ways(app, match, mailbox, now, way) -> None:
    name = asked(match)
    people = [ADDRESSES["dan"], "eve@players.example"]
    if way == "mail":
        line = f"new biscuit with {people[0]}, {people[1]}"
        assert "Your table" in by_mail(mailbox, name, line, now=now)
    else:
        form = {"form_token": TOKEN, "pace_hours": "72", "bank_hours": "72", "policy": "house"}
        for place, address in enumerate(people, 2):
            form |= {f"place_{place}": "invite", f"address_{place}": address}
        assert signed_in(app, name).post("/new/biscuit", data=form).status_code == 303
    db.session.rollback()
    (opened,) = db.session.scalars(select(Match).where(Match.id != match.id))
    assert (opened.game, opened.status, opened.pace_hours, opened.bank_hours) == (
        "biscuit",
        "open",
        72,
        72,
    )
    assert [seat.invited for seat in opened.seats] == [None, *people]
    assert opened.opener.name == name.title()


def test_a_table_asked_for_again_while_it_waits_is_the_same(match, mailbox, now) -> None:
    name = asked(match)
    line = f"new biscuit with {ADDRESSES['dan']}, eve@players.example"
    first, again = (by_mail(mailbox, name, line, now=now) for _ in range(2))
    assert first.split("is open")[0] == again.split("is open")[0]
    assert db.session.query(Match).count() == 2
    by_mail(mailbox, name, line.replace("eve", "fay"), now=now)
    assert db.session.query(Match).count() == 3


def test_a_table_that_cannot_be_opened_opens_none(match, mailbox, now) -> None:
    name = asked(match)
    for line, reason in (
        ("new chess with dan@players.example", "there is no such game"),
        ("new biscuit with dan@@players", "does not look like a mail address"),
        ("new snakebit with dan@players.example", "Not done:"),
    ):
        assert reason in by_mail(mailbox, name, line, now=now)
    assert db.session.query(Match).count() == 1


@pytest.mark.parametrize("way", ["mail", "page"])
def test_mails_stop_and_start_again_both_ways(app, match, mailbox, now, way) -> None:
    name = asked(match)
    if way == "mail":
        answer = by_mail(mailbox, name, "stop", now=now)
        assert "This is the last mail to you." in answer
        assert "‹start mails›" in answer
    else:
        player = seat_of(match, name).player
        app.test_client().post(path(Links().you(player)), data={"do": "mails_off"})
    db.session.rollback()
    assert suppression.is_suppressed(ADDRESSES[name])
    if way == "mail":
        assert "Mails go to you again." in by_mail(mailbox, name, "start mails", now=now)
    else:
        app.test_client().post(path(Links().you(player)), data={"do": "mails_on"})
    db.session.rollback()
    assert not suppression.is_suppressed(ADDRESSES[name])


def test_what_tells_only_is_told(match, mailbox, now) -> None:
    name = asked(match)
    other = next(one for one in PEOPLE if one != name)
    text = by_mail(mailbox, name, "status\nhistory\nhelp\nwhat a lovely day", now=now)
    assert f"Biscuit, game {match.code}: your turn, due Fri 4 Dec" in text
    assert "0: " in text
    assert "‹more time› – asks the others for more time for this move;" in text
    assert "Not understood: ‹what a lovely day›" in text
    # The others' hands and whispers are in none of it.
    assert db.session.query(Move).count() == 0
    assert letters_to(other, "answer") == []


def test_help_names_all_that_can_be_said() -> None:
    told = " ".join(f"{said} {what}" for said, what in WORDS)
    words_beside = set(errands._ACTS) - {"yes, resign"}  # the question whether to resign tells it
    for word in (*words_beside, "undo", "then", "orders", "cancel orders", "say", "note"):
        assert re.search(rf"\b{word}\b", told), word


def test_again_mails_the_turn_once_more(match, mailbox, now) -> None:
    name = asked(match)
    before = len(letters_to(name, "your_turn"))
    by_mail(mailbox, name, "again", now=now)
    assert len(letters_to(name, "your_turn")) == before + 1
    # A robot that says so again and again is not answered for ever.
    for nth in range(10):
        by_mail(mailbox, name, f"again\nstatus\nhm {nth}", now=now)
    assert len(letters_to(name, "your_turn")) + len(letters_to(name, "answer")) <= 12


@pytest.mark.parametrize("text", ["status", "orders", "what now?", "again"])
def test_what_answers_a_mail_leaves_in_quiet_hours_and_says_so(match, mailbox, now, text) -> None:
    name = asked(match)
    with writing():
        who = open_turn(match).asked.player
        who.zone, who.quiet_from, who.quiet_until = "UTC", 11 * 60, 15 * 60
    before = len(mailbox.to(ADDRESSES[name]))
    by_mail(mailbox, name, text, now=now)
    assert len(mailbox.to(ADDRESSES[name])) == before + 1
    assert letter_to(mailbox, name)["Auto-Submitted"] == "auto-replied"


def test_words_about_a_turn_that_is_over_are_done_and_a_move_is_not(match, mailbox, now) -> None:
    name = asked(match)
    old = letter_to(mailbox, name)
    turn = open_turn(match)
    play.make_move(turn.id, play.choose_for(turn.id, "greedy"), by="link", now=now)
    moves = db.session.query(Move).count()
    raw = reply_to(old, "note: zebra", sender=ADDRESSES[name])
    inbox.take(raw, inbox.Envelope(str(old["Reply-To"]), ADDRESSES[name]), now=now)
    run_worker(now)
    assert noted() == [(name.title(), "zebra")]
    assert letters_to(name, "stands") == []
    assert db.session.query(Move).count() == moves


def test_a_stranger_says_and_asks_nothing(match, mailbox, now) -> None:
    name = asked(match)
    letter = letter_to(mailbox, name)
    for text in ("say: zebra\nresign", "note: zebra", "stop"):
        raw = reply_to(letter, text, sender=ADDRESSES["dan"])
        inbox.take(raw, inbox.Envelope(str(letter["Reply-To"]), ADDRESSES["dan"]), now=now)
    run_worker(now)
    assert (said(), noted()) == ([], [])
    assert not suppression.is_suppressed(ADDRESSES[name])
    assert letters_to(name, "answer") == []


def test_a_letter_of_the_table_is_answered_by_its_seat(match, mailbox, now) -> None:
    """What is said at once is answered, though that letter is about no turn."""
    name = asked(match)
    other = next(one for one in PEOPLE if one != name)
    with writing():
        db.session.get_one(Player, seat_of(match, name).player_id).mails = {"talk": "now"}
    talk.say(seat_of(match, other).id, "hello", now=now)
    run_worker(now)
    assert "‹hello›" in text_of(letter_to(mailbox, name))
    by_mail(mailbox, name, "say: hello yourself", now=now)
    assert said()[-1] == (name.title(), None, "hello yourself")
