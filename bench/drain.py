"""The outbox against a relay: beside Postfix's own source of mail, Flask-Mail, and a slow relay.

Letters are rows, and the outbox writes each when it sends it. So there are two figures: one of
all its work, and one with letters that were written before. Each session is a worker process;
all share one durable SQLite database, as they do on one machine.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import pickle
import secrets
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import Any, Final, TypeAlias

from aiosmtpd.controller import Controller
from flask import Flask
from flask_mail import Mail, Message
from flask_migrate import upgrade
from sqlalchemy import insert, select, update

from bench.measure import Asked, Bar, Pair, judge, pairs, took
from bench.postfix import Postfix, running_postfix
from pbem import create_app, lobby, play
from pbem.config import Settings
from pbem.ext import db, settings, writing
from pbem.lobby import Chair
from pbem.mail import letters, outbox
from pbem.mail.smtp import Parcel
from pbem.models import Letter, LetterState, Turn
from torture.relay import Mailbox, free_port, parsed

MATCHES: Final = 16
MOVES: Final = 12  # made in each before its letter
TARGET: Final = 200  # points: no game is over by then
COPIES: Final = 10  # of each match's letter
LETTERS: Final = MATCHES * COPIES  # a batch for each of eight workers
BARE: Final = 800  # mails of the peer in a round: it is so much faster
# Of smtp-source's rate with as many sessions, at least, and the goal.
TO_POSTFIX: Final = {1: (0.35, 0.5), 4: (0.30, 0.4)}
BESIDE_FLASK_MAIL: Final = (1.5, 2.2)
SLOW: Final = 0.05  # seconds that a relay thinks before it says "250"
CONNECTIONS: Final = 8
TO_SLOW: Final = (0.8, 0.9)  # of what that many connections can carry
READY: Final = "letters"  # the file of those that were written before
NOW: Final = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)


class How(StrEnum):
    """Whether letters are written when they are sent, or were written before."""

    WHOLE = "whole"
    READY = "ready"


# Letters in a second, by how they are sent.
Rates: TypeAlias = dict[How, float]


class SlowRelay(Mailbox):
    """A relay that thinks about each mail before it takes it."""

    async def handle_DATA(  # noqa: N802 - aiosmtpd's name
        self, server: Any, session: Any, envelope: Any
    ) -> str:
        """Take a mail, later."""
        await asyncio.sleep(SLOW)
        return await super().handle_DATA(server, session, envelope)

    def taken(self) -> list[str]:
        """Return the Message-IDs of the mails that came since the last look."""
        return [str(mail["Message-ID"]) for mail in self.fresh()]


def run(asked: Asked) -> Iterator[Bar]:
    """Drain an outbox into Postfix, and into a relay that waits."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        app = create_app(_settings(folder, port=1))
        with app.app_context():
            upgrade()
            _fill()
            mail = _write_all(folder / READY)
            with running_postfix() as postfix:
                yield from _into_postfix(folder, postfix, mail, asked)
            yield _into_slow(folder, asked)
            db.session.remove()
            db.engine.dispose()
        app.extensions["pbem.parser"].close()


def _into_postfix(folder: Path, postfix: Postfix, mail: bytes, asked: Asked) -> Iterator[Bar]:
    file = folder / "letter"
    # smtp-source ends the lines as the wire wants them.
    file.write_bytes(mail.replace(b"\r\n", b"\n"))

    def by_source(sessions: int) -> float:
        seconds = took(lambda: postfix.send_bare(file, times=BARE, sessions=sessions))
        assert len(postfix.taken()) == BARE
        return BARE / seconds

    def by_flask_mail() -> float:
        seconds = took(lambda: _send_by_flask_mail(mail, postfix.port))
        assert len(set(postfix.taken())) == LETTERS
        return LETTERS / seconds

    with working(folder, postfix.port, max(TO_POSTFIX)) as workers:
        for sessions, bar in TO_POSTFIX.items():
            peer = partial(by_source, sessions)
            found = _drains(workers[:sessions], postfix.taken, peer, asked)
            name = f"drain to Postfix, {sessions} at once, {len(mail) / 1000:.0f} kB"
            yield _ready(name, found, "smtp-source", *bar)
        found = _drains(workers[:1], postfix.taken, by_flask_mail, asked)
        yield _ready("drain to Postfix", found, "Flask-Mail's send()", *BESIDE_FLASK_MAIL)


def _into_slow(folder: Path, asked: Asked) -> Bar:
    relay = SlowRelay(port=free_port())
    controller = Controller(relay, hostname="127.0.0.1", port=relay.port)
    controller.start()
    try:
        with working(folder, relay.port, CONNECTIONS) as workers:
            found = _drains(workers, relay.taken, lambda: CONNECTIONS / SLOW, asked)
    finally:
        controller.stop()
    least, goal = TO_SLOW
    ready = median(rates[How.READY] for rates, _ in found)
    return judge(
        f"drain to a relay that waits {SLOW * 1000:.0f} ms, {CONNECTIONS} at once"
        f" (letters written before: {ready:.0f} a second)",
        "letters a second",
        [(rates[How.WHOLE], limit) for rates, limit in found],
        peer="the most possible",
        least=least,
        goal=goal,
    )


def _ready(
    name: str, found: Sequence[tuple[Rates, float]], peer: str, least: float, goal: float
) -> Bar:
    """Return the bar of letters that were written before; its name tells of the whole work."""
    whole = median(rates[How.WHOLE] for rates, _ in found)
    part = median(rates[How.WHOLE] / theirs for rates, theirs in found)
    return judge(
        f"{name}, letters written before (written on the way: {whole:.0f}, {part:.2f})",
        "a second",
        [(rates[How.READY], theirs) for rates, theirs in found],
        peer=peer,
        least=least,
        goal=goal,
    )


def _drains(
    workers: Sequence[Connection],
    taken: Callable[[], Sequence[str]],
    peer: Callable[[], float],
    asked: Asked,
) -> Sequence[tuple[Rates, float]]:
    """Return what each round gave, ours and the peer's."""
    rounds: list[Rates] = []

    def ours() -> float:
        rounds.append({how: drain(workers, taken, how) for how in How})
        return rounds[-1][How.READY]

    found: Sequence[Pair] = pairs(ours, peer, asked)
    # Where all was measured once more, the first rounds do not count.
    kept = rounds[-len(found) :]
    return [(rates, theirs) for rates, (_, theirs) in zip(kept, found, strict=True)]


def drain(workers: Sequence[Connection], taken: Callable[[], Sequence[str]], how: How) -> float:
    """Queue all letters, let the workers send them, and look that each came once."""
    expected = _queue()
    taken()
    sent: list[int] = []

    def work() -> None:
        for worker in workers:
            worker.send(how)
        sent.extend(worker.recv() for worker in workers)

    seconds = took(work)
    assert sorted(taken()) == expected
    assert sum(sent) == LETTERS
    return LETTERS / seconds


@contextmanager
def working(folder: Path, port: int, number: int) -> Iterator[list[Connection]]:
    """Run worker processes beside the block; each drains the outbox when it is told to."""
    fresh = multiprocessing.get_context("spawn")
    with ExitStack() as lines:
        workers = []
        for _ in range(number):
            ours, theirs = fresh.Pipe()
            process = fresh.Process(target=_work, args=(theirs, folder, port))
            process.start()
            theirs.close()
            lines.callback(process.join)
            workers.append(lines.enter_context(ours))
        for worker in workers:
            assert worker.recv() == "ready"
        yield workers


def _work(line: Connection, folder: Path, port: int) -> None:
    """Drain the outbox again and again, until the line is closed."""
    app = create_app(_settings(folder, port=port))
    parcels: dict[int, Parcel] = pickle.loads((folder / READY).read_bytes())

    def ready(letter: Letter) -> Parcel:
        return parcels[letter.id]

    ways = {How.WHOLE: letters.parcel, How.READY: ready}
    with app.app_context(), suppress(EOFError):
        line.send("ready")
        while True:
            # An outbox that stored what it has written would read it here.
            letters.parcel = ways[line.recv()]
            sent = 0
            while went_out := outbox.send_due(now=NOW):
                sent += went_out
            line.send(sent)


def _settings(folder: Path, *, port: int) -> Settings:
    return Settings(
        instance=folder,
        secret_keys=("ab" * 32,),
        mail_domain="play.example",
        smtp_port=port,
        listen_protocol="none",
    )


def _queue() -> list[str]:
    """Queue every letter as if it had just been made; return their Message-IDs, in order."""
    with writing():
        db.session.execute(
            update(Letter)
            .where(Letter.kind == "your_turn", Letter.state != LetterState.STALE)
            .values(state=LetterState.QUEUED, due_at=NOW, attempts=0, sent_at=None)
        )
    queued = db.session.scalars(select(Letter).where(Letter.state == LetterState.QUEUED))
    return sorted(letter.message_id(settings().mail_domain) for letter in queued)


def _fill() -> None:
    """Make games that run, and copies of the letter that asks for each one's next move."""
    with writing():
        ann, bob = (
            lobby.new_player(
                f"{name.lower()}@players.example", name=name, language="en", zone="UTC", now=NOW
            )
            for name in ("Ann", "Bob")
        )
        ann.plays_forced = bob.plays_forced = False  # each move is made by the loop below
    asking = []
    for _ in range(MATCHES):
        match_id = lobby.open_table(ann, "biscuit", [Chair()], {"target": TARGET}, now=NOW).id
        lobby.join(match_id, bob, phrase="", now=NOW)
        asking.append(_played(match_id))
    with writing():
        db.session.execute(update(Letter).values(state=LetterState.STALE))
        db.session.execute(
            update(Letter).where(Letter.id.in_(asking)).values(state=LetterState.QUEUED)
        )
        rows = db.session.execute(select(Letter.__table__).where(Letter.id.in_(asking))).mappings()
        copies = [
            {key: value for key, value in row.items() if key != "id"}
            | {"tail": secrets.token_hex(8)}
            for row in rows
            for _ in range(COPIES - 1)
        ]
        db.session.execute(insert(Letter), copies)
    assert len(_queue()) == LETTERS


def _played(match_id: int) -> int:
    """Play a few moves; return the letter that asks for the next one."""
    open_turn = select(Turn.id).where(Turn.match_id == match_id, Turn.closed_at.is_(None))
    for _ in range(MOVES):
        turn_id = db.session.scalars(open_turn).one()
        text = play.choose_for(turn_id, "random")
        assert text is not None, "the turn is open"
        play.make_move(turn_id, text, by="link", now=NOW)
    asks = select(Letter.id).join(Turn, Turn.id == Letter.turn_id)
    return db.session.scalars(asks.where(Turn.id.in_(open_turn), Letter.kind == "your_turn")).one()


def _write_all(file: Path) -> bytes:
    """Write all letters into a file, for the workers; return the first as the wire has it."""
    ids = db.session.scalars(select(Letter.id).where(Letter.state == LetterState.QUEUED)).all()
    parcels = {letter_id: letters.parcel(letters.read(letter_id)) for letter_id in ids}
    file.write_bytes(pickle.dumps(parcels))
    return parcels[ids[0]].as_bytes()


def _send_by_flask_mail(mail: bytes, port: int) -> None:
    """Send as many mails of the same words and pictures, each made anew, as its manual tells."""
    plain = Flask("plain")
    plain.config.update(MAIL_SERVER="127.0.0.1", MAIL_PORT=port)
    postman = Mail(plain)
    parts = list(parsed(mail).walk())
    text, html = (
        next(part.get_content() for part in parts if part.get_content_type() == kind)
        for kind in ("text/plain", "text/html")
    )
    pictures = [part for part in parts if part.get_content_maintype() == "image"]
    with plain.app_context():
        for _ in range(LETTERS):
            message = Message(
                "Your turn", ["ann@players.example"], text, html, sender="play@play.example"
            )
            for picture in pictures:
                message.attach(
                    picture.get_filename(),
                    picture.get_content_type(),
                    picture.get_content(),
                    "inline",
                    {"Content-ID": picture["Content-ID"]},
                )
            postman.send(message)
