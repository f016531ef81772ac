"""What is set right in a database that was restored from a copy.

What was done between the copy and now is lost, and letters and links of that time are out
in the world; see docs/decisions/0010-restore.md.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from sqlalchemy import func, select, text, update

from pbem import post
from pbem.ext import db, writing
from pbem.models import Beat, Match, Move, Player, Status

# Ids that the lost time may have used up. Links hold them, so they are not larger than need be.
LEAP: Final = 10_000
FAR_LEAPS: Final = {"letter": 1_000_000, "turn": 1_000_000}


def set_right() -> None:
    """Let nothing of the lost time be given out again, nor be used again."""
    with writing():
        for name in db.metadata.tables:
            _leap(name, FAR_LEAPS.get(name, LEAP))
        # A link that signed in since the copy was made would do so once more.
        db.session.execute(update(Player).values(sign_ins=Player.sign_ins + 1))


def tell_tables(*, now: datetime) -> None:
    """Tell the players of running games how far they were set back."""
    with writing():
        since = _last_sign()
        if since is None:
            return
        running = select(Match).where(Match.status == Status.RUNNING).order_by(Match.id)
        for match in db.session.scalars(running):
            post.notice(match, "restored", {"until": since.isoformat()}, now=now)


def _leap(table: str, far: int) -> None:
    """Let the ids of a table go on so far behind the last one."""
    if db.engine.dialect.name != "sqlite":
        sequence = {"name": f"{table}_id_seq", "far": far}
        db.session.execute(text("SELECT setval(:name, nextval(:name) + :far)"), sequence)
        return
    gone = text("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = :name")
    last = db.session.execute(gone, {"name": table}).scalar_one()
    db.session.execute(text("DELETE FROM sqlite_sequence WHERE name = :name"), {"name": table})
    db.session.execute(
        text("INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :seq)"),
        {"name": table, "seq": last + far},
    )


def _last_sign() -> datetime | None:
    """Return when the copy shows the server at work last, to the minute."""
    found = (
        db.session.scalar(select(func.max(Beat.at))),
        db.session.scalar(select(func.max(Move.at))),
    )
    return max((when for when in found if when is not None), default=None)
