"""What people did in a season and were told, looked for in the rows when it is over."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import func, select

from pbem.ext import db, settings, tokens
from pbem.links import token_in
from pbem.mail import note
from pbem.models import Letter, LetterState, Match, Move, Note, Turn
from pbem.table import Table, load
from pbem.tokens import Named

_MADE: Final = ("link", "reply")  # what people do themselves


@dataclass(slots=True)
class Deeds:
    """Moves that were asked for, those that a page said were played, and all mail that went."""

    # The link that was opened, and the move that its page showed.
    pressed: list[tuple[str, str]] = field(default_factory=list)
    played: list[tuple[str, str]] = field(default_factory=list)
    # Where a reply went, and its number in the letter's list.
    replied: list[tuple[str, int]] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)
    # The letters that came, by name, with the digest of what came first.
    arrived: dict[str, str] = field(default_factory=dict)

    def take(self, raw: bytes, recipient: str) -> None:
        """Note a mail that the server has taken."""
        self.taken.add(note.digest(raw, recipient))

    def broken(self) -> Iterator[str]:
        """Yield a line for each deed that the rows do not have, and each move that nobody made."""
        db.session.rollback()
        yield from self._lost_moves()
        yield from self._moves_of_nobody()
        yield from self._mails()
        yield from self._letters()
        db.session.rollback()

    def _lost_moves(self) -> Iterator[str]:
        rows = db.session.execute(select(Move.turn_id, Move.text)).all()
        stands: dict[int, str] = {row.turn_id: row.text for row in rows}
        for link, text in self.played:
            turn_id = _turn_of(link)
            if stands.get(turn_id) != text:
                yield f"turn {turn_id}: {text} was acknowledged, {stands.get(turn_id)} stands"

    def _moves_of_nobody(self) -> Iterator[str]:
        asked: dict[tuple[int, str], set[str]] = defaultdict(set)
        for link, text in self.pressed:
            asked[_turn_of(link), "link"].add(text)
        numbers: dict[int, set[int]] = defaultdict(set)
        for address, n in self.replied:
            numbers[_turn_at(address)].add(n)
        for match_id in db.session.scalars(select(Match.id).order_by(Match.id)).all():
            match = db.session.get_one(Match, match_id)
            for turn, moves in _lists(match, numbers):
                asked[turn.id, "reply"] |= {moves[n - 1] for n in numbers[turn.id]}
            for move in match.moves:
                if move.by in _MADE and move.text not in asked[move.turn_id, move.by]:
                    yield f"turn {move.turn_id}: nobody asked for {move.text} by {move.by}"
            db.session.expunge_all()

    def _mails(self) -> Iterator[str]:
        stored = db.session.scalar(select(func.count(Note.id)))
        if stored != len(self.taken):
            yield f"{len(self.taken)} mails were taken, and {stored} are stored"
        for note_id in db.session.scalars(select(Note.id).where(Note.verdict.is_(None))):
            yield f"mail {note_id}: nothing says what became of it"

    def _letters(self) -> Iterator[str]:
        domain = settings().mail_domain
        names = set()
        for letter in db.session.scalars(select(Letter)):
            name = letter.message_id(domain)
            names.add(name)
            if letter.state == LetterState.SENT and name not in self.arrived:
                yield f"letter {letter.id} ({letter.kind}) was sent and did not come"
        for name in self.arrived.keys() - names:
            yield f"{name} came, and there is no such letter"


def _lists(match: Match, wanted: dict[int, set[int]]) -> Iterator[tuple[Turn, list[str]]]:
    """Yield the wanted turns of a match, with the moves that each had in its letter's order."""
    turns = select(Turn).where(Turn.match_id == match.id).order_by(Turn.ply, Turn.id)
    table: Table | None = None
    for turn in db.session.scalars(turns):
        if turn.id not in wanted:
            continue
        if table is None:
            table = load(match, ply=turn.ply)
        for move in match.moves[table.ply : turn.ply]:
            made = table.game.canonical(table.view(move.seat), move.text)
            table = table.after(move.seat, made)
        yield turn, [table.game.format(one) for one in table.game.moves(table.view(turn.seat))]


def _turn_of(link: str) -> int:
    """Return the turn that a link's move is of."""
    kind, token = link.strip("/").split("/")
    if kind == "m":
        return tokens().read_renewable("move", token, ids=3)[0][0]
    (letter_id,), _ = tokens().read_renewable("confirm", token)
    return db.session.get_one(Letter, letter_id).turn_id or 0


def _turn_at(address: str) -> int:
    """Return the turn that an address for replies is of."""
    named = tokens().read_renewable_address(token_in(address) or "")
    assert named is not None, "it stood in a letter"
    kind, number, _renewed = named
    return number if kind is Named.TURN else 0
