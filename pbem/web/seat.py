"""Pages that a token opens: invitations, a seat and its turn, one move. GET never writes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from flask import Blueprint, Response, make_response, redirect, render_template, request
from flask_babel import get_locale
from sqlalchemy import select

from engine import GAMES
from engine.errors import Ambiguous, RulesError, SpokenError
from pbem import (
    agreements,
    cleaning,
    hearing,
    lobby,
    orders,
    play,
    standing,
    talk,
    telling,
    undo,
)
from pbem.config import LANGUAGES
from pbem.errors import BadPhrase, MatchOver, PbemError, StaleMove, TurnOver
from pbem.ext import db, settings, tokens
from pbem.links import Links, whose
from pbem.mail import plain
from pbem.models import Letter, Match, Move, Seat, Status, Turn
from pbem.table import load
from pbem.waiting import terms, waiting
from pbem.web.drawing import drawn
from pbem.web.errors import in_words
from pbem.web.security import (
    ask_who,
    follow,
    keep_private,
    own_seat,
    refuse_others,
    remember_device,
    signed_in,
)

pages = Blueprint("seat", __name__)
pages.before_request(ask_who)
pages.after_request(remember_device)
pages.after_request(keep_private)


@pages.get("/i/<token>")
def invitation(token: str) -> Response:
    """Show the table that somebody is invited to."""
    seat, is_theirs = _invited(token)
    if is_theirs and not seat.is_vacant:
        return _moved(Links().seat(seat))
    return _invitation_page(seat, token, {}, is_theirs=is_theirs)


@pages.post("/i/<token>")
def answer_invitation(token: str) -> Response:
    """Sit down, or decline."""
    (seat, is_theirs), now = _invited(token), datetime.now(UTC)
    declines = request.form.get("answer") == "decline"
    # Who has declined may press the button again.
    if not is_theirs and not (declines and seat.invited is None):
        return _invitation_page(seat, token, {}, is_theirs=False, status=409)
    if declines:
        lobby.decline(seat.id, now=now)
        return _page("web/declined.html", match=seat.match)
    try:
        lobby.sit(
            seat.id,
            name=request.form.get("name", ""),
            phrase=request.form.get("phrase", ""),
            language=request.form.get("language", ""),
            zone=request.form.get("zone", ""),
            now=now,
        )
    except PbemError as error:
        return _invitation_page(seat, token, {"problem": in_words(error)}, status=409)
    return _moved(Links().seat(seat))


@pages.get("/j/<token>")
def join(token: str) -> Response:
    """Show the table that this link may be shared for."""
    return _join_page(_shared_match(token), token, {})


@pages.post("/j/<token>")
def take_place(token: str) -> Response:
    """Sit down at a free place; a stranger's address is proved by a mail first."""
    match, now, player = _shared_match(token), datetime.now(UTC), signed_in()
    try:
        if player is not None:
            lobby.join(match.id, player, phrase=request.form.get("phrase", ""), now=now)
            return _moved(Links().match(match))
        lobby.reserve(match.id, request.form.get("address", ""), now=now)
    except PbemError as error:
        return _join_page(match, token, {"problem": in_words(error)}, status=409)
    return _page("web/look_in_mail.html", address=request.form.get("address", ""))


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
    if seat.number is None:
        return _change_phrase(seat)
    now, do = datetime.now(UTC), request.form.get("do", "")
    if do == "follow":
        follow(seat)
        return _moved(Links().match(seat.match))
    try:
        if do == "resign" and not request.form.get("sure"):
            return _page(
                "web/resign.html",
                match=seat.match,
                title=GAMES[seat.match.game].title,
                seat_url=Links().seat(seat),
            )
        if do in _ACTS:
            _ACTS[do](seat, now=now)
        else:
            agreements.propose(seat.id, do, _about(), now=now)
    except (PbemError, RulesError) as error:
        return _seat_page(seat, problem=_problem(error), status=409)
    return _moved(Links().seat(seat))


def _problem(error: SpokenError) -> str:
    """Return what is wrong with a form, with the readings that it leaves open."""
    if isinstance(error, Ambiguous):
        return f"{in_words(error)} ({', '.join(error.readings)})"
    return in_words(error)


def _take_back(seat: Seat, *, now: datetime) -> None:
    undo.take_back(seat.id, request.form.get("ply", 0, type=_number), now=now)


def _order(seat: Seat, *, now: datetime) -> None:
    orders.follow(seat.id, [request.form.get("order", "")], now=now)


def _cancel_order(seat: Seat, *, now: datetime) -> None:
    orders.cancel(seat.id, request.form.get("id", 0, type=_number), now=now)


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


def _about() -> dict[str, object]:
    form = request.form
    numbers = {name: form.get(name, 0, type=_number) for name in ("turn", "hours", "place")}
    return numbers | {"address": form.get("address", "")}


def _number(text: str) -> int:
    """Return a whole number that a database can hold; raises ValueError."""
    return int(text[:18])


def _change_phrase(seat: Seat) -> Response:
    try:
        lobby.change_phrase(seat.id, request.form.get("phrase", ""), now=datetime.now(UTC))
    except BadPhrase as error:
        return _waiting_page(seat, {"problem": in_words(error)}, status=409)
    return _moved(Links().seat(seat))


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
    turn_id, n, player_id = tokens().read_link("move", token, ids=3)
    turn = db.session.get_one(Turn, turn_id)
    refuse_others(turn.asked, player_id)
    return turn, n


def _held(token: str) -> tuple[Turn, int]:
    """Return what a letter asks about: a turn, and the number of the move."""
    (letter_id,) = tokens().read_link("confirm", token)
    letter = db.session.get_one(Letter, letter_id)
    turn = letter.turn
    assert turn is not None, "the letter is about a turn"
    refuse_others(turn.asked, letter.player_id or 0)
    if undo.is_void(turn):
        raise TurnOver
    told = telling.tell(load(turn.match, ply=turn.ply), turn.seat)
    return turn, told.choice(letter.about["move"]).n


def _text(turn: Turn, n: int) -> str:
    """Return the n-th move that a turn had, in canonical text."""
    return _choice(telling.tell(load(turn.match, ply=turn.ply), turn.seat), n).text


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
    return _page(
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
    return _page(
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
    return _page(
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
    return _page(
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
        orders=orders.waiting(seat),
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
    return _page(
        "web/waiting.html",
        status=status,
        match=seat.match,
        title=title,
        join_url=None,
        seat=seat,
        phrase=typed,
        **extra,
    )


def _invitation_page(
    seat: Seat,
    token: str,
    extra: dict[str, object],
    *,
    is_theirs: bool = True,
    status: int = 200,
) -> Response:
    opener = seat.match.opener
    known = lobby.find_player(seat.invited) if is_theirs and seat.invited else None
    about = known or opener
    return _page(
        "web/invitation.html",
        status=status,
        match=seat.match,
        title=GAMES[seat.match.game].title,
        token=token,
        is_open=is_theirs and seat.match.status in (Status.OPEN, Status.RUNNING),
        typed=request.form,
        name=known.name if known else "",
        language=about.language if known else str(get_locale() or about.language)[:2],
        zone=about.zone,
        languages=LANGUAGES,
        zones=cleaning.zones(),
        **extra,
    )


def _join_page(
    match: Match, token: str, extra: dict[str, object], *, status: int = 200
) -> Response:
    return _page(
        "web/join.html",
        status=status,
        match=match,
        title=GAMES[match.game].title,
        token=token,
        typed=request.form,
        is_open=match.status in (Status.OPEN, Status.RUNNING) and lobby.has_free_seat(match),
        **extra,
    )


def _invited(token: str) -> tuple[Seat, bool]:
    """Return the seat of an invitation, and whether it is still that of whom it was mailed to."""
    seat_id, address = tokens().read_link("invitation", token, ids=2)
    seat = db.session.get_one(Seat, seat_id)
    refuse_others(seat, seat.player_id or 0)
    return seat, whose(seat.invited) == address


def _seat(token: str) -> Seat:
    seat_id, player_id = tokens().read_link("seat", token, ids=2)
    seat = db.session.get_one(Seat, seat_id)
    refuse_others(seat, player_id)
    return seat


def _shared_match(token: str) -> Match:
    (match_id,) = tokens().read_link("join", token)
    return db.session.get_one(Match, match_id)


def _page(template: str, *, status: int = 200, **values: object) -> Response:
    return make_response(render_template(template, **values), status)


def _moved(url: str) -> Response:
    return make_response(redirect(url, code=303))
