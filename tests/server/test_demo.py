"""The demo as its user meets it: one command, a mailbox, a whole game, stop and go on."""

from __future__ import annotations

import re
import socket
import stat
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from http.cookiejar import CookieJar
from pathlib import Path

import pytest
from demo_process import PATIENCE, ROOT, command, demo, environment
from mail_server import free_port

from engine.record import loads

STOPS_IN = 15  # seconds from Ctrl-C to the end, on a machine that is busy


class Browser:
    """Just enough of a browser: cookies, links and forms."""

    def __init__(self, port: int) -> None:
        self._base = f"http://127.0.0.1:{port}"
        cookies = urllib.request.HTTPCookieProcessor(CookieJar())
        self._opener = urllib.request.build_opener(cookies)

    def get(self, path: str) -> str:
        with self._opener.open(self._base + path, timeout=10) as page:
            return page.read().decode()

    def post(self, path: str, **fields: str) -> str:
        data = urllib.parse.urlencode(fields).encode()
        with self._opener.open(self._base + path, data=data, timeout=10) as page:
            return page.read().decode()

    def form_token(self, path: str) -> str:
        return re.search(r'name="form_token" value="([^"]+)"', self.get(path))[1]

    def another_game(self) -> dict[str, str]:
        """Return what the mailbox's form for another game carries unseen."""
        form = self.get("/demo/").partition('action="/demo/new"')[2].partition("</form>")[0]
        return dict(re.findall(r'type="hidden" name="([^"]+)" value="([^"]+)"', form))

    def game(self, number: int) -> str:
        """Return the code of the game that a mail is about."""
        return re.search(r"/g/([\w-]+)", self.get(f"/demo/mail/{number}/html"))[1]

    def mails(self) -> list[tuple[int, str]]:
        """Return number and subject of all mails, the newest first."""
        found = re.findall(r'href="/demo/mail/(\d+)">(.*?)</a>', self.get("/demo/"))
        return [(int(number), re.sub(r"<[^>]+>", "", words)) for number, words in found]

    def wait_for(self, subject: str, *, after: int = 0) -> int:
        """Return the number of the next mail whose subject holds these words."""

        def arrived() -> int | None:
            numbers = [n for n, words in self.mails() if subject in words and n > after]
            return min(numbers, default=None)

        return until(arrived)


def until(happens: Callable[[], int | None]) -> int:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = happens()
        if found is not None:
            return found
        time.sleep(0.2)
    raise AssertionError("it never came")


def test_a_whole_game_in_the_demo_over_a_restart(tmp_path: Path) -> None:
    port = free_port()
    with demo(tmp_path, port):
        browser = Browser(port)
        # Whoever can't play passes, so the first letter may be about a later move.
        first = browser.wait_for("your turn")
        assert 'class="unread"' in browser.get("/demo/")
        # By a reply, as a real mail through the listener.
        token = browser.form_token(f"/demo/mail/{first}")
        browser.post(f"/demo/mail/{first}/reply", form_token=token, text="1")
        browser.wait_for("your move is done")
        latest = browser.wait_for("your turn", after=first)
        mails, game = browser.mails(), browser.game(latest)
        stopping = time.monotonic()
    assert time.monotonic() - stopping < STOPS_IN
    with demo(tmp_path, port):
        browser = Browser(port)
        assert browser.mails() == mails
        assert 'class="unread"' in browser.get("/demo/")
        end = play_by_links(browser, latest)
        text = browser.get(f"/demo/mail/{end}/file/0")
        assert loads(text).names == ("Ada", "Bot 1", "Bot 2")
        assert browser.game(end) == game
        assert verified(text, tmp_path)
        browser.post("/demo/new", **browser.another_game(), bots="1")
        fresh = browser.wait_for("your turn", after=end)
        assert browser.game(fresh) != game
    assert stat.S_IMODE((tmp_path / "secret_keys").stat().st_mode) == 0o600


def verified(record: str, folder: Path) -> bool:
    """Return whether `pbem verify` accepts a record."""
    path = folder / "attached.json"
    path.write_text(record, encoding="utf-8")
    out = subprocess.run(
        [sys.executable, "-m", "pbem", "verify", str(path)],
        capture_output=True, text=True, cwd=ROOT, timeout=PATIENCE, check=False,
        env=environment(),
    )  # fmt: skip
    assert out.stderr == ""
    return out.returncode == 0


def play_by_links(browser: Browser, latest: int) -> int:
    """Press the first move's button in each turn letter; returns the last letter's number."""
    while True:
        mail = browser.get(f"/demo/mail/{latest}/html")
        link = re.search(r'href="http://[^/"]+(/m/[^"]+)"', mail)[1]
        assert "Played" in browser.post(link, me="1")

        def next_mail(after: int = latest) -> int | None:
            fresh = [(n, words) for n, words in browser.mails() if n > after]
            wanted = [n for n, words in fresh if "your turn" in words or "is over" in words]
            return min(wanted, default=None)

        latest = until(next_mail)
        if any("is over" in words for n, words in browser.mails() if n == latest):
            return latest


def test_a_port_in_use_is_said_in_words(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        out = subprocess.run(
            command(tmp_path, port),
            capture_output=True, text=True, cwd=ROOT, timeout=PATIENCE, check=False,
            env=environment(),
        )  # fmt: skip
    assert out.returncode == 1
    assert f"port {port} is in use" in out.stderr
    assert f"--port {port + 1}" in out.stderr
    assert "Traceback" not in out.stderr


def test_a_service_manager_stops_it_as_ctrl_c_does(tmp_path: Path) -> None:
    process = subprocess.Popen(
        command(tmp_path, free_port()),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, env=environment(),
    )  # fmt: skip
    try:
        assert process.stdout.readline().startswith("Your mailbox: http://127.0.0.1:")
        # The second line comes when everything runs.
        assert process.stdout.readline().endswith("Ctrl-C stops.\n")
        process.terminate()
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, out, err) == (0, "Stopped; the games are kept.\n", "")


def test_a_mail_that_is_not_there_is_said_in_words(tmp_path: Path) -> None:
    port = free_port()
    with demo(tmp_path, port):
        with pytest.raises(urllib.error.HTTPError) as caught:
            Browser(port).get("/demo/mail/99")
        assert caught.value.code == 404
        caught.value.close()
