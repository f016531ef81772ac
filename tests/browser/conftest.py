"""The browser that the tests of pages share."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from conftest import missing

playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def browser() -> Iterator[playwright.Browser]:
    path = shutil.which("chromium")
    if path is None:
        missing("chromium", "apt-get install chromium")
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield found
        found.close()
