"""Standing orders: left by page and by reply alike, played at once, told to their player only."""

from __future__ import annotations

from pathlib import Path

import pytest
from cast import (
    ADDRESSES,
    last_answer,
    letters_to,
    open_turn,
    player,
    run_worker,
    running_match,
    text_of,
)
from sqlalchemy import select

from engine.record import to_json
from pbem import agreements, audit, orders, play, standing, telling
from pbem.errors import MatchOver, TooManyOrders
from pbem.ext import db, writing
from pbem.links import Links
from pbem.mail import inbox
from pbem.models import Match, Move, Note, Seat, StandingOrder, Turn
from pbem.table import load, record
from pbem.tokens import Named


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """One kind is enough: the locks are those of every move."""
    return f"sqlite:///{tmp_path / 'pbem.sqlite3'}"


@pytest.fixture
def browser(app):
    return app.test_client()


def second_trick(now) -> tuple[int, int, int]:
    """Return the ids of a match at its second trick, of the turn that leads, and of who follows."""
    match_id = running_match(["ann", "bob", "cleo"], now=now, game="snakebit").id
    for _ in range(3):
        turn = open_turn(db.session.get_one(Match, match_id))
        play.make_move(turn.id, play.choose_for(turn.id, "greedy"), by="link", now=now)
    turn = open_turn(db.session.get_one(Match, match_id))
    follower = next(s for s in turn.match.seats if s.number == turn.seat % 3 + 1)
    return match_id, turn.id, follower.id


def press(browser, seat: Seat, do: str, **fields):
    page = Links().seat(seat).removeprefix("https://play.example")
    return browser.post(page, data={"do": do, **fields})


def last_turn(seat: Seat) -> Turn:
    asked = select(Turn).where(Turn.match_id == seat.match_id, Turn.seat == seat.number)
    return db.session.scalars(asked.order_by(Turn.id.desc()).limit(1)).one()


def answer(seat: Seat, text: str, *, now, named=None, sender: str = "") -> None:
    """Mail lines to the address that takes replies to the seat's last turn, or to another."""
    sender = sender or seat.player.address
    address = Links().reply(*(named or (Named.TURN, last_turn(seat).id)))
    head = (f"From: {sender}", f"To: {address}", f"Message-ID: <{hash(text)}@players.example>")
    raw = "\r\n".join((*head, "Content-Type: text/plain; charset=utf-8", "", text, "")).encode()
    assert inbox.take(raw, inbox.Envelope(address, sender), now=now)
    inbox.read_all(now=now)


def hand(seat: Seat) -> list[str]:
    return [card.code for card in load(seat.match).view(seat.number).hand]


def texts(seat_id: int) -> list[str]:
    db.session.expire_all()
    return [order.text for order in orders.waiting(db.session.get_one(Seat, seat_id))]


def verdicts() -> list[str]:
    return [note.verdict for note in db.session.scalars(select(Note).order_by(Note.id))]


def test_orders_are_left_and_cancelled_alike_by_page_and_by_reply(app, browser, now) -> None:
    _match_id, _turn_id, seat_id = second_trick(now)
    seat = db.session.get_one(Seat, seat_id)
    first, second, *_rest = hand(seat)
    for text in (f"then {first}", second, "if suns led: Lowest"):
        assert press(browser, seat, "order", order=text).status_code == 303
    by_page = texts(seat_id)
    assert by_page == [first.lower(), second.lower(), "if suns led: lowest"]
    page = browser.get(Links().seat(seat).removeprefix("https://play.example")).text
    assert "if suns led: lowest" in page
    press(browser, seat, "cancel_order", id=orders.waiting(seat)[0].id)
    assert texts(seat_id) == by_page[1:]
    press(browser, seat, "cancel_orders")
    assert texts(seat_id) == []
    answer(seat, f"then {first}\nthen {second}.\nif suns led: lowest", now=now)
    assert texts(seat_id) == by_page
    (told,) = letters_to(seat.name.lower(), "orders")
    assert told.about == {"orders": by_page}
    answer(seat, "annuler les ordres", now=now)
    assert texts(seat_id) == []
    assert verdicts() == ["orders", "orders"]
    kept = db.session.scalars(select(StandingOrder).order_by(StandingOrder.id)).all()
    assert [order.text for order in kept] == by_page * 2
    assert all(order.ended_at is not None and order.ply is None for order in kept)


def test_the_first_legal_order_is_played_at_once_and_told_to_its_player_only(
    app, mailbox, now
) -> None:
    match_id, turn_id, seat_id = second_trick(now)
    seat = db.session.get_one(Seat, seat_id)
    address = seat.player.address
    orders.follow(seat_id, hand(seat), now=now)
    before = texts(seat_id)
    run_worker(now)
    mailbox.fresh()
    play.make_move(turn_id, play.choose_for(turn_id, "greedy"), by="link", now=now)
    match = db.session.get_one(Match, match_id)
    lead, move = match.moves[-2:]
    assert (lead.by, move.by, move.seat) == (
        "link",
        "order",
        db.session.get_one(Seat, seat_id).number,
    )
    was = load(match, ply=4)
    legal = [was.game.format(one) for one in was.game.moves(was.view(move.seat))]
    assert move.text == next(code.upper() for code in before if code.upper() in legal)
    assert texts(seat_id) == [code for code in before if code != move.text.lower()]
    assert list(audit.wrongs(now=now)) == []
    # Nobody else reads that it was an order, nor does the record of the running game.
    table, own = load(match), move.seat
    assert to_json(record(match))["moves"][-1]["by"] == "web"
    others = [number for number in (None, 1, 2, 3) if number != own]
    lines = {number: " ".join(telling.told(table, 5, number)) for number in (None, 1, 2, 3)}
    assert "Played by your order" in lines[own]
    unplayed = [code for code in legal if code != move.text]
    told = telling.tell(was, own)
    assert all(telling.choice_words(told.choice(code)) in lines[own] for code in unplayed)
    assert all("order" not in lines[number] for number in others)
    # Its player was not asked, and reads of it in their next letter.
    third = open_turn(match)
    play.make_move(third.id, play.choose_for(third.id, "greedy"), by="link", now=now)
    while open_turn(db.session.get_one(Match, match_id)).seat != own:
        asked = open_turn(db.session.get_one(Match, match_id))
        play.make_move(asked.id, play.choose_for(asked.id, "greedy"), by="link", now=now)
        if db.session.get_one(Match, match_id).moves[-1].by == "order":
            break
    run_worker(now)
    for message in mailbox.fresh():
        is_own = address in message["To"]
        assert ("by your order" in " ".join(text_of(message).split())) <= is_own


def test_a_move_and_an_order_in_one_mail_are_both_done_or_neither(app, now) -> None:
    match_id, turn_id, _follower = second_trick(now)
    turn = db.session.get_one(Turn, turn_id)
    seat, legal = turn.asked, play.choose_for(turn_id, "greedy")
    kept = next(code for code in hand(seat) if not legal.startswith(code))
    missing = next(code for code in ("2SY", "3MW", "4MS") if code not in hand(seat))
    answer(seat, f"{legal}\nthen {missing}", now=now)
    assert (texts(seat.id), db.session.get_one(Match, match_id).ply) == ([], 3)
    answer(seat, f"{missing}\nthen {kept}", now=now)
    assert (texts(seat.id), db.session.get_one(Match, match_id).ply) == ([], 3)
    assert verdicts() == ["not done", "not done"]
    answer(seat, f"{legal}\nthen {kept}", now=now)
    match = db.session.get_one(Match, match_id)
    assert (texts(seat.id), match.moves[-1].text) == ([kept.lower()], legal)
    assert letters_to(seat.name.lower(), "receipt")[-1].about["orders"] == [kept.lower()]


def test_the_same_move_again_may_bring_orders_and_a_wrong_one_is_told(app, mailbox, now) -> None:
    match_id, turn_id, _follower = second_trick(now)
    seat, legal = db.session.get_one(Turn, turn_id).asked, play.choose_for(turn_id, "greedy")
    named = (Named.TURN, turn_id)
    answer(seat, legal, now=now, named=named)
    answer(seat, f"{legal}\nthen lowest\nthen lowest", now=now, named=named)
    assert (texts(seat.id), db.session.get_one(Match, match_id).ply) == (["lowest", "lowest"], 4)
    missing = next(code for code in ("2SY", "3MW", "4MS", "5SW", "6LK") if code not in hand(seat))
    answer(seat, f"{legal}\nthen {missing}", now=now, named=named)
    assert texts(seat.id) == ["lowest", "lowest"]
    assert verdicts() == ["move", "repeated", "too late"]
    assert letters_to(seat.name.lower(), "orders")[-1].about == {"orders": ["lowest", "lowest"]}
    run_worker(now)
    told = " ".join(text_of(last_answer(mailbox, ADDRESSES[seat.name.lower()])).split())
    assert "can't be a move of yours any more in this hand" in told


def test_a_mail_to_the_seat_may_leave_orders_too(app, now) -> None:
    _match_id, _turn_id, seat_id = second_trick(now)
    seat = db.session.get_one(Seat, seat_id)
    answer(seat, "then lowest", now=now, named=(Named.SEAT, seat_id))
    assert (texts(seat_id), verdicts()) == (["lowest"], ["orders"])


def test_a_stranger_leaves_no_orders_and_half_of_their_mail_is_not_confirmed(app, now) -> None:
    match_id, turn_id, _follower = second_trick(now)
    turn = db.session.get_one(Turn, turn_id)
    seat, legal = turn.asked, play.choose_for(turn_id, "greedy")
    answer(seat, f"{legal}\nthen lowest", now=now, sender="dan@players.example")
    assert (texts(seat.id), db.session.get_one(Match, match_id).ply) == ([], 3)
    assert letters_to(seat.name.lower(), "confirm") == []
    assert verdicts() == ["not done"]


@pytest.mark.parametrize("way", ["page", "reply"])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("then {missing}", "can't be a move of yours any more in this hand"),
        ("then {suit}", "can be read in more than one way"),
    ],
)
def test_an_order_that_makes_no_sense_is_refused_in_words(
    app, mailbox, browser, now, way, text, words
) -> None:
    _match_id, _turn_id, seat_id = second_trick(now)
    seat = db.session.get_one(Seat, seat_id)
    held = hand(seat)
    missing = next(code for code in ("2SY", "3MW", "4MS", "5SW", "6LK") if code not in held)
    suit = next(
        name
        for letter, name in (("S", "suns"), ("M", "moons"), ("W", "waves"), ("L", "leaves"))
        if sum(letter in code[1:] for code in held) > 1
    )
    text = text.format(missing=missing, suit=suit)
    if way == "page":
        refused = press(browser, seat, "order", order=text)
        assert refused.status_code == 409
        assert f'value="{text}"' in refused.text
        told = refused.text
    else:
        answer(seat, text, now=now)
        run_worker(now)
        told = text_of(last_answer(mailbox, seat.player.address))
    assert words in " ".join(told.replace("&#39;", "'").split())
    assert texts(seat_id) == []


def test_two_hundred_orders_are_refused_whole(app, browser, now) -> None:
    _match_id, _turn_id, seat_id = second_trick(now)
    seat = db.session.get_one(Seat, seat_id)
    with pytest.raises(TooManyOrders):
        orders.follow(seat_id, ["lowest"] * 200, now=now)
    assert texts(seat_id) == []
    lines = [f"if suns led: {rule}" for rule in ("lowest", "highest")]
    answer(
        seat,
        "\n".join([*lines, *(f"then lowest if it scores {n} or more" for n in range(1, 199))]),
        now=now,
    )
    assert texts(seat_id) == []
    assert verdicts() == ["too late"]
    for _ in range(standing.MOST):
        press(browser, seat, "order", order="lowest")
    assert press(browser, seat, "order", order="lowest").status_code == 409
    assert len(texts(seat_id)) == standing.MOST


@pytest.mark.parametrize("typed", ["🙂" * 40, "\u202elowest<b>", "a" * 10_000, "\x00", ""])
def test_hostile_orders_are_refused_in_words(app, browser, now, typed) -> None:
    _match_id, _turn_id, seat_id = second_trick(now)
    refused = press(browser, db.session.get_one(Seat, seat_id), "order", order=typed)
    assert refused.status_code == 409
    assert "<b>" not in refused.text.split("An order", 1)[1].split("</form>")[0]
    assert texts(seat_id) == []


def test_orders_end_with_the_hand_and_with_resigning(app, now) -> None:
    match_id, _turn_id, seat_id = second_trick(now)
    orders.follow(seat_id, ["highest if it scores 900 or more"], now=now)
    assert len(texts(seat_id)) == 1
    while load(db.session.get_one(Match, match_id)).view(None).hand_number == 1:
        turn = open_turn(db.session.get_one(Match, match_id))
        play.make_move(turn.id, play.choose_for(turn.id, "greedy"), by="link", now=now)
    assert texts(seat_id) == []
    orders.follow(seat_id, ["lowest if it scores 900 or more"], now=now)
    agreements.resign(seat_id, now=now)
    assert texts(seat_id) == []
    with pytest.raises(MatchOver):
        orders.follow(seat_id, ["lowest"], now=now)


def test_who_takes_a_seat_over_has_none_of_its_orders(app, now) -> None:
    _match_id, _turn_id, seat_id = second_trick(now)
    orders.follow(seat_id, ["lowest"], now=now)
    dan = player("dan", now=now)
    with writing():
        play.take_over(db.session.get_one(Seat, seat_id), dan, "Dan", now=now)
    assert texts(seat_id) == []


def test_the_house_does_not_follow_the_orders_of_a_seat_that_it_keeps(app, now) -> None:
    match_id, turn_id, seat_id = second_trick(now)
    seat = db.session.get_one(Seat, seat_id)
    orders.follow(seat_id, hand(seat), now=now)
    db.session.get_one(Seat, seat_id).is_kept = True
    db.session.commit()
    play.make_move(turn_id, play.choose_for(turn_id, "greedy"), by="link", now=now)
    match = db.session.get_one(Match, match_id)
    assert (match.ply, open_turn(match).seat) == (4, seat.number)
    assert db.session.scalars(select(Move).where(Move.by == "order")).all() == []


def test_orders_for_a_finished_game_are_answered_in_words(app, mailbox, browser, now) -> None:
    match_id, _turn_id, seat_id = second_trick(now)
    play.stop(db.session.get_one(Match, match_id), "stopped", now=now)
    db.session.commit()
    seat = db.session.get_one(Seat, seat_id)
    refused = press(browser, seat, "order", order="lowest")
    assert (refused.status_code, "This game is over" in refused.text) == (409, True)
    answer(seat, "then lowest", now=now)
    run_worker(now)
    assert letters_to(seat.name.lower(), "stands") != []
    assert texts(seat_id) == []
