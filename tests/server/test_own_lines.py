"""No line of our own mails reads as a move, however a mail program wraps or flattens it."""

from __future__ import annotations

import textwrap

import pytest
from cast import ADDRESSES, player, positions
from flask_babel import force_locale

from engine import GAMES
from engine.errors import Ambiguous, IllegalMove
from pbem import lobby, play, post
from pbem.ext import db, writing
from pbem.mail import contents, letters, reply
from pbem.mail.flatten import flatten
from pbem.models import Letter, Turn
from pbem.table import load

WIDTHS = (10, 12, 15, 18, 22, 27, 33, 40, 50, 60, 72, 78, 100, 140)


def lines(letter: Letter, language: str, table) -> set[str]:
    """Return all lines that a reader's program may make of a letter."""
    with force_locale(language):
        kind = contents.AT_TABLE[letter.kind]
        message = letters.compose(letter, kind(letter, table))
    html, text = (message.get_body((kind,)).get_content() for kind in ("html", "plain"))
    found = set()
    for body in (text, flatten(html)):
        for paragraph in body.splitlines():
            found.add(paragraph)
            for width in WIDTHS:
                found.update(textwrap.wrap(paragraph, width, break_long_words=False))
    return found


def reads(line: str, command) -> bool:
    """Return whether a line would be taken for a move wherever it stands."""
    if reply.is_weak(line):
        return False
    try:
        found = command(line)
    except (Ambiguous, IllegalMove):
        return True
    return found is not None and not found.weak


@pytest.mark.parametrize("language", ["en", "fr"])
@pytest.mark.parametrize("name", list(GAMES))
def test_no_line_of_ours_reads_as_a_move(app, now, name, language) -> None:
    seen = 0
    for nth, (match, turn) in enumerate(positions(name, now, moves=40)):
        if nth % 3:
            continue
        table = load(match)
        command = reply.turn_commands(table.game, table.view(turn.seat))
        asking = db.session.query(Letter).filter_by(turn_id=turn.id, kind="your_turn").one()
        wrong = {line for line in lines(asking, language, table) if reads(line, command)}
        assert wrong == set()
        seen += 1
    assert seen > 3


@pytest.mark.parametrize("language", ["en", "fr"])
@pytest.mark.parametrize("name", list(GAMES))
def test_nor_does_any_other_letter_of_a_turn(app, now, name, language) -> None:
    illegal = {"why": "illegal", "line": "7SK right", "reason": "%(card)s is not in your hand"}
    illegal["fields"] = {"card": "7SK"}
    for nth, (match, turn) in enumerate(positions(name, now, moves=30)):
        if nth % 10:
            continue
        table = load(match)
        seat = table.seat(turn.seat)
        with writing():
            asked = db.session.get_one(Turn, turn.id)
            post.reminder(asked, seat, now=now)
            post.not_done(asked, seat, illegal, now=now)
            readings = [table.game.format(m) for m in table.game.moves(table.view(turn.seat))]
            post.not_done(asked, seat, {"why": "ambiguous", "readings": readings}, now=now)
            post.receipt(table, asked, now=now)
            post.house_played(table, asked, now=now)
            post.stands(asked, seat, now=now)
        command = reply.turn_commands(table.game, table.view(turn.seat))
        for letter in db.session.query(Letter).filter_by(turn_id=turn.id):
            wrong = {line for line in lines(letter, language, table) if reads(line, command)}
            # The player's own words stand in one of them, between marks.
            assert wrong == set()


def test_nor_does_an_invitation_answer_itself(app, now) -> None:
    ann = player("ann", now=now)
    lobby.open_table(ann, "biscuit", [lobby.Chair(address=ADDRESSES["bob"])], {}, now=now)
    letter = db.session.query(Letter).one()
    command = reply.invitation_commands()
    for language in ("en", "fr"):
        letter.language = language
        message = letters.build(letter)
        bodies = (message.get_body((kind,)).get_content() for kind in ("html", "plain"))
        html, text = bodies
        found = set()
        for body in (text, flatten(html)):
            for paragraph in body.splitlines():
                for width in WIDTHS:
                    found.update(textwrap.wrap(paragraph, width, break_long_words=False))
        assert {line for line in found if reads(line, command)} == set()


def test_the_check_would_see_a_bare_move(app, now) -> None:
    match, turn = next(positions("biscuit", now))
    table = load(match)
    command = reply.turn_commands(table.game, table.view(turn.seat))
    assert reads(play.choose_for(turn.id, "greedy"), command)
