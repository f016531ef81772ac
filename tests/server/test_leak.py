"""No hidden card in anything that is shown: what a seat can't see changes no byte of its mail."""

from __future__ import annotations

import random
import re
from contextlib import suppress
from dataclasses import replace

import pytest
from cast import (
    ADDRESSES,
    html_of,
    open_turn,
    positions,
    run_worker,
    running_match,
    text_of,
)
from flask import current_app
from flask_babel import force_locale
from rules.redeal import REDEALERS

from engine import GAMES
from engine import orders as engine_orders
from engine.decktet import CARDS, Card
from engine.errors import BadOption
from engine.game import cards_in
from pbem import orders, play, post
from pbem.ext import db, writing
from pbem.mail import contents, letters
from pbem.models import Letter, Match, Seat, Turn
from pbem.samples import story
from pbem.table import Table, load
from pbem.web import history

CODE = re.compile(r"(?<![0-9A-Z])(?:[A2-9C][MSWLYK]{1,2}|[PT][MSWLYK]{3}|EX)(?![0-9A-Z])")


@pytest.fixture
def database_url(sqlite: str) -> str:
    """One kind is enough: what letters say does not depend on the database."""
    return sqlite


@pytest.mark.parametrize("name", list(GAMES))
def test_a_finished_mail_is_the_same_whatever_the_others_hold(app, now, name) -> None:
    chance = random.Random(name)
    for nth, (_match, turn) in enumerate(positions(name, now)):
        if nth % 4 == 0:
            letter = db.session.query(Letter).filter_by(turn_id=turn.id, kind="your_turn").one()
            check_redeals(letter, chance)


@pytest.mark.parametrize("name", list(GAMES))
def test_so_it_is_with_every_option_and_every_kind_of_letter(app, now, name) -> None:
    chance = random.Random(name)
    match_id = running_match(people(name), now=now, game=name, **all_changed(name)).id
    for nth in range(40):
        match = db.session.get_one(Match, match_id)
        turns = db.session.query(Turn).filter_by(match_id=match_id, closed_at=None)
        turn = turns.order_by(Turn.id).first()
        if turn is None:
            break
        if nth % 8 == 7:
            told = tell_all(match, turn, now)
            turns = (turn.id, match.moves[-1].turn_id)
            of_turns = db.session.query(Letter).filter(Letter.turn_id.in_(turns))
            for letter in [*of_turns, *told]:
                check_redeals(letter, chance)
        text = play.choose_for(turn.id, "random")
        play.make_move(turn.id, text, by=chance.choice(("reply", "timeout")), now=now)


@pytest.mark.parametrize("name", list(GAMES))
def test_so_it_is_with_hints(app, now, name) -> None:
    chance = random.Random(name)
    for nth, (_match, turn) in enumerate(positions(name, now, moves=25)):
        if nth % 8 == 7:
            with writing():
                db.session.get_one(Turn, turn.id).asked.player.wants_hints = True
            letter = db.session.query(Letter).filter_by(turn_id=turn.id, kind="your_turn").one()
            check_redeals(letter, chance)


def people(name: str) -> list[str]:
    """As many of the cast as can sit at the game."""
    return list(ADDRESSES)[: GAMES[name].seat_counts[-1]]


def all_changed(name: str) -> dict[str, object]:
    """The game's switches all on and its first other choices, as far as they go together."""
    game, given = GAMES[name], {}
    for option in game.options:
        others = [value for value in (option.default is False, *option.choices) if value]
        for value in [value for value in others if value != option.default][:1]:
            with suppress(BadOption):
                game.check_options(len(people(name)), given | {option.name: value})
                given[option.name] = value
    return given


def tell_all(match: Match, turn: Turn, now) -> list[Letter]:
    """Queue one letter of each other kind about a turn; returns those that name none."""
    table, seat = load(match), load(match).seat(turn.seat)
    with writing():
        asked = db.session.get_one(Turn, turn.id)
        post.reminder(asked, seat, now=now)
        post.not_done(asked, seat, {"why": "unreadable", "line": "hm"}, now=now)
        post.confirm(asked, seat, story.moves(asked)[-1], "unproven", now=now)
        post.receipt(table, asked, match.moves[-1], asked, now=now)
        last = db.session.get_one(Turn, match.moves[-1].turn_id)
        post.receipt(table, last, match.moves[-1], None, now=now)
        post.house_played(asked, seat, match.moves[-1], now=now)
        post.stands(asked, seat, now=now)
        post.receipt(table, last, match.moves[-1], None, kept=["lowest"], now=now)
        post.taken_back(seat, table.seats[0], now=now)
        post.started(seat, now=now)
        post.hand_over(seat, match.ply - 1, now=now)
    newest = db.session.query(Letter).order_by(Letter.id.desc()).limit(3).all()
    assert {letter.kind for letter in newest} == {"taken_back", "started", "hand_over"}
    return newest


RULES = ("lowest", "highest", "then highest of suns", "lowest if it scores 1 or more")


@pytest.mark.parametrize("name", list(GAMES))
def test_an_order_fires_alike_whatever_the_others_hold(app, now, name) -> None:
    chance, fired = random.Random(name), 0
    game = GAMES[name]
    for match, turn in positions(name, now, moves=30):
        table = load(match)
        texts = [*RULES, *(card.code for card in table.view(turn.seat).hand)]
        found = [choice_of(game, table.state, turn.seat, text) for text in texts]
        fired += len(set(found)) - 1
        for _ in range(3):
            state = REDEALERS[name](table.state, turn.seat, chance)
            assert [choice_of(game, state, turn.seat, text) for text in texts] == found
    assert fired > 10


def choice_of(game, state, seat: int, text: str):
    return engine_orders.choose(game, game.view(state, seat), engine_orders.read(game, text))


@pytest.mark.parametrize("name", list(GAMES))
def test_a_letter_about_an_order_that_fired_is_the_same_whatever_the_others_hold(
    app, now, name
) -> None:
    chance, told = random.Random(name), 0
    match_id = running_match(people(name), now=now, game=name).id
    for _ in range(60):
        match = db.session.get_one(Match, match_id)
        if match.status == "over" or told == 3:
            break
        turn = db.session.query(Turn).filter_by(match_id=match_id, closed_at=None).first()
        own = [move.by for move in match.moves if move.seat == turn.seat][-1:]
        if own == ["order"]:
            told += 1
            # After a reply the receipt is the turn's notice.
            letter = db.session.query(Letter).filter_by(turn_id=turn.id).one()
            assert letter.kind in ("your_turn", "receipt")
            assert "Played by your order." in " ".join(text_of(letters.build(letter)).split())
            check_redeals(letter, chance)
        for seat_id in [seat.id for seat in match.seats if seat.number != turn.seat]:
            if not orders.waiting(db.session.get_one(Seat, seat_id)):
                orders.follow(seat_id, ["lowest"], now=now)
        play.make_move(turn.id, play.choose_for(turn.id, "random"), by="reply", now=now)
    assert told > 0


@pytest.mark.parametrize("name", list(GAMES))
def test_so_it_is_with_a_letter_about_several_games(app, now, monkeypatch, name) -> None:
    chance = random.Random(name)
    for nth, (_match, turn) in enumerate(positions(name, now, moves=25)):
        if nth % 8:
            continue
        seat = load(turn.match).seat(turn.seat)
        with writing():
            post.started(seat, now=now)
            db.session.flush()
            told = [db.session.query(Letter).order_by(Letter.id.desc()).first()]
            post.digest(seat.player, [db.session.get_one(Turn, turn.id)], told, now=now)
        letter = db.session.query(Letter).filter_by(kind="digest").order_by(Letter.id.desc())[0]
        table = load(turn.match, ply=turn.ply)
        plain = letters.build(letter).as_bytes()
        for _ in range(3):
            state = REDEALERS[name](table.state, turn.seat, chance)
            anew = replace(table, state=state)
            with monkeypatch.context() as patch:
                patch.setattr(contents, "load", lambda _match, anew=anew, **_ply: anew)
                assert letters.build(letter).as_bytes() == plain


def check_redeals(letter: Letter, chance: random.Random) -> None:
    """Compare a letter's bytes with those of the table dealt anew behind its reader's back."""
    # Where several are asked at once, others may have moved since the letter became true.
    ply = letter.turn.ply if letter.turn else None
    table = load(letter.match, ply=letter.about.get("ply", ply))
    with force_locale("en"):
        kind = contents.AT_TABLE[letter.kind]
        plain = letters.compose(letter, kind(letter, table)).as_bytes()
        assert plain == letters.build(letter).as_bytes()
        for _ in range(3):
            state = REDEALERS[table.game.name](table.state, letter.seat.number, chance)
            content = kind(letter, replace(table, state=state))
            assert letters.compose(letter, content).as_bytes() == plain


@pytest.mark.parametrize("name", list(GAMES))
def test_a_history_page_is_the_same_whatever_its_reader_may_not_know(app, now, name) -> None:
    chance = random.Random(name)
    for nth, (match, turn) in enumerate(positions(name, now, moves=20)):
        if nth % 4:
            continue
        table = load(match)
        for reader in (None, turn.seat):
            plain = page(table, reader)
            for _ in range(3):
                state = REDEALERS[name](table.state, reader, chance)
                assert page(replace(table, state=state), reader) == plain


def page(table: Table, reader: int | None) -> str:
    with current_app.test_request_context(), force_locale("en"):
        return history.replay(table, table, reader, people={})


@pytest.mark.parametrize("name", list(GAMES))
def test_the_text_of_a_running_game_is_the_same_whatever_anybody_holds(app, now, name) -> None:
    chance = random.Random(name)
    *_before, (match, _turn) = positions(name, now, moves=12)
    table = load(match)
    with current_app.test_request_context(), force_locale("en"):
        plain = history.text(table)
        for _ in range(3):
            state = REDEALERS[name](table.state, None, chance)
            assert history.text(replace(table, state=state)) == plain


@pytest.mark.parametrize("name", list(GAMES))
def test_mails_name_no_card_that_their_reader_may_not_know(app, mailbox, now, name) -> None:
    """The cards of each mail are the reader's own, on the table, or told to its reader."""
    match_id = running_match(people(name), now=now, game=name).id
    seen = 0
    for _ in range(25):
        run_worker(now)
        match = db.session.get_one(Match, match_id)
        table = load(match)
        for message in mailbox.fresh():
            if "your turn" not in message["Subject"]:
                continue
            seat = next(seat.number for seat in match.seats if seat.player.address in message["To"])
            # Tokens in links are random letters and may look like anything.
            words = re.sub(r"https?://\S+", "", text_of(message) + html_of(message))
            shown = set(CODE.findall(words))
            assert shown <= set(CARDS)
            assert shown <= {card.code for card in known(table, seat)}
            assert shown >= {card.code for card in table.view(seat).hand}
            seen += 1
        turn = db.session.query(Turn).filter_by(match_id=match_id, closed_at=None).first()
        if turn is None:
            break
        text = play.choose_for(turn.id, "random")
        play.make_move(turn.id, text, by="reply", now=now)
    assert seen > 5


def known(table: Table, seat: int) -> set[Card]:
    """The cards that a seat holds, sees on the table, or was ever told of."""
    events = [*table.opening, *(event for ply in table.plies for event in ply.events)]
    told_of = {card for event in events for card in cards_in(event.told(seat))}
    view = table.view(seat)
    # A card that lies face down is placed, and is None.
    seen = {placed.card for placed in table.game.layout(view).cards} - {None}
    return told_of | set(view.hand) | seen


def test_no_mail_before_the_end_tells_the_key(app, mailbox, now) -> None:
    match_id = running_match(["ann", "bob"], now=now).id
    match = db.session.get_one(Match, match_id)
    key = match.server_key.hex()
    while match.status == "running":
        run_worker(now)
        turn = open_turn(match)
        play.make_move(turn.id, play.choose_for(turn.id, "greedy"), by="reply", now=now)
        match = db.session.get_one(Match, match_id)
    assert len(mailbox.arrived) > 10
    for message in mailbox.fresh():
        assert key not in unpacked(message)
    run_worker(now)
    ends = [mail for mail in mailbox.fresh() if "the game is over" in mail["Subject"]]
    assert [key in unpacked(mail) for mail in ends] == [True, True]


def unpacked(message) -> str:
    """All that a mail holds, its parts decoded and its headers too."""
    parts = [part.get_payload(decode=True) or b"" for part in message.walk()]
    headers = [f"{name}: {value}" for part in message.walk() for name, value in part.items()]
    return "\n".join([*headers, *(part.decode(errors="replace") for part in parts)])
