"""Hints for beginners: the moves that score most now are marked, and say why."""

from __future__ import annotations

from pathlib import Path

import pytest
from cast import html_of, parsed, path, positions, text_of
from own_lines import reads, wrapped

from engine import GAMES
from pbem import telling
from pbem.ext import db, writing
from pbem.links import Links
from pbem.mail import letters, reply
from pbem.models import Letter, Player
from pbem.table import load


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """One kind is enough: what letters say does not depend on the database."""
    return f"sqlite:///{tmp_path / 'pbem.sqlite3'}"


def everybody_wants(hints: bool) -> None:
    with writing():
        for player in db.session.query(Player):
            player.wants_hints = hints


@pytest.mark.parametrize("name", list(GAMES))
def test_the_moves_that_score_most_are_marked_in_letters_and_on_the_page(app, now, name) -> None:
    seen = 0
    for nth, (match, turn) in enumerate(positions(name, now, moves=25)):
        table, turn_id = load(match), turn.id
        view, game = table.view(turn.seat), table.game
        points = [game.preview(view, move).points or 0 for move in game.moves(view)]
        best = {n for n, one in enumerate(points, 1) if one == max(points) > min(points)}
        best = best if max(points) > 0 else set()
        if nth % 12 and (seen or not best):
            continue
        everybody_wants(hints=True)
        letter = db.session.query(Letter).filter_by(turn_id=turn_id, kind="your_turn").one()
        message = letters.build(letter)
        page = app.test_client().get(path(Links().seat(letter.seat))).text
        text = text_of(parsed(message.as_bytes()))
        for shown in (text, html_of(message), page):
            assert shown.count("★ scores most now") == len(best)
        command = reply.turn_commands(game, view)
        assert {line for line in wrapped(message) if reads(line, command)} == set()
        told = telling.tell(table, view.seat)
        marked = {one.n for one in telling.with_hints(told).choices if "★" in one.line}
        assert marked == best
        assert [one.text for one in telling.with_hints(told).choices] == [
            one.text for one in told.choices
        ]
        everybody_wants(hints=False)
        letter = db.session.get_one(Letter, letter.id)
        assert "★" not in text_of(parsed(letters.build(letter).as_bytes()))
        seen += bool(best)
    assert seen or name != "biscuit"


def test_a_hint_says_what_the_points_are_for(app, now) -> None:
    reasons = set()
    for match, turn in positions("biscuit", now, moves=40):
        told = telling.with_hints(telling.tell(load(match), turn.seat))
        reasons |= {one.line.partition("★ ")[2] for one in told.choices if "★" in one.line}
    assert any(one.startswith("scores most now: run of 2: ") for one in reasons)
    assert all(one.startswith("scores most now: ") for one in reasons)
