"""`pbem serve --with-worker` as a process that its service manager stops: nothing is lost."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from urllib.request import urlopen

import pytest
from cast import ADDRESSES, first_turn, letters_to, move_links, player
from mail_server import Mailbox, free_port
from sqlalchemy import func, select, text

from pbem import account
from pbem.ext import db
from pbem.models import Letter, LetterState, Match, Move

ROOT = Path(__file__).parents[2]
PATIENCE = 60  # seconds
# Where the database makes no difference: each process takes seconds to start.
ONE_KIND = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def start(app, mailbox: Mailbox, *command: str, **more: str) -> subprocess.Popen[str]:
    """Start a command on the database of the test."""
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "PBEM_DATABASE_URL": app.config["SQLALCHEMY_DATABASE_URI"],
        "PBEM_MAIL_DOMAIN": "play.example",
        "PBEM_SECRET_KEYS": "ab" * 32,
        "PBEM_SMTP_PORT": str(mailbox.port),
        "PBEM_LISTEN_PORT": str(free_port()),
        "PBEM_WORKER_METRICS_PORT": "0",
        **more,
    }
    return subprocess.Popen(
        [sys.executable, "-m", "pbem", *command],
        cwd=ROOT, env=environment, text=True, stderr=subprocess.PIPE,
    )  # fmt: skip


@contextmanager
def started(
    app, mailbox: Mailbox, words: str, *command: str, **more: str
) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """Run a command, which the block must stop; gives it and its log, whole at the end."""
    process = start(app, mailbox, *command, **more)
    log: list[str] = []
    try:
        for line in process.stderr:
            log.append(line)
            if words in line:
                break
        yield process, log
        log += process.communicate(timeout=PATIENCE)[1].splitlines()
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
    assert process.returncode == 0, log
    assert "Traceback" not in "\n".join(log)


@contextmanager
def locked(app) -> Iterator[None]:
    """Hold what a move must write, so that its request lasts as long as this."""
    db.session.remove()
    with db.engine.connect() as other:
        if other.dialect.name == "sqlite":
            other.execution_options(writes=True).execute(text("SELECT 1"))
        else:
            other.execute(text("LOCK TABLE match, turn, move IN EXCLUSIVE MODE"))
        yield
        other.rollback()


def wait_for(happens) -> None:
    end = time.monotonic() + PATIENCE
    while not happens():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.05)


def status_of(port: int, path: str, **headers: str) -> int:
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    line.request("GET", path, headers=headers)
    status = line.getresponse().status
    line.close()
    return status


def figures(port: int) -> str:
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE) as page:
        return page.read().decode()


def is_refused(port: int) -> bool:
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        line.connect()
    except ConnectionRefusedError:
        return True
    finally:
        line.close()
    return False


def test_a_request_in_hand_is_answered_and_its_move_counts(app, mailbox, now) -> None:
    _name, letter, match = first_turn(mailbox, now=now)
    match_id, ply = match.id, match.ply
    link, port = move_links(letter)[0], free_port()
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    answers: list[http.client.HTTPResponse] = []
    asks = threading.Thread(target=lambda: answers.append(line.getresponse()))
    command = ("serve", "--with-worker")
    with started(app, mailbox, "serving", *command, PBEM_BIND_PORT=str(port)) as (process, _log):
        with locked(app):
            headers = {"Content-Type": "application/x-www-form-urlencoded"}
            line.request("POST", link, "me=1", headers)
            asks.start()
            # What was sent later is answered: so the move is in hand.
            assert status_of(port, "/") == 200
            process.send_signal(signal.SIGTERM)
            wait_for(lambda: is_refused(port))
            assert (answers, process.poll()) == ([], None)
        asks.join(PATIENCE)
        assert answers[0].status == 200
        assert "To your seat" in answers[0].read().decode()
    line.close()
    assert db.session.get_one(Match, match_id).ply > ply
    moved = select(func.count()).select_from(Move).where(Move.ply == ply + 1)
    assert db.session.scalar(moved) == 1


@ONE_KIND
def test_a_letter_in_hand_is_sent_once_and_marked(app, mailbox, now) -> None:
    player("ann", now=now)
    account.ask_to_sign_in(ADDRESSES["ann"], language="en", now=datetime.now(UTC))
    letter_id = letters_to("ann", "sign_in")[0].id
    db.session.remove()
    has_it, may_answer = threading.Event(), threading.Event()

    def slowly(_raw: bytes) -> None:
        has_it.set()
        assert may_answer.wait(PATIENCE)

    mailbox.on_data = slowly
    port = free_port()
    command = ("serve", "--with-worker")
    with started(app, mailbox, "serving", *command, PBEM_BIND_PORT=str(port)) as (process, _log):
        assert has_it.wait(PATIENCE)
        process.send_signal(signal.SIGTERM)
        wait_for(lambda: is_refused(port))
        assert process.poll() is None
        may_answer.set()
    db.session.expire_all()
    assert db.session.get_one(Letter, letter_id).state == LetterState.SENT
    assert len(mailbox.to(ADDRESSES["ann"])) == 1


@ONE_KIND
def test_a_port_that_is_in_use_is_told_in_words(app, mailbox) -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = str(held.getsockname()[1])
        ports = {
            "serve": ("bind_port", {"PBEM_BIND_PORT": port}),
            "worker": ("worker_metrics_port", {"PBEM_WORKER_METRICS_PORT": port}),
        }
        for command, (setting, given) in ports.items():
            process = start(app, mailbox, command, **given)
            told = process.communicate(timeout=PATIENCE)[1]
            assert process.returncode == 1
            assert re.match(rf"pbem {command}: port {port} of 127.0.0.1 .* set {setting}", told)
            assert "Traceback" not in told


@ONE_KIND
def test_a_worker_of_its_own_shows_its_figures_and_stops(app, mailbox) -> None:
    port = free_port()
    given = {"PBEM_WORKER_METRICS_PORT": str(port)}
    with started(app, mailbox, "keeps time", "worker", **given) as (process, _log):
        wait_for(lambda: 'pbem_sweep_seconds_count{job="send_letters"}' in figures(port))
        process.send_signal(signal.SIGTERM)
    assert is_refused(port)
