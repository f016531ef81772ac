"""No line of our own mails reads as a move, however a mail program wraps or flattens it."""

from __future__ import annotations

from contextlib import suppress

import pytest
from cast import ADDRESSES, player, positions, running_match
from flask_babel import force_locale
from own_lines import reads, wrapped

from engine import GAMES
from engine.errors import BadOption
from pbem import lobby, play, post
from pbem.ext import db, writing
from pbem.mail import contents, letters, plain, reply
from pbem.mail.commands import Commands
from pbem.models import Letter, Match, Turn
from pbem.table import load


@pytest.fixture
def database_url(sqlite: str) -> str:
    """One kind is enough: what letters say does not depend on the database."""
    return sqlite


def lines(letter: Letter, language: str, table) -> set[str]:
    """Return lines that a reader's program may make of a letter."""
    with force_locale(language):
        if letter.kind in contents.PLAIN:
            return wrapped(letters.build(letter))
        kind = contents.AT_TABLE[letter.kind]
        return wrapped(letters.compose(letter, kind(letter, table)))


def commands(table, turn: Turn) -> Commands:
    """Return what reads the lines of a reply to a turn."""
    moves = reply.turn_commands(table.game, table.view(turn.seat))
    return reply.either(reply.undo_commands(), reply.order_commands(table.game), moves)


@pytest.mark.parametrize("language", ["en", "fr"])
@pytest.mark.parametrize("name", list(GAMES))
def test_no_line_of_ours_reads_as_a_move(app, now, name, language) -> None:
    seen = 0
    for nth, (match, turn) in enumerate(positions(name, now, moves=40)):
        if nth % 3:
            continue
        table = load(match)
        command = commands(table, turn)
        asking = db.session.query(Letter).filter_by(turn_id=turn.id, kind="your_turn").one()
        wrong = {line for line in lines(asking, language, table) if reads(line, command)}
        assert wrong == set()
        seen += 1
    assert seen > 3


@pytest.mark.parametrize("language", ["en", "fr"])
@pytest.mark.parametrize("name", list(GAMES))
def test_nor_does_any_other_letter_of_a_turn(app, now, name, language) -> None:
    illegal = {"why": "illegal", "line": "7SK right", "reason": "%(card)s is not in your hand"}
    illegal["fields"] = {"card": "7SK"}
    for nth, (match, turn) in enumerate(positions(name, now, moves=30)):
        if nth % 15:
            continue
        table = load(match)
        seat = table.seat(turn.seat)
        with writing():
            asked = db.session.get_one(Turn, turn.id)
            post.reminder(asked, seat, now=now)
            post.not_done(asked, seat, illegal, now=now)
            readings = [table.game.format(m) for m in table.game.moves(table.view(turn.seat))]
            post.not_done(asked, seat, {"why": "ambiguous", "readings": readings}, now=now)
            for move in match.moves[-1:]:
                post.receipt(table, asked, move, asked, now=now)
                last = db.session.get_one(Turn, move.turn_id)
                post.receipt(table, last, move, None, now=now)
                post.house_played(asked, seat, move, now=now)
            for text in readings[:3]:
                post.confirm(asked, seat, text, "stranger", now=now)
            post.stands(asked, seat, now=now)
            post.orders(seat, asked, ["lowest", "if suns led: lowest"], now=now)
            post.orders(seat, asked, [], now=now)
            post.taken_back(seat, table.seats[0], now=now)
            post.digest(seat.player, [asked], [], now=now)
            post.reminders(seat.player, [asked], now=now)
            for what in plain.NOTICES:
                post.notice(match, what, {"name": "Ann", "until": now.isoformat()}, now=now)
        command = commands(table, turn)
        turns = [turn.id, *(move.turn_id for move in match.moves[-1:])]
        about = Letter.turn_id.in_(turns) | Letter.kind.in_(
            ("digest", "reminders", "notice", "taken_back")
        )
        for letter in db.session.query(Letter).filter(about):
            if not letters.is_true(letter) and letter.kind in ("digest", "reminders"):
                continue
            wrong = {line for line in lines(letter, language, table) if reads(line, command)}
            # The player's own words stand in one of them, between marks.
            assert wrong == set()


@pytest.mark.parametrize("name", list(GAMES))
def test_nor_does_the_letter_at_the_end(app, now, name) -> None:
    match_id = running_match(people(name), now=now, game=name, **all_changed(name)).id
    match = db.session.get_one(Match, match_id)
    while match.status == "running":
        turn = db.session.query(Turn).filter_by(match_id=match_id, closed_at=None).first()
        play.make_move(turn.id, play.choose_for(turn.id, "greedy"), by="link", now=now)
        match = db.session.get_one(Match, match_id)
    ends = db.session.query(Letter).filter_by(kind="game_over").all()
    assert len(ends) == len(people(name))
    # Whoever answers it answers a turn that they had.
    turns = db.session.query(Turn).order_by(Turn.id.desc()).limit(2 * len(people(name))).all()
    for turn in turns:
        before = load(match, ply=turn.ply)
        command = reply.turn_commands(before.game, before.view(turn.seat))
        (end,) = (letter for letter in ends if letter.seat.number == turn.seat)
        for language in ("en", "fr"):
            found = lines(end, language, load(match))
            assert {line for line in found if reads(line, command)} == set()


def people(name: str) -> list[str]:
    """As many of the cast as the game seats at most."""
    return list(ADDRESSES)[: GAMES[name].seat_counts[-1]]


def all_changed(name: str) -> dict[str, object]:
    """The game's switches turned over, as far as they go together; of hands only the fewest."""
    game, given = GAMES[name], {}
    for option in game.options:
        if isinstance(option.default, bool):
            with suppress(BadOption):
                game.check_options(len(people(name)), given | {option.name: not option.default})
                given[option.name] = not option.default
        elif isinstance(option.default, int):
            given[option.name] = option.least
    return given


@pytest.mark.parametrize("language", ["en", "fr"])
@pytest.mark.parametrize("name", list(GAMES))
def test_nor_does_any_line_where_every_option_is_on(app, now, name, language) -> None:
    match_id = running_match(people(name), now=now, game=name, **all_changed(name)).id
    for nth in range(30):
        match = db.session.get_one(Match, match_id)
        turn = db.session.query(Turn).filter_by(match_id=match_id, closed_at=None).first()
        if turn is None:
            break
        if nth % 4 == 3:
            table = load(match)
            command = commands(table, turn)
            letter = db.session.query(Letter).filter_by(turn_id=turn.id, kind="your_turn").one()
            found = lines(letter, language, table)
            assert {line for line in found if reads(line, command)} == set()
        play.make_move(turn.id, play.choose_for(turn.id, "random"), by="link", now=now)


def test_nor_does_an_invitation_answer_itself(app, now) -> None:
    ann = player("ann", now=now)
    lobby.open_table(ann, "biscuit", [lobby.Chair(address=ADDRESSES["bob"])], {}, now=now)
    letter = db.session.query(Letter).one()
    command = reply.invitation_commands()
    for language in ("en", "fr"):
        letter.language = language
        found = wrapped(letters.build(letter))
        assert {line for line in found if reads(line, command)} == set()


def test_the_check_would_see_a_bare_move(app, now) -> None:
    match, turn = next(positions("biscuit", now))
    table = load(match)
    command = reply.turn_commands(table.game, table.view(turn.seat))
    assert reads(play.choose_for(turn.id, "greedy"), command)
