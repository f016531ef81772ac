"""Who has no choice is not asked, and who is asked twice in a row is led straight on."""

from __future__ import annotations

from datetime import timedelta
from email.message import EmailMessage

import pytest
from cast import (
    ADDRESSES,
    by_number,
    by_words,
    html_of,
    letters_to,
    move_links,
    open_turn,
    open_turns,
    run_worker,
    running_match,
    text_of,
)
from mail_server import Mailbox

from engine.record import to_json, verify
from pbem import audit, deadlines, play, telling
from pbem.ext import db, writing
from pbem.mail.listener import Listener
from pbem.models import LetterState, Match, Player, Turn
from pbem.table import load, record

NAMES = ["ann", "bob", "cleo"]
TWO_HANDS = 2 * 8 * 3  # moves of Snakebit with three


def forced_match(now, **options) -> Match:
    """A match of Snakebit whose players all let forced moves be played."""
    match = running_match(NAMES, now=now, game="snakebit", **options)
    with writing():
        for player in db.session.query(Player):
            player.plays_forced = True
    return db.session.get_one(Match, match.id)


def to_a_forced_move(match: Match, now) -> Match:
    """Play on until the last move was made by itself."""
    while not match.moves or match.moves[-1].by != "forced":
        turn = open_turn(match)
        play.make_move(turn.id, play.choose_for(turn.id, "random"), by="link", now=now)
        match = db.session.get_one(Match, match.id)
    return match


def test_nobody_is_asked_where_there_is_no_choice(app, now) -> None:
    match = forced_match(now)
    while match.ply < TWO_HANDS:
        turn = open_turn(match)
        table = load(match)
        # The first turns were asked before the switch was on, and the opening lead has choices.
        assert len(table.game.legal_moves(table.state, turn.seat)) > 1
        play.make_move(turn.id, play.choose_for(turn.id, "random"), by="link", now=now)
        match = db.session.get_one(Match, match.id)
    by = [move.by for move in match.moves]
    # The last trick of each hand is followed without a choice.
    assert by.count("forced") >= 2 * 2
    assert list(audit.wrongs()) == []
    with writing():
        play.stop(db.session.get_one(Match, match.id), "stopped", now=now)
    match = db.session.get_one(Match, match.id)
    verify(record(match))
    assert [move["by"] for move in to_json(record(match))["moves"]] == by


def test_that_it_was_forced_is_told_to_its_player_only(app, now) -> None:
    match = to_a_forced_move(forced_match(now), now)
    table, last = load(match), match.moves[-1]
    for seat in (1, 2, 3, None):
        told = "".join(telling.told(table, last.ply, seat))
        assert ("no choice" in told) is (seat == last.seat)
    shown = to_json(record(match))["moves"][-1]
    assert shown["by"] == "web"
    turn = db.session.get_one(Turn, last.turn_id)
    assert [letter for letter in letters_to(seat_name(match, turn)) if letter.turn == turn] == []


def seat_name(match: Match, turn: Turn) -> str:
    return next(seat.name.lower() for seat in match.seats if seat.number == turn.seat)


def test_their_next_letter_tells_the_forced_moves_as_news(app, now) -> None:
    match = to_a_forced_move(forced_match(now), now)
    seat = match.moves[-1].seat
    own = telling.last_own(load(match), seat)
    assert own < len(match.moves)
    news = telling.tell(load(match), seat).news
    assert any("no choice" in line for line in news)


def test_with_the_switch_off_everybody_is_asked(app, now) -> None:
    match = running_match(NAMES, now=now, game="snakebit")
    alone = 0
    while match.ply < TWO_HANDS:
        turn, table = open_turn(match), load(match)
        alone += len(table.game.legal_moves(table.state, turn.seat)) == 1
        play.make_move(turn.id, play.choose_for(turn.id, "random"), by="link", now=now)
        match = db.session.get_one(Match, match.id)
    assert alone >= 2 * 2
    assert {move.by for move in match.moves} == {"link"}


def to_a_pot(now, *, rounds: int = 1) -> tuple[Match, Turn]:
    """A match of Bisque in which somebody has to choose a card for the pot, and will lead."""
    match = running_match(NAMES, now=now, game="bisque", rounds=rounds)
    while load(match).view(open_turns(match)[0].seat).phase.name != "POT":
        turn = open_turns(match)[0]
        play.make_move(turn.id, play.choose_for(turn.id, "random"), by="link", now=now)
        match = db.session.get_one(Match, match.id)
    return match, open_turn(match)


def letter_that_asks(mailbox: Mailbox, name: str, now) -> EmailMessage:
    """The newest turn letter to a player; who played the trick's last card was led on."""
    run_worker(now + deadlines.LEAD_ON)
    return next(m for m in reversed(mailbox.to(ADDRESSES[name])) if "your turn" in m["Subject"])


def test_three_are_asked_at_once_and_nobody_waits(app, mailbox, now) -> None:
    match = running_match(NAMES, now=now, game="bisque")
    run_worker(now)
    assert [turn.seat for turn in open_turns(match)] == [1, 2, 3]
    assert sorted(mail["To"].addresses[0].addr_spec for mail in mailbox.fresh()) == sorted(
        ADDRESSES[name] for name in NAMES
    )
    for turn in reversed(open_turns(match)):
        assert db.session.get_one(Match, match.id).ply == 3 - turn.seat
        play.make_move(turn.id, play.choose_for(turn.id, "random"), by="link", now=now)
    match = db.session.get_one(Match, match.id)
    assert [turn.seat for turn in open_turns(match)] == [1]
    assert list(audit.wrongs()) == []


def test_after_a_link_the_page_leads_on_and_the_letter_waits(app, mailbox: Mailbox, now) -> None:
    match, turn = to_a_pot(now)
    name = seat_name(match, turn)
    asking = letter_that_asks(mailbox, name, now)
    client = app.test_client()
    page = client.post(move_links(asking)[0]).get_data(as_text=True)
    assert "Played. It is your turn again" in page
    lead = open_turn(match)
    assert lead.seat == turn.seat
    (letter,) = [found for found in letters_to(name, "your_turn") if found.turn_id == lead.id]
    assert letter.due_at - letter.created_at == timedelta(minutes=10)
    assert list(audit.wrongs()) == []
    # A double tap shows the same page.
    assert "Played. It is your turn again" in client.post(move_links(asking)[0]).get_data(
        as_text=True
    )
    letter_id = letter.id
    play.make_move(lead.id, play.choose_for(lead.id, "random"), by="link", now=now)
    assert letters_to(name)[-1].id >= letter_id
    states = {found.id: found.state for found in letters_to(name)}
    assert states[letter_id] == LetterState.STALE


def test_who_went_away_from_the_page_gets_the_letter(app, mailbox: Mailbox, now) -> None:
    match, turn = to_a_pot(now)
    name = seat_name(match, turn)
    play.make_move(turn.id, play.choose_for(turn.id, "random"), by="link", now=now)
    lead_id = open_turn(match).id
    run_worker(now + timedelta(minutes=9))
    (letter,) = [found for found in letters_to(name, "your_turn") if found.turn_id == lead_id]
    assert letter.state == LetterState.QUEUED
    run_worker(now + timedelta(minutes=10))
    db.session.expire_all()
    assert letter.state == LetterState.SENT


def test_after_a_reply_the_receipt_asks_at_once(
    app, mailbox: Mailbox, listener: Listener, now
) -> None:
    match, turn = to_a_pot(now)
    name = seat_name(match, turn)
    asking = letter_that_asks(mailbox, name, now)
    mailbox.fresh()
    by_number(listener, asking, 0)
    run_worker(now + timedelta(seconds=5))
    (receipt,) = mailbox.fresh()
    assert "done, and your turn again" in receipt["Subject"]
    text = text_of(receipt)
    assert text.index("Done, ") < text.index("It is your turn again.") < text.index("THE TABLE")
    lead = open_turn(match)
    table = load(db.session.get_one(Match, match.id))
    assert len(move_links(receipt)) == len(table.game.legal_moves(table.state, lead.seat))
    assert "Your hand and every move you can make" in html_of(receipt)
    assert [found for found in letters_to(name, "your_turn") if found.turn_id == lead.id] == []
    assert list(audit.wrongs()) == []
    by_number(listener, receipt, 1)
    run_worker(now + timedelta(seconds=10))
    moves = db.session.get_one(Match, match.id).moves
    assert [move.by for move in moves[-2:]] == ["reply", "reply"]
    assert moves[-1].text.startswith("play ")


@pytest.mark.parametrize("text", ["hello there", "EX left"])
def test_a_reply_to_that_receipt_that_is_no_move_gets_the_moves_again(
    app, mailbox: Mailbox, listener: Listener, now, text
) -> None:
    match, turn = to_a_pot(now)
    name = seat_name(match, turn)
    asking = letter_that_asks(mailbox, name, now)
    mailbox.fresh()
    by_number(listener, asking, 0)
    run_worker(now)
    (receipt,) = mailbox.fresh()
    by_words(listener, receipt, text)
    run_worker(now)
    (answer,) = mailbox.fresh()
    assert "not done, your turn still" in answer["Subject"]
    assert move_links(answer)
