"""Whether the server does its work now: what `/healthz`, `pbem doctor` and the host's page tell.

Each check reads the database only, so that any process can tell all of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Final

from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from flask import current_app
from sqlalchemy import and_, exists, func, or_, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import aliased

from engine.errors import SpokenError
from engine.game import N_
from pbem.ext import db
from pbem.models import Beat, Letter, LetterState, Note

if TYPE_CHECKING:
    from collections.abc import Iterator

STANDS_STILL: Final = timedelta(minutes=5)  # since a worker was last at work
OVERDUE: Final = timedelta(minutes=15)  # since a letter should have left
UNREAD: Final = timedelta(minutes=10)  # since a mail came in
# A worker has tried these, and they wait for another try.
TRIED: Final = (LetterState.RETRY, LetterState.UNKNOWN)
WAITING: Final = (LetterState.QUEUED, *TRIED)


class Trouble(SpokenError):
    """something is to be done"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What the database tells. Where no worker was ever at work, ``beat_age`` is None.

    ``unsent`` letters are due and no worker takes them; ``refused`` ones were tried while
    the relay took no other, and ``answer`` is what it said last.
    """

    beat_age: timedelta | None
    unsent: int
    refused: int
    answer: str
    unread: int

    @property
    def troubles(self) -> tuple[Trouble, ...]:
        """Return what is to be done, in words; nothing when all is well."""
        return tuple(_troubles(self))


def look(now: datetime) -> Findings:
    """Return what is found; raises Trouble if the database can't be asked."""
    check_version()
    try:
        refused, answer = _refused(now)
        return Findings(
            beat_age=_beat_age(now),
            unsent=_unsent(now),
            refused=refused,
            answer=answer,
            unread=_unread(now),
        )
    except SQLAlchemyError as error:
        raise _away(error) from error


def check_version() -> str:
    """Return the database's version; raises Trouble if it is away or not at the code's own."""
    here, wanted = schema_version(), _versions(_folder())[0]
    if here is None or here != wanted:
        raise Trouble(
            N_("the database is at version %(here)s, not %(wanted)s; run: pbem db upgrade"),
            here=here,
            wanted=wanted,
        )
    return here


def schema_version() -> str | None:
    """Return the database's version, or None for one without tables.

    Raises Trouble if it is away, or if newer code has made it; nothing of it is touched.
    """
    try:
        with db.engine.connect() as connection:
            here = MigrationContext.configure(connection).get_current_revision()
    except SQLAlchemyError as error:
        raise _away(error) from error
    if here is not None:
        check_known("the database", here)
    return here


def check_known(what: str, version: str) -> None:
    """Raise Trouble for a version that this code does not know: newer code has made it."""
    known = _versions(_folder())
    if version not in known:
        raise Trouble(
            N_(
                "%(what)s is at version %(here)s, and this code knows only those up to %(last)s;"
                " update the code. Nothing was changed"
            ),
            what=what,
            here=version,
            last=known[0],
        )


def _folder() -> str:
    folder: str = current_app.extensions["migrate"].directory
    return folder


@cache
def _versions(folder: str) -> tuple[str, ...]:
    """Return all versions that the code knows, the newest first.

    The files don't change under a process.
    """
    config = Config()
    config.set_main_option("script_location", folder)
    return tuple(one.revision for one in ScriptDirectory.from_config(config).walk_revisions())


def _away(error: SQLAlchemyError) -> Trouble:
    return Trouble(
        N_("the database does not answer (%(why)s); look at database_url"),
        why=str(getattr(error, "orig", None) or error).strip(),
    )


def _troubles(found: Findings) -> Iterator[Trouble]:
    if found.beat_age is None:
        yield Trouble(N_("no worker has ever kept time; start `pbem worker`"))
    elif found.beat_age > STANDS_STILL:
        yield Trouble(
            N_(
                "no worker has kept time for %(minutes)d minutes; look whether `pbem worker`"
                " runs, and at its log"
            ),
            minutes=found.beat_age // timedelta(minutes=1),
        )
    if found.unsent:
        yield Trouble(
            N_(
                "letters that are due and that no worker sends: %(number)d; look whether"
                " `pbem worker` runs, at its log, and at mails_a_day"
            ),
            number=found.unsent,
        )
    if found.refused:
        yield Trouble(
            N_(
                "letters that the mail relay does not take: %(number)d; its last answer was"
                " “%(answer)s”; look at the smtp_ settings and at the relay"
            ),
            number=found.refused,
            answer=found.answer,
        )
    if found.unread:
        yield Trouble(
            N_(
                "mails that came in and that no worker reads: %(number)d; look whether"
                " `pbem worker` runs, and at its log"
            ),
            number=found.unread,
        )


def _beat_age(now: datetime) -> timedelta | None:
    last = db.session.scalar(select(Beat.at).where(Beat.id == 1))
    return None if last is None else now - last


def _unsent(now: datetime) -> int:
    """Count the letters that are due for long: nobody tries them, or who did has died."""
    since = now - OVERDUE
    untried = and_(Letter.state.in_(WAITING), Letter.due_at < since)
    abandoned = and_(Letter.state == LetterState.SENDING, Letter.leased_until < since)
    number = select(func.count()).select_from(Letter).where(or_(untried, abandoned))
    return db.session.scalar(number) or 0


def _refused(now: datetime) -> tuple[int, str]:
    """Count the letters that were tried and wait for long, and return their last answer.

    While other letters go through, one that does not is its address's trouble: it is tried
    for two days, and nobody need be woken for it.
    """
    later = aliased(Letter)
    went_through = exists().where(later.state == LetterState.SENT, later.due_at >= Letter.wanted_at)
    stuck = and_(
        Letter.state.in_(TRIED),
        Letter.due_at >= now - OVERDUE,
        Letter.wanted_at < now - OVERDUE,
        ~went_through,
    )
    answers = db.session.scalars(select(Letter.error).where(stuck).order_by(Letter.due_at)).all()
    return len(answers), (answers[-1] or "" if answers else "")


def _unread(now: datetime) -> int:
    waiting = (Note.read_at.is_(None), Note.received_at < now - UNREAD)
    return db.session.scalar(select(func.count()).select_from(Note).where(*waiting)) or 0
