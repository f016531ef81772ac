from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.biscuit import Biscuit
from engine.errors import Ambiguous, IllegalMove
from pbem.mail.reply import Command, NoSuchNumber, is_weak, read, turn_commands

GAME = Biscuit()


def a_view(seed: int):
    """Return the view of the seat that is to move in a fresh deal."""
    options = GAME.check_options(3, {})
    state, _ = GAME.new_game(seed.to_bytes(32, "big"), 3, options)
    (seat,) = GAME.to_move(state)
    return GAME.view(state, seat)


VIEW = next(view for view in map(a_view, range(200)) if len(GAME.moves(view)) >= 4)
MOVES = tuple(GAME.format(move) for move in GAME.moves(VIEW))
COMMAND = turn_commands(GAME, VIEW)


@pytest.mark.parametrize(
    "line", ["3", "3.", "(3)", "[3]", "3)", " *3* ", "three", "Trois", "- 3", "3 please", "３"]
)
def test_a_bare_number_is_a_weak_command(line: str) -> None:
    assert COMMAND(line) == Command(MOVES[2], weak=True)


@pytest.mark.parametrize(
    "line", ["#3", "# 3", "move 3", "Play 3, please", "play three", "I'll play 3", "move number 3"]
)
def test_a_number_with_a_word_for_moving_is_a_strong_command(line: str) -> None:
    assert COMMAND(line) == Command(MOVES[2], weak=False)


def test_a_number_out_of_the_list_is_refused() -> None:
    for line in ("0", "99", "#99"):
        with pytest.raises(NoSuchNumber):
            COMMAND(line)


@pytest.mark.parametrize(
    "dress", ["{}", "  {}.", "*{}*", "- {}", "play {}", "{} please", "I play {}!"]
)
def test_every_listed_move_is_read_in_its_notation(dress: str) -> None:
    for move in MOVES:
        assert COMMAND(dress.format(move)) == Command(move, weak=False)
        assert COMMAND(dress.format(move.upper())) == Command(move, weak=False)


def test_no_line_of_a_letter_is_a_move() -> None:
    for nth, move in enumerate(MOVES, 1):
        code, place = move.split(" ", 1)
        lines = (
            f"[{nth}] {move}: +2",
            f"{move}:",
            f"{code},",
            f"{code}, {place}",
            f"({move})",
            f"{move} +2",
        )
        assert [COMMAND(line) for line in lines] == [None] * len(lines)


def test_a_sentence_is_no_move() -> None:
    for line in (
        "",
        "?",
        "-",
        "thanks",
        "I hope",
        f"{MOVES[0]}?",
        f"is {MOVES[0]} good",
        "see you",
    ):
        assert COMMAND(line) is None


def test_what_names_a_card_without_its_code_is_weak() -> None:
    weak = ("the Penitent", "penitent left", "6 suns wyrms", "9", "am", "as", "left")
    strong = ("6SY", "6sy left", "le 6 SY", "AM right", "keep", "#9", "move 9", "pot 4MS")
    assert [line for line in (*weak, *strong) if is_weak(line)] == list(weak)


def test_a_card_without_its_code_counts_at_the_top_only() -> None:
    card = next(card for card in VIEW.hand if MOVES[0].startswith(card.code))
    line = f"{card.name} {MOVES[0].split(' ', 1)[1]}"
    assert read(line, sent=None, command=COMMAND).commands == (MOVES[0],)
    assert read(f"Thanks\n{line}", sent=None, command=COMMAND).commands == ()


@given(line=st.text(max_size=60) | st.from_regex(r"[0-9a-zA-Z .,:#()\[\]-]{0,30}", fullmatch=True))
def test_a_line_gives_a_listed_move_or_none_or_a_refusal(line: str) -> None:
    try:
        found = COMMAND(line)
    except (Ambiguous, IllegalMove):
        found = None
    assert found is None or found.text in MOVES
