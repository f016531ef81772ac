"""The finished bytes of letters: structure, headers, pictures, and both parts alike."""

from __future__ import annotations

import dataclasses
import re

import pytest
from cast import (
    ADDRESSES,
    html_of,
    letters_to,
    move_links,
    open_turn,
    parsed,
    run_worker,
    running_match,
    text_of,
)
from markupsafe import escape

from pbem import play
from pbem.ext import db
from pbem.mail import letters
from pbem.models import Letter, Match


def test_a_turn_letter_is_built_as_mail_programs_like_it(app, mailbox, now) -> None:
    running_match(["ann", "bob"], now=now)
    run_worker(now)
    ((sender, _to, raw),) = [m for m in mailbox.arrived if b"your turn" in m[2]]
    message = parsed(raw)
    assert [part.get_content_type() for part in message.walk()][:5] == [
        "multipart/mixed",
        "multipart/alternative",
        "text/plain",
        "multipart/related",
        "text/html",
    ]
    assert message.defects == []
    assert all(not part.defects for part in message.walk())
    assert re.fullmatch(r"b\+[a-z2-7]{24}@play\.example", sender)
    assert re.fullmatch(r"g\+[a-z2-7]{24}@play\.example", message["Reply-To"])
    assert message["Auto-Submitted"] == "auto-generated"
    assert message["X-Auto-Response-Suppress"] == "All"
    assert message["x-ms-reactions"] == "disallow"
    assert message["List-Id"].endswith(".play.example>")
    assert max(len(line) for line in text_of(message).splitlines()) <= 100
    assert max(len(line) for line in raw.splitlines()) <= 998
    assert raw.isascii()


def test_every_picture_is_used_and_every_used_one_is_there(app, mailbox, now) -> None:
    running_match(["ann", "bob"], now=now)
    run_worker(now)
    (message,) = [parsed(m[2]) for m in mailbox.arrived if b"your turn" in m[2]]
    used = set(re.findall(r'src="cid:([^"]+)"', html_of(message)))
    there = {str(part["Content-ID"]).strip("<>") for part in message.walk() if part["Content-ID"]}
    assert used == there
    assert len(there) >= 7  # the table, six cards, and what was drawn before
    assert "data:" not in html_of(message)
    assert "<svg" not in html_of(message)


def test_text_and_html_number_the_same_moves(app, mailbox, now) -> None:
    running_match(["ann", "bob"], now=now)
    run_worker(now)
    (message,) = [parsed(m[2]) for m in mailbox.arrived if b"your turn" in m[2]]
    in_text = re.findall(r"^ +\[(\d+)\] (.+)$", text_of(message), re.MULTILINE)
    in_html = re.findall(r">(\d+)\. ([^<]+)</a>", html_of(message))
    assert in_text == in_html
    assert len(in_text) == len(move_links(message)) > 0


def test_the_same_row_renders_to_the_same_bytes(app, now) -> None:
    match = running_match(["ann", "bob", "cleo"], now=now)
    for letter in db.session.query(Letter).filter_by(match_id=match.id):
        assert letters.build(letter).as_bytes() == letters.build(letter).as_bytes()


def test_a_french_player_reads_french(app, mailbox, now) -> None:
    match = running_match(["ann", "bob"], now=now)
    (letter,) = [x for name in ("ann", "bob") for x in letters_to(name, "your_turn")]
    letter.language, letter.zone = "fr", "America/Montreal"
    letter.turn.deadline = now.replace(month=7)
    db.session.commit()
    message = letters.build(letter)
    assert "à vous de jouer" in message["Subject"]
    assert "mer. 1 juil., 08:00 (heure de Montreal)" in text_of(message)
    assert '<html lang="fr">' in html_of(message)
    assert db.session.get_one(Match, match.id).status == "running"


def test_a_name_cannot_forge_a_header_or_a_tag(app, mailbox, now) -> None:
    match = running_match(["ann", "bob"], now=now)
    for seat in match.seats:
        seat.name = 'X <b>"Y"</b>, \u202eZ'
    for letter in db.session.query(Letter):
        if letter.player is not None:
            letter.player.name = 'Ann, "the <first>"'
    db.session.commit()
    run_worker(now)
    message = parsed(next(m[2] for m in mailbox.arrived if b"your turn" in m[2]))
    assert "<b>&#34;Y&#34;" not in html_of(message)
    assert "&lt;b&gt;" in html_of(message)
    assert message["To"].addresses[0].addr_spec in ADDRESSES.values()
    assert len(message["To"].addresses) == 1


def test_the_last_letter_tells_everybody_the_last_move(app, now) -> None:
    match = running_match(["ann", "bob"], now=now)
    while match.status == "running":
        turn = open_turn(match)
        play.make_move(turn.id, play.choose_for(turn.id, "greedy"), by="link", now=now)
        match = db.session.get_one(Match, match.id)
    last = match.moves[-1].text.split()[0]
    for name in ("ann", "bob"):
        (letter,) = letters_to(name, "game_over")
        words = text_of(letters.build(letter)).split("THE TABLE AT THE END")[0]
        assert f"({last})" in words


def test_long_ids_and_links_stand_in_headers_as_they_are(app, now) -> None:
    long = dataclasses.replace(
        app.extensions["pbem.settings"],
        mail_domain=f"{'a' * 40}.play.example",
        base_url=f"https://{'a' * 40}.play.example",
    )
    app.extensions["pbem.settings"] = long
    match = running_match(["ann", "bob"], now=now)
    for letter in db.session.query(Letter).filter_by(match_id=match.id).all():
        raw = letters.build(letter).as_bytes()
        head = raw.partition(b"\r\n\r\n")[0].replace(b":\r\n ", b": ")
        for name in (b"In-Reply-To", b"References", b"List-Id", b"List-Unsubscribe"):
            lines = [line for line in head.split(b"\r\n") if line.startswith(name + b": ")]
            assert all(re.fullmatch(rb"[\w-]+: <[^\s<>=?]+>", line) for line in lines)
        assert b"\r\nList-Id: <" in head
        assert b"\r\nList-Unsubscribe: <https://" in head


@pytest.mark.parametrize("address", ["ann@players.example\r\nBcc: dan@players.example", "a\nb@c"])
def test_a_line_break_in_an_address_is_refused(app, now, address) -> None:
    running_match(["ann", "bob"], now=now)
    letter = db.session.query(Letter).filter_by(kind="your_turn").one()
    letter.address = address
    with pytest.raises(ValueError, match="invalid"):
        letters.build(letter)


@pytest.mark.parametrize(
    "name", ["Ann, of York", 'A "B" C', "Änn Öst", "--", "=41", "A" * 40, "\u202ennA\u202c", "😀"]
)
def test_any_name_arrives_as_it_is_in_headers_and_both_parts(app, now, name) -> None:
    running_match(["ann", "bob", "cleo"], now=now)
    letter = db.session.query(Letter).filter_by(kind="your_turn").one()
    letter.player.name = name
    for seat in letter.match.seats:
        seat.name = name
    raw = letters.build(letter).as_bytes()
    message = parsed(raw)
    assert message["To"].addresses[0].display_name == name
    assert f"{name} and {name}" in message["Subject"]
    assert name in text_of(message)
    assert escape(name) in html_of(message)
    assert raw.isascii()
    assert max(len(line) for line in raw.split(b"\r\n")) <= 78
