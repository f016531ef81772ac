"""Reading a reply with no table at hand: against a written list of moves, or none at all."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from engine import GAMES
from engine.errors import Ambiguous, IllegalMove, Unreadable
from pbem.mail.commands import (
    CODE,
    Command,
    Commands,
    Meant,
    NoSuchNumber,
    invitation_commands,
    list_commands,
)
from pbem.mail.lines import clean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from engine.reading import Said

_ENTRY: Final = re.compile(r"^\s*\[([0-9]{1,3})\]\s+([^:\n]+)", re.MULTILINE)


def listed_commands(moves: Sequence[str]) -> Commands:
    """Return what reads a line as one of these moves: by number, notation or in words.

    The words are those of whichever game writes its moves so. What lies on the table is
    not known: a card that only stands beside the place of a move does not tell it.
    """
    return list_commands(moves, _among(moves))


def letter_commands(letter: str) -> Commands:
    """Return what reads a line as an answer to a letter, from the letter's text alone.

    Of a list in notation, ``[3] 5ML left: +2``, the third is ``5ML left``. Where the list
    stands under headings, ``[3] on the left``, a number that is in it stays the number
    and a move is taken as it is written; without a list so are moves and the answers to
    invitations, and a number is nothing.
    """
    entries = {int(nth): text.strip() for nth, text in _ENTRY.findall(letter)}
    if not entries:
        return _free_commands()
    if all(CODE.match(clean(text)) for text in entries.values()) and max(entries) == len(entries):
        return listed_commands([entries[nth] for nth in sorted(entries)])
    return list_commands([str(nth) for nth in range(1, max(entries) + 1)], _as_written)


def _free_commands() -> Commands:
    answer, notation = invitation_commands(), list_commands((), _as_written)

    def command(line: str) -> Command | None:
        try:
            return answer(line) or notation(line)
        except NoSuchNumber:
            return None

    return command


def _as_written(text: str) -> str:
    if not CODE.search(text) or not list(_readings(text)):
        raise Unreadable
    return CODE.sub(lambda code: code[0].upper(), text)


def _readings(text: str) -> Iterator[tuple[str, Said]]:
    """Yield the names of the games that can read the text, with what it says there."""
    for name, game in GAMES.items():
        try:
            yield name, game.said(text)
        except Unreadable:
            continue


def _among(moves: Sequence[str]) -> Meant:
    exact = {clean(move): move for move in moves}
    told = [dict(_readings(move)) for move in moves]

    def meant(text: str) -> str:
        if text in exact:
            return exact[text]
        # Only a game that can read the whole list is the one that it is of.
        readings = {
            name: said for name, said in _readings(text) if all(name in full for full in told)
        }
        if not readings:
            raise Unreadable
        found = [
            move
            for move, full in zip(moves, told, strict=True)
            if any(said.fits(full[name]) for name, said in readings.items())
        ]
        if not found:
            raise IllegalMove("it is not in the list of moves")
        if len(found) > 1:
            raise Ambiguous(found)
        return found[0]

    return meant
