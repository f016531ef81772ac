"""Several moves in one mail: each line answers the question that the one before it leads to."""

from __future__ import annotations

from dataclasses import dataclass
from email.message import EmailMessage

import pytest
from cast import (
    ADDRESSES,
    letters_to,
    move_links,
    open_turns,
    reply_to,
    run_worker,
    running_match,
    text_of,
)
from sqlalchemy import select

from pbem import play
from pbem.ext import db
from pbem.mail import inbox
from pbem.models import Match, Move, Note
from pbem.table import load


@dataclass(frozen=True)
class Asked:
    """Who has won a trick of Bisque, their letter, cards for the pot, and leads after the first."""

    name: str
    letter: EmailMessage
    match_id: int
    ply: int
    pots: tuple[str, ...]
    leads: tuple[str, ...]


@pytest.fixture
def asked(app, mailbox, now) -> Asked:
    match_id = running_match(["ann", "bob", "cleo"], now=now, game="bisque").id
    while True:
        match = db.session.get_one(Match, match_id)
        turn = open_turns(match)[0]
        table = load(match)
        moves = [table.game.format(m) for m in table.game.moves(table.view(turn.seat))]
        if moves[0].startswith("pot") and len(moves) > 1:
            break
        play.make_move(turn.id, moves[-1], by="link", now=now)
    run_worker(now)
    name = turn.asked.name.lower()
    after = table.after(turn.seat, table.game.parse(table.view(turn.seat), moves[0]))
    leads = [after.game.format(m) for m in after.game.moves(after.view(turn.seat))]
    letter = [m for m in mailbox.to(ADDRESSES[name]) if "your turn" in m["Subject"]][-1]
    return Asked(name, letter, match_id, match.ply, tuple(moves), tuple(leads))


def send(asked: Asked, text: str, now, *, sender: str = "", message_id: str = "") -> None:
    raw = reply_to(
        asked.letter, text, sender=sender or ADDRESSES[asked.name], message_id=message_id
    )
    inbox.take(raw, inbox.Envelope(str(asked.letter["Reply-To"]), "x@y.example"), now=now)
    inbox.read_all(now=now)


def moves(asked: Asked) -> tuple[str, ...]:
    since = select(Move.text).where(Move.match_id == asked.match_id, Move.ply > asked.ply)
    return tuple(db.session.scalars(since.order_by(Move.ply)))


def verdicts() -> list[tuple[str | None, str | None]]:
    return [(note.verdict, note.reason) for note in db.session.scalars(select(Note))]


def test_a_card_for_the_pot_and_the_lead_are_played_from_one_mail(asked, mailbox, now) -> None:
    send(asked, f"{asked.pots[0]}\n{asked.leads[1]}\nAnn", now)
    assert moves(asked) == (asked.pots[0], asked.leads[1])
    assert verdicts() == [("move", None)]
    run_worker(now)
    # One receipt tells both.
    first, last = letters_to(asked.name, "receipt")
    assert (first.state, last.state) == ("stale", "sent")
    told = " ".join(text_of(mailbox.to(ADDRESSES[asked.name])[-1]).split())
    assert "your move is done" in mailbox.to(ADDRESSES[asked.name])[-1]["Subject"]
    for move in (asked.pots[0], asked.leads[1]):
        assert move.split()[1] in told.partition("THE TABLE")[0]
    assert letters_to(asked.name, "not_done") == []


def test_it_stops_at_the_first_that_fails_and_says_why(asked, mailbox, now) -> None:
    # The card that went into the pot is in nobody's hand.
    wrong = asked.pots[0].replace("pot", "play")
    send(asked, f"{asked.pots[0]}\n{wrong}", now)
    assert moves(asked) == (asked.pots[0],)
    assert [verdict for verdict, _ in verdicts()] == ["not done"]
    run_worker(now)
    assert [letter.state for letter in letters_to(asked.name, "receipt")] == ["sent"]
    answer = mailbox.to(ADDRESSES[asked.name])[-1]
    assert "not done, your turn still" in answer["Subject"]
    assert wrong.split()[1] in text_of(answer).partition("SINCE YOUR LAST MOVE")[0]
    assert len(move_links(answer)) == len(asked.leads)


def test_two_leads_are_asked_back(asked, now) -> None:
    send(asked, f"{asked.pots[0]}\n{asked.leads[0]}\n{asked.leads[1]}", now)
    assert moves(asked) == (asked.pots[0],)
    assert verdicts() == [("not done", "ambiguous")]


def test_two_cards_for_the_pot_are_asked_back_and_nothing_is_played(asked, now) -> None:
    send(asked, f"{asked.pots[0]}\n{asked.pots[1]}\n{asked.leads[0]}", now)
    assert moves(asked) == ()
    assert verdicts() == [("not done", "ambiguous")]


def test_the_same_mail_again_plays_nothing_in_the_turn_that_is_open(asked, now) -> None:
    send(asked, asked.pots[0], now, message_id="<a@x.example>")
    send(asked, f"{asked.pots[0]}\n{asked.leads[0]}", now, message_id="<b@x.example>")
    assert moves(asked) == (asked.pots[0],)
    assert [verdict for verdict, _ in verdicts()] == ["move", "repeated"]


def test_of_a_strangers_two_moves_the_first_is_held(asked, now) -> None:
    send(asked, f"{asked.pots[0]}\n{asked.leads[0]}", now, sender=ADDRESSES["dan"])
    assert moves(asked) == ()
    (letter,) = letters_to(asked.name, "confirm")
    assert letter.about["move"] == asked.pots[0]
