"""A backup that is an hour old is restored: no letter and no link of the lost hour does harm."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from flask import Flask

from pbem.commands import copies
from pbem.ext import db, settings
from pbem.links import Links
from pbem.mail import outbox
from pbem.models import Move, Turn
from torture import world
from torture.relay import Mailbox, running_mailbox
from torture.report import Run
from torture.world import NOW

HOUR: Final = timedelta(hours=1)
LOST: Final = 3  # moves at each table in the hour that is lost
_ROOT: Final = Path(__file__).parents[1]


def restore(run: Run) -> None:
    """Copy a SQLite database, play and mail for an hour, and restore the copy, again and again."""
    chance = random.Random(run.seed)
    with running_mailbox() as mailbox, world.world(smtp_port=mailbox.port) as app:
        people, now, links = world.people(2), NOW, list[str]()
        for nth in range(run.count):
            now += HOUR
            world.let_all_move(now=now)
            world.keep_tables(people, 2, now=now)
            if chance.random() < 0.5:
                outbox.send_due(now=now)
            copy = settings().instance / f"copy{nth}.sqlite3"
            copies.make(copy)
            links += _lose_an_hour(now=now + HOUR)
            _restore(copy)
            wrongs = list(_wrong_links(app, links))
            # What waited in the copy leaves now, and part of it has left before.
            outbox.send_due(now=now + HOUR)
            wrongs += _wrong_mails(mailbox)
            wrongs += world.disagreements(now=now)
            run.tried(f"restore {nth}: {wrong}" for wrong in wrongs)
        run.counts["links of the lost hours"] = len(links)
        run.counts["letters"] = len(mailbox.copies())
        run.counts["came twice under one name"] = len(mailbox.arrived) - len(mailbox.copies())


def _lose_an_hour(*, now: datetime) -> list[str]:
    """Play and mail; returns the links to moves of the turns that the copy does not know."""
    known = {turn_id for (turn_id,) in db.session.query(Turn.id)}
    # What the copy holds as waiting leaves in the lost hour already.
    outbox.send_due(now=now)
    for _ in range(LOST):
        world.let_all_move(now=now)
        outbox.send_due(now=now)
    turns = db.session.query(Turn).where(Turn.id.not_in(known))
    return [Links().move(turn, 1).removeprefix("https://play.example") for turn in turns]


def _restore(copy: Path) -> None:
    """Run the command that a host runs; the server is stopped."""
    db.session.remove()
    db.engine.dispose()
    site = settings()
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(_ROOT),
        "PBEM_INSTANCE": str(site.instance),
        "PBEM_DATABASE_URL": site.database,
        "PBEM_MAIL_DOMAIN": site.mail_domain,
        "PBEM_SECRET_KEYS": site.secret_keys[0],
    }
    subprocess.run(
        [sys.executable, "-m", "pbem", "restore", str(copy), "--force"],
        cwd=_ROOT, env=environment, check=True, capture_output=True,
    )  # fmt: skip


def _wrong_links(app: Flask, links: list[str]) -> Iterator[str]:
    """Press the buttons of all links to lost turns, of this hour and of those before."""
    before = db.session.query(Move).count()
    for link in links:
        status = app.test_client().post(link, data={"me": "1"}).status_code
        if status != 404:
            yield f"a link to a lost turn is answered {status}"
    db.session.rollback()
    if db.session.query(Move).count() != before:
        yield "a link to a lost turn has made a move"


def _wrong_mails(mailbox: Mailbox) -> Iterator[str]:
    """Look that no Message-ID stands for two letters."""
    for name, found in mailbox.copies().items():
        if len(set(found)) > 1:
            yield f"{name} came with {len(set(found))} contents"
