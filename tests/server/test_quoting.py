"""People's words in our letters: no piece of them reads as a move when a letter is quoted back."""

from __future__ import annotations

from pathlib import Path

import pytest
from cast import positions
from hypothesis import given, settings
from hypothesis import strategies as st
from own_lines import reads, rewrapped, wrapped

from engine import GAMES
from pbem import talk
from pbem.ext import db, writing
from pbem.mail import letters, reply
from pbem.mail.quoting import harmless
from pbem.models import Letter, Turn
from pbem.table import load


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """One kind is enough: what letters say does not depend on the database."""
    return f"sqlite:///{tmp_path / 'pbem.sqlite3'}"


def table(name: str) -> tuple:
    """A table of a game as it begins: what reads replies there, and its moves."""
    game = GAMES[name]
    seats = game.seat_counts[-1]
    state, _ = game.new_game(b"k" * 32, seats, game.check_options(seats, {}))
    view = game.view(state, min(game.to_move(state)))
    return reply.turn_commands(game, view), [game.format(move) for move in game.moves(view)]


TABLES = {name: table(name) for name in GAMES}
WORDS = st.one_of(
    st.sampled_from([text for _command, moves in TABLES.values() for text in moves]),
    st.sampled_from(
        [
            "play",
            "move",
            "keep",
            "garder",
            "9",
            "#9",
            "[9]",
            "(9)",
            "nine",
            "neuf",
            "I'll",
            "please",
            "ok,",
            "coup",
        ]
    ),
    st.sampled_from(["AS", "am", "as", "ex", "7 SK", "-", "*9*", "5SW.", "left", "up", "suns"]),
    st.sampled_from(["neuf", "I'll", "please", "ok,", "coup"]),
    st.text(max_size=8),
)


@settings(deadline=None, max_examples=150)
@given(st.lists(WORDS, max_size=12).map(" ".join))
def test_no_piece_of_what_is_said_reads_as_a_move(text: str) -> None:
    for line in harmless(text):
        for piece in rewrapped(line, range(4, 60, 3)):
            assert [name for name, (read, _) in TABLES.items() if reads(piece, read)] == []


def test_words_that_name_no_move_are_left_as_they_are() -> None:
    assert harmless("well played, Bob!\n\nsee you") == ["‹well played, Bob!›", "‹see you›"]


@pytest.mark.parametrize("name", list(GAMES))
def test_letters_that_tell_talk_and_a_note_hold_no_move(app, now, name) -> None:
    match, turn = next(positions(name, now))
    command = reply.turn_commands(load(match).game, load(match).view(turn.seat))
    moves = [
        load(match).game.format(m) for m in load(match).game.moves(load(match).view(turn.seat))
    ]
    words = "\n".join(
        [*moves[:8], "resign", "play 1", "I play 1", "#2", moves[0] + " " + moves[-1]]
    )
    other = next(seat for seat in match.seats if seat.number != turn.seat)
    turn_id, seat_id = turn.id, turn.asked.id
    talk.say(other.id, words, now=now)
    talk.write_note(seat_id, words, now=now)
    from pbem import post

    with writing():
        turn = db.session.get_one(Turn, turn_id)
        turn.asked.player.mails = {"talk": "now"}
        post.once_more(turn.asked, turn, now=now)
    talk.say(other.id, words, now=now)
    for kind in ("your_turn", "talk"):
        letter = (
            db.session.query(Letter)
            .filter_by(kind=kind, seat_id=seat_id)
            .order_by(Letter.id.desc())
        )[0]
        message = letters.build(letter)
        assert {line for line in wrapped(message) if reads(line, command)} == set()
