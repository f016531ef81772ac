"""Reading the mail of the demo in a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

ARRIVAL = 60_000  # milliseconds until a mail that must come is given up


def open_unread(page: Page, subject: str) -> None:
    """Open the newest such mail, once it has come; the mailbox renews itself until then."""
    page.locator(".unread a", has_text=subject).first.click(timeout=ARRIVAL)
    page.get_by_role("heading", name="Reply").wait_for()
