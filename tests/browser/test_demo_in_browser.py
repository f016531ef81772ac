"""The demo in a real browser: mailbox, mail, move, history, reply."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import missing
from demo_process import demo
from mail_server import free_port

playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
pytestmark = pytest.mark.browser

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


@pytest.fixture
def page(browser: playwright.Browser) -> Iterator[playwright.Page]:
    """A page that must stay without errors and without requests to other hosts."""
    context = browser.new_context(viewport={"width": 375, "height": 800})
    found = context.new_page()
    troubles: list[str] = []
    found.on("console", lambda m: troubles.append(m.text) if is_trouble(m) else None)
    found.on("pageerror", lambda error: troubles.append(str(error)))
    found.on("request", lambda r: None if is_local(r.url) else troubles.append(r.url))
    yield found
    context.close()
    assert troubles == []


def is_trouble(message: playwright.ConsoleMessage) -> bool:
    # The mail's frame may run no script, and so refuses the driver's own.
    return message.type == "error" and not message.text.startswith("Blocked script execution")


def is_local(url: str) -> bool:
    return url.startswith(("http://127.0.0.1:", "data:", "about:"))


def test_a_move_from_the_mailbox_to_the_next_state(page: playwright.Page, tmp_path: Path) -> None:
    port = free_port()
    with demo(tmp_path, port):
        home = f"http://127.0.0.1:{port}"
        open_newest(page, home)
        # The mail is shown in a frame, and its pictures arrive.
        letter = page.frame_locator("iframe.letter")
        picture = letter.locator("img").first
        picture.wait_for()
        assert picture.evaluate("image => image.naturalWidth") > 100
        letter.locator('a[href*="/m/"]').first.click()
        # The link leads out of the frame, to the page with the one button.
        page.wait_for_url(re.compile("/m/"))
        assert page.locator("main button").count() == 1
        words = page.locator("h1").inner_text()
        assert page.locator("figure.table svg").count() == 1
        page.get_by_role("button", name="Play this move").click()
        page.get_by_role("heading", name="Played").wait_for()
        # A second look at the link says that it is played.
        page.go_back()
        page.reload()
        page.get_by_role("heading", name="This move is played already").wait_for()
        assert words
        history(page)
        reply(page, home)
        no_sideways_scrolling(page, home)


def open_newest(page: playwright.Page, home: str) -> None:
    page.goto(f"{home}/demo/")
    for _ in range(40):
        if page.locator(".unread a").count():
            break
        page.wait_for_timeout(250)
        page.reload()
    page.locator(".unread a").first.click()


def history(page: playwright.Page) -> None:
    """Walk the game's history by links and by arrow keys."""
    page.get_by_role("link", name="To the table as it is now").click()
    page.get_by_role("link", name="The game so far").click()
    page.locator("#first").click()
    page.wait_for_url(re.compile("/0$"))
    page.keyboard.press("ArrowRight")
    page.wait_for_url(re.compile("/1$"))
    assert "Ada played" in page.locator(".news").inner_text()
    page.keyboard.press("ArrowLeft")
    page.wait_for_url(re.compile("/0$"))
    page.keyboard.press("End")
    page.wait_for_url(re.compile(r"/[1-9]\d*$"))


def reply(page: playwright.Page, home: str) -> None:
    """Answer the next turn letter by its reply box, and find the receipt."""
    open_newest(page, home)
    page.get_by_label("Your reply").fill("1")
    page.get_by_role("button", name="Send").click()
    receipt = page.get_by_role("link", name=re.compile("your move is done"))
    receipt.wait_for(timeout=20_000)


def no_sideways_scrolling(page: playwright.Page, home: str) -> None:
    for path in ("/", "/demo/", "/demo/mail/1", "/new/biscuit"):
        page.goto(home + path)
        width = page.evaluate("document.documentElement.scrollWidth")
        assert width <= 375, path
