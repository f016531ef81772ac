"""Several workers on one database at once: nothing is done twice, and nothing is left."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta

from cast import ADDRESSES, open_turn, parsed, player
from mail_server import Mailbox
from worker_process import wait_for, working

from pbem import audit, lobby
from pbem.ext import db, writing
from pbem.links import Links
from pbem.lobby import Chair
from pbem.mail import inbox
from pbem.models import Beat, Letter, LetterState, Match, Move, Note, Reminder
from pbem.tokens import Named

HOUR = timedelta(hours=1)
GAMES = 8  # of each state


def test_workers_side_by_side_do_everything_once(app, mailbox: Mailbox) -> None:
    now = datetime.now(UTC)
    ann, bob = player("ann", now=now), player("bob", now=now)
    late, soon, answered = ([table(ann, bob, now) for _ in range(GAMES)] for _ in range(3))
    with writing():
        for match_id in late:
            moved_back(match_id, 74 * HOUR)
        for match_id in soon:
            moved_back(match_id, 50 * HOUR)
        db.session.merge(Beat(id=1, at=now))
    for match_id in answered:
        answer(match_id, now)
    url = app.config["SQLALCHEMY_DATABASE_URI"]
    number = 2 if url.startswith("sqlite") else 4
    with working(url, mailbox, number=number):
        wait_for(all_is_quiet)
    db.session.rollback()
    by = Counter(move.by for move in db.session.query(Move))
    assert by == {"timeout": GAMES, "reply": GAMES}
    assert Counter(one.turn_id for one in db.session.query(Reminder)) == {
        open_turn(db.session.get_one(Match, match_id)).id: 1 for match_id in soon
    }
    ids = Counter(str(parsed(raw)["Message-ID"]) for _sender, _to, raw in mailbox.arrived)
    assert set(ids.values()) == {1}
    assert len(ids) == db.session.query(Letter).filter_by(state=LetterState.SENT).count()
    kinds = Counter(letter.kind for letter in db.session.query(Letter))
    assert (kinds["house_played"], kinds["receipt"]) == (GAMES, GAMES)
    # All games that are due together share one letter.
    waited_for = {open_turn(db.session.get_one(Match, match_id)).seat for match_id in soon}
    assert kinds["reminder"] + kinds["reminders"] == len(waited_for)
    assert list(audit.wrongs()) == []


def table(ann, bob, now: datetime) -> int:
    """A game of the two that has just begun."""
    match = lobby.open_table(ann, "biscuit", [Chair()], {}, bank_hours=0, now=now)
    lobby.join(match.id, bob, phrase="", now=now)
    return match.id


def moved_back(match_id: int, by: timedelta) -> None:
    """Let the open turn have been asked so much earlier."""
    turn = open_turn(db.session.get_one(Match, match_id))
    turn.opened_at -= by
    turn.deadline -= by


def answer(match_id: int, now: datetime) -> None:
    """Let a reply to the open turn's letter wait to be read."""
    turn = open_turn(db.session.get_one(Match, match_id))
    sender = ADDRESSES["ann" if turn.seat == 1 else "bob"]
    address = Links().reply(Named.TURN, turn.id)
    raw = f"From: {sender}\nTo: {address}\nSubject: Re: your turn\n\n1\n".encode()
    inbox.take(raw, inbox.Envelope(address, sender), now=now)


def all_is_quiet() -> bool:
    """Whether no mail waits, in either direction, and the late games were played."""
    db.session.rollback()
    waiting = db.session.query(Letter).filter(
        Letter.state.in_((LetterState.QUEUED, LetterState.SENDING, LetterState.RETRY))
    )
    unread = db.session.query(Note).filter(Note.read_at.is_(None))
    reminded = db.session.query(Reminder).count()
    played = db.session.query(Move).count()
    is_done = reminded >= GAMES and played >= 2 * GAMES
    return is_done and not waiting.count() and not unread.count()
