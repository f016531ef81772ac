"""Settings: from the file and the environment, checked, with a secret that is made once."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from sqlalchemy import text

from pbem import create_app
from pbem.config import BadSettings, Settings, load
from pbem.ext import db


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('site_name = "File"\nsmtp_port = 2525\n')
    found = load(tmp_path, {"PBEM_SITE_NAME": "Environment", "OTHER": "x"})
    assert (found.site_name, found.smtp_port) == ("Environment", 2525)


def test_a_missing_secret_is_made_once_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    first, again = load(tmp_path, {}), load(tmp_path, {})
    assert first.secret_keys == again.secret_keys
    assert len(bytes.fromhex(first.secret_keys[0])) == 32
    assert stat.S_IMODE((tmp_path / "secret_keys").stat().st_mode) == 0o600
    assert first.secret_keys[0] not in repr(first)


def test_only_its_owner_reads_the_database(tmp_path: Path) -> None:
    app = create_app(Settings(instance=tmp_path, secret_keys=("ab" * 32,)))
    with app.app_context():
        db.session.execute(text("CREATE TABLE hands (cards TEXT)"))
        db.session.commit()
        files = sorted(tmp_path.glob("pbem.sqlite3*"))
        assert len(files) == 3  # with SQLite's own beside it
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
        db.engine.dispose()


def test_two_instances_never_share_a_secret(tmp_path: Path) -> None:
    assert load(tmp_path / "a", {}).secret_keys != load(tmp_path / "b", {}).secret_keys


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("PBEM_SMTP_PORT", "x", "smtp_port: 'x' is not possible; write a whole number"),
        ("PBEM_SMTP_PORT", "99999", "smtp_port: 99999 is not a port"),
        ("PBEM_SMTP_PROT", "25", "smtp_prot: there is no such setting; did you mean smtp_port?"),
        ("PBEM_BASE_URL", "play.example", "base_url: 'play.example' is not possible; write it as"),
        ("PBEM_DATABASE_URL", "mysql://x", "database_url: the database is of an unknown kind"),
        ("PBEM_SECRET_KEYS", "secret", "secret_keys: a key is 64 or more digits"),
        ("PBEM_ZONE", "Mars/Base", "zone: 'Mars/Base' is not a time zone"),
        ("PBEM_SMTP_SECURITY", "ssl", "write one of none, starttls, tls"),
        ("PBEM_IMAP_PORT", "0", "imap_port: 0 is not a port"),
        ("PBEM_IMAP_SECURITY", "ssl", "write one of none, starttls, tls"),
        ("PBEM_IMAP_FOLDER", "", "imap_folder: a mailbox has no folder without a name"),
        ("PBEM_MAILGUN_SIGNING_KEY", "a key", "mailgun_signing_key: a key has no blanks"),
        ("PBEM_POSTMARK_SECRET", "guess", "postmark_secret: anybody could guess it"),
        ("PBEM_AUTHSERV_ID", "mx; x", "authserv_id: 'mx; x' is not such a name; write it as mx."),
        ("PBEM_TRUSTED_PROXIES", "nginx", "trusted_proxies: 'nginx' is no address of a proxy"),
        ("PBEM_METRICS_TOKEN", "guess", "metrics_token: anybody could guess it"),
        ("PBEM_WORKER_METRICS_PORT", "-1", "worker_metrics_port: -1 is not a port"),
        ("PBEM_LOG_FORMAT", "xml", "write one of words, json"),
        ("PBEM_HOST_ADDRESSES", "ann", "host_addresses: 'ann' is not an address"),
    ],
)
def test_a_wrong_setting_is_told_by_name_with_what_to_write(tmp_path, name, value, words) -> None:
    with pytest.raises(BadSettings) as caught:
        load(tmp_path, {name: value})
    assert words in str(caught.value)


def test_all_wrong_settings_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(BadSettings) as caught:
        load(tmp_path, {"PBEM_ZONE": "x", "PBEM_SMTP_PORT": "0", "PBEM_LANGUAGE": "tlh"})
    assert len(str(caught.value).splitlines()) == 3


def test_a_file_that_is_no_toml_is_told(tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("site_name = Us\n")
    with pytest.raises(BadSettings, match=r"config\.toml"):
        load(tmp_path, {})
