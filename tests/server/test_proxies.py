"""Who asks is whom a trusted proxy names; whoever else names somebody is not believed."""

from __future__ import annotations

import http.client
import json
from dataclasses import replace

import pytest
from conftest import KEYS
from mail_server import free_port

from pbem import create_app
from pbem.config import Settings
from pbem.web.server import PageServer

TRUSTED = ("127.0.0.1", "10.0.0.0/8", "fd00::/8")


@pytest.fixture
def settings(tmp_path) -> Settings:
    return Settings(instance=tmp_path, secret_keys=KEYS, trusted_proxies=TRUSTED)


def asker(settings: Settings):
    """Return the application with a page that tells who asks."""
    app = create_app(settings)

    @app.get("/who")
    def who() -> dict[str, str | None]:
        from flask import request

        return {"who": request.remote_addr}

    return app


def who_asks(settings: Settings, peer: str, told: str | None) -> str:
    headers = {} if told is None else {"X-Forwarded-For": told}
    client = asker(settings).test_client()
    return client.get("/who", environ_base={"REMOTE_ADDR": peer}, headers=headers).json["who"]


@pytest.mark.parametrize(
    ("peer", "told", "who"),
    [
        ("127.0.0.1", None, "127.0.0.1"),
        ("127.0.0.1", "203.0.113.9", "203.0.113.9"),
        ("10.1.2.3", "203.0.113.9, 10.9.9.9", "203.0.113.9"),
        ("fd00::1", "2001:db8::7", "2001:db8::7"),
        ("::ffff:127.0.0.1", "203.0.113.9", "203.0.113.9"),
        ("127.0.0.1", "203.0.113.9:4711", "203.0.113.9"),
        ("127.0.0.1", "[2001:db8::7]:4711", "2001:db8::7"),
        # What stands further left the client may have written.
        ("127.0.0.1", "198.51.100.1, 203.0.113.9", "203.0.113.9"),
        ("127.0.0.1", "127.0.0.1, 203.0.113.9", "203.0.113.9"),
        ("127.0.0.1", "203.0.113.9, unknown", "127.0.0.1"),
        ("127.0.0.1", "<script>", "127.0.0.1"),
        ("127.0.0.1", ",,,", "127.0.0.1"),
        # Nobody else is believed.
        ("203.0.113.9", "198.51.100.1", "203.0.113.9"),
        ("11.0.0.1", "127.0.0.1", "11.0.0.1"),
    ],
)
def test_who_asks_is_whom_the_last_trusted_proxy_names(settings, peer, told, who) -> None:
    assert who_asks(settings, peer, told) == who


def test_without_the_setting_no_proxy_is_believed(settings) -> None:
    alone = replace(settings, trusted_proxies=())
    assert who_asks(alone, "127.0.0.1", "203.0.113.9") == "127.0.0.1"


def test_the_page_server_hands_on_what_the_proxy_says(settings) -> None:
    server = PageServer(asker(settings), "127.0.0.1", port := free_port())
    server.start()
    try:
        line = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        line.request("GET", "/who", headers={"X-Forwarded-For": "203.0.113.9"})
        assert json.load(line.getresponse()) == {"who": "203.0.113.9"}
    finally:
        line.close()
        server.stop()
