"""Sample letters: one of each kind, and what the finished bytes of every letter must be."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine import GAMES
from pbem import create_app, samples
from pbem.config import LANGUAGES, Settings
from pbem.mail import contents
from pbem.samples import Sample, story

SITE = Settings(
    instance=Path("/nowhere"),
    site_name="Cards at Example",
    base_url="https://play.example",
    mail_domain="mail.example",
    database_url="sqlite:////nowhere/true.sqlite3",
)


@pytest.fixture(scope="module")
def made() -> dict[str, list[Sample]]:
    """All samples in each language."""
    return {language: samples.made(create_app, SITE, language) for language in LANGUAGES}


def test_every_kind_of_letter_has_a_sample_and_no_other() -> None:
    assert set(story.OF_SITE) | set(story.OF_TABLE) == set(contents.PLAIN) | set(contents.AT_TABLE)


def test_every_kind_comes_for_every_game(made) -> None:
    for found in made.values():
        assert [sample.name for sample in found] == [
            *story.OF_SITE,
            *(f"{kind}-{game}" for game in GAMES for kind in story.OF_TABLE),
        ]


def test_two_runs_give_the_same_bytes_but_for_the_link_that_signs_in(made) -> None:
    again = samples.made(create_app, SITE, "en")
    differ = [a.name for a, b in zip(made["en"], again, strict=True) if a.raw != b.raw]
    assert set(differ) <= {"sign_in"}


def test_the_files_hold_letter_text_picture_and_moves(made, tmp_path) -> None:
    by_name = {sample.name: sample for sample in made["fr"]}
    samples.write(made["fr"], tmp_path / "new")
    files = {path.name: path.read_bytes() for path in (tmp_path / "new").iterdir()}
    turn = by_name["your_turn-biscuit"]
    assert files["your_turn-biscuit.eml"] == turn.raw
    assert files["your_turn-biscuit.txt"].decode() == turn.text
    assert files["your_turn-biscuit.png"] == turn.table_picture
    assert files["your_turn-biscuit.moves"].decode().splitlines() == list(turn.moves)
    assert {"sign_in.eml", "sign_in.txt"} <= set(files)
    assert not {"sign_in.png", "sign_in.moves", "digest.moves"} & set(files)
    assert len([name for name in files if name.endswith(".eml")]) == len(by_name)
