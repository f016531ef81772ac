"""A few games over some days with a made-up clock; `make torture` plays many over sixty."""

from __future__ import annotations

from pathlib import Path

import pytest

from torture.sixty_days import simulate


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """One kind is enough: the clock's own tests run on both."""
    return f"sqlite:///{tmp_path / 'pbem.sqlite3'}"


def test_no_promise_of_time_is_broken_by_anybodys_habits(app) -> None:
    run = simulate(app, matches=9, days=8, seed=5)
    assert run.wrongs == []
    assert run.counts["moves"] > 20
    for what in ("worker killed", "absences", "played by the house", "letters: reminder"):
        assert run.counts[what] > 0, what
