"""`pbem doctor` says what is wrong and what to do, and its exit code tells a monitor."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread

import dns.flags
import dns.message
import dns.rcode
import dns.resolver
import dns.rrset
import pytest
from cast import run_worker
from flask import Flask

from pbem import create_app
from pbem.cli import main
from pbem.commands import CannotRun, doctor
from pbem.commands.dns import findings
from pbem.ext import db, settings, writing
from pbem.models import Beat, Letter, Note

GOOD = {
    ("play.example.org", "MX"): ["10 mx.example.org."],
    ("play.example.org", "TXT"): ['"v=spf1 include:relay.example" " -all"', '"something else"'],
    ("s1._domainkey.play.example.org", "TXT"): ['"v=DKIM1; p=AAAA"'],
    ("_dmarc.example.org", "TXT"): ['"v=DMARC1; p=none"'],
}


@pytest.fixture(autouse=True)
def clock() -> None:
    """The clock is this machine's own: it is compared with those of other programs."""


@pytest.fixture
def zone() -> dict[tuple[str, str], list[str]]:
    return dict(GOOD)


@pytest.fixture
def resolver(zone) -> Iterator[dns.resolver.Resolver]:
    """What asks a real name server on loopback, which knows the zone and nothing else."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        line.bind(("127.0.0.1", 0))

        def serve() -> None:
            while True:
                wire, client = line.recvfrom(4096)
                if not wire:
                    return
                line.sendto(answer(dns.message.from_wire(wire), zone).to_wire(), client)

        server = Thread(target=serve)
        server.start()
        found = dns.resolver.Resolver(configure=False)
        found.nameservers, found.port = ["127.0.0.1"], line.getsockname()[1]
        yield found
        line.sendto(b"", line.getsockname())
        server.join()


def answer(asked: dns.message.Message, zone) -> dns.message.Message:
    (question,) = asked.question
    name, kind = question.name.to_text(omit_final_dot=True), question.rdtype.name
    told = dns.message.make_response(asked)
    told.flags |= dns.flags.RA
    if (name, kind) in zone:
        told.answer.append(dns.rrset.from_text(question.name, 60, "IN", kind, *zone[name, kind]))
    elif not any(other == name or other.endswith(f".{name}") for other, _ in zone):
        told.set_rcode(dns.rcode.NXDOMAIN)
    return told


def looked_up(resolver) -> list[str]:
    return list(findings("play.example.org", "cards@play.example.org", resolver))


def test_good_records_are_told_as_they_are(resolver) -> None:
    assert looked_up(resolver) == [
        "ok: mail to play.example.org goes to mx.example.org",
        "ok: the SPF record of play.example.org is v=spf1 include:relay.example -all",
        "ok: play.example.org publishes DKIM keys",
        "ok: the DMARC record _dmarc.example.org is v=DMARC1; p=none",
    ]


def test_what_is_missing_in_the_dns_is_a_hint_with_what_to_publish(zone, resolver) -> None:
    zone.clear()
    assert looked_up(resolver) == [
        "hint: play.example.org has no MX record, so replies may not find their way here",
        "hint: play.example.org has no SPF record; publish one TXT record v=spf1 that names"
        " your relay",
        "hint: play.example.org publishes no DKIM key; let your relay sign what it sends, and"
        " publish its key",
        "hint: there is no _dmarc.play.example.org; publish a TXT record such as v=DMARC1; p=none",
    ]


def test_two_spf_records_are_one_too_many(zone, resolver) -> None:
    zone["play.example.org", "TXT"] = ['"v=spf1 -all"', '"v=spf1 +all"']
    assert "hint: play.example.org has 2 SPF records" in looked_up(resolver)[1]


def test_without_a_resolver_the_dns_is_left_alone() -> None:
    (line,) = looked_up(dns.resolver.Resolver(configure=False))
    assert line.startswith("hint: no resolver answers, so the DNS was not looked at")


@pytest.fixture
def by_itself(app, listener):
    """The application with its own listener as its relay, so that what it sends comes in."""
    yield from another(smtp_port=settings().listen_port)


@pytest.fixture
def without_relay(app):
    yield from another(smtp_port=1)


def another(**changes: int) -> Iterator[Flask]:
    """Give the application again on the same database, with other settings."""
    found = create_app(replace(settings(), **changes))
    yield found
    with found.app_context():
        db.engine.dispose()


def test_a_mail_to_the_server_itself_comes_back_and_harms_nobody(by_itself) -> None:
    with by_itself.app_context():
        assert doctor.mail_comes_back(20) == (
            "a mail to ourselves came back after 0 s, not signed (no DKIM)"
        )
        run_worker(datetime.now(UTC))
        (note,) = db.session.query(Note)
        assert note.verdict == "automatic"
        assert db.session.query(Letter).count() == 0


def test_a_mail_that_does_not_come_back_is_told_with_what_to_look_at(app, mailbox) -> None:
    with pytest.raises(CannotRun, match="did not come back within 1 s; is a worker running"):
        doctor.mail_comes_back(1)
    assert len(mailbox.arrived) == 1


def test_a_relay_that_is_not_there_is_told(without_relay) -> None:
    with without_relay.app_context():
        for check in (doctor.relay_answers, lambda: doctor.mail_comes_back(1)):
            with pytest.raises(CannotRun, match="refused"):
                check()


def test_a_clock_that_fell_behind_is_told(app) -> None:
    assert doctor.clock_is_right().startswith("the clock says ")
    with writing():
        db.session.add(Beat(id=1, at=datetime.now(UTC) + timedelta(hours=1)))
    with pytest.raises(CannotRun, match=r"a worker was at work at .*; set the clock right"):
        doctor.clock_is_right()


def test_the_command_tells_each_finding_and_fails_where_something_is_to_do(
    tmp_path: Path, monkeypatch, capsys
) -> None:
    monkeypatch.setenv("PBEM_INSTANCE", str(tmp_path))
    (tmp_path / "config.toml").write_text('smtp_port = 1\nlisten_protocol = "none"\n')
    assert main(["doctor"]) == 1
    told = capsys.readouterr().out
    assert "TO DO: no host is named; set host_addresses to your own mail address\n" in told
    assert "TO DO: the relay 127.0.0.1:1 does not take our mail" in told
    assert "ok: no listener is wanted; mail comes in another way\n" in told
    assert "TO DO: the database is at version None" in told
    (tmp_path / "config.toml").write_text("smtp_prt = 1\n")
    assert main(["doctor"]) == 1
    assert "smtp_prt: there is no such setting; did you mean smtp_port?" in capsys.readouterr().err


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_where_nothing_is_to_do_the_command_says_so_by_its_exit_code(
    app, listener, database_url, tmp_path: Path, monkeypatch, capsys
) -> None:
    run_worker(datetime.now(UTC))  # a worker is at work
    monkeypatch.setenv("PBEM_INSTANCE", str(tmp_path))
    given = {
        "database_url": database_url,
        "host_addresses": "me@example.net",
        "mail_domain": "play.example",
        "smtp_port": settings().listen_port,
        "listen_port": settings().listen_port,
        "secret_keys": settings().secret_keys[0],
    }
    for name, value in given.items():
        monkeypatch.setenv(f"PBEM_{name.upper()}", str(value))
    assert main(["doctor", "--mail"]) == 0
    told = capsys.readouterr().out
    assert "TO DO" not in told
    assert "ok: a mail to ourselves came back after 0 s" in told
