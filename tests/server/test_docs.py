"""What the docs must name: every setting, command and kind of letter that there is."""

from __future__ import annotations

import re
from dataclasses import fields
from datetime import date
from pathlib import Path

import pytest

from engine import GAMES
from engine.errors import IllegalMove, RulesError
from engine.game import Game
from pbem import post
from pbem.cli import COMMANDS
from pbem.config import Settings
from pbem.mail import contents, errand, reply
from pbem.mail.commands import order_commands, turn_commands, undo_commands

ROOT = Path(__file__).parents[2]


def test_every_setting_is_in_the_docs_and_no_other() -> None:
    rows = re.findall(r"^\| (`[^|]+`) \|", (ROOT / "docs/settings.md").read_text(), re.MULTILINE)
    told = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert told == {field.name for field in fields(Settings)} - {"instance"}


def test_every_command_is_in_the_readme_and_no_other() -> None:
    told = set(re.findall(r"^\| `pbem ([\w-]+)", (ROOT / "README.md").read_text(), re.MULTILINE))
    assert told == set(COMMANDS)


def test_every_kind_of_letter_has_its_folder_and_no_other() -> None:
    folders = {path.name for path in (ROOT / "templates/mail").iterdir() if path.is_dir()}
    assert folders == contents.PLAIN.keys() | contents.AT_TABLE.keys()
    for kind in folders:
        files = {path.name for path in (ROOT / "templates/mail" / kind).iterdir()}
        assert files == {"subject.txt", "body.txt", "body.html"}


@pytest.mark.parametrize("page", sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").rglob("*.md")))
def test_links_of_the_docs_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", ["docs/play.md", "docs/play.fr.md"])
def test_what_players_are_told_to_write_is_read(page: str) -> None:
    rows = re.findall(r"^\| (`.*?`) \|", (ROOT / page).read_text(), re.MULTILINE)
    told = [one.replace("\u00a0", " ") for row in rows for one in re.findall(r"`([^`]+)`", row)]
    assert len(told) > 30
    unread = [one for one in told if not is_read(re.sub("ADD?RESSE?|…", "a@b.example", one))]
    assert unread == []


def is_read(line: str) -> bool:
    """Say whether a line of a reply asks for something, whatever the table."""
    if errand.read(line, today=date(2026, 12, 1)) or undo_commands()(line):
        return True
    if any(order_commands(game)(line) for game in GAMES.values()):
        return True
    if reply.read(line, sent=None, command=reply.no_commands).said:
        return True
    return any(is_move(game, line) for game in GAMES.values())


def is_move(game: Game, line: str) -> bool:
    state, _ = game.new_game(
        bytes(32), game.seat_counts[-1], game.check_options(game.seat_counts[-1], {})
    )
    view = game.view(state, min(game.to_move(state)))
    try:
        return turn_commands(game, view)(line) is not None or bool(game.said(line))
    except RulesError as error:
        return isinstance(error, IllegalMove)


def test_every_kind_of_letter_is_in_the_docs_with_whether_it_can_be_chosen() -> None:
    rows = re.findall(
        r"^\| `(\w+)` \|.*\| ([\w ]+) \|$", (ROOT / "docs/letters.md").read_text(), re.MULTILINE
    )
    assert sorted(kind for kind, _ in rows) == sorted(
        contents.PLAIN.keys() | contents.AT_TABLE.keys()
    )
    assert {kind for kind, wish in rows if wish == "yes"} == {*post.OPTIONAL, "digest"}


def test_every_test_that_the_security_notes_name_is_there() -> None:
    named = re.findall(r"`(test_\w+\.py)::(test_\w+)`", (ROOT / "docs/security.md").read_text())
    assert len(named) > 40
    for file, name in named:
        (found,) = (ROOT / "tests").rglob(file)
        assert f"def {name}(" in found.read_text(), f"{file}::{name}"


def test_each_line_of_the_threat_model_names_a_test() -> None:
    lines = (ROOT / "docs/security.md").read_text().splitlines()
    rows = [line for line in lines if line.startswith("| ") and not line.startswith("| could")]
    assert [row for row in rows if "::test_" not in row.rsplit("|", 2)[1]] == []
