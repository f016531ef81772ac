"""The browser that the tests of pages share, and a demo to look at."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from conftest import missing
from demo_process import demo
from mail_server import free_port

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


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a running demo."""
    port = free_port()
    with demo(tmp_path_factory.mktemp("demo"), port):
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
def page(browser: playwright.Browser, home: str) -> Iterator[playwright.Page]:
    """A page that must stay without errors and without requests to other hosts.

    It is closed before the demo stops, so that no picture is asked of a server that is gone.
    """
    context = browser.new_context(viewport={"width": 375, "height": 800})
    found = context.new_page()
    troubles: list[str] = []
    found.on("console", lambda m: troubles.append(m.text) if is_trouble(m) else None)
    found.on("pageerror", lambda error: troubles.append(str(error)))
    found.on("request", lambda r: None if is_local(r.url) else troubles.append(r.url))
    yield found
    tabs = len(context.pages)
    context.close()
    assert troubles == []
    assert tabs == 1


def is_trouble(message: playwright.ConsoleMessage) -> bool:
    # The mail's frame may run no script, and so refuses the driver's own; and a form that is
    # refused in words is an error to the browser.
    is_meant = message.text.startswith("Blocked script execution") or "409 (" in message.text
    return message.type == "error" and not is_meant


def is_local(url: str) -> bool:
    return url.startswith(("http://127.0.0.1:", "data:", "about:"))
