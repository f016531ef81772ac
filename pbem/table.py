"""A match as it stands, or stood: its rows and their replay."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from engine import GAMES, deal
from engine.game import Event, Game, Outcome, Scores, View
from engine.game import Seat as SeatNumber
from engine.record import Decision, Ply, Record, dumps
from engine.record import replay as play_again
from pbem.models import FORMER, FORMER_WORDS, Match, Move, Seat, Status


@dataclass(frozen=True, slots=True)
class Table:
    """A started match, replayed up to ``ply``. Only views of it go to templates."""

    match: Match
    game: Game[Any, Any, Any]
    seats: tuple[Seat, ...]
    state: Any
    opening: tuple[Event, ...]
    plies: tuple[Ply, ...]

    @property
    def ply(self) -> int:
        """Return how many moves the table has seen."""
        return len(self.plies)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names at the table, by seat."""
        return tuple(seat.name or "" for seat in self.seats)

    @property
    def scores(self) -> Scores:
        """Return all seats' totals."""
        return self.game.scores(self.state)

    @property
    def outcome(self) -> Outcome | None:
        """Return how the match ended by its rules, if it did."""
        return self.game.outcome(self.state)

    def seat(self, number: SeatNumber) -> Seat:
        """Return the row of a seat."""
        return self.seats[number - 1]

    def view(self, seat: SeatNumber | None) -> View:
        """Return what the seat, or an onlooker, may know."""
        view: View = self.game.view(self.state, seat)
        return view

    def after(self, seat: SeatNumber, move: Any) -> Table:
        """Return the table one move later; raises RulesError if the move is not legal."""
        state, events = self.game.apply(self.state, seat, move)
        text = self.game.format(move)
        ply = Ply(self.ply + 1, seat, text, events, self.game.scores(state))
        return replace(self, state=state, plies=(*self.plies, ply))


def load(match: Match, *, ply: int | None = None) -> Table:
    """Replay a started match, up to a ply or to its last move."""
    seats = tuple(sorted(match.seats, key=lambda seat: seat.number or 0))
    moves: Sequence[Move] = match.moves if ply is None else match.moves[:ply]
    game = GAMES[match.game]
    played = play_again(
        game, deal_key(match, seats), len(seats), match.options, [(m.seat, m.text) for m in moves]
    )
    return Table(match, game, seats, played.state, played.opening, played.plies)


def deal_key(match: Match, seats: Sequence[Seat]) -> bytes:
    """Return the key of the match's shuffles; the seats come in seat order."""
    return deal.deal_key(match.server_key, match.code, [seat.phrase for seat in seats])


def in_joining_order(match: Match) -> list[Seat]:
    """Return a full table's seats in the order in which their players sat down."""
    return sorted(match.seats, key=lambda seat: (seat.joined_at or match.opened_at, seat.place))


def record(match: Match) -> Record:
    """Return the match's record; one that still runs keeps its secrets."""
    seats = tuple(sorted(match.seats, key=lambda seat: seat.number or 0))
    over = match.status == Status.OVER
    joined = in_joining_order(match)
    return Record(
        game=match.game,
        id=match.code,
        options=match.options,
        names=tuple(_recorded_name(seat) for seat in seats),
        resigned=frozenset(seat.number or 0 for seat in seats if seat.is_unplaced),
        seating=tuple(_recorded_name(seat) for seat in joined) if match.draws_seats else None,
        commitment=match.commitment,
        phrases=tuple(seat.phrase for seat in seats),
        key=match.server_key if over else None,
        decisions=tuple(_decisions(match, over=over)),
        scores=tuple(match.scores or [0] * len(seats)),
        winners=tuple(match.winners or ()) if over else None,
        ended=match.ended if over else None,
    )


def _recorded_name(seat: Seat) -> str:
    """Return a seat's name in the record, which is the same for readers of all languages."""
    return FORMER_WORDS if seat.stored_name == FORMER else seat.stored_name or ""


def record_file(match: Match) -> tuple[str, str]:
    """Return the record's file name and text, the same from the page and in the mail."""
    return f"{match.game}-{match.code}.json", dumps(record(match)) + "\n"


def _decisions(match: Match, *, over: bool) -> Iterator[Decision]:
    written = [move.text for move in match.moves]
    texts = written if over else GAMES[match.game].public_moves(written)
    for move, text in zip(match.moves, texts, strict=True):
        # That a move was forced, or an order, tells what a hand holds: not before the end.
        by = move.by if over or move.by not in ("forced", "order") else "web"
        at = move.at.strftime("%Y-%m-%dT%H:%M:%SZ")
        yield Decision(move.seat, text, tuple(move.scores), {"by": by, "at": at})
