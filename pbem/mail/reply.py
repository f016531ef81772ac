"""Reading a reply: which lines of its text are commands, and what is said to the table."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from engine.errors import Ambiguous, IllegalMove
from pbem.mail.commands import (
    CODE,
    ORDER,
    Command,
    Commands,
    NoSuchNumber,
    either,
    invitation_commands,
    is_weak,
    order_commands,
    turn_commands,
    undo_commands,
    word_commands,
)
from pbem.mail.lines import (
    LINE,
    Letter,
    clean,
    header_lines,
    is_banner,
    is_divider,
    is_quoted,
    is_signature,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "Command",
    "NoSuchNumber",
    "Reply",
    "clean",
    "either",
    "invitation_commands",
    "is_weak",
    "order_commands",
    "read",
    "turn_commands",
    "undo_commands",
    "word_commands",
]

SEEN: Final = 120  # characters of a line that are shown back to its writer

_SAY: Final = re.compile(r"[\s*_]*(?:say|dire|dis)[*_]*\s?[:：][*_]*\s*", re.IGNORECASE)
# To one player, and to oneself. Names have at most 40 characters.
_ASIDE: Final = re.compile(
    r"[\s*_]*(?:(?:say|dire|dis)\s(?:(?:to|à)\s)?\s*(?P<to>[^:：]{1,40}?)|note)"
    r"[*_]*\s?[:：][*_]*\s*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Said:
    """Words that are no command: for the table, for one player, or a note to oneself.

    ``to`` names that one player; it is empty for the table and None for a note.
    """

    to: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Reply:
    """What a reply asks for.

    ``orders`` are the lines about orders for later turns, in their order.
    ``ambiguous`` holds the readings to choose from; then there are no commands.
    ``refused`` are well-formed moves that are not legal, each with the reason; those of
    them that follow the last command are in ``then``, as they may be legal once it is
    done. ``unreadable`` is what was seen if nothing of it could be read, or empty.
    ``say`` is what is said to the table; ``said`` is all that is said, aside too. ``typed``
    are the lines in which other words than moves may stand.
    """

    commands: tuple[str, ...] = ()
    say: str | None = None
    ambiguous: tuple[str, ...] = ()
    unreadable: str | None = None
    refused: tuple[tuple[str, IllegalMove], ...] = ()
    then: tuple[str, ...] = ()
    orders: tuple[str, ...] = ()
    said: tuple[Said, ...] = field(default=(), compare=False)
    typed: tuple[str, ...] = field(default=(), compare=False)

    @property
    def asks_for_move(self) -> bool:
        """Return whether a move, an order for one, or what looks like one, was read."""
        return bool(self.commands or self.orders or self.ambiguous or self.refused)


def no_commands(_line: str) -> Command | None:
    """Read no line as a move: the mail is about no turn."""
    return None


def read(text: str, *, page: str = "", sent: str | None, command: Commands) -> Reply:
    """Return what a reply asks for; ``sent`` is the letter it answers, if known.

    A line counts only as a whole. Zone 1 runs to the first line that is quoted, ours or a
    reply header; what lies below is looked at only if nothing in zone 1 is a command.
    Where its ``page``, the HTML beside the text, asks for another thing, that is a choice.
    """
    found = _read(text, sent=sent, command=command)
    shown = _read(page, sent=sent, command=command).commands if page else ()
    if len(found.commands) == len(shown) == 1 and found.commands != shown:
        return replace(found, commands=(), ambiguous=found.commands + shown, then=())
    return found


def _read(text: str, *, sent: str | None, command: Commands) -> Reply:
    own = _own_lines(text.splitlines(), Letter(sent))
    said = _said(own)
    say = "\n".join(one.text for one in said if one.to == "").strip() or None
    typed = [line for line in own if line.said is None]
    top = _read_zone([line for line in typed if not line.below], command)
    found = top if top.is_something else _read_zone([line for line in typed if line.below], command)
    reply = found.reply(say, next((line.text.strip() for line in typed), ""))
    return replace(reply, said=said, typed=_typed(typed))


def _said(own: Sequence[_Line]) -> tuple[Said, ...]:
    """Return what is said, each to its end."""
    found: dict[int, list[_Line]] = {}
    for line in own:
        if line.said is not None:
            found.setdefault(line.said.at, []).append(line)
    return tuple(
        Said(lines[0].said.to, "\n".join(line.text for line in lines).strip())
        for lines in found.values()
        if lines[0].said is not None
    )


def _typed(typed: Sequence[_Line]) -> tuple[str, ...]:
    """Return the lines above all that is quoted; or the one line below, if it is all there is.

    Below, a word alone may be a piece of our own letter that a program has wrapped.
    """
    top = [line.text for line in typed if not line.below]
    return tuple(top) if top or len(typed) != 1 else (typed[0].text,)


@dataclass(frozen=True, slots=True)
class _Speech:
    """Where something that is said begins, and whom it is for; see Said."""

    at: int
    to: str | None


@dataclass(frozen=True, slots=True)
class _Line:
    """A line that its writer typed, as far as one can tell."""

    text: str
    below: bool
    first: bool
    said: _Speech | None


def _own_lines(lines: Sequence[str], letter: Letter) -> list[_Line]:
    """Return the lines that are neither quoted, nor ours, nor headers, nor a signature."""
    found: list[_Line] = []
    below = signed = seen = banner = known = False
    saying: _Speech | None = None
    headers, fresh, at = 0, True, 0
    while at < len(lines):
        line, here = lines[at][:LINE], at
        at += 1
        if not line.strip() or not clean(line):
            banner = False
            if saying:
                found.append(_Line("", below, first=False, said=saying))
            continue
        if not seen and (banner or is_banner(line) or (here and is_divider(line) and not headers)):
            banner = not is_divider(line)
            continue
        first, seen = not seen, True
        ours = _is_ours(line, letter, first=first)
        spoken = _spoken(line, ours=ours)
        header = 0 if spoken else header_lines(lines, here)
        if is_quoted(line) or (ours and not spoken):
            below, saying, signed, fresh, known = True, None, False, True, True
        elif header:
            # A second header inside the mail stands over an older one: a move in it is old.
            headers += fresh
            if headers > 1:
                # With nothing of ours under the first, that one stands over another's mail.
                return found if known else [line for line in found if not line.below]
            below, saying, signed, fresh = True, None, False, False
            at = here + header
        elif is_signature(line):
            saying, signed = None, True
        elif not signed:
            fresh = True
            saying = _speech(spoken, here) or saying
            # What is said is kept whole, however long its line is.
            text = lines[here] if saying else line
            found.append(_Line(text[spoken.end() :] if spoken else text, below, first, saying))
    return found


def _spoken(line: str, *, ours: bool) -> re.Match[str] | None:
    """Return the words with which a line begins to say something, if it does."""
    return _SAY.match(line) or (None if ours else _ASIDE.match(line))


def _speech(spoken: re.Match[str] | None, at: int) -> _Speech | None:
    if spoken is None:
        return None
    if spoken.re is _SAY:
        return _Speech(at, "")
    return _Speech(at, None if spoken["to"] is None else spoken["to"].strip(" *_"))


def _is_ours(line: str, letter: Letter, *, first: bool) -> bool:
    # What somebody typed at the very top may well stand in our list, as a number does.
    if first and len(line.split()) < 3 and not letter.begins(line):
        return False
    return letter.has(line)


@dataclass(slots=True)
class _Zone:
    """What was found in one zone, in its order."""

    commands: list[Command] = field(default_factory=list)
    readings: list[tuple[str, ...]] = field(default_factory=list)
    refused: list[tuple[str, IllegalMove]] = field(default_factory=list)
    then: list[str] = field(default_factory=list)

    @property
    def is_something(self) -> bool:
        return bool(self.commands or self.readings or self.refused)

    def reply(self, say: str | None, seen: str) -> Reply:
        unreadable = None if self.is_something or say else seen[:SEEN]
        refused = tuple(self.refused)
        orders = tuple(command.text for command in self.commands if command.question == ORDER)
        choice = self._contradiction()
        if choice:
            return Reply(say=say, ambiguous=choice, refused=refused)
        texts = tuple(dict.fromkeys(command.text for command in self._answers()))
        return Reply(texts, say, (), unreadable, refused, tuple(self.then), orders)

    def _answers(self) -> list[Command]:
        """Return the commands that answer a question of the letter."""
        return [command for command in self.commands if command.question != ORDER]

    def _contradiction(self) -> tuple[str, ...]:
        """Return the readings between which the lines leave a choice; empty if none."""
        choice: list[str] = []
        answers: dict[str, list[str]] = {}
        for command in self._answers():
            answers.setdefault(command.question, []).append(command.text)
        for texts in answers.values():
            if len(set(texts)) > 1:
                choice += texts
        clear = {command.text for command in self._answers()}
        for readings in self.readings:
            # One of the readings may stand in clear on another line.
            if len(clear & set(readings)) != 1 or len(clear) != 1:
                choice += [*clear, *readings]
        return tuple(dict.fromkeys(choice))


def _read_zone(lines: Sequence[_Line], command: Commands) -> _Zone:
    zone = _Zone()
    for line in lines:
        counts = line.first or not is_weak(line.text)
        try:
            found = command(line.text)
        except Ambiguous as error:
            if counts:
                zone.readings.append(error.readings)
        except IllegalMove as error:
            if counts:
                zone.refused.append((line.text.strip()[:SEEN], error))
            if counts and CODE.search(clean(line.text)):
                zone.then.append(line.text.strip())
        else:
            if found is not None and (line.first or not found.weak):
                zone.commands.append(found)
                if found.question != ORDER:
                    zone.then.clear()
    return zone
