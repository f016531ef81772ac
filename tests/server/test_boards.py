"""The table in words: every game has it, in 72 columns, in both languages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cast import positions
from flask_babel import force_locale

from engine import GAMES
from pbem.config import LANGUAGES
from pbem.ext import db
from pbem.models import Match
from pbem.table import load
from pbem.telling import tell

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", list(GAMES))
def test_every_game_has_its_board_rules_tests_and_records(name) -> None:
    assert (ROOT / f"templates/games/{name}.txt").exists(), f"{name} lacks its board"
    assert (ROOT / f"tests/rules/test_{name}.py").exists(), f"{name} lacks its tests"
    assert (ROOT / f"templates/games/{name}.examples.json").exists(), f"{name} lacks its examples"
    for language in LANGUAGES:
        page = ROOT / f"templates/games/{name}.{language}.md"
        assert page.exists(), f"{name} lacks its rules in {language}"
    records = list((ROOT / "tests/golden/records").glob(f"{name}-*.json"))
    assert records, f"{name} lacks its golden records"


@pytest.mark.parametrize("language", ["en", "fr"])
@pytest.mark.parametrize("name", list(GAMES))
def test_boards_fit_72_columns_and_tell_every_card(app, now, name, language) -> None:
    with force_locale(language):
        for match, turn in positions(name, now, moves=40):
            table = load(match)
            for seat in (None, turn.seat):
                told = tell(table, seat)
                assert max(len(line) for line in told.board.splitlines()) <= 72
                drawn = {placed.card.code for placed in told.layout.cards if placed.card}
                assert drawn <= set(re.findall(r"[0-9A-Z]+(?=[,;])", told.board))
        last = db.session.get_one(Match, match.id)
        assert tell(load(last), None).board
