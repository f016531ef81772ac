"""`pbem matches`: what waits and for whom, as the host's page has it, a line each."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from flask_babel import force_locale

from pbem.commands.setup import ready_application
from pbem.web import host, host_mail

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Iterator, Sequence

    from pbem.models import Letter, Player
    from pbem.waiting import Waiting


def run(parser: ArgumentParser, arguments: Sequence[str]) -> int:
    """Print a line for each open turn, for each player without mail and each lost letter."""
    parser.add_argument("--late", action="store_true", help="only the turns that are late")
    parsed = parser.parse_args(arguments)
    lines = late_lines if parsed.late else all_lines
    with ready_application().app_context():
        for line in lines(now=datetime.now(UTC)):
            print(line)
    return 0


def late_lines(*, now: datetime) -> Iterator[str]:
    """Yield a line for each turn whose time has run out, the longest first."""
    return (_turn_line(one) for one in _turns(now) if one.is_late)


def all_lines(*, now: datetime) -> Iterator[str]:
    """Yield a line for each open turn, the late ones first, then for what mail failed."""
    yield from map(_turn_line, _turns(now))
    yield from map(_player_line, host.unreachable())
    yield from map(_letter_line, host_mail.given_up(now=now))


def _turns(now: datetime) -> list[Waiting]:
    # The lines are English all through, whatever the site's language.
    with force_locale("en"):
        found = [one for game in host.running(now=now, zone="UTC") for one in game.waiting]
    return sorted(found, key=lambda one: (not one.is_late, one.turn.deadline, one.turn.id))


def _turn_line(one: Waiting) -> str:
    match = one.turn.match
    marks = {
        "late": one.is_late,
        "paused": match.paused_at is not None,
        "kept": one.seat.is_kept or one.seat.resigned,
    }
    parts = [
        match.code,
        match.game,
        one.name,
        f"since {_time(one.turn.opened_at)}",
        f"due {_time(one.turn.deadline)}",
        *(mark for mark, is_set in marks.items() if is_set),
        one.why,
    ]
    return _printable("  ".join(part for part in parts if part))


def _player_line(player: Player) -> str:
    assert player.unreachable_at is not None, "only who can't be reached is listed"
    why = f": {player.unreachable_why}" if player.unreachable_why else ""
    return _printable(
        f"unreachable  {player.name}  {player.address}  since {_time(player.unreachable_at)}{why}"
    )


def _letter_line(letter: Letter) -> str:
    return _printable(
        f"given up  {letter.kind}  {letter.address}  of {_time(letter.created_at)}: {letter.error}"
    )


def _time(when: datetime) -> str:
    return f"{when.astimezone(UTC):%Y-%m-%d %H:%MZ}"


def _printable(line: str) -> str:
    # Reasons come from foreign mail servers and must not steer the terminal.
    return "".join(char if char.isprintable() else " " for char in line)
