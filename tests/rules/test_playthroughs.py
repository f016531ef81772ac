"""What every seat sees in whole matches stays as it was read and committed."""

from __future__ import annotations

import pytest
from playthrough import FILES, FOLDER, playthrough

from engine import GAMES


@pytest.mark.parametrize("name", FILES)
def test_a_playthrough_is_as_it_was(name: str) -> None:
    kept = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    assert playthrough(name) == kept, "read the change, then: make golden"


def test_no_other_file_lies_there() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(FILES)


@pytest.mark.parametrize("game", list(GAMES))
def test_every_seat_count_and_option_has_a_playthrough(game: str) -> None:
    played = [(seats, options) for name, seats, options in FILES.values() if name == game]
    assert {seats for seats, _ in played} == set(GAMES[game].seat_counts)
    tried = {option for _, options in played for option in options}
    assert tried == {option.name for option in GAMES[game].options}
