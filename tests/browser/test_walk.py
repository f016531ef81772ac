"""A player's whole way through the pages, from signing in to deleting the account."""

from __future__ import annotations

import re

import pytest
from demo_reader import open_unread

playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
pytestmark = pytest.mark.browser

MOST_MOVES = 60  # a game of two takes about fourteen


def test_a_player_goes_the_whole_way(
    browser: playwright.Browser, page: playwright.Page, home: str
) -> None:
    sign_in(page, home)
    table = open_table(page, home)
    seat = sit_down(browser, page, table)
    play_to_the_end(page, seat)
    seat.context.close()
    replay(page, table)
    change_quiet_hours(page, home)
    delete_account(page, home, table)


def sign_in(page: playwright.Page, home: str) -> None:
    page.goto(home)
    page.get_by_label("Your mail address").fill("tove@home.localhost")
    page.get_by_role("button", name="Mail me the link").click()
    page.get_by_role("link", name="Your mailbox").click()
    open_unread(page, "Sign in")
    page.frame_locator("iframe.letter").locator('a[href*="/sign-in/"]').first.click()
    page.get_by_label("Yes, this is me").check()
    page.get_by_role("button", name="Sign in on this device").click()
    page.get_by_role("heading", name="Your games, tove").wait_for()


def open_table(page: playwright.Page, home: str) -> str:
    """Open a table for two, with an invitation; returns its address."""
    page.goto(f"{home}/new/biscuit")
    page.get_by_label("Place 2", exact=True).select_option("invite")
    page.get_by_label("Address for place 2").fill("una@home.localhost")
    page.get_by_label("A phrase of your own").fill("a long walk")
    page.get_by_role("button", name="Open the table").click()
    page.get_by_text("This table waits for players.").wait_for()
    return page.url


def sit_down(browser: playwright.Browser, page: playwright.Page, table: str) -> playwright.Page:
    """Let who was invited sit down in a browser of their own; returns the page of their seat."""
    page.get_by_role("link", name="Your mailbox").click()
    open_unread(page, "tove invites you")
    letter = page.frame_locator("iframe.letter")
    link = letter.locator('a[href*="/i/"]').first.get_attribute("href")
    theirs = browser.new_context(viewport={"width": 375, "height": 800}).new_page()
    theirs.goto(link)
    theirs.get_by_label("Your name at the table").fill("Una")
    theirs.get_by_label("Yes, this is me").check()
    theirs.get_by_role("button", name="Sit down").click()
    theirs.get_by_role("heading", name="Una").wait_for()
    page.goto(table)
    page.get_by_role("link", name="To your seat").click()
    return theirs


def play_to_the_end(page: playwright.Page, theirs: playwright.Page) -> None:
    """Play the first move of whoever is asked, each at their own seat's page."""
    seats = {one: one.url for one in (page, theirs)}
    for _ in range(MOST_MOVES):
        for one, address in seats.items():
            one.goto(address)
            if one.get_by_role("heading", name="The game is over").count():
                return
            if one.get_by_role("heading", name=re.compile("our turn")).count():
                one.locator("p.moves a").first.click()
                playwright.expect(one.locator("figure.table svg")).to_have_count(1)
                one.get_by_role("button", name="Play this move").click()
                one.get_by_role("heading", name=re.compile("Played")).wait_for()
    raise AssertionError("the game came to no end")


def replay(page: playwright.Page, table: str) -> None:
    """Go through the game from the deal to its last move, as the keys do."""
    page.goto(f"{table}/0")
    last = int(page.locator("nav.replay b").inner_text().partition("/")[2])
    assert last > 5
    for ply in range(1, last + 1):
        page.keyboard.press("ArrowRight")
        page.wait_for_url(f"{table}/{ply}")
    assert page.locator("#go-next").count() == 0
    page.get_by_role("heading", name="All hands").wait_for()
    assert page.get_by_text("Winner").count() >= 1


def change_quiet_hours(page: playwright.Page, home: str) -> None:
    page.goto(f"{home}/you")
    page.locator("#quiet_from").fill("22:30")
    page.get_by_role("button", name="Keep these settings").click()
    # Without an end it is refused, and what was typed is still there.
    page.get_by_role("alert").wait_for()
    assert page.locator("#quiet_from").input_value() == "22:30"
    page.locator("#quiet_until").fill("07:30")
    page.get_by_role("button", name="Keep these settings").click()
    page.get_by_role("status").wait_for()
    assert page.locator("#quiet_until").input_value() == "07:30"


def delete_account(page: playwright.Page, home: str, table: str) -> None:
    page.goto(f"{home}/account")
    page.get_by_role("link", name="Delete your account").click()
    page.get_by_label("Yes, delete my account").check()
    page.get_by_role("button", name="Delete it").click()
    page.get_by_role("heading", name="Good bye").wait_for()
    page.goto(f"{home}/account")
    page.get_by_role("heading", name="Sign in").wait_for()
    # The game stays, its phrase too, and the name is gone.
    page.goto(table)
    assert page.get_by_text("tove").count() == 0
    assert page.get_by_text("a former player").count() > 0
    assert page.get_by_text("a long walk").count() == 1
