"""The heaviest letters that simulated games led to: none is clipped, and no line is long.

Found among 2,400 games of Biscuit with all add-ons and 72 of the others, by bots; each is
played again here from its name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import pytest
from cast import ADDRESSES, html_of, open_turns, player, text_of
from sqlalchemy import select

from engine import GAMES, deal
from engine.bots.base import Bot
from engine.bots.random import Random
from pbem import agreements, cleaning, lobby, play, post, words
from pbem.ext import db, writing
from pbem.mail import letters, plain
from pbem.models import Letter, Match, Move, Seat, Turn
from pbem.samples import story
from pbem.table import load

HEAVIEST = 60_000  # bytes of HTML, and of the table's picture
LONGEST = 100  # characters of a line of text
NAMES = [letter * cleaning.MOST_NAME for letter in "MWOQ"]  # as long and as wide as they may be
ADD_ONS = {"excuse": True, "pawns": True, "courts": True}


class Hasty(Bot):
    """Takes the most points at once, the first listed of several."""

    def choose(self, game, view):
        return max(game.moves(view), key=lambda move: game.preview(view, move).points or 0)


# These games were found with players of these names; what bots of the engine do may change.
PLAYERS: dict[str, type[Bot]] = {"random": Random, "greedy": Hasty}

# What was the most: the game, its seats, options and bots, which of these games, and the ply.
FOUND = {
    "the longest main line, 34 cards": ("biscuit", 4, ADD_ONS, "random", 100, 35),
    "the longest column, 22 cards": ("biscuit", 4, ADD_ONS, "greedy", 310, 29),
    "the most cards of Biscuit, 40 in a cross": ("biscuit", 4, ADD_ONS, "greedy", 100, 38),
    "the most moves of Biscuit, 36": ("biscuit", 4, ADD_ONS, "random", 120, 3),
    "the largest hand of Biscuit, 8": ("biscuit", 2, ADD_ONS, "random", 164, 1),
    "the most cards of Bisque, 16": ("bisque", 3, {"rounds": 12}, "random", 0, 46),
    "the most moves of Bisque, 11 with a trick": ("bisque", 3, {"rounds": 12}, "random", 0, 4),
    "the most moves of Snakebit, 16": ("snakebit", 3, {}, "random", 0, 96),
    "the most cards of Snakebit, 6": ("snakebit", 4, {}, "random", 0, 4),
    "the most tricks of Snakebit, 7 told": ("snakebit", 3, {}, "random", 0, 22),
}


@pytest.fixture
def database_url(sqlite: str) -> str:
    """One kind is enough: what letters say does not depend on the database."""
    return sqlite


@pytest.mark.parametrize("found", FOUND)
def test_the_heaviest_letters_are_not_clipped(app, now, found) -> None:
    letter = heavy_letter(*FOUND[found], now=now)
    for language in ("en", "fr"):
        letter.language = language
        message = letters.build(letter)
        assert len(html_of(message).encode()) < HEAVIEST
        assert [line for line in text_of(message).splitlines() if len(line) > LONGEST] == []
        (table,) = [part for part in message.walk() if part.get_filename() == "table.png"]
        assert len(table.get_content()) < HEAVIEST


@pytest.mark.parametrize("game", list(GAMES))
def test_long_names_make_no_long_line_in_any_letter_of_a_table(app, now, game) -> None:
    seats, options = GAMES[game].seat_counts[-1], ADD_ONS if game == "biscuit" else {}
    asking = heavy_letter(game, seats, options, "random", 0, 9, now=now)
    match, turn, seat = asking.match, asking.turn, asking.seat
    table, last = load(match), db.session.get_one(Turn, match.moves[-1].turn_id)
    with writing():
        post.reminder(turn, seat, now=now)
        post.not_done(turn, seat, {"why": "illegal", **UNFIT}, now=now)
        post.confirm(turn, seat, max(story.moves(turn), key=len), "stranger", now=now)
        post.receipt(table, turn, match.moves[-1], turn, now=now)
        post.receipt(table, last, match.moves[-1], None, now=now)
        post.stands(turn, seat, now=now)
        post.house_played(turn, seat, match.moves[-1], now=now)
        post.digest(seat.player, [turn, turn], [], now=now)
        for what in plain.NOTICES:
            post.notice(match, what, {"name": NAMES[0], "until": now.isoformat()}, now=now)
    agreements.propose(seat.id, "end", {}, now=now)
    long = long_lines(seat)
    with writing():
        play.stop(db.session.get_one(Match, match.id), "stopped", now=now)
    assert long | long_lines(seat) == {}


# A reply whose quoted words are as long as they may be.
UNFIT = {
    "line": "w" * words.MOST_QUOTED,
    "reason": "%(card)s is not in your hand",
    "fields": {"card": "x" * words.MOST_QUOTED},
}


def long_lines(seat: Seat) -> dict[str, set[str]]:
    """The long lines of all letters to a seat's player that are true, by kind and language."""
    found: dict[str, set[str]] = {}
    own = select(Letter).where(Letter.player_id == seat.player_id)
    for letter in filter(letters.is_true, db.session.scalars(own)):
        for language in ("en", "fr"):
            letter.language = language
            lines = text_of(letters.build(letter)).splitlines()
            long = {line for line in lines if len(line) > LONGEST}
            found.setdefault(f"{letter.kind} {language}", set()).update(long)
    db.session.rollback()
    return {kind: lines for kind, lines in found.items() if lines}


def heavy_letter(
    game: str, seats: int, options: Mapping[str, object], bot: str, nth: int, ply: int, *, now
) -> Letter:
    """The letter to the seat that is asked at a ply of a game, as if it had moved never yet."""
    name = f"heavy-{game}-{seats}-{bot}-{nth}"
    match = table_of(name, game, seats, options, now=now)
    with writing():
        for turn in open_turns(match):
            turn.closed_at = now
        for number, (seat, text, scores) in enumerate(moves(name, match, bot, ply), 1):
            turn = add_turn(match, seat, number, number - 1, now=now)
            turn.closed_at = now
            db.session.add(
                Move(
                    match_id=match.id,
                    ply=number,
                    turn_id=turn.id,
                    seat=seat,
                    text=text,
                    scores=list(scores),
                    by="link",
                    at=now,
                )
            )
        match.ply = ply
    table = load(db.session.get_one(Match, match.id))
    seat = min(table.game.to_move(table.state))
    with writing():
        post.your_turn(table.seat(seat), add_turn(match, seat, ply + 1, ply, now=now), now=now)
    return db.session.scalars(select(Letter).order_by(Letter.id.desc()).limit(1)).one()


def table_of(name: str, game: str, seats: int, options: Mapping[str, object], *, now) -> Match:
    """A table whose deal its name decides, its players' names as long as they may be."""
    opener = player("ann", now=now)
    others = list(ADDRESSES.values())[1:seats]
    chairs = [lobby.Chair(address=address) for address in others]
    match = lobby.open_table(opener, game, chairs, options, now=now)
    with writing():
        match.code, match.server_key = name, hashlib.sha256(name.encode()).digest()
        match.seats[0].name = NAMES[0]
    for seat, long_name in zip(match.seats[1:], NAMES[1:], strict=False):
        lobby.sit(seat.id, name=long_name, phrase="", language="", zone="Europe/Paris", now=now)
    return match


def moves(name: str, match: Match, bot: str, ply: int) -> list[tuple[int, str, tuple[int, ...]]]:
    """The first moves of a simulated game, each with its seat and all scores after it."""
    game, seats = GAMES[match.game], len(match.seats)
    key = deal.deal_key(match.server_key, name, [""] * seats)
    state, _ = game.new_game(key, seats, match.options)
    bots = [PLAYERS[bot](f"{name}/{seat}") for seat in range(1, seats + 1)]
    found = []
    for _ in range(ply):
        seat = min(game.to_move(state))
        move = bots[seat - 1].choose(game, game.view(state, seat))
        game.step(state, seat, move)
        found.append((seat, game.format(move), game.scores(state)))
    return found


def add_turn(match: Match, seat: int, nth: int, ply: int, *, now) -> Turn:
    turn = Turn(
        match_id=match.id,
        seat=seat,
        nth=100 + nth,
        ply=ply,
        opened_at=now,
        deadline=now,
        extra=0,
        stops=[],
    )
    db.session.add(turn)
    db.session.flush()
    return turn
