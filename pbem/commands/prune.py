"""`pbem prune`: throws old mail away, while the server runs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from pbem import pruning
from pbem.commands.setup import ready_application

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Sequence

NOTES_DAYS: Final = 90
LETTERS_DAYS: Final = 180
# What failed lately is on the host's page; links of letters, "no more mails" too, work so long.
LEAST_NOTES: Final = 7
LEAST_LETTERS: Final = 30


def run(parser: ArgumentParser, arguments: Sequence[str]) -> int:
    """Empty old mails and delete old letters; print how many."""
    parser.epilog = (
        "What stays: mails that were not read, of the others what became of them; letters that"
        " have not left, those of games that wait or run, and those that told table talk; games,"
        " moves, talk and players."
    )
    parser.add_argument(
        "--notes-days",
        type=int,
        default=NOTES_DAYS,
        metavar="N",
        help=f"empty mails that were read so many days ago (default: {NOTES_DAYS})",
    )
    parser.add_argument(
        "--letters-days",
        type=int,
        default=LETTERS_DAYS,
        metavar="N",
        help=f"delete letters that are older than so many days (default: {LETTERS_DAYS})",
    )
    parser.add_argument("--dry-run", action="store_true", help="only print how many")
    parsed = parser.parse_args(arguments)
    if parsed.notes_days < LEAST_NOTES:
        parser.error(f"--notes-days: mails are kept for {LEAST_NOTES} days at least")
    if parsed.letters_days < LEAST_LETTERS:
        parser.error(f"--letters-days: letters are kept for {LEAST_LETTERS} days at least")
    now = datetime.now(UTC)
    notes_before = now - timedelta(days=parsed.notes_days)
    letters_before = now - timedelta(days=parsed.letters_days)
    with ready_application().app_context():
        if parsed.dry_run:
            print(f"mails to be emptied: {pruning.count_notes(notes_before)}")
            print(f"letters to be deleted: {pruning.count_letters(letters_before)}")
        else:
            print(f"mails emptied: {pruning.empty_notes(notes_before)}")
            print(f"letters deleted: {pruning.delete_letters(letters_before)}")
    return 0
