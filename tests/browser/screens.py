"""Takes pictures of what people see, into .screens/, to be looked at: `make screens`."""

from __future__ import annotations

import re
import shutil
import tempfile
import time
from pathlib import Path

from demo_process import ROOT, demo
from mail_server import free_port
from playwright.sync_api import Browser, sync_playwright

OUT = ROOT / ".screens"
WIDTHS = (375, 1280)


def main() -> None:
    OUT.mkdir(exist_ok=True)
    port = free_port()
    with tempfile.TemporaryDirectory() as folder, demo(Path(folder), port):
        home = f"http://127.0.0.1:{port}"
        with sync_playwright() as started:
            browser = started.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
            )
            for name, path in pages(browser, home).items():
                shoot(browser, name, home + path)
            browser.close()


def pages(browser: Browser, home: str) -> dict[str, str]:
    """Play some moves, and return the paths of the pages that are worth a look."""
    page = browser.new_page()
    for number in (1, 2, 3, 4, 5):
        letter = f"{home}/demo/mail/{number}/html"
        for _ in range(60):
            if page.goto(letter).status == 200:
                break
            time.sleep(0.25)
        link = re.search(r'href="[^"]+?(/m/[^"]+)"', page.content())[1]
        seat = re.search(r'href="[^"]+?(/s/[^"]+)"', page.content())[1]
        code = re.search(r'href="[^"]+?(/g/[^"]+)"', page.content())[1]
        if number < 5:
            page.goto(home + link)
            page.locator("main button").click()
    return {
        "mailbox": "/demo/", "mail": "/demo/mail/5", "letter": "/demo/mail/5/html",
        "text": "/demo/mail/5?as=text", "move": link, "seat": seat, "table": code,
        "history": f"{code}/3", "front": "/", "new": "/new/biscuit",
    }  # fmt: skip


def shoot(browser: Browser, name: str, url: str) -> None:
    for width in WIDTHS:
        for scheme in ("light", "dark"):
            page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
            page.goto(url)
            page.screenshot(path=str(OUT / f"{name}-{width}-{scheme}.png"), full_page=True)
            page.close()


if __name__ == "__main__":
    main()
