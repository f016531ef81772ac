"""Whole games to the end by real mail: only by links, only by replies, and mixed."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from cast import ADDRESSES, by_link, by_number, run_worker, running_match
from mail_server import Mailbox

from engine.record import loads, verify
from pbem.ext import db
from pbem.mail.listener import Listener
from pbem.models import Letter, Match

# Each game is long, so each is played on one kind of database; every way of playing and
# every game comes to both.
GAMES = [
    ("sqlite", "biscuit", "links", ("ann", "bob", "cleo"), {"excuse": True, "pawns": True}),
    ("postgresql", "biscuit", "replies", ("ann", "bob"), {}),
    (
        "sqlite",
        "biscuit",
        "mixed",
        ("ann", "bob", "bot", "bot"),
        {"partners": True, "courts": True},
    ),
    ("postgresql", "biscuit", "mixed", ("ann", "bot"), {"target": 10}),
    ("postgresql", "bisque", "links", ("ann", "bob", "bot"), {"rounds": 1}),
    ("sqlite", "bisque", "replies", ("ann", "bob", "cleo"), {"rounds": 1}),
    ("postgresql", "bisque", "mixed", ("ann", "bot", "bot"), {"rounds": 2}),
    ("postgresql", "snakebit", "links", ("ann", "bot", "bot", "bot"), {"end": "six"}),
    ("sqlite", "snakebit", "replies", ("ann", "bot", "bot"), {}),
]


@pytest.fixture
def database_url(request: pytest.FixtureRequest, kind: str, tmp_path: Path) -> str:
    """The URL of an empty database of the kind that the game is played on."""
    if kind == "sqlite":
        return f"sqlite:///{tmp_path / 'pbem.sqlite3'}"
    return request.getfixturevalue("postgres")


@pytest.fixture
def kind() -> str:
    """Given by each game."""
    raise NotImplementedError


@pytest.mark.parametrize(("kind", "game", "way", "names", "options"), GAMES)
def test_a_game_is_played_to_its_end(
    app, mailbox: Mailbox, listener: Listener, now, kind, game, way, names, options
) -> None:
    match_id = running_match(names, now=now, game=game, **options).id
    for nth in range(400):
        # Who is asked twice in a row and went away from the page is mailed after ten minutes.
        now += timedelta(minutes=10)
        run_worker(now)
        if db.session.get_one(Match, match_id).status == "over":
            break
        asked = [m for m in mailbox.fresh() if "your turn" in m["Subject"]]
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
