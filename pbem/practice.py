"""Practice games against bots: nothing of them is stored, their address holds all moves."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

from flask_babel import gettext

from engine import GAMES
from engine.bots import BOTS
from pbem.errors import BadLink
from pbem.models import Match, Move, Seat, Status
from pbem.play import HOUSE
from pbem.table import Table

READER: Final = 1  # the seat of who practises
MOST_SEATS: Final = 3


def played(game_name: str, deal: str, chosen: Sequence[int]) -> Table:
    """Return the table of a deal (any text) after the reader's moves, by their numbers.

    Bots answer at once, and a move that leaves no choice is made by itself. The deal is no
    secret: who works the cards out cheats nobody. Raises BadLink where a number is none.
    """
    table, waiting = _dealt(game_name, deal), list(chosen)
    while asked := table.game.to_move(table.state):
        seat = min(asked)
        view = table.view(seat)
        moves = table.game.moves(view)
        if seat != READER:
            move = BOTS[HOUSE](deal).choose(table.game, view)
        elif len(moves) == 1:
            (move,) = moves
        elif waiting:
            move = _chosen(moves, waiting.pop(0))
        else:
            break
        table = table.after(seat, move)
        table.match.moves.append(Move(by="forced" if len(moves) == 1 else "web"))
    return table


def _dealt(game_name: str, deal: str) -> Table:
    """Return a table whose rows are in no database."""
    game = GAMES[game_name]
    seats = max(count for count in game.seat_counts if count <= MOST_SEATS)
    options = game.check_options(seats, {})
    state, opening = game.new_game(hashlib.sha256(deal.encode()).digest(), seats, options)
    names = [gettext("Guest"), *(f"Bot {number}" for number in range(1, seats))]
    rows = tuple(Seat(number=number, name=name) for number, name in enumerate(names, 1))
    match = Match(game=game_name, status=Status.RUNNING, options=options)
    return Table(match, game, rows, state, opening, ())


def _chosen(moves: Sequence[object], number: int) -> object:
    if not 1 <= number <= len(moves):
        raise BadLink
    return moves[number - 1]
