"""Replies by LMTP: storing them beside a bare handler, and their moves beside a bare commit."""

from __future__ import annotations

import smtplib
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any, Final

from aiosmtpd.controller import Controller
from aiosmtpd.lmtp import LMTP
from flask import Flask
from flask_migrate import upgrade
from sqlalchemy import func, select

from bench.measure import Asked, Bar, took
from pbem import clocks, create_app, lobby, play
from pbem.ext import db, writing
from pbem.links import Links
from pbem.lobby import Chair
from pbem.mail import inbox
from pbem.mail.listener import Listener
from pbem.models import Match, Move, Turn
from pbem.tokens import Named
from torture import world

MATCHES: Final = 100  # each asks once in a round
SIZE: Final = 30_000  # bytes of a reply, most of them the quoted letter
STORED: Final = 0.35  # of the bare handler's rate, at least
MOVED: Final = 0.20  # of the rate of bare commits, at least
PORT: Final = 8826  # and the next one
NOW: Final = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class _Round:
    """Seconds of one round, for as many mails or moves each."""

    bare_handler: float
    stored: float
    read: float
    bare_commit: float


def run(asked: Asked) -> Iterator[Bar]:
    """Send all replies in rounds, and make as many bare moves and bare deliveries by turns."""
    with tempfile.TemporaryDirectory() as folder:
        app = create_app(
            replace(world.site(Path(folder), "", 1), listen_protocol="lmtp", listen_port=PORT)
        )
        with app.app_context():
            upgrade()
            replied, bare = _matches("a"), _matches("b")
            rounds = _rounds(app, replied, bare, asked.rounds)
            moves = db.session.scalar(
                select(func.count()).where(Move.match_id.in_(replied), Move.by == "reply")
            )
            db.session.remove()
            db.engine.dispose()
    app.extensions["pbem.parser"].close()
    sent = MATCHES * asked.rounds
    yield Bar(f"inbox: {moves} moves of {sent} replies", moves == sent)
    yield _bar("stored by LMTP", rounds, STORED, lambda one: (one.stored, one.bare_handler))
    yield _bar(
        "committed as moves", rounds, MOVED, lambda one: (one.stored + one.read, one.bare_commit)
    )


def _bar(
    what: str, rounds: list[_Round], least: float, times: Callable[[_Round], tuple[float, float]]
) -> Bar:
    pairs = [times(one) for one in rounds]
    ratio = median(peer / ours for ours, peer in pairs)
    rates = [MATCHES / median(column) for column in zip(*pairs, strict=True)]
    return Bar(
        f"inbox, {what}: {rates[0]:.0f} a second, the bare one {rates[1]:.0f}:"
        f" {ratio:.2f} of it (at least {least:g})",
        ratio >= least,
    )


def _rounds(app: Flask, replied: list[int], bare: list[int], number: int) -> list[_Round]:
    class Nothing:
        async def handle_DATA(self, *_given: Any) -> str:  # noqa: N802 - aiosmtpd's name
            return "250 taken"

    class Bare(Controller):
        def factory(self) -> LMTP:
            return LMTP(self.handler)

    ours, peer = Listener(app), Bare(Nothing(), hostname="127.0.0.1", port=PORT + 1)
    ours.start()
    peer.start()
    try:
        return [_round(replied, bare) for _ in range(number)]
    finally:
        peer.stop()
        ours.stop()


def _round(replied: list[int], bare: list[int]) -> _Round:
    mails = [_reply(_turn(match_id)) for match_id in replied]
    chosen = [(_turn(match_id).id, _first(match_id)) for match_id in bare]
    return _Round(
        took(lambda: _deliver(mails, PORT + 1)),
        took(lambda: _deliver(mails, PORT)),
        took(lambda: inbox.read_all(now=NOW)),
        took(lambda: [play.make_move(*one, by="link", now=NOW) for one in chosen]),
    )


def _deliver(mails: list[tuple[str, str, bytes]], port: int) -> None:
    with smtplib.LMTP("127.0.0.1", port) as line:
        for sender, recipient, raw in mails:
            line.sendmail(sender, [recipient], raw)


def _reply(turn: Turn) -> tuple[str, str, bytes]:
    """Return sender, recipient and bytes of a reply with the first move of the list."""
    assert turn.asked.player is not None, "people play"
    sender, recipient = turn.asked.player.address, Links().reply(Named.TURN, turn.id)
    quoted = "> a line of the letter that is answered, as long as lines are\n"
    head = f"From: {sender}\nTo: {recipient}\nSubject: Re: your turn {turn.id}\n"
    body = f"\n1\n\nOn Tue, 1 Dec 2026 at 12:00 the server wrote:\n{quoted * (SIZE // len(quoted))}"
    return sender, recipient, (head + body).replace("\n", "\r\n").encode()


def _turn(match_id: int) -> Turn:
    return next(iter(clocks.open_turns(match=db.session.get_one(Match, match_id))))


def _first(match_id: int) -> str:
    text = play.choose_for(_turn(match_id).id, "greedy")
    assert text is not None, "the turn is open"
    return text


def _matches(name: str) -> list[int]:
    """Return new matches of two, who ask one of them at a time."""
    with writing():
        ann, bob = (
            lobby.new_player(f"{who}-{name}@players.example", name=who, language="en", zone="UTC",
                             now=NOW)
            for who in ("ann", "bob")
        )  # fmt: skip
        # A move that is played by itself would be one more than was sent.
        ann.plays_forced = bob.plays_forced = False
    found = []
    for _ in range(MATCHES):
        match = lobby.open_table(ann, "biscuit", [Chair()], {}, now=NOW)
        lobby.join(match.id, bob, phrase="", now=NOW)
        found.append(match.id)
    return found
