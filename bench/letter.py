"""A turn letter as it goes over the wire: rows read, moves replayed, words, picture, MIME."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from statistics import median, quantiles
from typing import Final

from flask import Flask
from flask_migrate import upgrade
from sqlalchemy import select

from bench.measure import Asked, Bar, cost
from engine import GAMES
from pbem import create_app, lobby, play
from pbem.config import Settings
from pbem.ext import db, writing
from pbem.lobby import Chair
from pbem.mail import letters
from pbem.models import Letter, Turn

MOST: Final = 10.0  # milliseconds of one core, in the median
MATCHES: Final = 6  # of each game
WARM_UP: Final = 3  # of these, in which all cards are drawn once
MOVES: Final = 60
NOW: Final = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
NAMES: Final = ("Ann", "Bob", "Cleo", "Dan")


def run(_asked: Asked) -> Iterator[Bar]:
    """Make the letter of each turn of some matches of each game."""
    with tempfile.TemporaryDirectory() as folder:
        app = create_app(Settings(instance=Path(folder), secret_keys=("ab" * 32,)))
        with app.app_context():
            upgrade()
            with writing():
                for name in NAMES:
                    lobby.new_player(
                        _address(name), name=name, language="en", zone="Europe/Paris", now=NOW
                    )
            for game in GAMES:
                yield _measured(app, game)
            db.session.remove()
            db.engine.dispose()


def _measured(app: Flask, game: str) -> Bar:
    costs: list[float] = []
    sizes: list[int] = []
    for nth in range(MATCHES):
        found = [_cost(app, letter_id) for letter_id in _letters(game)]
        if nth >= WARM_UP:
            costs += [took for took, _ in found]
            sizes += [size for _, size in found]
    middle, most = median(costs), quantiles(costs, n=20)[-1]
    return Bar(
        f"letter {game}: {middle:.1f} ms (at most {MOST:g}), 95 in 100 below {most:.1f} ms;"
        f" {len(costs)} letters of {median(sizes) / 1000:.0f} kB",
        middle <= MOST,
    )


def _letters(game: str) -> Iterator[int]:
    """Open a match, play it by chance and yield each turn's letter while the turn is open."""
    match_id = _running(game)
    for _ in range(MOVES):
        turn = db.session.scalars(
            select(Turn).where(Turn.match_id == match_id, Turn.closed_at.is_(None))
        ).first()
        if turn is None:
            return
        turn_id = turn.id
        yield db.session.scalars(select(Letter.id).where(Letter.turn_id == turn_id)).one()
        text = play.choose_for(turn_id, "random")
        assert text is not None, "the turn is open"
        play.make_move(turn_id, text, by="link", now=NOW)


def _running(game: str) -> int:
    names = NAMES[: GAMES[game].seat_counts[-1]]
    opener = lobby.find_player(_address(names[0]))
    assert opener is not None, "all players are there"
    match_id = lobby.open_table(opener, game, [Chair()] * (len(names) - 1), {}, now=NOW).id
    for name in names[1:]:
        player = lobby.find_player(_address(name))
        assert player is not None, "all players are there"
        lobby.join(match_id, player, phrase="", now=NOW)
    return match_id


def _cost(app: Flask, letter_id: int) -> tuple[float, int]:
    """Return a letter's milliseconds and bytes; as in the worker, no row is in memory yet."""
    raws: list[bytes] = []

    def make() -> None:
        raws.append(letters.parcel(letters.read(letter_id)).as_bytes())

    with app.app_context():
        took = cost(make)
        make()
        db.session.remove()
    assert raws[0] == raws[1], "the same row gives the same bytes"
    assert raws[0].count(b"\n") == raws[0].count(b"\r\n"), "lines end as on the wire"
    return took, len(raws[0])


def _address(name: str) -> str:
    return f"{name.lower()}@players.example"
