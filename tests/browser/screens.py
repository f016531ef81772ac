"""Takes pictures of what people see, into .screens/, to be looked at: `make screens`."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from demo_process import demo  # noqa: E402 - the path must be set first
from mail_server import free_port  # noqa: E402

OUT = ROOT / ".screens"
WIDTHS = (375, 1280)
MOVES = 4  # played before the pictures are taken
PATIENCE = 60  # seconds until a mail must have come


def main() -> None:
    OUT.mkdir(exist_ok=True)
    port = free_port()
    with tempfile.TemporaryDirectory() as folder, demo(Path(folder), port):
        home = f"http://127.0.0.1:{port}"
        with sync_playwright() as started:
            browser = started.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
            )
            take_all(browser, home)
            browser.close()


def take_all(browser: Browser, home: str) -> None:
    """Play some moves, sign in, invite somebody, and take a picture of each page."""
    context = browser.new_context()
    page = context.new_page()
    number = 1
    for _ in range(MOVES):
        number, letter = wait_for(page, home, "your turn", after=number - 1)
        page.goto(link(letter, "m"))
        for tick in page.get_by_label("Yes, this is me").all():
            tick.check()
        page.locator("main button").click()
        number += 1
    shoot_as_it_stands(page, "played")
    number, letter = wait_for(page, home, "your turn", after=number - 1)
    table = link(letter, "g")
    shoot_all(context, {
        "mailbox": f"{home}/demo/", "mail": f"{home}/demo/mail/{number}",
        "letter": f"{home}/demo/mail/{number}/html", "move": link(letter, "m"),
        "text": f"{home}/demo/mail/{number}?as=text", "seat": link(letter, "s"),
        "table": table, "history": f"{table}/3", "sign-in": home,
        "rules": f"{home}/rules/biscuit", "lost": f"{home}/no/such/page",
    })  # fmt: skip
    shoot_all(context, {"invitation": invitation(page, home, after=number)})
    shoot_all(context, {
        "front": home, "new": f"{home}/new/biscuit", "you": f"{home}/you",
        "account": f"{home}/account", "delete": f"{home}/account/delete",
    })  # fmt: skip


def invitation(page: Page, home: str, *, after: int) -> str:
    """Sign in by mail and open a table; returns the address of the page that invites."""
    page.goto(home)
    page.locator("#address").fill("ada@home.localhost")
    page.locator("main button").click()
    number, letter = wait_for(page, home, "Sign in", after=after)
    page.goto(link(letter, "sign-in"))
    page.locator("main button").click()
    page.goto(f"{home}/new/biscuit")
    page.locator("#place_2").select_option("invite")
    page.locator("[name=address_2]").fill("grace@home.localhost")
    page.get_by_role("button", name="Open the table").click()
    shoot_as_it_stands(page, "waiting")
    return link(wait_for(page, home, "invites you", after=number)[1], "i")


def wait_for(page: Page, home: str, subject: str, *, after: int) -> tuple[int, str]:
    """Return number and HTML of the first mail behind a number whose subject says this."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        page.goto(f"{home}/demo/")
        for entry in reversed(page.locator(".mails a", has_text=subject).all()):
            number = int(str(entry.get_attribute("href")).rpartition("/")[2])
            if number > after:
                page.goto(f"{home}/demo/mail/{number}/html")
                return number, page.content()
        time.sleep(0.25)
    sys.exit(f"no mail came: {subject}")


def link(letter: str, kind: str) -> str:
    """Return the first link of a kind, by its first step: m moves, s seats, g tables."""
    found = re.search(rf'href="([^"]+/{kind}/[^"]+)"', letter)
    assert found is not None, kind
    return found[1]


def shoot_all(context: BrowserContext, pages: dict[str, str]) -> None:
    page = context.new_page()
    for name, url in pages.items():
        page.goto(url)
        shoot_as_it_stands(page, name)
    page.close()


def shoot_as_it_stands(page: Page, name: str) -> None:
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 800})
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            page.screenshot(path=str(OUT / f"{name}-{width}-{scheme}.png"), full_page=True)


if __name__ == "__main__":
    main()
