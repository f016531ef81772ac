"""A database full of running games: some are played for real, and their rows are copied.

What of the copies is not real: their codes are others, and so their moves are not those of the
cards that such a code deals. No copy can be replayed, and none has to be: whatever is measured
with moves is measured at games of `played`, which lie in the middle of the copies.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Index,
    MetaData,
    Select,
    String,
    Table,
    case,
    cast,
    func,
    insert,
    literal,
    select,
    text,
    true,
    update,
)

from pbem import lobby, play, talk, worker
from pbem.ext import db, writing
from pbem.lobby import Chair
from pbem.mail import inbox
from pbem.models import (
    Address,
    Beat,
    Heard,
    Letter,
    LetterState,
    Match,
    Move,
    Note,
    Notice,
    Player,
    Reminder,
    Seat,
    Talk,
    Turn,
)
from torture import world

A_PLAYER: Final = 20  # games for each player; three sit in each, so that each plays in sixty
PEOPLE: Final = 40  # players whom the server has signed up itself
PLAYED: Final = 120  # games that can go on, if nothing else is said
LISTED: Final = 20  # tables on the front page
MOVES: Final = 6  # at most, of a game that is copied
# Copies are numbered past the ids that games between them may need.
GAP: Final = 2_000
ALLOWED: Final = timedelta(hours=144)  # pace and bank of a turn
PORTION: Final = 2_500  # copies of all games in one transaction
# Each with its players: a number of people, or people and a bot.
_GAMES: Final = (
    ("biscuit", 2, 0), ("biscuit", 3, 0), ("biscuit", 4, 0), ("biscuit", 1, 1), ("bisque", 3, 0),
    ("snakebit", 3, 0), ("snakebit", 4, 0), ("biscuit", 2, 0), ("biscuit", 2, 0), ("bisque", 2, 1),
)  # fmt: skip
SAMPLES: Final = 2 * len(_GAMES)
_COPIED: Final[tuple[Any, ...]] = tuple(
    model.__table__ for model in (Match, Seat, Turn, Move, Note, Letter, Talk, Heard, Notice)
)
_numbers: Final = Table(
    "copy_number", MetaData(), Column("n", BigInteger, primary_key=True), prefixes=["TEMPORARY"]
)


@dataclass(frozen=True, slots=True)
class Crowd:
    """What a database holds: games that run, and those of them that can go on."""

    games: int
    players: int
    played: tuple[int, ...]


def fill(games: int, *, to_play: int = PLAYED, now: datetime) -> Crowd:
    """Fill an empty database; all in it is told and sent, and nothing is due.

    So many of the games are ``to_play``: they can go on.
    """
    people = max(PEOPLE, games // A_PLAYER)
    world.people(PEOPLE, now=now - 2 * ALLOWED)
    _play_samples(now)
    last = {table: _last_id(table) for table in _COPIED}
    copies = (games - to_play) // SAMPLES - 1
    with _without_indexes():
        _copy_players(people)
        _copy(range(1, copies // 2 + 1), last, people, now=now)
        played = _play(to_play, people, now=now)
        _copy(range(copies // 2 + 1 + GAP, copies + 1 + GAP), last, people, now=now)
        _note_what_was_told(now)
    _look_at_all()
    return Crowd((copies + 1) * SAMPLES + to_play, people, played)


def _play_samples(now: datetime) -> None:
    """Play the games that are copied, by link and by reply, with some talk."""
    then = now - timedelta(hours=2)
    ids = list(db.session.scalars(select(Player.id).order_by(Player.id)))
    for nth in range(SAMPLES):
        name, people, bots = _GAMES[nth % len(_GAMES)]
        match = _table(name, [ids[(3 * nth + one) % len(ids)] for one in range(people)], bots, then)
        _move_on(match.id, 1 + nth * MOVES // SAMPLES, now=then)
        seat = next(one for one in match.seats if one.player_id)
        talk.say(seat.id, "well played, and good luck with what is to come", now=then)


def _play(games: int, people: int, *, now: datetime) -> tuple[int, ...]:
    """Play games that can go on, and open tables that wait; return the games."""
    then = now - timedelta(hours=2)
    first = [1 + nth * people // games for nth in range(games)]
    seated = [(one, 1 + one % people) for one in first]
    played = tuple(_table("biscuit", pair, 0, then).id for pair in seated)
    for match_id in played:
        _move_on(match_id, 1, now=then)
    for nth in range(LISTED):
        opener = db.session.get_one(Player, 1 + nth)
        lobby.open_table(opener, "bisque", [Chair(), Chair()], {}, is_listed=True, now=then)
    return played


def _table(name: str, ids: Sequence[int], bots: int, now: datetime) -> Match:
    first, *others = (db.session.get_one(Player, one) for one in ids)
    chairs = [Chair()] * len(others) + [Chair(bot="greedy")] * bots
    match = lobby.open_table(first, name, chairs, {}, now=now)
    for player in others:
        lobby.join(match.id, player, phrase="", now=now)
    return db.session.get_one(Match, match.id)


def _move_on(match_id: int, moves: int, *, now: datetime) -> None:
    """Make so many moves, every second one of them by mail."""
    for nth in range(moves):
        turn = _person_asked(match_id, now)
        if turn is None:
            return
        chosen = play.choose_for(turn.id, "greedy")
        assert chosen is not None, "it is open"
        if nth % 2:
            raw, envelope = world.reply(turn, chosen)
            inbox.take(raw, envelope, now=now)
            note = db.session.scalars(select(Note.id).order_by(Note.id.desc()).limit(1)).one()
            play.make_move(turn.id, chosen, by="reply", note_id=note, now=now)
        else:
            play.make_move(turn.id, chosen, by="link", now=now)
    _person_asked(match_id, now)


def _person_asked(match_id: int, now: datetime) -> Turn | None:
    """Return the turn that asks a person, after the bots have made their moves."""
    turn = open_turn(match_id)
    while turn is not None and turn.asked.bot is not None:
        worker.play_bots(now)
        turn = open_turn(match_id)
    return turn


def open_turn(match_id: int) -> Turn | None:
    """Return the first open turn of a game."""
    asked = select(Turn).where(Turn.match_id == match_id, Turn.closed_at.is_(None))
    return db.session.scalar(asked.order_by(Turn.id).limit(1))


def _last_id(table: Any) -> int:
    return db.session.scalar(select(func.max(table.c.id))) or 0


def _copy_players(people: int) -> None:
    """Sign the other players up, as copies of the first one."""
    number = cast(_numbers.c.n, String)
    given = {
        Player: {
            "id": _numbers.c.n, "address": "p" + number + "@players.example", "name": "P" + number,
        },
        Address: {
            "id": _numbers.c.n,
            "player_id": _numbers.c.n,
            "address": "p" + number + "@players.example",
        },
    }  # fmt: skip
    with writing():
        # The first ones were counted from nought.
        _count_off(range(PEOPLE + 1, people + 1))
        for model, values in given.items():
            table: Any = model.__table__
            _insert(table, values, select().select_from(_numbers.join(table, table.c.id == 1)))
        # A few want one mail a day, or to be told at half time.
        daily = update(Player).where(Player.id % 50 == 0)
        db.session.execute(
            daily.values(digest_at=480, digest_due_at=datetime.now(UTC) + timedelta(days=1))
        )
        half = update(Player).where(Player.id % 50 == 1)
        db.session.execute(half.values(reminder_steps=[-1, 24, 0]))


def _copy(numbers: range, last: dict[Any, int], people: int, *, now: datetime) -> None:
    """Copy all rows of the sample games, once for each number."""
    _tell_sqlite("foreign_keys = OFF", "cache_size = -500000")
    for first in range(numbers.start, numbers.stop, PORTION):
        with writing():
            _without_checks()
            _count_off(range(first, min(first + PORTION, numbers.stop)))
            for table in _COPIED:
                rows = (
                    select()
                    .select_from(_numbers.join(table, true()))
                    .where(table.c.id <= last[table])
                    .order_by(_numbers.c.n, table.c.id)
                )
                _insert(table, _changed(table, last, people, now), rows)
    with writing():
        _let_ids_go_on()
    _tell_sqlite("foreign_keys = ON")


def _tell_sqlite(*pragmas: str) -> None:
    """Set something up between two transactions, where SQLite wants it."""
    if db.engine.dialect.name != "sqlite":
        return
    db.session.remove()
    with db.engine.connect() as connection:
        driver: Any = connection.connection.driver_connection
        for pragma in pragmas:
            driver.execute(f"PRAGMA {pragma}")


def _changed(table: Any, last: dict[Any, int], people: int, now: datetime) -> dict[str, Any]:
    """Return the columns of a copy that are not those of its sample."""
    n = _numbers.c.n
    changed: dict[str, Any] = {"id": table.c.id + n * (last[table] + 1)}
    for column in table.columns:
        for key in column.foreign_keys:
            if key.column.table in last:
                changed[column.name] = column + n * (last[key.column.table] + 1)
            elif key.column.table is Player.__table__:
                changed[column.name] = (column - 1 + n * 17) % people + 1
    if table is Match.__table__:
        changed["code"] = table.c.code + "-" + cast(n, String)
    if table is Note.__table__:
        changed["digest"] = func.substr(table.c.digest, 1, 48) + cast(n, String)
    if table is Letter.__table__:
        address = "p" + cast(changed["player_id"], String) + "@players.example"
        changed |= {"address": address, "state": LetterState.SENT.value, "sent_at": table.c.due_at}
    if table is Turn.__table__:
        seconds = (changed["id"] * 7919) % int((ALLOWED - timedelta(hours=6)).total_seconds())
        for name, first in (("deadline", now), ("opened_at", now - ALLOWED)):
            moment = _moment(first + timedelta(hours=3), seconds)
            changed[name] = case((table.c.closed_at.is_(None), moment), else_=table.c[name])
    return changed


def _moment(first: datetime, seconds: Any) -> Any:
    """Return so many seconds after a moment, as the database keeps it."""
    if db.engine.dialect.name == "sqlite":
        first_second = first.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
        later = func.datetime(first_second, "+" + cast(seconds, String) + " seconds")
        return later + ".000000"
    return literal(first) + seconds * text("interval '1 second'")


def _insert(table: Any, changed: dict[str, Any], rows: Select[Any]) -> None:
    columns = list(table.columns)
    values = [_value(changed.get(one.name, one)) for one in columns]
    db.session.execute(
        insert(table)
        .from_select(columns, rows.add_columns(*values), include_defaults=False)
        .execution_options(synchronize_session=False)
    )


def _value(given: Any) -> Any:
    return literal(given) if isinstance(given, str) else given


def _count_off(numbers: range) -> None:
    """Let the numbers be those of a range."""
    connection = db.session.connection()
    _numbers.create(connection, checkfirst=False) if not _is_counted(connection) else None
    db.session.execute(_numbers.delete())
    if numbers:
        db.session.execute(insert(_numbers), [{"n": one} for one in numbers])


def _is_counted(connection: Connection) -> bool:
    catalog = "sqlite_temp_master" if connection.dialect.name == "sqlite" else "pg_class"
    column = "name" if connection.dialect.name == "sqlite" else "relname"
    found = text(f"SELECT count(*) FROM {catalog} WHERE {column} = 'copy_number'")
    return bool(connection.scalar(found))


@contextmanager
def _without_indexes() -> Iterator[None]:
    """Leave out the indexes of the tables that grow: made at the end, they take less time."""
    indexes: list[Index] = [index for table in _COPIED for index in table.indexes]
    with writing():
        for index in indexes:
            index.drop(db.session.connection())
    yield
    for index in indexes:
        with writing():
            _without_limit()
            index.create(db.session.connection())


def _without_checks() -> None:
    """Let this transaction insert rows without looking for those that they refer to."""
    if db.engine.dialect.name == "sqlite":
        return
    db.session.execute(text("SET LOCAL session_replication_role = replica"))
    _without_limit()


def _without_limit() -> None:
    if db.engine.dialect.name != "sqlite":
        db.session.execute(text("SET LOCAL statement_timeout = 0"))


def _let_ids_go_on() -> None:
    """Let the next rows have ids behind those of the copies, as SQLite does by itself."""
    if db.engine.dialect.name == "sqlite":
        return
    for name in (*(table.name for table in _COPIED), "player", "address"):
        following = f"setval('{name}_id_seq', (SELECT max(id) FROM \"{name}\"))"
        db.session.execute(text(f"SELECT {following}"))


def _note_what_was_told(now: datetime) -> None:
    """Say that all letters have left and all reminders of before now were given."""
    with writing():
        _without_limit()
        db.session.execute(
            update(Letter)
            .where(Letter.state == LetterState.QUEUED)
            .values(state=LetterState.SENT, sent_at=Letter.due_at)
            .execution_options(synchronize_session=False)
        )
        soon = select(Turn.id, Turn.deadline, literal(24)).where(
            Turn.closed_at.is_(None), Turn.deadline <= now + timedelta(hours=24)
        )
        table: Any = Reminder.__table__
        columns = [table.c.turn_id, table.c.deadline, table.c.step]
        db.session.execute(insert(table).from_select(columns, soon))
        for row in (1, worker.LAST_LOOK):
            db.session.merge(Beat(id=row, at=now))


def _look_at_all() -> None:
    """Let the database learn how its rows are spread."""
    db.session.remove()
    with db.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        if connection.dialect.name != "sqlite":
            connection.execute(text("SET statement_timeout = 0"))
            connection.execute(text("VACUUM ANALYZE"))
        else:
            connection.execute(text("ANALYZE"))
