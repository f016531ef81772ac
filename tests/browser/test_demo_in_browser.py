"""The demo in a real browser: mailbox, mail, move, history, reply, keyboard, new table."""

from __future__ import annotations

import re

import pytest
from demo_reader import ARRIVAL, open_unread

playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
pytestmark = pytest.mark.browser

SAMPLES = 90_000  # milliseconds until all sample letters must be made


def test_a_move_from_the_mailbox_to_the_next_state(page: playwright.Page, home: str) -> None:
    page.goto(f"{home}/demo/")
    open_unread(page, "your turn")
    # The mail is shown in a frame, and its pictures arrive.
    letter = page.frame_locator("iframe.letter")
    picture = letter.locator("img").first
    playwright.expect(picture).to_have_js_property("complete", True, timeout=ARRIVAL)
    assert picture.evaluate("image => image.naturalWidth") > 100
    letter.locator('a[href*="/m/"]').first.click()
    # The link leads out of the frame, to the page with the one button.
    page.wait_for_url(re.compile("/m/"))
    assert page.locator("main button").count() == 1
    assert page.locator("figure.table svg").count() == 1
    # The browser asks for the tick first, once on this device.
    page.get_by_role("button", name="Play this move").click()
    assert page.get_by_role("heading", name="Played").count() == 0
    page.get_by_label("Yes, this is me").check()
    page.get_by_role("button", name="Play this move").click()
    page.get_by_role("heading", name="Played").wait_for()
    # A second look at the link says that it is played.
    page.go_back()
    page.reload()
    page.get_by_role("heading", name="This move is played already").wait_for()
    page.get_by_role("link", name="To the table as it is now").click()
    page.wait_for_url(re.compile("/s/"))
    seat = page.url
    history(page)
    as_you_saw_it(page, seat)
    reply(page)


def history(page: playwright.Page) -> None:
    """Walk the game's history by links and by arrow keys."""
    page.get_by_role("link", name="The game so far").click()
    page.locator("#go-first").click()
    page.wait_for_url(re.compile("/0$"))
    page.locator("#go-next").click()
    page.wait_for_url(re.compile("/1$"))
    page.keyboard.press("ArrowLeft")
    page.wait_for_url(re.compile("/0$"))
    page.keyboard.press("ArrowRight")
    page.wait_for_url(re.compile("/1$"))
    told = page.locator(".news").inner_text().split()
    logged = page.locator('.log li[value="1"]').inner_text().split()
    # The news of the first move also tell the deal before it.
    assert logged
    assert told[-len(logged) :] == logged
    while page.locator("#go-last").count():  # bots may have moved meanwhile
        with page.expect_navigation():
            page.keyboard.press("End")
    page.locator(".replay span", has_text="last").wait_for()
    assert page.locator("#go-next").count() == 0
    page.keyboard.press("Home")
    page.wait_for_url(re.compile("/0$"))
    page.locator(".jump").get_by_role("link", name="1", exact=True).last.click()
    page.wait_for_url(re.compile("/1$"))
    # The table and the scores are drawn.
    assert page.locator("figure.table > svg").count() == 2
    no_sideways_scrolling(page)


def as_you_saw_it(page: playwright.Page, seat: str) -> None:
    """Walk with the keys through what the seat knew; the same address shows others no hand."""
    hand = page.get_by_role("heading", name="Your hand")
    assert hand.count() == 0
    page.goto(seat)
    page.get_by_role("button", name="The game so far, as you saw it").click()
    hand.wait_for()
    page.keyboard.press("Home")
    page.wait_for_url(re.compile("/0$"))
    page.keyboard.press("ArrowRight")
    page.wait_for_url(re.compile("/1$"))
    assert hand.count() == 1
    stranger = page.context.browser.new_context()
    shared = stranger.new_page()
    shared.goto(page.url)
    assert shared.get_by_role("heading", name="After move 1").count() == 1
    assert shared.get_by_role("heading", name="Your hand").count() == 0
    stranger.close()


def reply(page: playwright.Page) -> None:
    """Answer the next turn letter by its reply box, and read the receipt."""
    page.get_by_role("link", name="Your mailbox").click()
    open_unread(page, "your turn")
    page.get_by_label("Your reply").fill("1")
    page.get_by_role("button", name="Send").click()
    open_unread(page, "your move is done")
    page.frame_locator("iframe.letter").locator("img").first.wait_for()


def test_sign_in_by_mail_and_open_a_table(page: playwright.Page, home: str) -> None:
    page.goto(home)
    page.get_by_label("Your mail address").fill("ada@home.localhost")
    page.get_by_role("button", name="Mail me the link").click()
    page.get_by_role("heading", name="Look into your mail").wait_for()
    page.get_by_role("link", name="Your mailbox").click()
    open_unread(page, "Sign in")
    page.frame_locator("iframe.letter").locator('a[href*="/sign-in/"]').first.click()
    page.get_by_label("Yes, this is me").check()
    page.get_by_role("button", name="Sign in on this device").click()
    page.get_by_role("heading", name="Your games, Ada").wait_for()
    samples(page, home)
    page.goto(f"{home}/new/biscuit")
    no_sideways_scrolling(page)
    # The address is asked for where somebody is invited, and nowhere else.
    address = page.get_by_label("Address for place 2")
    assert not address.is_visible()
    page.get_by_label("Place 2", exact=True).select_option("invite")
    address.fill("grace@home.localhost")
    page.get_by_role("button", name="Open the table").click()
    page.get_by_text("This table waits for players.").wait_for()
    page.get_by_role("link", name="Your mailbox").click()
    open_unread(page, "invites you")
    page.frame_locator("iframe.letter").locator('a[href*="/i/"]').first.click()
    page.get_by_role("button", name="Decline").wait_for()
    no_sideways_scrolling(page)


def samples(page: playwright.Page, home: str) -> None:
    """Look at a sample letter: the pictures in its frame are for the host only, and arrive."""
    page.goto(f"{home}/host/letters")
    no_sideways_scrolling(page)
    # The samples are made at the first look, which takes a while on a busy machine.
    samples_of = page.get_by_role("listitem").filter(has_text="your_turn")
    samples_of.get_by_role("link").first.click(timeout=SAMPLES)
    page.get_by_role("heading", name="Its text part").wait_for()
    no_sideways_scrolling(page)
    picture = page.frame_locator("iframe.letter").locator("img").first
    picture.wait_for()
    page.wait_for_function(
        "document.querySelector('iframe.letter').contentDocument.images[0].complete"
    )
    assert picture.evaluate("image => image.naturalWidth") > 100


def test_no_page_scrolls_sideways_on_a_telephone(page: playwright.Page, home: str) -> None:
    page.goto(f"{home}/demo/")
    open_unread(page, "your turn")
    no_sideways_scrolling(page)
    letter = page.frame_locator("iframe.letter")
    links = [letter.locator(f'a[href*="/{kind}/"]').first for kind in "gsm"]
    paths = ["/", "/demo/", "/rules/biscuit", "/new/biscuit"]
    addresses = [link.get_attribute("href") for link in links]
    for address in addresses + [home + path for path in paths]:
        page.goto(address)
        no_sideways_scrolling(page)


def no_sideways_scrolling(page: playwright.Page) -> None:
    # A busy machine may show the words before the style has come.
    page.wait_for_load_state()
    assert page.evaluate("document.documentElement.scrollWidth") <= 375, page.url


def test_the_keyboard_focus_is_seen(page: playwright.Page, home: str) -> None:
    page.goto(f"{home}/new/biscuit")
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="To the contents")
    assert skip.bounding_box()["x"] >= 0
    page.goto(home)
    seen = []
    for _ in range(5):
        page.keyboard.press("Tab")
        seen.append(page.evaluate(FOCUS))
    assert [(style, width) for _name, style, width in seen] == [("solid", "3px")] * 5
    assert len({name for name, *_ in seen}) == 5


FOCUS = """() => {
  const style = getComputedStyle(document.activeElement);
  return [document.activeElement.outerHTML, style.outlineStyle, style.outlineWidth];
}"""
