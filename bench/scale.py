"""What a million running games cost: each use beside its own time at a thousand games."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from contextvars import Context
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from statistics import median
from time import perf_counter
from typing import Any, Final, TypeVar

from flask import Flask
from sqlalchemy import event, func, select, update

from bench import crowd, sweep
from bench.measure import Asked, Bar, judge, pairs, took
from pbem import health, lobby, play, worker
from pbem.ext import db, writing
from pbem.links import Links
from pbem.mail import outbox
from pbem.models import Letter, LetterState, Match, Move, Seat, Turn
from torture import world

MANY: Final = 1_000_000
FEW: Final = 1_000
SLOWER: Final = 1.5  # times as long with many games as with few, at most
WAITING: Final = 200  # letters, when some are claimed
TIMES: Final = 20  # of each use in a round; their median counts
Result = TypeVar("Result")
# Tables of which a use reads a few rows, however many there are.
BIG: Final = ("match", "seat", "turn", "move", "letter", "note", "talk", "player", "reminder")
# Indexes that hold the few rows which are asked for.
FEW_IN: Final = (
    "ix_player_half", "ix_player_daily", "ix_player_unreachable", "ix_turn_house", "ix_match_open",
    "ix_match_listed",
)  # fmt: skip


@dataclass(slots=True)
class Site:
    """An application with its crowd, and what was asked of its database."""

    app: Flask
    crowd: crowd.Crowd
    now: datetime
    moved: int = 0
    statements: list[tuple[str, Any]] = field(default_factory=list)

    def do(self, work: Callable[[Site], Result]) -> Result:
        """Do something with a session of its own, as a request or a job has."""

        def inside() -> Result:
            with self.app.app_context():
                return work(self)

        # An empty context: nothing of a use before is there.
        return Context().run(inside)

    def get(self, path: str, player: int | None = None) -> float:
        """Return the seconds that a page takes."""

        def ask() -> float:
            client = self.app.test_client()
            if player is not None:
                with client.session_transaction() as session:
                    session["player"] = player
            began = perf_counter()
            answer = client.get(path)
            spent = perf_counter() - began
            assert answer.status_code == 200, f"{path}: {answer.status}"
            return spent

        return Context().run(ask)


def run(asked: Asked) -> Iterator[Bar]:
    """Make both databases and measure each use by turns."""
    kind = "postgresql" if asked.db == "postgres" else asked.db
    with ExitStack() as stack:
        few, many = (_site(stack, kind, games) for games in (FEW, MANY))
        yield from look(asked, few, many)
    world.clean_up()


def look(asked: Asked, few: Site, many: Site) -> Iterator[Bar]:
    """Measure each use, and look at the plans of what it asks."""
    many.do(_make_due)
    name = f"scale, {sweep.DUE} due of {many.crowd.games:,} games"
    yield from many.do(lambda site: list(sweep.compare(name, asked, now=site.now)))
    for name, use in USES.items():
        times = 1 if use is _sweep else TIMES

        def measured(site: Site, use: Callable[[Site], float] = use, times: int = times) -> float:
            site.statements.clear()
            return 1000 * median(use(site) for _ in range(times))

        found = pairs(lambda: measured(many), lambda: measured(few), asked)
        yield judge(
            f"scale, {name} at {many.crowd.games:,} games", "ms", found,
            peer=f"at {few.crowd.games:,}", most=SLOWER,
        )  # fmt: skip
        scans = sorted(set(many.do(_scans)))
        yield Bar(f"scale, {name}: {'; '.join(scans) or 'no big table is read whole'}", not scans)


def _site(stack: ExitStack, kind: str, games: int) -> Site:
    app = stack.enter_context(world.world(kind))
    now = datetime.now(UTC)
    began = perf_counter()
    found = Site(app, crowd.fill(games, now=now), now)
    rows = ", ".join(
        f"{db.session.scalar(select(func.count()).select_from(model)):,} {word}"
        for model, word in ((Move, "moves"), (Turn, "turns"), (Letter, "letters"))
    )
    print(f"{found.crowd.games:,} games made in {perf_counter() - began:.0f} s: {rows}", flush=True)
    event.listen(
        db.engine,
        "before_cursor_execute",
        lambda _c, _u, sql, given, *_: found.statements.append((sql, given)),
    )
    db.session.remove()
    return found


def _make_due(site: Site) -> None:
    """Let the time of a hundred seats have run out, and nobody have missed a turn before."""
    due = [crowd.open_turn(match_id) for match_id in site.crowd.played]
    ids = [turn.id for turn in due if turn is not None][: sweep.DUE]
    with writing():
        _let_wait(
            update(Turn).where(Turn.id.in_(ids)).values(deadline=site.now - timedelta(hours=2))
        )
        seats = update(Seat).where(Seat.match_id.in_(site.crowd.played))
        _let_wait(seats.values(misses=0, is_kept=False))


def _let_wait(statement: Any) -> None:
    db.session.execute(statement.execution_options(synchronize_session=False))


def _sweep(site: Site) -> float:
    """Return the seconds of a sweep in which a hundred turns are due."""
    site.do(_make_due)
    return site.do(lambda _site: took(lambda: worker.time_out(site.now)))


def _move(site: Site) -> float:
    """Return the seconds of a move."""

    def moves(_site: Site) -> float:
        while True:
            site.moved += 1
            turn = crowd.open_turn(site.crowd.played[site.moved % len(site.crowd.played)])
            if turn is not None:
                break
        turn_id, chosen = turn.id, play.choose_for(turn.id, "greedy")
        db.session.remove()
        assert chosen is not None, "it is open"
        return took(lambda: play.make_move(turn_id, chosen, by="link", now=site.now))

    return site.do(moves)


def _next(site: Site) -> int:
    site.moved += 1
    return site.crowd.played[site.moved % len(site.crowd.played)]


def _seat_page(site: Site) -> float:
    def link(_site: Site) -> str:
        seat = db.session.scalars(select(Seat).where(Seat.match_id == _next(site)).limit(1)).one()
        return _path(Links().seat(seat))

    return site.get(site.do(link))


def _history(site: Site) -> float:
    def link(_site: Site) -> str:
        return f"/g/{db.session.get_one(Match, _next(site)).code}/1"

    return site.get(site.do(link))


def _path(url: str) -> str:
    return url.removeprefix("https://play.example")


def _lobby(site: Site) -> float:
    return site.get("/")


def _own_list(site: Site) -> float:
    site.moved += 1
    return site.get("/", player=1 + site.moved * 7 % site.crowd.players)


def _claim(site: Site) -> float:
    """Return the seconds in which twenty letters are claimed of those that wait."""
    site.do(_queue)
    spent = site.do(lambda one: took(lambda: outbox.claim(now=one.now)))
    site.do(_empty_queue)
    return spent


def _queue(site: Site) -> None:
    ids = select(Letter.id).where(Letter.match_id.in_(site.crowd.played)).order_by(Letter.id)
    with writing():
        some = update(Letter).where(Letter.id.in_(ids.limit(WAITING).scalar_subquery()))
        _let_wait(some.values(state=LetterState.QUEUED, due_at=site.now, wanted_at=site.now))


def _empty_queue(site: Site) -> None:
    """Let all letters have left."""
    with writing():
        waits = (LetterState.QUEUED, LetterState.SENDING, LetterState.RETRY)
        some = update(Letter).where(Letter.state.in_(waits))
        _let_wait(some.values(state=LetterState.SENT, sent_at=site.now, leased_until=None))


def _idle(job: Callable[[datetime], None]) -> Callable[[Site], float]:
    """Return the use of a job that finds nothing to do."""

    def use(site: Site) -> float:
        site.do(_empty_queue)
        return site.do(lambda _site: took(lambda: job(site.now)))

    return use


def _mailed_lately(site: Site) -> float:
    def look(_site: Site) -> None:
        assert lobby.mailed_lately("p1@players.example", "sign_in", now=site.now) == 0

    return site.do(lambda one: took(lambda: look(one)))


def _health(site: Site) -> float:
    return site.do(lambda _site: took(lambda: health.look(site.now)))


def _scans(site: Site) -> list[str]:
    """Return what of the last use's statements reads a big table from end to end."""
    asked = {sql: given for sql, given in site.statements if sql.startswith(("SELECT", "UPDATE"))}
    with db.engine.connect() as connection:
        lines = [
            line for sql, given in asked.items() for line in sweep.plan(connection, sql, given)
        ]
    return [line for line in lines if _reads_all(line)]


def _reads_all(line: str) -> bool:
    """Return whether a line of a plan reads a big table.

    To read the whole of an index is to read few rows where the index holds few.
    """
    if any(index in line for index in FEW_IN):
        return False
    begins = {"SCAN ": 1, "Seq Scan on ": 3, "Parallel Seq Scan on ": 4}
    words = line.split()
    return any(
        line.startswith(begin) and words[place].strip('"').rstrip("_0123456789") in BIG
        for begin, place in begins.items()
    )


USES: Final[dict[str, Callable[[Site], float]]] = {
    "the lobby": _lobby,
    "a player's list": _own_list,
    "a seat's page": _seat_page,
    "a history page": _history,
    "a move": _move,
    "a claim of letters": _claim,
    "letters to one address": _mailed_lately,
    "health": _health,
    **{f"{job.__name__}, idle": _idle(job) for job, _seconds in worker.JOBS},
    "a sweep with 100 due": _sweep,
}
