"""Pages that a token opens: a seat and its turn, one move. GET never writes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from flask import Response, request
from flask_babel import gettext
from sqlalchemy import select

from engine import GAMES
from engine.errors import Ambiguous, RulesError, SpokenError
from pbem import (
    agreements,
    hearing,
    lobby,
    orders,
    play,
    renewal,
    standing,
    talk,
    telling,
    undo,
)
from pbem.errors import BadPhrase, MatchOver, PbemError, StaleMove, TurnOver
from pbem.ext import db, settings, tokens
from pbem.links import Links
from pbem.mail import plain
from pbem.models import Letter, Move, Seat, Status, Turn
from pbem.table import load
from pbem.waiting import terms, waiting
from pbem.web import forms
from pbem.web.drawing import drawn
from pbem.web.errors import in_words, refused
from pbem.web.opened import moved, page, token_pages
from pbem.web.security import follow, own_seat, refuse_others

pages = token_pages("seat")


@pages.get("/s/<token>")
def seat(token: str) -> Response:
    """Show what a seat knows and may do now."""
    return _seat_page(_seat(token))


@pages.post("/s/<token>")
def act(token: str) -> Response:
    """Change the phrase while the table waits; later take a move back, resign, or ask the table.

    Or follow the game on its public pages as the seat saw it.
    """
    seat = _seat(token)
    now, do = datetime.now(UTC), request.form.get("do", "")
    if do == "new_links":
        return _make_new_links(seat, now=now)
    if seat.number is None:
        return _change_phrase(seat)
    if do == "follow":
        follow(seat)
        return moved(Links().match(seat.match))
    try:
        if do == "resign" and not request.form.get("sure"):
            return page(
                "web/resign.html",
                match=seat.match,
                title=GAMES[seat.match.game].title,
                seat_url=Links().seat(seat),
            )
        if do in _ACTS:
            _ACTS[do](seat, now=now)
        else:
            agreements.propose(seat.id, do, forms.about(), now=now)
    except (PbemError, RulesError) as error:
        return refused(_seat_page(seat, problem=_problem(error)), error, status=409)
    return moved(Links().seat(seat))


def _make_new_links(seat: Seat, *, now: datetime) -> Response:
    """Replace the seat's links. They are mailed only: who asked may be who must lose them."""
    renewal.renew_seat(seat.id, now=now)
    return page(
        "web/message.html",
        heading=gettext("New links are on their way"),
        words=gettext(
            "They are mailed to you. The earlier links of this game and of your settings open"
            " nothing any more. If somebody else reads your letters of other games too, sign in and"
            " make all your links anew on the page of your account."
        ),
    )


def _problem(error: SpokenError) -> str:
    """Return what is wrong with a form, with the readings that it leaves open."""
    if isinstance(error, Ambiguous):
        return f"{in_words(error)} ({', '.join(error.readings)})"
    return in_words(error)


def _take_back(seat: Seat, *, now: datetime) -> None:
    undo.take_back(seat.id, forms.number("ply"), now=now)


def _order(seat: Seat, *, now: datetime) -> None:
    orders.follow(seat.id, [request.form.get("order", "")], now=now)


def _cancel_order(seat: Seat, *, now: datetime) -> None:
    orders.cancel(seat.id, forms.number("id"), now=now)


def _cancel_orders(seat: Seat, *, now: datetime) -> None:
    orders.follow(seat.id, [standing.CANCEL], now=now)


def _resign(seat: Seat, *, now: datetime) -> None:
    agreements.resign(seat.id, now=now)


def _say(seat: Seat, *, now: datetime) -> None:
    talk.say(seat.id, request.form.get("text", ""), to=request.form.get("to", ""), now=now)


def _note(seat: Seat, *, now: datetime) -> None:
    talk.write_note(seat.id, request.form.get("text", ""), now=now)


def _mute(seat: Seat, **_now: datetime) -> None:
    talk.mute(seat.id, request.form.get("name", ""))


def _unmute(seat: Seat, **_now: datetime) -> None:
    talk.unmute(seat.id, request.form.get("name", ""))


# What the forms of a seat do that asks nobody else.
_ACTS: Final[dict[str, Callable[..., None]]] = {
    "take_back": _take_back,
    "order": _order,
    "cancel_order": _cancel_order,
    "cancel_orders": _cancel_orders,
    "resign": _resign,
    "say": _say,
    "note": _note,
    "mute": _mute,
    "unmute": _unmute,
}


def _change_phrase(seat: Seat) -> Response:
    try:
        lobby.change_phrase(seat.id, request.form.get("phrase", ""), now=datetime.now(UTC))
    except BadPhrase as error:
        return _waiting_page(seat, {"problem": in_words(error)}, status=409)
    return moved(Links().seat(seat))


@pages.get("/m/<token>")
def move(token: str) -> Response:
    """Show a move and what the table would be; only the button plays it."""
    return _show_move(*_turn_and_number(token))


@pages.post("/m/<token>")
def make_move(token: str) -> Response:
    """Play the move that the page showed."""
    return _play_move(*_turn_and_number(token))


@pages.get("/h/<token>")
def held_move(token: str) -> Response:
    """Show a move that is held, as its mail may not be its player's; only the button plays it."""
    return _show_move(*_held(token))


@pages.post("/h/<token>")
def confirm(token: str) -> Response:
    """Play the move that was held."""
    return _play_move(*_held(token))


def _show_move(turn: Turn, n: int) -> Response:
    if turn.closed_at is not None:
        return _what_stands(turn, n)
    return _preview_page(turn, n)


def _play_move(turn: Turn, n: int) -> Response:
    if turn.closed_at is not None and undo.is_void(turn):
        return _what_stands(turn, n, status=409)
    text = _text(turn, n)
    # The page said what it would play; a list that changed since must not play another.
    if request.form.get("move") not in (None, text):
        return _preview_page(turn, n)
    try:
        receipt = play.make_move(turn.id, text, by="link", now=datetime.now(UTC))
    except (StaleMove, TurnOver, MatchOver):
        return _what_stands(turn, n, status=409)
    if receipt.again is not None:
        return _seat_page(turn.asked, since=receipt.move.ply - 1)
    return _done_page(receipt)


def _turn_and_number(token: str) -> tuple[Turn, int]:
    (turn_id, n, player_id), renewed = tokens().read_renewable("move", token, ids=3)
    turn = db.session.get_one(Turn, turn_id)
    refuse_others(turn.asked, player_id, renewed)
    return turn, n


def _held(token: str) -> tuple[Turn, int]:
    """Return what a letter asks about: a turn, and the number of the move."""
    (letter_id,), renewed = tokens().read_renewable("confirm", token)
    letter = db.session.get_one(Letter, letter_id)
    turn = letter.turn
    assert turn is not None, "the letter is about a turn"
    refuse_others(turn.asked, letter.player_id or 0, renewed)
    if undo.is_void(turn):
        raise TurnOver
    told = telling.tell(load(turn.match, ply=turn.ply), turn.seat)
    return turn, told.choice(letter.about["move"]).n


def _text(turn: Turn, n: int) -> str:
    """Return the n-th move that a turn had, in canonical text."""
    table = load(turn.match, ply=turn.ply)
    # Not by a telling: its words and its board are nobody's here.
    moves = table.game.moves(table.view(turn.seat))
    if not 1 <= n <= len(moves):
        raise RulesError
    text: str = table.game.format(moves[n - 1])
    return text


def _choice(told: telling.Telling, n: int) -> telling.Choice:
    for choice in told.choices:
        if choice.n == n:
            return choice
    raise RulesError


def _preview_page(turn: Turn, n: int) -> Response:
    told = telling.tell(load(turn.match, ply=turn.ply), turn.seat)
    choice = _choice(told, n)
    layout = telling.preview_layout(told, choice)
    words = telling.choice_words(choice)
    return page(
        "web/move.html",
        match=turn.match,
        telling=told,
        choice=choice,
        words=words,
        is_held=request.path.startswith("/h/"),
        picture=drawn(layout, say=told.say, title=words),
        seat_url=Links().seat(turn.asked),
    )


def _what_stands(turn: Turn, n: int, *, status: int = 200) -> Response:
    """Say what became of a turn that is over, and lead on."""
    played = db.session.scalar(select(Move).where(Move.turn_id == turn.id))
    seat = turn.asked
    is_same = played is not None and played.text == _text(turn, n)
    lines = () if played is None else telling.told(load(turn.match), played.ply, turn.seat)
    return page(
        "web/stands.html",
        status=status,
        match=turn.match,
        lines=lines,
        is_same=is_same,
        is_over=turn.match.status == Status.OVER,
        seat_url=Links().seat(seat),
    )


def _done_page(receipt: play.Receipt) -> Response:
    table = load(receipt.match)
    seat = table.seat(receipt.move.seat)
    told = telling.tell(table, receipt.move.seat, since=receipt.move.ply - 1)
    return page(
        "web/done.html",
        match=receipt.match,
        telling=told,
        repeated=receipt.repeated,
        picture=drawn(told.layout, say=told.say, title=told.board),
        seat_url=Links().seat(seat),
        may_undo=undo.can_take_back(seat, table, now=datetime.now(UTC)),
    )


def _seat_page(
    seat: Seat, *, since: int | None = None, problem: str = "", status: int = 200
) -> Response:
    """Show a seat; ``since`` the ply before its own move, if it has moved just now."""
    match, now = seat.match, datetime.now(UTC)
    if seat.number is None:
        return _waiting_page(seat, {})
    table = load(match)
    told = telling.tell(table, seat.number, since=since)
    if seat.player is not None and seat.player.wants_hints:
        told = telling.with_hints(told)
    turn = play.open_turn(match, seat.number)
    links = Links()
    zone = seat.player.zone if seat.player else settings().zone
    is_running = match.status == Status.RUNNING
    return page(
        "web/seat.html",
        status=status,
        problem=problem,
        waiting=waiting(match, now=now, zone=zone) if is_running else (),
        terms=() if turn is None else terms(turn, seat, now=now, zone=zone),
        is_opener=match.opener_id == seat.player_id,
        proposals=_proposals(seat) if is_running else (),
        you_url=links.you(seat.player) if seat.player else None,
        seat_url=links.seat(seat),
        rematch_url=links.rematch(seat) if seat.player else None,
        match=match,
        seat=seat,
        telling=told,
        turn=turn,
        has_moved=since is not None,
        zone=zone,
        links={} if turn is None else {c.n: links.move(turn, c.n) for c in told.choices},
        picture=drawn(told.layout, say=told.say, title=told.board),
        log=telling.log(table, seat.number),
        notices=[(n.at, plain.notice_line(n.what, n.about, zone)) for n in match.notices],
        is_followed=own_seat(match) == seat,
        may_undo=undo.can_take_back(seat, table, now=now),
        orders=standing.waiting(seat, told.view.hand_number) if is_running else (),
        orders_help=telling.ORDERS_HELP,
        order=request.form.get("order", ""),
        said=_said(seat, zone),
        noted=talk.note_of(seat),
        muted=hearing.muted(seat.player) if seat.player else (),
        most_said=talk.MOST,
        typed=request.form,
    )


def _said(seat: Seat, zone: str) -> list[tuple[str, str]]:
    """Return the talk of a table as a seat may read it: who said it and when, and the words."""
    return [(plain.said_by(one, seat, zone), one.text) for one in hearing.audible(seat)]


def _proposals(seat: Seat) -> list[tuple[str, str | None]]:
    """Return what the table is asked for, in words, with the link to a yes that is missing."""
    return [
        (
            plain.wish(one),
            Links().yes(one, seat) if seat in agreements.asked(one) else None,
        )
        for one in agreements.open_proposals(seat.match)
    ]


def _waiting_page(seat: Seat, extra: dict[str, object], *, status: int = 200) -> Response:
    title = GAMES[seat.match.game].title
    typed = request.form.get("phrase", seat.phrase)
    return page(
        "web/waiting.html",
        status=status,
        match=seat.match,
        title=title,
        join_url=None,
        seat=seat,
        phrase=typed,
        **extra,
    )


def _seat(token: str) -> Seat:
    (seat_id, player_id), renewed = tokens().read_renewable("seat", token, ids=2)
    seat = db.session.get_one(Seat, seat_id)
    refuse_others(seat, player_id, renewed)
    return seat
