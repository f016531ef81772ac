"""A very long queue of letters: claims stay quick, limits are kept, what is urgent goes first."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from statistics import median
from typing import Final

from flask import current_app
from sqlalchemy import insert, update

from pbem import failpoints, post
from pbem.ext import db, settings, writing
from pbem.mail import outbox
from pbem.models import Letter, LetterState, Player
from torture import world
from torture.relay import Mailbox, running_mailbox
from torture.report import Run
from torture.world import NOW

SHORT: Final = 1000  # letters: what the long queue is compared with
CLAIMS: Final = 15  # of each queue, whose median counts
SLOWER: Final = 50.0  # at most so many times as long for 100,000 as for 1,000
LONGEST: Final = 1.0  # seconds for a claim of twenty letters, whatever waits
LIMIT: Final = 30  # letters a day


class _Enough(Exception):
    """Raised behind a claim, to send nothing."""


def long_queue(run: Run) -> None:
    """Claim from a short queue and from one of so many letters, on both databases."""
    for kind in world.KINDS:
        with running_mailbox() as mailbox, world.world(kind, smtp_port=mailbox.port):
            (player_id,) = world.people(1)
            _fill(player_id, SHORT)
            short = _claim_time()
            _fill(player_id, run.count - SHORT)
            long = _claim_time()
            words = f"a claim on {kind}: {long * 1000:.0f} ms, of {SHORT}: {short * 1000:.0f} ms"
            run.counts[words] = run.count
            slow = long > LONGEST or long / short > SLOWER
            run.tried([words] if slow else [])
            run.tried(f"{kind}: {wrong}" for wrong in _wrong_order(player_id, mailbox))


def _fill(player_id: int, number: int) -> None:
    """Queue so many letters that nobody waits for."""
    row = {
        "kind": "for_host", "tail": "0" * 16, "address": "p0@players.example", "language": "en",
        "zone": "UTC", "player_id": player_id, "about": {"what": "standstill", "hours": 1},
        "state": LetterState.QUEUED,
        "due_at": NOW, "wanted_at": NOW, "attempts": 0,
    }  # fmt: skip
    with writing():
        for first in range(0, number, 10_000):
            created = [NOW - timedelta(seconds=nth) for nth in range(min(10_000, number - first))]
            db.session.execute(insert(Letter), [row | {"created_at": one} for one in created])


def _claim_time() -> float:
    """Return the seconds that a claim takes from all that wait; they wait again afterwards."""
    began = 0.0
    times = []

    def claimed(name: str) -> None:
        if name == "letter: claimed":
            times.append(time.monotonic() - began)
            raise _Enough

    failpoints.hook_in(claimed)
    for _ in range(CLAIMS):
        began = time.monotonic()
        try:
            outbox.send_due(now=NOW)
        except _Enough:
            db.session.rollback()
    failpoints.hook_in(lambda _name: None)
    with writing():
        db.session.execute(update(Letter).values(state=LetterState.QUEUED, leased_until=None))
    return median(times)


def _wrong_order(player_id: int, mailbox: Mailbox) -> Iterator[str]:
    """Look that letters which somebody waits for leave before all others, within the limit."""
    current_app.extensions["pbem.settings"] = replace(settings(), mails_a_day=LIMIT)
    with writing():
        player = db.session.get_one(Player, player_id)
        for _ in range(LIMIT - 5):
            post.sign_in(player.address, player, language="en", now=NOW)
    for minutes in range(3):
        outbox.send_due(now=NOW + timedelta(minutes=minutes))
    db.session.rollback()
    sent = db.session.query(Letter.kind).where(Letter.state == LetterState.SENT)
    kinds = Counter(kind for (kind,) in sent)
    if kinds != {"sign_in": LIMIT - 5, "for_host": 5} or len(mailbox.arrived) != LIMIT:
        yield f"of {LIMIT} letters a day {len(mailbox.arrived)} left: {kinds}"
