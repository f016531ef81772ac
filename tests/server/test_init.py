"""`pbem init` asks what a server needs, checks each answer, and writes settings that load."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from pbem import config
from pbem.cleaning import clean_address
from pbem.cli import main
from pbem.commands.providers import PROVIDERS
from pbem.errors import BadAddress

FIRST = ["https://play.example.org", "Cards", "me@example.net", "fr", "Europe/Paris"]
# What is typed after the choice of each provider.
TYPED = {
    "fastmail": ["Cards@Example.org", "pass word"],
    "gmail": ["cards@gmail.com", "abcd efgh"],
    "mailgun": ["mg.example.org", "smtp.eu.mailgun.org", "", "secret", "signing"],
    "postmark": ["play.example.org", "1f7-ab"],
    "ses": ["play.example.org", "", "AKIA", "secret"],
    "own": ["play.example.org", "", ""],
    "other": ["cards@example.org", "mail.example.org", "587", "starttls", "imap.example.org", "pw"],
}


@pytest.fixture
def instance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PBEM_INSTANCE", str(tmp_path / "instance"))
    return tmp_path / "instance"


def init(monkeypatch: pytest.MonkeyPatch, lines: list[str], *options: str) -> int:
    """Run the command and type these lines, as a script would."""
    waiting = iter(lines)

    def typed(prompt: str) -> str:
        print(prompt)
        try:
            return next(waiting)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr("builtins.input", typed)
    return main(["init", *options])


@pytest.mark.parametrize("provider", list(PROVIDERS))
def test_what_is_written_loads_and_says_what_is_next(
    provider: str, instance: Path, monkeypatch, capsys
) -> None:
    assert init(monkeypatch, [*FIRST, provider, *TYPED[provider]]) == 0
    found = config.load(instance, {})
    assert (found.base_url, found.site_name, found.language, found.zone) == (
        "https://play.example.org", "Cards", "fr", "Europe/Paris",
    )  # fmt: skip
    assert found.host_addresses == ("me@example.net",)
    assert found.mail_domain not in ("localhost", "")
    assert found.smtp_host
    # Replies come in by one way.
    ways = (found.imap_host, found.mailgun_signing_key, found.postmark_secret)
    assert sum(map(bool, ways)) + (found.listen_protocol != "none") == 1
    assert (instance / "config.toml").stat().st_mode & 0o077 == 0
    out = capsys.readouterr().out
    assert "pbem doctor --mail" in out
    assert "{" not in out
    for secret in (found.smtp_password, found.postmark_secret, found.imap_password):
        assert not secret or secret not in out


def test_a_mailbox_gives_both_ways_and_all_addresses(instance: Path, monkeypatch) -> None:
    init(monkeypatch, [*FIRST, "1", *TYPED["fastmail"]])
    assert tomllib.loads((instance / "config.toml").read_text()) == {
        "base_url": "https://play.example.org",
        "site_name": "Cards",
        "host_addresses": ["me@example.net"],
        "language": "fr",
        "zone": "Europe/Paris",
        "mail_domain": "example.org",
        "mail_from": "cards@example.org",
        "reply_local": "cards",
        "bounce_local": "cards",
        "smtp_host": "smtp.fastmail.com",
        "smtp_port": 465,
        "smtp_security": "tls",
        "smtp_username": "cards@example.org",
        "smtp_password": "pass word",
        "imap_host": "imap.fastmail.com",
        "imap_username": "cards@example.org",
        "imap_password": "pass word",
        "listen_protocol": "none",
    }


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["play.example.org"], "write it as https://play.example.org"),
        ([FIRST[0], "", "me"], "'me' is not an address"),
        ([*FIRST[:3], "de"], "write one of en, fr"),
        ([*FIRST[:4], "Mars/Base"], "is not a time zone"),
        ([*FIRST, "8"], "write a number from 1 to 7"),
        ([*FIRST, "gmail", "me@example.net"], "so it can't be your own"),
        ([*FIRST, "own", "a@b"], "is not a host name"),
        ([*FIRST, "own", "play.example.org", "", "many"], "write a whole number"),
        ([*FIRST, "own", ""], "this is needed"),
    ],
)
def test_a_wrong_answer_is_told_and_asked_again_and_nothing_is_half_written(
    lines, words, instance: Path, monkeypatch, capsys
) -> None:
    assert init(monkeypatch, lines) == 1
    told = capsys.readouterr()
    assert words in told.out
    assert told.out.splitlines()[-1] == next(
        line for line in reversed(told.out.splitlines()) if line.endswith(": ")
    )
    assert told.err == "pbem init: the answers ended too early; nothing was written\n"
    assert not instance.exists() or not list(instance.iterdir())


def test_what_is_there_is_kept(instance: Path, monkeypatch, capsys) -> None:
    instance.mkdir()
    (instance / "config.toml").write_text('site_name = "Old"\n')
    lines = [*FIRST, "own", *TYPED["own"]]
    assert init(monkeypatch, lines) == 1
    assert "config.toml is there already" in capsys.readouterr().err
    assert (instance / "config.toml").read_text() == 'site_name = "Old"\n'
    assert init(monkeypatch, lines, "--again") == 0
    assert (instance / "config.toml.old").read_text() == 'site_name = "Old"\n'
    assert config.load(instance, {}).site_name == "Cards"


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("local", ["g", "g+abcd", "b+abcd", "play", "PLAY", "abuse", "postmaster"])
def test_nobody_plays_from_an_address_whose_mail_comes_to_the_server(app, local: str) -> None:
    with pytest.raises(BadAddress, match="can't be answered by itself"):
        clean_address(f"{local}@play.example")


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_others_at_the_servers_own_domain_may_play(app) -> None:
    assert clean_address("Carol+cards@play.example") == "carol+cards@play.example"
    assert clean_address("g@other.example") == "g@other.example"
