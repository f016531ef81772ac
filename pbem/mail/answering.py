"""Doing what people's mails ask for, and answering them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import select

from engine.errors import Ambiguous, RulesError, SpokenError
from pbem import away, lobby, orders, play, post, undo
from pbem.errors import MatchOver, PbemError, TooManyOrders
from pbem.ext import db, settings, writing
from pbem.mail import errands, letters, note, reply, trust
from pbem.mail.errands import ANSWERS, may_answer
from pbem.models import Letter, Move, Seat, Turn
from pbem.table import load

MOST_COMPARED: Final = 5  # letters to a seat that a reply is compared with
# Why a mail may not be its player's, and what hosts read of it.
DOUBTS: Final = {
    "stranger": "the sender is not the seat's",
    "unproven": "by Authentication-Results the sender is forged",
}


def answer_turn(note_id: int, turn: Turn, facts: note.Facts, *, now: datetime) -> None:
    """Do what a reply to a turn's letter asks for, and answer it."""
    seat = turn.asked
    read = _read_moves(turn, facts.text, page=facts.page, sent=_sent_words(turn))
    doubt = _doubt(seat, facts)
    if doubt is not None:
        _hold(note_id, turn, _one_move(turn, read), doubt, now=now)
        return
    assert seat.player is not None, "it is their mail"
    # Whatever they wrote: they are there.
    away.come_back(seat.player.id, now=now)
    # What is said comes first, so that whoever is asked next reads it in that letter.
    did = errands.do_all(note_id, seat, turn, read, now=now)
    if did and not read.asks_for_move:
        finish(note_id, "words", None, now=now)
        return
    _do(note_id, db.session.get_one(Turn, turn.id), read, now=now)


def _read_moves(turn: Turn, text: str, *, page: str = "", sent: str | None) -> reply.Reply:
    """Read a text as a reply to a turn, with the moves that the turn had."""
    table = load(turn.match, ply=turn.ply)
    moves = reply.turn_commands(table.game, table.view(turn.seat))
    commands = reply.either(reply.undo_commands(), reply.order_commands(table.game), moves)
    return reply.read(text, page=page, sent=sent, command=commands)


def _do(note_id: int, turn: Turn, read: reply.Reply, *, now: datetime) -> None:
    """Do what a reply asks of a turn, or say why not."""
    if read.commands == ("undo",) and not read.orders:
        _take_back(note_id, turn, now=now)
    elif read.orders and not (read.commands or read.ambiguous or read.refused):
        _follow_orders(note_id, turn, read.orders, now=now)
    elif len(read.commands) == 1 and not read.ambiguous:
        # Of a turn that is over too: the same move again is known and needs no words.
        again = _make_move(note_id, turn, read.commands[0], read.orders, now=now)
        if again is not None and read.then:
            # Lines that answer one question after the other are a whole turn in one mail.
            _do(note_id, again, _read_moves(again, "\n".join(read.then), sent=None), now=now)
    elif turn.closed_at is not None:
        _stands(note_id, turn, "the turn is over", now=now)
    else:
        about = _why_not(read)
        _refuse(note_id, turn, about, str(about["why"]), now=now)


def _doubt(seat: Seat, facts: note.Facts) -> str | None:
    """Return why a mail may not be from the seat's player; None if nothing speaks against it."""
    if seat.player is None or not trust.is_from(facts.sender, seat.player.every_address):
        return "stranger"
    return "unproven" if _is_forged(facts) else None


def _is_forged(facts: note.Facts) -> bool:
    """Return whether our own mail server says that the sender is not who it says."""
    return trust.has_failed(facts.authentication, settings().authserv_id)


def _one_move(turn: Turn, read: reply.Reply) -> str | None:
    """Return the one legal move that a reply asks for, in canonical text; else None."""
    # With orders it is more than one move, and to confirm that would be half of it.
    if len(read.commands) != 1 or read.ambiguous or read.orders:
        return None
    table = load(turn.match, ply=turn.ply)
    try:
        text: str = table.game.format(table.game.parse(table.view(turn.seat), read.commands[0]))
    except RulesError:
        return None
    return text


def _hold(note_id: int, turn: Turn, move: str | None, doubt: str, *, now: datetime) -> None:
    """Play nothing, and ask the seat's player at their own address whether the move is theirs."""
    if move is None or turn.closed_at is not None:
        _refuse(note_id, turn, {"why": doubt}, DOUBTS[doubt], now=now)
        return
    with writing():
        turn = db.session.get_one(Turn, turn.id)
        seat = turn.asked
        if turn.closed_at is None and may_answer(seat, *ANSWERS, now=now):
            post.confirm(turn, seat, move, doubt, now=now)
        play.close_note(note_id, "held", reason=DOUBTS[doubt], turn_id=turn.id, now=now)


def _make_move(
    note_id: int, turn: Turn, text: str, left: Sequence[str], *, now: datetime
) -> Turn | None:
    """Make a move and leave orders, or say why not.

    Returns the turn in which its seat is asked again at once. After a move that was made
    before there is none: what followed then is another mail's.
    """
    try:
        receipt = play.make_move(turn.id, text, by="reply", now=now, note_id=note_id, orders=left)
    except RulesError as error:
        _refuse_anyway(note_id, turn, _illegal("; ".join((text, *left)), error), now=now)
    except TooManyOrders as error:
        _refuse_anyway(note_id, turn, _illegal("; ".join(left), error), now=now)
    except PbemError as error:
        _stands(note_id, turn, str(error), now=now)
    else:
        return None if receipt.repeated else receipt.again
    return None


def _follow_orders(note_id: int, turn: Turn, texts: Sequence[str], *, now: datetime) -> None:
    """Leave orders or cancel them, all that a mail says or nothing."""
    try:
        orders.follow(turn.asked.id, texts, now=now, note_id=note_id, turn_id=turn.id)
    except MatchOver as error:
        _stands(note_id, turn, str(error), now=now)
    except (RulesError, PbemError) as error:
        _refuse_anyway(note_id, turn, _illegal("; ".join(texts), error), now=now)


def _take_back(note_id: int, turn: Turn, *, now: datetime) -> None:
    """Take back the move that a turn was closed with; of an open turn, the seat's last move."""
    played = db.session.scalar(select(Move).where(Move.turn_id == turn.id))
    ply = undo.last_ply(turn.asked) if played is None else played.ply
    try:
        undo.take_back(turn.asked.id, ply, now=now, note_id=note_id)
    except PbemError as error:
        _refuse_anyway(note_id, turn, _illegal("undo", error), now=now)


def _refuse_anyway(note_id: int, turn: Turn, about: dict[str, Any], *, now: datetime) -> None:
    """Tell the seat's player why something is not done, whether or not they are asked now."""
    if turn.closed_at is None:
        _refuse(note_id, turn, about, str(about["why"]), now=now)
    else:
        _stands(note_id, turn, str(about["why"]), about, now=now)


def _why_not(read: reply.Reply) -> dict[str, Any]:
    """Return what a not_done letter says about a reply that gave no single move."""
    if read.ambiguous:
        return {"why": "ambiguous", "readings": list(read.ambiguous)}
    if len(read.commands) > 1:
        return {"why": "ambiguous", "readings": list(read.commands)}
    if read.refused:
        line, error = read.refused[0]
        return _illegal(line, error)
    return {"why": "unreadable", "line": read.unreadable or ""}


def _illegal(line: str, error: SpokenError) -> dict[str, Any]:
    if isinstance(error, Ambiguous):
        return {"why": "ambiguous", "readings": list(error.readings)}
    return {"why": "illegal", "line": line, "reason": error.pattern, "fields": error.fields}


def answer_replaced(note_id: int, seat: Seat, *, now: datetime) -> None:
    """Do nothing that a mail to a replaced address says, and tell the seat's player so."""
    with writing():
        seat = db.session.get_one(Seat, seat.id)
        if may_answer(seat, *ANSWERS, now=now):
            post.answer(seat, None, {"parts": [{"what": "replaced"}], "unread": []}, now=now)
        reason = "the address was replaced by a new one"
        play.close_note(note_id, "replaced", reason=reason, now=now)


def answer_invitation(note_id: int, seat: Seat, facts: note.Facts, *, now: datetime) -> None:
    """Sit down or decline, as a reply to an invitation says; else invite again."""
    invited = lobby.every_address(seat.invited) if seat.invited else []
    if not trust.is_from(facts.sender, invited):
        finish(note_id, "stranger", "the sender is not the one who was invited", now=now)
        return
    if _is_forged(facts):
        _invite_again(seat, now=now)
        finish(note_id, "held", DOUBTS["unproven"], now=now)
        return
    commands = reply.invitation_commands()
    read = reply.read(facts.text, page=facts.page, sent=None, command=commands)
    if read.commands == ("sit",):
        opener = seat.match.opener
        try:
            lobby.sit(
                seat.id, name="", phrase="", language=opener.language, zone=opener.zone, now=now
            )
        except PbemError as error:
            finish(note_id, "not done", str(error), now=now)
            return
        finish(note_id, "sat down", None, now=now)
    elif read.commands == ("decline",):
        lobby.decline(seat.id, now=now)
        finish(note_id, "declined", None, now=now)
    else:
        _invite_again(seat, now=now)
        finish(note_id, "unreadable", "neither sit down nor decline was read", now=now)


def _invite_again(seat: Seat, *, now: datetime) -> None:
    """Answer with the invitation, whose links do what the mail did not."""
    with writing():
        if may_answer(seat, "invitation", now=now):
            post.invitation(db.session.get_one(Seat, seat.id), seat.match.opener, now=now)


def answer_seat(note_id: int, seat: Seat, facts: note.Facts, *, now: datetime) -> None:
    """Answer a mail to a seat that is taken: with its moves, or with what stands."""
    doubt = _doubt(seat, facts)
    if doubt is not None:
        finish(note_id, "stranger", DOUBTS[doubt], now=now)
        return
    assert seat.player is not None, "it is their mail"
    away.come_back(seat.player.id, now=now)
    asked = select(Turn).where(Turn.match_id == seat.match_id, Turn.seat == seat.number)
    turn = db.session.scalar(asked.order_by(Turn.nth.desc()).limit(1))
    sent = _seat_words(seat)
    read = (
        reply.read(facts.text, page=facts.page, sent=sent, command=reply.no_commands)
        if turn is None
        else _read_moves(turn, facts.text, page=facts.page, sent=sent)
    )
    did = errands.do_all(note_id, seat, None, read, now=now)
    if did and not read.asks_for_move:
        finish(note_id, "words", None, now=now)
    elif turn is None:
        finish(note_id, "unreadable", "nothing was asked of the seat yet", now=now)
    elif _is_beside_the_turn(read):
        _do(note_id, db.session.get_one(Turn, turn.id), read, now=now)
    elif turn.closed_at is None:
        first = facts.text.strip().partition("\n")[0]
        _refuse(note_id, turn, {"why": "unreadable", "line": first}, "no turn is named", now=now)
    else:
        _stands(note_id, turn, "no turn is named", now=now)


def _is_beside_the_turn(read: reply.Reply) -> bool:
    """Return whether a mail asks for what needs no turn: orders for later, or taking back."""
    if read.ambiguous or read.refused:
        return False
    return read.commands == ("undo",) or bool(read.orders and not read.commands)


def _sent_words(turn: Turn) -> str:
    """Return the words of all letters about the turn, to tell them from the reply's."""
    if undo.is_void(turn):
        # Its letters can't be made again, and nothing is read from the answer to one.
        return ""
    about = select(Letter).where(Letter.turn_id == turn.id).order_by(Letter.id)
    return "\n".join(letters.words_of(letter) for letter in db.session.scalars(about))


def _seat_words(seat: Seat) -> str:
    """Return the words of the latest letters to a seat that are about no turn."""
    about = select(Letter).where(Letter.seat_id == seat.id, Letter.turn_id.is_(None))
    latest = db.session.scalars(about.order_by(Letter.id.desc()).limit(MOST_COMPARED))
    return "\n".join(letters.words_of(letter) for letter in latest)


def _refuse(note_id: int, turn: Turn, about: dict[str, Any], reason: str, *, now: datetime) -> None:
    """Tell the seat's player what was not done and why, and close the note."""
    with writing():
        turn = db.session.get_one(Turn, turn.id)
        seat = turn.asked
        if turn.closed_at is None and may_answer(seat, *ANSWERS, now=now):
            post.not_done(turn, seat, about, now=now)
        play.close_note(note_id, "not done", reason=reason, turn_id=turn.id, now=now)


def _stands(
    note_id: int,
    turn: Turn,
    reason: str,
    about: dict[str, Any] | None = None,
    *,
    now: datetime,
) -> None:
    with writing():
        turn = db.session.get_one(Turn, turn.id)
        seat = turn.asked
        if may_answer(seat, *ANSWERS, now=now):
            post.stands(turn, seat, about, now=now)
        play.close_note(note_id, "too late", reason=reason, turn_id=turn.id, now=now)


def finish(note_id: int, verdict: str, reason: str | None, *, now: datetime) -> None:
    """Close a mail that was read, with what became of it."""
    with writing():
        play.close_note(note_id, verdict, reason=reason, now=now)
