"""How each kind of letter comes about in the samples: the story of their tables."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sqlalchemy import select

from engine import deal
from engine.decktet import CARDS
from engine.errors import RulesError
from pbem import account, agreements, lobby, play, post
from pbem import talk as table_talk
from pbem.clocks import open_turns
from pbem.ext import db, writing
from pbem.lobby import Chair
from pbem.models import Letter, Match, Player, Status, Turn, Wanted
from pbem.table import load
from pbem.telling import tell

NOW: Final = datetime(2026, 12, 1, 12, 0, tzinfo=UTC)
LATER: Final = NOW + timedelta(days=7)  # every turn of NOW has run out of time
READER: Final = "ada@home.example"
OTHERS: Final = ("grace@home.example", "linus@home.example")
# What is not at its default, so that samples show what people may meet.
OPTIONS: Final[dict[str, dict[str, object]]] = {
    "biscuit": {"excuse": True, "pawns": True, "courts": True, "target": 30},
    "bisque": {"rounds": 2},
}
# When its letters are made a table has seen so many moves, and its reader has so many.
PLIES: Final = 9
CHOICES: Final = 6
DEAL: Final = "9"  # decides all cards; by this one it comes to that soon in every game
SIX_HANDS: Final = "snakebit"  # they take too long for a sample, and so one of them is played


def sign_up(language: str, zone: str) -> None:
    """Add the players."""
    with writing():
        for address in (READER, *OTHERS):
            name = address.partition("@")[0].title()
            lobby.new_player(address, name=name, language=language, zone=zone, now=NOW)


def played(game: str) -> Match:
    """Return a table of three that has come some way and waits for its reader."""
    match = _opened(game, f"sample-{game}-{DEAL}")
    for seat in match.seats[1:]:
        lobby.sit(seat.id, name="", phrase="", language="", zone=match.opener.zone, now=NOW)
    while match.ply < PLIES or not _has_choice(_asked(match)):
        _move(_asked(match))
    return match


def moves(turn: Turn) -> tuple[str, ...]:
    """Return the moves of a turn, in the order in which letters list them."""
    telling = tell(load(turn.match, ply=turn.ply), turn.seat)
    return tuple(choice.text for choice in telling.choices)


# How the letters come about that are of no one table. The tables wait for their reader.


def sign_in(_tables: Sequence[Match]) -> None:
    """Ask for the link that signs in."""
    account.ask_to_sign_in(READER, language="en", now=NOW)


def add_address(_tables: Sequence[Match]) -> None:
    """Ask for a second address."""
    account.ask_to_add(_reader().id, "ada@work.example", now=NOW)


def for_host(_tables: Sequence[Match]) -> None:
    """Find out that no worker ran for a while."""
    with writing():
        post.for_host("standstill", {"hours": 3.5}, now=NOW)


def digest(tables: Sequence[Match]) -> None:
    """Come to the hour of the daily letter, with news that were gathered for it."""
    with writing():
        post.notice(tables[0], "back", {"name": tables[0].seats[1].name}, now=NOW)
        news = select(Letter).where(Letter.player_id == _reader().id, Letter.kind == "notice")
        gathered = db.session.scalars(news).all()
        post.digest(_reader(), [_asked(match) for match in tables], gathered, now=NOW)


def reminders(tables: Sequence[Match]) -> None:
    """Come to the hour at which several turns are reminded of."""
    with writing():
        post.reminders(_reader(), [_asked(match) for match in tables], now=NOW)


# How the letters of a table come about: a story in this order, each part going on from the
# last. It begins where the table waits for its reader.


def invitation(match: Match) -> None:
    """Open another table of the game."""
    _opened(match.game, f"{match.code}-next")


def declined(match: Match) -> None:
    """Do without a seat at that table."""
    lobby.decline(_waiting(match.game).seats[-1].id, now=NOW)


def came_back(match: Match) -> None:
    """Invite somebody else, whose address is not known there."""
    waiting = _waiting(match.game)
    lobby.reserve(waiting.id, "ned@home.example", now=NOW)
    with writing():
        lobby.take_back(waiting.seats[-1], "ned@home.example", "550 5.1.1 unknown user", now=NOW)


def sat_down(match: Match) -> None:
    """Let the other who was invited there sit down."""
    seat = _waiting(match.game).seats[1]
    lobby.sit(seat.id, name="", phrase="", language="", zone=match.opener.zone, now=NOW)


def your_turn(_match: Match) -> None:
    """Do nothing: the table waits for its reader, who was told so."""


def reminder(match: Match) -> None:
    """Come near the deadline."""
    with writing():
        turn = _asked(match)
        post.reminder(turn, turn.asked, now=NOW)


def not_done(match: Match) -> None:
    """Answer with a card that is not in the hand."""
    turn = _asked(match)
    table = load(match)
    own = table.view(turn.seat).hand
    foreign = next(card.code for card in CARDS.values() if card not in own)
    try:
        table.game.parse(table.view(turn.seat), foreign)
    except RulesError as error:
        about = {
            "why": "illegal",
            "line": foreign,
            "reason": error.pattern,
            "fields": error.fields,
        }
    with writing():
        post.not_done(turn, turn.asked, about, now=NOW)


def confirm(match: Match) -> None:
    """Move by mail, from another address."""
    turn = _asked(match)
    with writing():
        post.confirm(turn, turn.asked, moves(turn)[0], "stranger", now=NOW)


def proposal(match: Match) -> None:
    """Ask the others for more time."""
    agreements.propose(_asked(match).asked.id, "more_time", {}, now=NOW)


def notice(match: Match) -> None:
    """Agree to it."""
    (proposed,) = agreements.open_proposals(match)
    agreements.say_yes(proposed.id, agreements.asked(proposed)[0].id, now=NOW)


def orders(match: Match) -> None:
    """Leave orders for later turns by mail."""
    turn = _asked(match)
    with writing():
        post.orders(turn.asked, turn, ["lowest", "if suns led: lowest"], now=NOW)


def taken_back(match: Match) -> None:
    """Let the one who moved before the reader take that back."""
    with writing():
        post.taken_back(_asked(match).asked, match.seats[1], now=NOW)


def talk(match: Match) -> None:
    """Hear at once what another player says."""
    reader, other, _third = match.seats
    with writing():
        player = db.session.get_one(Player, reader.player_id)
        player.mails = player.mails | {"talk": Wanted.NOW}
    table_talk.say(other.id, "Good luck, all of you!\nI keep my 9 for later.", now=NOW)


def answer(match: Match) -> None:
    """Ask in a reply for all that can be answered with words."""
    turn = _asked(match)
    table_talk.write_note(turn.asked.id, "Mind the Crowns.", now=NOW)
    words: tuple[dict[str, Any], ...] = (
        {"what": "status"},
        {"what": "history", "ply": match.ply},
        {"what": "resign", "seats": len(match.seats)},
        {"what": "help"},
    )
    with writing():
        turn = db.session.get_one(Turn, turn.id)
        about = {"parts": [*words], "unread": ["play 9 please", "what a day"]}
        post.answer(turn.asked, turn, about, now=NOW)


def receipt(match: Match) -> None:
    """Move by mail."""
    _move(_asked(match), by="reply")


def stands(match: Match) -> None:
    """Answer the same letter once more."""
    with writing():
        turn = db.session.get_one(Turn, match.moves[-1].turn_id)
        post.stands(turn, turn.asked, now=NOW)


def house_played(match: Match) -> None:
    """Let the next turn run out of time."""
    play.time_out(_asked(match).id, now=LATER)


def hand_over(match: Match) -> None:
    """Play on until the next hand is dealt."""
    since = match.ply
    while not any(e.kind == "deal" for ply in load(match).plies[since:] for e in ply.events):
        _move(_asked(match), now=LATER)
    with writing():
        # By itself it comes to those only who are not asked at once.
        post.hand_over(match.seats[0], match.ply - 1, now=LATER)


def game_over(match: Match) -> None:
    """Play on to the end; where that is too far off, agree on it."""
    while match.status == Status.RUNNING and match.game != SIX_HANDS:
        _move(_asked(match), now=LATER)
    if match.status == Status.RUNNING:
        ended = agreements.propose(match.seats[0].id, "end", {}, now=LATER)
        for seat in match.seats[1:]:
            agreements.say_yes(ended.id, seat.id, now=LATER)


def started(match: Match) -> None:
    """Let the one who declined sit down at the other table after all."""
    waiting, linus = _waiting(match.game), lobby.find_player(OTHERS[-1])
    assert linus is not None, "all were signed up"
    lobby.join(waiting.id, linus, phrase="", now=NOW)
    with writing():
        # By itself it comes to those only who are not asked at once.
        post.started(waiting.seats[0], now=NOW)


OF_SITE: Final[dict[str, Callable[[Sequence[Match]], None]]] = {
    happens.__name__: happens for happens in (sign_in, add_address, for_host, digest, reminders)
}
OF_TABLE: Final[dict[str, Callable[[Match], None]]] = {
    happens.__name__: happens
    for happens in (
        invitation,
        declined,
        came_back,
        sat_down,
        your_turn,
        reminder,
        not_done,
        confirm,
        proposal,
        notice,
        orders,
        taken_back,
        talk,
        answer,
        receipt,
        stands,
        house_played,
        hand_over,
        game_over,
        started,
    )
}


def _waiting(game: str) -> Match:
    """Return the other table of a game, which waits for players."""
    waiting = select(Match).where(Match.game == game, Match.status == Status.OPEN)
    return db.session.scalars(waiting).one()


def _has_choice(turn: Turn) -> bool:
    """Return whether a turn is the reader's and has many moves."""
    is_readers = turn.asked.player_id == _reader().id
    return is_readers and len(moves(turn)) >= CHOICES


def _opened(game: str, code: str) -> Match:
    """Open a table for three of a game, with a deal that its code decides."""
    chairs = [Chair(address=address) for address in OTHERS]
    match = lobby.open_table(_reader(), game, chairs, OPTIONS.get(game, {}), now=NOW)
    with writing():
        match.code, match.server_key = code, hashlib.sha256(code.encode()).digest()
        match.commitment = deal.commitment(match.server_key)
    return match


def _reader() -> Player:
    return db.session.scalars(select(Player).where(Player.address == READER)).one()


def _asked(match: Match) -> Turn:
    """Return the open turn of a table, of several that of the first seat."""
    return min(open_turns(match=match), key=lambda turn: turn.seat)


def _move(turn: Turn, *, by: str = "link", now: datetime = NOW) -> None:
    text = play.choose_for(turn.id, "greedy")
    assert text is not None, "the turn is open"
    play.make_move(turn.id, text, by=by, now=now)
