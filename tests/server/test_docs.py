"""What the docs must name: every setting, command and kind of letter that there is."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from pbem.cli import COMMANDS
from pbem.config import Settings
from pbem.mail import contents

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
