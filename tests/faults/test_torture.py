"""Each fault run in its short form; `make torture` is the long one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from torture import world
from torture.groups import GROUPS, torture


@pytest.fixture(scope="module", autouse=True)
def cleaned_up() -> Iterator[None]:
    """What the runs share is made once for all of them."""
    yield
    world.clean_up()


@pytest.mark.parametrize("name", [name for name, group in GROUPS.items() if group.short])
def test_no_promise_is_broken(name: str) -> None:
    run = torture(name, seed=1, count=GROUPS[name].short)
    assert run.violations == []
    assert run.tries > 0
