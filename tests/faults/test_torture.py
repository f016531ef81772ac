"""Each fault run in its short form; `make torture` is the long one."""

from __future__ import annotations

import pytest

from torture.__main__ import GROUPS, torture


@pytest.mark.parametrize("name", GROUPS)
def test_no_promise_is_broken(name: str) -> None:
    run = torture(name, seed=1, count=GROUPS[name].short)
    assert run.violations == []
    assert run.tries > 0
