"""The same move by many ways at once, and a move against the clock: one of them counts."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from flask import Flask, current_app
from sqlalchemy import select

from pbem import create_app, deadlines, play, worker
from pbem.errors import PbemError
from pbem.ext import db, writing
from pbem.links import Links
from pbem.mail import inbox, note
from pbem.models import Beat, Match, Move, Note, Turn
from torture import world
from torture.report import Run
from torture.world import NOW, SECRET

A_WORLD: Final = 250  # tries on one database
A_CHECK: Final = 25  # tries between two looks at all rows
BY_REPLY: Final = 0.1  # share of the races
HESITATES: Final = 0.02  # seconds, at most: the clock first chooses the house's move
LINKS_HESITATE: Final = 0.15
_ROOT: Final = Path(__file__).parents[1]
_SECOND: Final = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Sent:
    """One move by one way: the path of its link, or a mail and where it comes from.

    It is sent so many seconds ``after`` the others.
    """

    link: str = ""
    after: float = 0
    mail: str = ""
    recipient: str = ""
    sender: str = ""


# Double submits.


def double_submit(run: Run) -> None:
    """Send a move by links, a webhook and replies at once, from two processes."""
    chance = random.Random(run.seed)
    # Pages read the clock themselves.
    now = datetime.now(UTC)
    for first, last, kind in _worlds(run):
        with world.world(kind) as app, _other_process() as other:
            people = world.people(2, now=now)
            for nth in range(first, last):
                world.keep_tables(people, 1, now=now)
                wrongs = list(_submit(run, app, other, chance, now=now))
                wrongs += _looked_at(nth, last, now=now)
                run.tried(f"try {nth} on {kind}: {wrong}" for wrong in wrongs)


def _worlds(run: Run) -> Iterator[tuple[int, int, str]]:
    """Yield first try, last try and kind of each database; both kinds have their share."""
    size = min(A_WORLD, -(-run.count // 2))
    for nth, first in enumerate(range(0, run.count, size)):
        yield first, min(run.count, first + size), world.KINDS[nth % 2]


def _looked_at(nth: int, last: int, *, now: datetime) -> list[str]:
    """Look at all rows now and then, and at the end of a world."""
    if nth % A_CHECK and nth + 1 != last:
        return []
    return list(world.disagreements(now=now))


def _submit(
    run: Run,
    app: Flask,
    other: Callable[[Sent], int],
    chance: random.Random,
    *,
    now: datetime,
) -> Iterator[str]:
    """Send one turn's move by all ways at once, and yield what is wrong then."""
    turn = world.open_turns()[0]
    turn_id, ply = turn.id, turn.match.ply
    legal = world.choices(turn)
    nth, text = world.choice(turn, chance)
    # Now and then one of them wants another move: one of the two counts.
    second = chance.randrange(len(legal)) + 1 if chance.random() < 0.2 else nth
    # A mail takes longer to read than a link; so that either may be first, links hesitate.
    waits = chance.uniform(0, LINKS_HESITATE)
    link = Sent(after=waits, link=Links().move(turn, nth).removeprefix("https://play.example"))
    raw, envelope = world.reply(turn, str(second))
    mail = Sent(mail=raw.decode(), recipient=envelope.recipient, sender=envelope.return_path)
    raw_again, _ = world.reply(turn, str(nth), name="again")
    again = Sent(mail=raw_again.decode(), recipient=mail.recipient, sender=mail.sender)
    db.session.remove()
    codes = _at_once(
        lambda: _by_web(app, link),
        lambda: _by_web(app, link),
        lambda: other(link),
        lambda: _by_web(app, mail),
        lambda: other(mail),
        lambda: _by_listener(app, mail, now=now),
        lambda: _by_listener(app, again, now=now),
    )
    # Who was reading when somebody else had claimed a mail has left it.
    inbox.read_all(now=world.late(now))
    yield from _wrong_submits(run, turn_id, ply, {text, legal[second - 1]})
    made = db.session.scalar(select(Move.text).where(Move.turn_id == turn_id))
    told = [200 if made == text else 409] * 3 + [200, 200]
    if codes[:5] != told:
        yield f"turn {turn_id}: {made} stands, and links and webhooks were answered {codes[:5]}"
    yield from _wrong_notes(run, mail, again)


def _wrong_notes(run: Run, *mails: Sent) -> Iterator[str]:
    """Look that each mail is kept once and was answered."""
    for sent in mails:
        digest = note.digest(sent.mail.encode(), sent.recipient)
        verdicts = db.session.scalars(select(Note.verdict).where(Note.digest == digest)).all()
        run.counts.update(f"mails: {verdict}" for verdict in verdicts)
        if len(verdicts) != 1 or verdicts[0] not in ("move", "repeated", "too late"):
            yield f"a mail to {sent.recipient} became {verdicts}"


def _wrong_submits(run: Run, turn_id: int, ply: int, wanted: set[str]) -> Iterator[str]:
    """Look that a turn has one of the moves that were wanted, and that the match counts it once."""
    db.session.rollback()
    made = db.session.scalars(select(Move).where(Move.turn_id == turn_id)).all()
    if len(made) != 1 or made[0].text not in wanted:
        yield f"turn {turn_id}: {[move.text for move in made]} stands, of {wanted}"
        return
    run.counts[f"first by {made[0].by}"] += 1
    stands = db.session.get_one(Match, made[0].match_id).ply
    if (made[0].ply, stands) != (ply + 1, ply + 1):
        yield f"turn {turn_id}: it is ply {made[0].ply} of {stands}, and was to be {ply + 1}"


def _by_web(app: Flask, sent: Sent) -> int:
    """Press a link's button, or post a mail as a provider does; returns the status."""
    client = app.test_client()
    time.sleep(sent.after)
    if sent.link:
        return client.post(sent.link, data={"me": "1"}).status_code
    given = {"RawEmail": sent.mail, "OriginalRecipient": sent.recipient}
    return client.post(f"/hooks/postmark/{SECRET}", json=given).status_code


def _by_listener(app: Flask, sent: Sent, *, now: datetime) -> int:
    """Take a mail as the listener does, and read what waits; returns 0."""
    with app.app_context():
        inbox.take(sent.mail.encode(), inbox.Envelope(sent.recipient, sent.sender), now=now)
        inbox.read_all(now=now)
    return 0


@contextmanager
def _other_process() -> Iterator[Callable[[Sent], int]]:
    """Give what does the same in a server process of its own."""
    site = current_app.extensions["pbem.settings"]
    process = subprocess.Popen(
        [sys.executable, "-m", "torture.at_once", str(site.instance), site.database],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=_ROOT,
        env={"PYTHONPATH": str(_ROOT), "PATH": os.environ["PATH"]},
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    lock, to, back = threading.Lock(), process.stdin, process.stdout

    def send(sent: Sent) -> int:
        with lock:
            to.write(json.dumps(asdict(sent)) + "\n")
            to.flush()
            return int(back.readline())

    try:
        yield send
    finally:
        process.communicate(timeout=30)


def _at_once(*acts: Callable[[], int]) -> list[int]:
    """Do all at once, each in a thread of its own; returns what they return."""
    start = threading.Barrier(len(acts))

    def act(one: Callable[[], int]) -> int:
        start.wait()
        return one()

    with ThreadPoolExecutor(len(acts)) as threads:
        return list(threads.map(act, acts))


def main() -> None:
    """Send what the lines on the standard input hold, until they end."""
    instance, database = sys.argv[1:]
    app = create_app(world.site(Path(instance), database, 1))
    for line in sys.stdin:
        print(_by_web(app, Sent(**json.loads(line))), flush=True)


# The clock against a move.


def deadline_race(run: Run) -> None:
    """Let the clock and a move meet at the last moment of a turn."""
    chance = random.Random(run.seed)
    for first, last, kind in _worlds(run):
        with world.world(kind) as app:
            people, now = world.people(2), NOW
            for nth in range(first, last):
                world.keep_tables(people, 1, now=now)
                world.seats_back()
                turn = world.open_turns()[0]
                now = turn.deadline + deadlines.GRACE
                race = _race_of_reply if chance.random() < BY_REPLY else _race_of_link
                wrongs = list(race(run, app, turn, chance))
                # No letter is sent here, so years later they would all be late.
                wrongs += _looked_at(nth, last, now=NOW)
                run.tried(f"try {nth} on {kind}: {wrong}" for wrong in wrongs)


def _race_of_link(run: Run, app: Flask, turn: Turn, chance: random.Random) -> Iterator[str]:
    """Move by link while the clock looks, a second early, just in time, or late."""
    turn_id, limit = turn.id, turn.deadline + deadlines.GRACE
    looks = limit + chance.choice((-1, 0, 1, 1, 1)) * _SECOND
    text, waits = world.choice(turn, chance)[1], chance.uniform(0, HESITATES)

    def move() -> int:
        time.sleep(waits)
        with app.app_context():
            try:
                return not play.make_move(turn_id, text, by="link", now=limit).repeated
            except PbemError:
                return False

    def clock() -> int:
        with app.app_context():
            return play.time_out(turn_id, now=looks)

    db.session.remove()
    has_moved, is_out = _at_once(move, clock)
    yield from _wrong_race(run, turn_id, "link", has_moved=has_moved, is_out=is_out)
    if is_out and looks <= limit:
        yield f"turn {turn_id} was timed out {limit - looks} before its limit"


def _race_of_reply(run: Run, app: Flask, turn: Turn, chance: random.Random) -> Iterator[str]:
    """Read a reply that came in time while the clock looks, later: the reply is first."""
    turn_id, limit = turn.id, turn.deadline + deadlines.GRACE
    raw, envelope = world.reply(turn, str(world.choice(turn, chance)[0]))
    inbox.take(raw, envelope, now=limit)
    looks = limit + _SECOND
    with writing():
        db.session.merge(Beat(id=1, at=looks))

    def read() -> int:
        with app.app_context():
            return inbox.read_all(now=looks)

    def clock() -> int:
        with app.app_context():
            worker.time_out(looks)
        return False

    db.session.remove()
    _at_once(read, clock)
    yield from _wrong_race(run, turn_id, "reply", has_moved=True, is_out=False)


def _wrong_race(run: Run, turn_id: int, by: str, *, has_moved: int, is_out: int) -> Iterator[str]:
    """Look that one of the two has won, and that just its move stands."""
    db.session.rollback()
    made = db.session.scalars(select(Move.by).where(Move.turn_id == turn_id)).all()
    run.counts[f"first: {', '.join(made)}"] += 1
    if has_moved == is_out or list(made) != [by if has_moved else "timeout"]:
        yield f"turn {turn_id}: moved {has_moved}, timed out {is_out}, and {made} stands"


if __name__ == "__main__":
    main()
