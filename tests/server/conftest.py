"""The clock of the server's own tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import time_machine
from conftest import NOON


@pytest.fixture(autouse=True)
def clock() -> Iterator[time_machine.Traveller]:
    """The clock of this process, at the moment at which tests begin: on each day they run alike."""
    with time_machine.travel(NOON, tick=False) as found:
        yield found
