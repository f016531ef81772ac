"""No hidden card in anything that is shown: what a seat can't see changes no byte of its mail."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import pytest
from cast import (
    ADDRESSES,
    html_of,
    open_turn,
    parsed,
    positions,
    run_worker,
    running_match,
    text_of,
)
from flask import current_app, render_template
from flask_babel import force_locale
from rules.redeal import REDEALERS

from engine import GAMES
from engine.decktet import CARDS
from pbem import play, telling
from pbem.ext import db
from pbem.mail import contents, letters
from pbem.models import Letter, Match
from pbem.table import load
from pbem.web.drawing import drawn
from pbem.words import speaker

CODE = re.compile(r"(?<![0-9A-Z])(?:[A2-9C][MSWLYK]{1,2}|[PT][MSWLYK]{3}|EX)(?![0-9A-Z])")


@pytest.mark.parametrize("name", list(GAMES))
def test_a_finished_mail_is_the_same_whatever_the_others_hold(app, now, name) -> None:
    chance = random.Random(name)
    for nth, (match, turn) in enumerate(positions(name, now)):
        if nth % 4:
            continue
        letter = db.session.query(Letter).filter_by(turn_id=turn.id, kind="your_turn").one()
        table = load(match)
        with force_locale("en"):
            plain = letters.build(letter).as_bytes()
            for _ in range(3):
                state = REDEALERS[name](table.state, turn.seat, chance)
                content = contents.AT_TABLE["your_turn"](letter, replace(table, state=state))
                assert letters.compose(letter, content).as_bytes() == plain


@pytest.mark.parametrize("name", list(GAMES))
def test_an_onlookers_page_is_the_same_whatever_anybody_holds(app, now, name) -> None:
    chance = random.Random(name)
    for nth, (match, _turn) in enumerate(positions(name, now, moves=20)):
        if nth % 4:
            continue
        table = load(match)
        plain = page(match, table)
        for _ in range(3):
            state = REDEALERS[name](table.state, None, chance)
            assert page(match, replace(table, state=state)) == plain


def page(match, table) -> str:
    told = telling.tell(table, None)
    with current_app.test_request_context(), force_locale("en"):
        return render_template(
            "web/table.html",
            match=match,
            telling=told,
            picture=drawn(told.layout, say=speaker(table.names), title=told.board),
            ply=match.ply,
            is_now=True,
            log=telling.log(table, None),
            hands=(),
            own_url=None,
            winners=[],
        )


@pytest.mark.parametrize("name", list(GAMES))
def test_mails_name_no_card_that_their_reader_may_not_know(app, mailbox, now, name) -> None:
    """The cards of each mail are the reader's own, on the table, or told to all."""
    for match, turn in positions(name, now, moves=25):
        run_worker(now)
        seats = len(match.seats)
        (_sender, to, raw) = mailbox.arrived[-1]
        message = parsed(raw)
        assert to == ADDRESSES[load(match).names[turn.seat - 1].lower()]
        table = load(match)
        hidden = {
            card.code
            for seat in range(1, seats + 1)
            if seat != turn.seat
            for card in table.view(seat).hand
        }
        # Tokens in links are random letters and may look like anything.
        words = re.sub(r"https?://\S+", "", text_of(message) + html_of(message))
        shown = set(CODE.findall(words))
        assert shown <= set(CARDS)
        assert not shown & hidden
        assert match.server_key.hex() not in raw.decode()


def test_no_mail_before_the_end_tells_the_key(app, mailbox, now) -> None:
    match = running_match(["ann", "bob"], now=now)
    key = match.server_key.hex()
    while match.status == "running":
        turn = open_turn(match)
        play.make_move(turn.id, play.choose_for(turn.id, "greedy"), by="reply", now=now)
        match = db.session.get_one(Match, match.id)
    run_worker(now)
    for _sender, _to, raw in mailbox.arrived:
        message = parsed(raw)
        is_end = "the game is over" in message["Subject"]
        assert (key in text_of(message) + html_of(message)) == is_end
