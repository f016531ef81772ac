"""Two games by real mail with people's habits and faults; `python -m bench season` plays many."""

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
def test_games_by_links_and_replies_come_to_their_end_with_no_promise_broken() -> None:
    season, rates = play_season(Asked(count=2, seconds=0.1))
    assert season.wrongs == []
    ended = [number for what, number in season.counts.items() if what.startswith("games ended")]
    assert sum(ended) == 2
    for what in ("letters", "clicks", "replies", "reminders", "moves by link", "moves by timeout"):
        assert season.counts[what] > 0, what
    assert rates
