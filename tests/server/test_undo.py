"""A move is taken back by page and by reply alike, and only while nobody has seen more by it."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from cast import last_answer, open_turn, open_turns, run_worker, running_match, text_of
from sqlalchemy import select

from engine.record import to_json
from pbem import audit, play, telling, undo
from pbem.errors import CannotTakeBack, MatchOver
from pbem.ext import db
from pbem.links import Links
from pbem.mail import inbox
from pbem.models import Letter, Match, Move, Note, Seat, Turn, WithdrawnMove
from pbem.table import load, record
from pbem.tokens import Named


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """One kind is enough: the locks are those of every move."""
    return f"sqlite:///{tmp_path / 'pbem.sqlite3'}"


@pytest.fixture
def browser(app):
    return app.test_client()


def moved(now, *, game: str = "snakebit", followed: tuple[str, ...] = ()) -> int:
    """Return the id of the turn of a move, the last of its game, after which this happened."""
    options = {"target": 1000} if game == "biscuit" else {}
    match_id = running_match(["ann", "bob", "cleo"], now=now, game=game, **options).id
    for _ in range(300):
        match = db.session.get_one(Match, match_id)
        turn_id = open_turns(match)[0].id
        play.make_move(turn_id, play.choose_for(turn_id, "greedy"), by="link", now=now)
        _own, *events = load(db.session.get_one(Match, match_id)).plies[-1].events
        kinds = tuple(event.kind for event in events)
        is_running = db.session.get_one(Match, match_id).status == "running"
        if is_running and kinds[: len(followed) or None] == followed:
            return turn_id
    raise AssertionError


def press(browser, seat: Seat, ply: int):
    page = Links().seat(seat).removeprefix("https://play.example")
    return browser.post(page, data={"do": "take_back", "ply": ply})


def answer(turn: Turn, text: str, *, now) -> None:
    """Mail a line to the address that takes replies to a turn."""
    sender, address = turn.asked.player.address, Links().reply(Named.TURN, turn.id)
    message_id = f"<{text.split(maxsplit=1)[0]}.{turn.id}@players.example>"
    lines = (f"From: {sender}", f"To: {address}", f"Message-ID: {message_id}", "", text, "")
    inbox.take("\r\n".join(lines).encode(), inbox.Envelope(address, sender), now=now)
    inbox.read_all(now=now)


def rows(match_id: int, since: int) -> list[tuple[object, ...]]:
    """Return what taking back has left: the moves, the open turns, what it kept and told."""
    moves = select(Move.ply, Move.seat, Move.text).where(Move.match_id == match_id)
    asked = select(Turn.id, Turn.seat, Turn.nth).where(Turn.closed_at.is_(None))
    gone = select(WithdrawnMove.ply, WithdrawnMove.seat, WithdrawnMove.text, WithdrawnMove.by)
    told = select(Letter.kind, Letter.address, Letter.about).where(Letter.id > since)
    return [
        *db.session.execute(moves.order_by(Move.ply)),
        *db.session.execute(asked),
        *db.session.execute(gone.order_by(WithdrawnMove.id.desc()).limit(1)),
        *db.session.execute(told.order_by(Letter.id)),
    ]


def newest_letter() -> int:
    return db.session.scalars(select(Letter.id).order_by(Letter.id.desc()).limit(1)).one()


def test_a_move_is_taken_back_alike_by_page_and_by_reply(app, mailbox, browser, now) -> None:
    turn_id = moved(now)
    run_worker(now)
    turn = db.session.get_one(Turn, turn_id)
    match_id, *before, last = turn.match_id, *turn.match.moves
    text, scores = last.text, before[-1].scores if before else [0, 0, 0]
    mover, next_one = turn.asked.player.address, open_turn(turn.match).asked.player.address
    found = []
    for way in ("page", "reply"):
        turn, newest = db.session.get_one(Turn, turn_id), newest_letter()
        if way == "page":
            assert press(browser, turn.asked, turn.match.ply).status_code == 303
        else:
            answer(turn, "undo", now=now)
        match = db.session.get_one(Match, match_id)
        assert open_turn(match).id == turn_id
        assert (match.scores, match.ply) == (scores, len(match.moves))
        assert list(audit.wrongs(now=now)) == []
        found.append(rows(match_id, newest))
        about = {"ply": match.ply, "name": open_turn(match).asked.name}
        assert found[-1][-2:] == [("taken_back", next_one, about), ("your_turn", mover, {})]
        # The same turn takes the move once more.
        play.make_move(turn_id, text, by="link", now=now)
    assert found[0] == found[1]
    gone = db.session.scalars(select(WithdrawnMove)).all()
    assert [(move.text, move.turn_id) for move in gone] == [(text, turn_id)] * 2
    moves = to_json(record(db.session.get_one(Match, match_id)))["moves"]
    assert [move["move"] for move in moves].count(text) == 1
    assert [note.verdict for note in db.session.scalars(select(Note))] == ["taken back"]


def test_the_links_of_the_turn_work_again_and_those_of_the_next_do_not(
    app, mailbox, browser, now
) -> None:
    turn_id = moved(now)
    run_worker(now)
    turn = db.session.get_one(Turn, turn_id)
    after = open_turn(turn.match)
    link, next_link = (
        Links().move(one, 1).removeprefix("https://play.example") for one in (turn, after)
    )
    assert "Play this move" not in browser.get(link).text
    undo.take_back(turn.asked.id, turn.match.ply, now=now)
    assert "Play this move" in browser.get(link).text
    for answered in (browser.get(next_link), browser.post(next_link, data={"me": "1"})):
        assert "That turn is over" in answered.text
        assert "Traceback" not in answered.text
    assert db.session.get_one(Match, turn.match_id).ply == turn.ply
    answer(db.session.get_one(Turn, after.id), "1", now=now)
    run_worker(now)
    assert db.session.get_one(Match, turn.match_id).ply == turn.ply
    (stands,) = [
        m for m in mailbox.to(after.asked.player.address) if "turn is over" in m["Subject"]
    ]
    assert "Nothing was played" in text_of(stands)
    # What comes after the other move is another turn.
    choices = telling.tell(load(turn.match), turn.seat).choices
    play.make_move(turn_id, choices[-1].text, by="link", now=now)
    assert open_turn(turn.match).id not in (turn_id, after.id)
    assert list(audit.wrongs(now=now)) == []


@pytest.mark.parametrize("way", ["page", "reply"])
@pytest.mark.parametrize(
    ("late", "followed", "words"),
    [
        (timedelta(minutes=11), (), "ten minutes are over"),
        (timedelta(), ("eleven", "draw"), "somebody has seen more than your card"),
    ],
)
def test_what_cannot_be_taken_back_is_refused_in_words(
    app, mailbox, browser, now, way, late, followed, words
) -> None:
    game = "biscuit" if followed else "snakebit"
    turn = db.session.get_one(Turn, moved(now - late, game=game, followed=followed))
    run_worker(now)
    before, seat = turn.match.ply, turn.asked
    if way == "page":
        refused = press(browser, seat, before)
        assert refused.status_code == 409
        told = refused.text
    else:
        answer(turn, "reprendre", now=now)
        run_worker(now)
        told = text_of(last_answer(mailbox, seat.player.address))
    assert words in " ".join(told.split()).lower()
    assert db.session.get_one(Match, turn.match_id).ply == before
    assert db.session.scalars(select(WithdrawnMove)).all() == []
    assert (
        "Take this move back"
        not in browser.get(Links().seat(seat).removeprefix("https://play.example")).text
    )


def test_nobody_takes_back_twice_or_what_is_anothers_or_after_the_end(app, now) -> None:
    turn = db.session.get_one(Turn, moved(now))
    ply, seats = turn.match.ply, {seat.number: seat.id for seat in turn.match.seats}
    other = next(seat_id for number, seat_id in seats.items() if number != turn.seat)
    with pytest.raises(CannotTakeBack):
        undo.take_back(other, ply, now=now)
    undo.take_back(seats[turn.seat], ply, now=now)
    with pytest.raises(CannotTakeBack):
        undo.take_back(seats[turn.seat], ply, now=now)
    play.make_move(turn.id, play.choose_for(turn.id, "greedy"), by="link", now=now)
    after = open_turn(turn.match)
    play.make_move(after.id, play.choose_for(after.id, "greedy"), by="link", now=now)
    with pytest.raises(CannotTakeBack, match="another move"):
        undo.take_back(seats[turn.seat], ply, now=now)
    play.stop(turn.match, "stopped", now=now)
    db.session.commit()
    with pytest.raises(MatchOver):
        undo.take_back(seats[turn.seat], ply, now=now)


def test_what_a_late_move_took_out_of_the_bank_comes_back_with_it(app, now) -> None:
    match = running_match(["ann", "bob", "cleo"], now=now, game="snakebit", bank_hours=2)
    turn = open_turn(match)
    play.make_move(
        turn.id, play.choose_for(turn.id, "greedy"), by="link", now=now + timedelta(hours=73)
    )
    assert turn.asked.bank_left == 3600
    undo.take_back(turn.asked.id, 1, now=now + timedelta(hours=73))
    assert db.session.get_one(Turn, turn.id).asked.bank_left == 7200
