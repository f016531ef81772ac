"""A game that is added as docs/add-a-game.md says is played by mail, with no change in pbem."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from cast import (
    ADDRESSES,
    by_link,
    by_number,
    html_of,
    open_turn,
    path,
    run_worker,
    running_match,
    seat_of,
    text_of,
    words,
)
from example_game.peak import Peak
from mail_server import Mailbox

from engine import GAMES
from engine.bots import BOTS
from engine.errors import Ambiguous, IllegalMove, Unreadable
from engine.record import loads, verify
from pbem import telling
from pbem.ext import db
from pbem.links import Links
from pbem.models import Match
from pbem.table import load

ROOT = Path(__file__).parents[2]
FILES = ROOT / "tests/example_game"


@pytest.fixture
def database_url(sqlite: str) -> str:
    """One kind is enough: what is stored does not differ from game to game."""
    return sqlite


@pytest.fixture
def peak(app, tmp_path: Path, monkeypatch) -> Peak:
    """The game, registered by its one line, and its files among the templates."""
    templates = tmp_path / "templates"
    shutil.copytree(ROOT / "templates", templates)
    for file in FILES.glob("peak.*"):
        if file.suffix != ".py":
            shutil.copy(file, templates / "games")
    app.template_folder = str(templates)
    game = Peak()
    monkeypatch.setitem(GAMES, game.name, game)
    return game


def test_it_is_played_to_its_end_by_links_and_replies(
    app, peak, listener, mailbox: Mailbox, now
) -> None:
    match = running_match(["ann", "bob", "bot"], now=now, game="peak")
    ways = 0
    while match.status == "running":
        run_worker(now)
        match = db.session.get_one(Match, match.id)
        if match.status != "running":
            break
        name = open_turn(match).asked.name.lower()
        letter = [m for m in mailbox.to(ADDRESSES[name]) if "your turn" in m["Subject"]][-1]
        (by_link(app, letter, 0) if ways % 2 else by_number(listener, letter, 0))
        ways += 1
        run_worker(now)
        db.session.rollback()
        match = db.session.get_one(Match, match.id)
    assert ways >= 4
    assert sum(match.scores) == 3
    over = mailbox.to(ADDRESSES["ann"])[-1]
    assert "the game is over" in over["Subject"]
    (record,) = [part for part in over.walk() if part.get_content_type() == "application/json"]
    verify(loads(record.get_content().decode()))


def test_a_letter_and_the_pages_show_it_and_no_hidden_card(
    app, peak, mailbox: Mailbox, now
) -> None:
    match = running_match(["ann", "bob"], now=now, game="peak")
    run_worker(now)
    name = open_turn(match).asked.name.lower()
    (letter,) = [m for m in mailbox.to(ADDRESSES[name]) if "your turn" in m["Subject"]]
    table = load(match)
    asked = seat_of(match, name).number
    own, other = table.view(asked).hand, table.view(3 - asked).hand
    client = app.test_client()
    seat = client.get(path(Links().seat(seat_of(match, name))))
    # Without outlines, tokens and addresses: their letters may look like any card.
    told = [
        re.sub(r' d="[^"]*"|[\w.%+/:-]{16,}', "", page)
        for page in (html_of(letter), text_of(letter), seat.text)
    ]
    for page in told:
        assert all(card.code in page for card in own)
        assert not any(re.search(rf"\b{card.code}\b", page) for card in other)
    for address in ("/", "/rules/peak", f"/g/{match.code}", f"/g/{match.code}/deal", "/try/peak/a"):
        page = client.get(address)
        assert page.status_code == 200
        assert "Peak" in words(page)
    assert "The highest card of a round scores" in words(seat)


@pytest.mark.parametrize("bot", BOTS)
def test_bots_play_a_game_that_nobody_taught_them(peak, bot) -> None:
    state, _events = peak.new_game(b"k" * 32, 3, {})
    players = [BOTS[bot](f"{seat}") for seat in (1, 2, 3)]
    while asked := peak.to_move(state):
        seat = min(asked)
        move = players[seat - 1].choose(peak, peak.view(state, seat))
        assert peak.is_legal(state, seat, move)
        peak.step(state, seat, move)
    assert sum(peak.outcome(state).scores) == 3


def test_it_reads_moves_generously_and_refuses_in_words(peak) -> None:
    state, _events = peak.new_game(b"k" * 32, 2, {})
    view = peak.view(state, 1)
    first, *_others = peak.moves(view)
    for text in (first.card.code.lower(), f" I play {first.card.code}! ", first.card.name):
        assert peak.parse(view, text) == first
    (elsewhere, *_more) = state.hands[1]
    with pytest.raises(IllegalMove):
        peak.parse(view, elsewhere.code)
    with pytest.raises(Unreadable):
        peak.parse(view, "hello there")
    suits = [suit for card in view.hand for suit in card.suits]
    twice = next((suit for suit in suits if suits.count(suit) > 1), None)
    if twice is not None:
        with pytest.raises(Ambiguous):
            peak.parse(view, twice.word)


def test_the_telling_of_it_fits_its_words(app, peak, now) -> None:
    match = running_match(["ann", "bob"], now=now, game="peak")
    told = telling.tell(load(match), None)
    assert told.board == "The table is empty;"
    assert told.facts == (("Led by", told.table.names[0]),)
