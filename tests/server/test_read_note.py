"""`pbem read-note`, and the reading of replies against a written list of moves."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from engine import GAMES
from engine.errors import Ambiguous, IllegalMove
from pbem import cli
from pbem.mail.commands import Command, turn_commands
from pbem.mail.listed import letter_commands, listed_commands

TOKEN = "ae" * 12
MAIL = """\
From: Ann <Ann@Players.example>
To: Biscuit <G+{token}@play.example>
Subject: Re: your turn
Message-ID: <one@players.example>
{headers}
{typed}

On Mon, 30 Nov 2026, Biscuit wrote:
> [1] 5SW left: +2
"""
LETTER = "From: g@play.example\n\nYour turn, Ann.\n\n{entries}\n\nIt is a fine day to play.\n"


@pytest.fixture
def told(tmp_path: Path, monkeypatch, capfdbinary):
    """Return what the command prints of a mail, read back."""
    monkeypatch.chdir(tmp_path)

    def tell(typed: str, *arguments: str, headers: str = "", token: str = TOKEN) -> dict:
        raw = MAIL.format(token=token.upper(), headers=headers, typed=typed)
        (tmp_path / "reply.eml").write_text(raw, encoding="utf-8")
        assert cli.main(["read-note", "reply.eml", *arguments]) == 0
        return json.loads(capfdbinary.readouterr().out)

    return tell


def sent(tmp_path: Path, *entries: str) -> tuple[str, str]:
    (tmp_path / "letter.eml").write_text(LETTER.format(entries="\n".join(entries)))
    return "--sent", "letter.eml"


def test_all_is_told_of_a_reply(told) -> None:
    typed = "2\n\nsay: à toi, Grace"
    assert told(typed, "--moves", "6SY left; 6SY right;") == {
        "from": "ann@players.example",
        "token": TOKEN,
        "message_id": "<one@players.example>",
        "automatic": False,
        "why_automatic": None,
        "bounce": None,
        "commands": ["6SY right"],
        "say": "à toi, Grace",
        "ambiguous": [],
        "unreadable": None,
    }


@pytest.mark.parametrize(
    ("typed", "moves", "commands"),
    [
        ("6sy LEFT", "6SY left;6SY right", ["6SY left"]),
        ("the Penitent to the right, please", "6SY left;6SY right", ["6SY right"]),
        ("droite 6SY", "6SY left;6SY right", ["6SY right"]),
        ("9MS up", "9MS up 9WY;9MS left", ["9MS up 9WY"]),
        ("keep", "5SW left;keep", ["keep"]),
        ("aim at 5SW", "aim 5SW;aim 6LK", ["aim 5SW"]),
        ("6LK", "play 5SW;play 6LK", ["play 6LK"]),
        ("pot 6LK", "play 5SW;play 6LK", []),
        ("5YK, naming knots", "5YK wyrms;5YK knots", []),
        ("5YK naming knots", "5YK wyrms;5YK knots", ["5YK knots"]),
        ("follow 5SW", "5SW;6LK", ["5SW"]),
        ("3", "6SY left;6SY right", []),
        ("7SK left", "6SY left;6SY right", []),
        ("six suns and wyrms left!", "6SY left;6SY right", ["6SY left"]),
    ],
)
def test_moves_are_read_against_a_list(told, typed: str, moves: str, commands: list) -> None:
    read = told(typed, "--moves", moves)
    assert read["commands"] == commands
    assert read["ambiguous"] == []


def test_several_commands_and_a_choice_are_told(told) -> None:
    moves = ("--moves", "6SY left;6SY right")
    assert told("6SY", *moves)["ambiguous"] == ["6SY left", "6SY right"]
    assert told("6SY left\n6SY right", *moves)["ambiguous"] == ["6SY left", "6SY right"]
    assert told("6SY left\n6sy left", *moves)["commands"] == ["6SY left"]


def test_what_cannot_be_done_is_told(told) -> None:
    moves = ("--moves", "6SY left;6SY right")
    assert told("7SK left", *moves)["unreadable"] == "7SK left: it is not in the list of moves"
    assert "no move with that number" in told("9", *moves)["unreadable"]
    assert told("What a day", *moves)["unreadable"] == "What a day"
    assert told("", *moves)["unreadable"] == "there is no text in it"


def test_numbers_are_those_of_the_letter(told, tmp_path: Path) -> None:
    listed = sent(tmp_path, "[1] 5SW left: +2", "[2] 6LK left: +3 the Market")
    assert told("2", *listed)["commands"] == ["6LK left"]
    assert told("2", *listed, "--moves", "9MS left;9MS right")["commands"] == ["9MS right"]
    headed = sent(tmp_path, "3LY, the Savage:", "  [1] on the left: +3", "  [2] on the right")
    assert told("#2", *headed)["commands"] == ["2"]
    assert told("3ly Left", *headed)["commands"] == ["3LY left"]
    assert told("3", *headed)["commands"] == []


def test_words_of_the_letter_are_no_commands(told, tmp_path: Path) -> None:
    listed = sent(tmp_path, "[1] 5SW left: +2", "6LK left")
    assert told("Hello\n6LK left", *listed)["commands"] == []


def test_without_a_letter_words_and_written_moves_are_read(told) -> None:
    assert told("Sit down.")["commands"] == ["sit"]
    assert told("no, thanks")["commands"] == ["decline"]
    assert told("5sw left")["commands"] == ["5SW left"]
    assert told("3")["commands"] == []
    assert letter_commands("")("the market") is None


def test_an_automatic_mail_asks_for_nothing(told) -> None:
    read = told("1", "--moves", "6SY left", headers="Auto-Submitted: auto-replied\n")
    assert read["why_automatic"] == "Auto-Submitted: auto-replied"
    assert (read["automatic"], read["commands"], read["bounce"]) == (True, [], None)


def test_a_bounce_is_told(capfdbinary) -> None:
    mails = Path(__file__).parents[1] / "mails"
    assert cli.main(["read-note", str(mails / "bounce.eml")]) == 0
    bounce = json.loads(capfdbinary.readouterr().out)["bounce"]
    assert bounce["is_permanent"] is True
    assert bounce["reason"]


@pytest.mark.parametrize(
    "headers",
    [
        f"Delivered-To: g+{TOKEN}@other.example\n",
        f"Cc: <g+{TOKEN}@play.example.>\n",
        f"References: <x@y.example> <g+{TOKEN}@play.example>\n",
        f"X-Original-To: b+{TOKEN}.@play.example\n",
    ],
)
def test_a_token_is_found_where_it_may_stand(told, headers: str) -> None:
    assert told("1", headers=headers, token="short")["token"] == TOKEN
    assert told("1", token="short")["token"] is None


def test_a_mail_that_cannot_be_parsed_is_told(tmp_path: Path, capfdbinary) -> None:
    (tmp_path / "large.eml").write_bytes(b"From: a@b.example\n\n" + b"x" * 1024 * 1024)
    assert cli.main(["read-note", str(tmp_path / "large.eml")]) == 0
    read = json.loads(capfdbinary.readouterr().out)
    assert read["unreadable"] == "this mail has more than 1024 KB"
    assert read["commands"] == []


def test_a_file_that_is_not_there_is_told_in_words(capsys) -> None:
    assert cli.main(["read-note", "nowhere.eml"]) == 1
    assert "nowhere.eml" in capsys.readouterr().err


def test_nothing_is_made_or_needed(told, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(
        "pbem.commands.read_note.default_instance", lambda: tmp_path / "no" / "instance"
    )
    monkeypatch.setenv("PBEM_SEPARATOR", "-")
    assert told("1", headers=f"Cc: g-{TOKEN}@play.example\n", token="x")["token"] == TOKEN
    assert {path.name for path in tmp_path.iterdir()} == {"reply.eml"}
    monkeypatch.setenv("PBEM_SMTP_PORT", "none")
    assert told("1")["token"] == TOKEN


def outcome(command, line: str) -> object:
    try:
        return command(line)
    except Ambiguous as error:
        return set(error.readings)
    except IllegalMove:
        return None


@pytest.mark.parametrize("name", list(GAMES))
def test_a_list_is_read_as_the_table_is(name: str) -> None:
    game, chance = GAMES[name], random.Random(name)
    seats = game.seat_counts[-1]
    state, _ = game.new_game(bytes(32), seats, game.check_options(seats, {}))
    for _ in range(60):
        if not (asked := game.to_move(state)):
            break
        view = game.view(state, seat := min(asked))
        moves = game.moves(view)
        written = [game.format(move) for move in moves]
        by_table, by_list = turn_commands(game, view), listed_commands(written)
        for nth, text in enumerate(written, 1):
            assert by_list(text) == by_table(text) == Command(text, by_table(text).weak)
            assert by_list(f"#{nth}") == Command(text, weak=False)
            for typed in (
                text.split()[0],
                text.upper(),
                f"play {text}",
                " ".join(text.split()[:2]),
            ):
                loose = outcome(by_list, typed)
                assert loose is None or loose == outcome(by_table, typed)
        state, _ = game.apply(state, seat, chance.choice(moves))
