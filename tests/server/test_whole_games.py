"""Whole games to the end by real mail: only by links, only by replies, and mixed."""

from __future__ import annotations

import smtplib
from datetime import timedelta
from email.message import EmailMessage

import pytest
from cast import ADDRESSES, move_links, reply_to, run_worker, running_match
from mail_server import Mailbox

from engine.record import loads, verify
from pbem.ext import db
from pbem.mail.listener import Listener
from pbem.models import Letter, Match

GAMES = [
    ("links", ("ann", "bob", "cleo"), {"excuse": True, "pawns": True}),
    ("replies", ("ann", "bob"), {}),
    ("mixed", ("ann", "bob", "cleo", "bot"), {"partners": True, "courts": True}),
    ("mixed", ("ann", "bot"), {"target": 10}),
]


def by_link(app, message: EmailMessage, nth: int) -> None:
    """Open a move's link and press its button, as a browser does."""
    links = move_links(message)
    path = links[nth % len(links)]
    client = app.test_client()
    page = client.get(path)
    assert page.status_code == 200
    assert client.post(path).status_code == 200


def by_number(listener: Listener, message: EmailMessage, nth: int) -> None:
    """Reply with a number from the list, through the server's own SMTP listener."""
    number = nth % len(move_links(message)) + 1
    raw = reply_to(message, f"{number}", sender=str(message["To"]))
    with smtplib.SMTP("127.0.0.1", listener.port) as relay:
        relay.sendmail("ann@players.example", [str(message["Reply-To"])], raw)


@pytest.mark.parametrize(("way", "names", "options"), GAMES)
def test_a_game_is_played_to_its_end(
    app, mailbox: Mailbox, listener: Listener, now, way, names, options
) -> None:
    match_id = running_match(names, now=now, **options).id
    for nth in range(400):
        now += timedelta(minutes=1)
        run_worker(now)
        if db.session.get_one(Match, match_id).status == "over":
            break
        asked = [m for m in mailbox.fresh() if ": your turn" in m["Subject"]]
        for message in asked:
            if way == "links" or (way == "mixed" and nth % 2):
                by_link(app, message, nth)
            else:
                by_number(listener, message, nth)
    run_worker(now)
    check_the_end(mailbox, match_id, names)


def check_the_end(mailbox: Mailbox, match_id: int, names) -> None:
    match = db.session.get_one(Match, match_id)
    assert match.status == "over"
    for name in names:
        if name == "bot":
            continue
        last = mailbox.to(ADDRESSES[name])[-1]
        assert "the game is over" in last["Subject"]
        (file,) = last.iter_attachments()
        record = loads(file.get_content().decode())
        verify(record)
        assert list(record.scores) == match.scores
        assert match.server_key.hex() in last.as_string()
    every = [raw for _sender, _to, raw in mailbox.arrived]
    ids = [letter.id for letter in db.session.query(Letter).filter_by(state="sent")]
    assert len(every) == len(ids)
