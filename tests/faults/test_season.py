"""The first days of a season; `python -m bench season` plays 1,000 games to their end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bench.measure import Asked
from bench.season import play_season
from torture import world


@pytest.fixture(autouse=True)
def cleaned_up() -> Iterator[None]:
    """What worlds share is made once for both."""
    yield
    world.clean_up()


@pytest.mark.usefixtures("deals")
def test_no_promise_is_broken_in_the_first_days_of_a_season() -> None:
    season, rates = play_season(Asked(count=3, seconds=0.1), days=2)
    assert season.wrongs == []
    for what in ("letters", "pages", "moves by link"):
        assert season.counts[what] > 0, what
    assert rates
