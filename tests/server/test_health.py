"""Whether the server tells what is wrong with it: to machines, in the terminal and on the page."""

from __future__ import annotations

import dataclasses
import json
from argparse import ArgumentParser
from datetime import UTC, datetime, timedelta

import pytest
from cast import ADDRESSES, letters_to, player, run_worker, running_match, signed_in_host, words
from sqlalchemy import text

from pbem import health, worker
from pbem.commands import CannotRun, doctor
from pbem.ext import db, writing
from pbem.mail import inbox, outbox
from pbem.models import Beat, LetterState, Match, Note

MINUTE = timedelta(minutes=1)
TOKEN = "metrics" * 4


@pytest.fixture(autouse=True)
def clock() -> None:
    """The clock is this machine's own: it is compared with those of other programs."""


@pytest.fixture
def now() -> datetime:
    """Pages and commands read the clock, so that these tests begin today."""
    return datetime.now(UTC).replace(microsecond=0)


@pytest.fixture
def match(app, now) -> Match:
    """A match whose letters are all sent, by a worker that is at work."""
    found = running_match(["ann", "bob"], now=now)
    run_worker(now)
    return found


def healthz(app) -> tuple[int, dict]:
    page = app.test_client().get("/healthz")
    assert "Set-Cookie" not in page.headers
    assert page.headers["Cache-Control"] == "no-store"
    return page.status_code, page.json


def beat(at: datetime) -> None:
    with writing():
        db.session.merge(Beat(id=1, at=at))


def test_a_server_at_work_is_well_everywhere(app, match, now) -> None:
    assert health.look(now) == health.Findings(
        beat_age=timedelta(), unsent=0, refused=0, answer="", unread=0
    )
    status, told = healthz(app)
    age = told.pop("worker_age_seconds")
    assert 0 <= age < 60
    assert (status, told) == (
        200,
        {"status": "ok", "database": "ok", "letters_overdue": 0, "mails_unread": 0},
    )
    assert doctor.all_is_well() == "a worker keeps time, letters leave and mail is read"
    assert 'role="alert"' not in signed_in_host(app, "ann").get("/host").text


def test_a_worker_that_never_was_or_stands_still_is_told_everywhere(app, now) -> None:
    status, told = healthz(app)
    assert (status, told["status"], told["worker_age_seconds"]) == (503, "trouble", None)
    with pytest.raises(CannotRun, match=r"^no worker has ever kept time; start `pbem worker`$"):
        doctor.all_is_well()
    beat(now - 5 * MINUTE)
    assert health.look(now).troubles == ()
    beat(now - 7 * MINUTE)
    status, told = healthz(app)
    assert (status, told["status"]) == (503, "trouble")
    assert 420 <= told["worker_age_seconds"] < 480
    with pytest.raises(CannotRun, match=r"^no worker has kept time for 7 minutes; look whether"):
        doctor.all_is_well()
    player("ann", now=now)
    page = signed_in_host(app, "ann").get("/host")
    assert "No worker has kept time for 7 minutes; look whether `pbem worker` runs" in words(page)


def test_the_doctor_fails_when_something_is_to_be_done(
    app, match, now, monkeypatch, capsys
) -> None:
    app.extensions["pbem.settings"] = dataclasses.replace(
        app.extensions["pbem.settings"], listen_protocol="none"
    )
    monkeypatch.setattr(doctor, "application", lambda: app)
    assert doctor.run(ArgumentParser(), []) == 0
    assert "TO DO" not in capsys.readouterr().out
    beat(now - 10 * MINUTE)
    assert doctor.run(ArgumentParser(), []) == 1
    (told,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("TO DO")]
    assert told.startswith("TO DO: no worker has kept time for 10 minutes")


def test_letters_that_nobody_sends_are_told(app, now) -> None:
    running_match(["ann", "bob"], now=now)
    beat(now)
    assert health.look(now + 14 * MINUTE).unsent == 0
    found = health.look(now + 16 * MINUTE)
    number = len(letters_to("ann") + letters_to("bob"))
    assert (found.unsent, found.refused) == (number, 0)
    assert f"that no worker sends: {number}" in str(found.troubles[-1])


def test_a_letter_whose_worker_died_is_told_too(app, match, now) -> None:
    letter = letters_to("ann")[0]
    letter.state, letter.leased_until = LetterState.SENDING, now
    db.session.commit()
    assert health.look(now + 14 * MINUTE).unsent == 0
    assert health.look(now + 16 * MINUTE).unsent == 1


def test_a_relay_that_takes_nothing_is_told_with_its_answer(app, mailbox, now) -> None:
    mailbox.on_rcpt = lambda _address: "530 5.7.0 Authentication required"
    running_match(["ann", "bob"], now=now - 30 * MINUTE)
    for minutes in (30, 29, 24, 9):
        outbox.send_due(now=now - minutes * MINUTE)
    beat(now)
    found = health.look(now)
    tried = [one for name in ("ann", "bob") for one in letters_to(name) if one.state == "retry"]
    assert (found.unsent, found.refused) == (0, len(tried))
    assert len(tried) >= 2
    assert found.answer == "530 5.7.0 Authentication required"
    status, told = healthz(app)
    assert (status, told["letters_overdue"]) == (503, found.refused)
    assert "Authentication" not in json.dumps(told)
    with pytest.raises(
        CannotRun, match=r"the mail relay does not take: .* Authentication required"
    ):
        doctor.all_is_well()
    page = signed_in_host(app, "ann").get("/host")
    assert "its last answer was “530 5.7.0 Authentication required”" in words(page)
    # It is the first thing on the page.
    assert words(page).index("its last answer") < words(page).index("Mail, in and out")


def test_one_address_that_takes_nothing_wakes_nobody(app, mailbox, now) -> None:
    mailbox.on_rcpt = lambda to: "450 4.2.2 full" if to == ADDRESSES["ann"] else None
    match = running_match(["ann", "bob"], now=now - 30 * MINUTE)
    for minutes in (30, 29, 24, 9):
        outbox.send_due(now=now - minutes * MINUTE)
    assert {letter.state for letter in letters_to("ann")} == {LetterState.RETRY}
    assert LetterState.SENT in {letter.state for letter in letters_to("bob")}
    assert match.status == "running"
    assert health.look(now).refused == 0


def test_mail_that_nobody_reads_is_told(app, match, now) -> None:
    inbox.take(b"From: ann@players.example\n\n1\n", inbox.Envelope("g+x@play.example"), now=now)
    beat(now)
    assert health.look(now + 9 * MINUTE).unread == 0
    found = health.look(now + 11 * MINUTE)
    assert found.unread == 1
    assert "that came in and that no worker reads: 1" in str(found.troubles[-1])
    worker.read_notes(now)
    assert health.look(now + 11 * MINUTE).unread == 0


def test_a_database_at_another_version_is_told_without_its_words(app, now) -> None:
    version = db.session.scalar(text("SELECT version_num FROM alembic_version"))
    try:
        with writing():
            db.session.execute(text("UPDATE alembic_version SET version_num = '0001'"))
        assert healthz(app) == (503, {"status": "trouble", "database": "trouble"})
        with pytest.raises(CannotRun, match=r"^the database is at version 0001, not .*db upgrade$"):
            doctor.database_answers()
    finally:
        with writing():
            db.session.execute(text(f"UPDATE alembic_version SET version_num = '{version}'"))


def figures(app) -> dict[str, float]:
    page = app.test_client().get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    assert page.status_code == 200, page.text
    rows = [line for line in page.text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in (row.rsplit(" ", 1) for row in rows)}


@pytest.fixture
def watched(app):
    app.extensions["pbem.settings"] = dataclasses.replace(
        app.extensions["pbem.settings"], metrics_token=TOKEN
    )
    return app


def test_the_figures_count_what_all_processes_did(watched, now) -> None:
    running_match(["ann", "bot"], now=now - 20 * MINUTE)
    assert figures(watched)["pbem_queue_age_seconds"] >= 20 * 60
    run_worker(now)
    note = Note(
        digest="x", raw=b"", recipient="", return_path="", received_at=now, read_at=now,
        verdict="unknown",
    )  # fmt: skip
    with writing():
        db.session.add(note)
    found = figures(watched)
    states = dict(
        db.session.execute(text("SELECT state, count(*) FROM letter GROUP BY state")).all()
    )
    moves = dict(db.session.execute(text('SELECT "by", count(*) FROM move GROUP BY "by"')).all())
    assert {f'pbem_letters{{state="{state}"}}': n for state, n in states.items()} == {
        name: n for name, n in found.items() if name.startswith("pbem_letters{")
    }
    assert {f'pbem_moves_total{{by="{by}"}}': n for by, n in moves.items()} == {
        name: n for name, n in found.items() if name.startswith("pbem_moves_total{")
    }
    assert found['pbem_games{status="running"}'] == 1
    assert found['pbem_mails_day{verdict="unknown"}'] == 1
    assert (found["pbem_letters_overdue"], found["pbem_queue_age_seconds"]) == (0, 0)
    assert 0 <= found["pbem_worker_age_seconds"] < 60


def test_the_figures_count_this_process_requests_and_sweeps(watched, match) -> None:
    guest = watched.test_client()
    guest.get(f"/table/{match.code}")
    guest.get("/m/some-token-of-nobody")
    worker._guarded(watched, worker.expire_tables)
    worker._guarded(watched, failing)
    found = figures(watched)
    assert found['pbem_sweep_seconds_count{job="expire_tables"}'] == 1
    assert found['pbem_sweep_failures_total{job="expire_tables"}'] == 0
    assert found['pbem_sweep_failures_total{job="failing"}'] == 1
    assert found['pbem_request_seconds_count{page="seat.move",status="4xx"}'] == 1
    told = "\n".join(found)
    for secret in (match.code, "some-token-of-nobody", *ADDRESSES.values(), "Ann"):
        assert secret not in told


def failing(_now: datetime) -> None:
    raise RuntimeError


def test_the_figures_are_for_who_has_the_token_alone(app, watched, now) -> None:
    guest = app.test_client()
    wrong = {"Authorization": f"Bearer {TOKEN}x"}
    assert [
        guest.get("/metrics").status_code,
        guest.get("/metrics", headers=wrong).status_code,
    ] == [
        401,
        401,
    ]
    app.extensions["pbem.settings"] = dataclasses.replace(
        app.extensions["pbem.settings"], metrics_token=""
    )
    unset = {"Authorization": "Bearer "}
    assert [
        guest.get("/metrics").status_code,
        guest.get("/metrics", headers=unset).status_code,
    ] == [
        404,
        404,
    ]
