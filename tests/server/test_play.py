"""A move counts once, for its own seat and turn, and nothing else changes."""

from __future__ import annotations

from datetime import timedelta

import pytest
from cast import letters_to, open_turn, open_turns, run_worker, running_match
from sqlalchemy import select

from engine.errors import IllegalMove, Unreadable
from pbem import audit, play, telling
from pbem.errors import MatchOver, StaleMove
from pbem.ext import db
from pbem.models import Letter, Match, Move, Turn
from pbem.table import load


def legal(match: Match) -> list[str]:
    turn = open_turn(match)
    return [choice.text for choice in telling.tell(load(match), turn.seat).choices]


def rows() -> tuple[int, int, int]:
    return tuple(len(db.session.scalars(select(kind.id)).all()) for kind in (Move, Turn, Letter))


def test_a_move_closes_its_turn_and_asks_the_next_seat(app, now) -> None:
    match = running_match(["ann", "bob"], now=now)
    turn = open_turn(match)
    receipt = play.make_move(turn.id, legal(match)[0], by="link", now=now)
    assert receipt.repeated is False
    assert db.session.get_one(Turn, turn.id).closed_at == now
    assert receipt.match.ply == 1
    asked = open_turn(receipt.match)
    assert asked.deadline == now + timedelta(hours=72)
    assert letters_to("bob" if asked.seat == 2 else "ann", "your_turn")[-1].turn_id == asked.id
    assert list(audit.wrongs()) == []


def test_the_same_move_again_is_answered_and_counts_once(app, now) -> None:
    match = running_match(["ann", "bob"], now=now)
    turn, text = open_turn(match), legal(match)[0]
    play.make_move(turn.id, text, by="link", now=now)
    before = rows()
    again = play.make_move(turn.id, text.lower(), by="link", now=now)
    assert again.repeated is True
    assert again.move.text == text
    assert rows() == before


def test_another_move_after_the_first_is_refused_and_changes_nothing(app, now) -> None:
    match = next(m for m in matches_with_choice(now) if len(legal(m)) > 1)
    turn, (first, second, *_) = open_turn(match), legal(match)
    play.make_move(turn.id, first, by="link", now=now)
    before = rows()
    with pytest.raises(StaleMove):
        play.make_move(turn.id, second, by="link", now=now)
    assert rows() == before


def matches_with_choice(now):
    from cast import player

    from pbem import lobby

    ann = player("ann", now=now)
    for _ in range(50):
        yield lobby.open_table(ann, "biscuit", [lobby.Chair(bot="greedy")], {}, now=now)


@pytest.mark.parametrize(("text", "error"), [("abracadabra", Unreadable), ("EX left", IllegalMove)])
def test_what_is_no_legal_move_changes_nothing(app, now, text, error) -> None:
    match = running_match(["ann", "bob"], now=now)
    turn = open_turn(match)
    before = rows()
    with pytest.raises(error):
        play.make_move(turn.id, text, by="reply", now=now)
    assert rows() == before
    assert open_turn(db.session.get_one(Match, match.id)).id == turn.id


def test_after_the_end_nothing_can_be_moved(app, now) -> None:
    match = running_match(["ann", "bob"], now=now)
    while match.status == "running":
        turn = open_turn(match)
        play.make_move(turn.id, play.choose_for(turn.id, "greedy"), by="link", now=now)
        match = db.session.get_one(Match, match.id)
    assert list(audit.wrongs()) == []
    last = db.session.scalars(select(Turn).order_by(Turn.id.desc())).first()
    with pytest.raises((StaleMove, MatchOver)):
        play.make_move(last.id, "keep", by="link", now=now)
    assert {letter.kind for letter in letters_to("ann")} >= {"game_over"}
    assert {letter.kind for letter in letters_to("bob")} >= {"game_over"}


def test_drawn_seats_are_those_that_the_record_proves(app, now) -> None:
    from cast import ADDRESSES, player

    from engine.record import verify
    from pbem import lobby
    from pbem.table import record

    ann = player("ann", now=now)
    match = lobby.open_table(
        ann,
        "biscuit",
        [lobby.Chair(address=ADDRESSES["bob"]), lobby.Chair(address=ADDRESSES["cleo"])],
        {},
        draws_seats=True,
        phrase="lucky seven",
        now=now,
    )
    # Cleo sits down before bob: the draw takes the players as they came.
    for name in ("cleo", "bob"):
        seat = next(s for s in match.seats if s.invited == ADDRESSES[name])
        now += timedelta(hours=1)
        lobby.sit(seat.id, name=name, phrase=f"of {name}", language="fr", zone="UTC", now=now)
    match = db.session.get_one(Match, match.id)
    while match.status == "running":
        turn = open_turn(match)
        play.make_move(turn.id, play.choose_for(turn.id, "greedy"), by="link", now=now)
        match = db.session.get_one(Match, match.id)
    found = record(match)
    assert found.seating == ("Ann", "cleo", "bob")
    assert sorted(found.phrases) == ["lucky seven", "of bob", "of cleo"]
    assert found.phrases[found.names.index("cleo")] == "of cleo"
    verify(found)


def test_a_running_record_keeps_the_key(app, now) -> None:
    from engine.record import to_json
    from pbem.table import record

    match = running_match(["ann", "bob"], now=now)
    found = to_json(record(match))
    assert "key" not in found["deal"]
    assert found["winners"] is None
    assert found["ended"] is None
    assert match.server_key.hex() not in str(found)


def test_a_running_record_keeps_the_objectives_of_the_running_hand(app, now) -> None:
    from engine.record import to_json
    from pbem.table import record

    match_id = running_match(["ann", "bob", "cleo"], now=now, game="bisque", rounds=2).id
    match, aims = db.session.get_one(Match, match_id), []
    while match.status == "running":
        asked = open_turns(match)
        text = play.choose_for(asked[-1].id, "random")
        play.make_move(asked[-1].id, text, by="link", now=now)
        aims += [text] if text.startswith("aim ") else []
        match = db.session.get_one(Match, match_id)
        moves = [move["move"] for move in to_json(record(match))["moves"]]
        shown = [move for move in moves if move.startswith("aim ")]
        # An objective is open once its hand is scored, which happens with the hand's last move.
        scored = len(moves) // 47 * 3
        assert shown == aims[:scored]
        assert moves.count("aim") == len(aims) - scored
    assert len(aims) == 6


def test_audit_tells_a_turn_that_is_lost(app, now) -> None:
    match = running_match(["ann", "bob"], now=now)
    seat = open_turn(match).seat
    run_worker(now)
    open_turn(match).closed_at = now
    db.session.commit()
    assert list(audit.wrongs()) == [
        f"biscuit {match.code}: it asks the seats [], and [{seat}] are to move"
    ]
