"""The deal that anybody can check: the page about it, and the program that does it alone."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from cast import ADDRESSES, finished, open_turns, player, running_match, words

from pbem import agreements, lobby, play
from pbem.ext import db
from pbem.lobby import Chair
from pbem.models import Match
from pbem.table import load

ROOT = Path(__file__).parents[2]
RECORDS = sorted((ROOT / "tests/golden/records").glob("*.json"))


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Path:
    """The program as the docs print it, in an empty folder."""
    (text,) = re.findall(
        r"```python\n(.*?)```", (ROOT / "docs/fair-deal.md").read_text(), re.DOTALL
    )
    path = tmp_path_factory.mktemp("alone") / "check_deal.py"
    path.write_text(text)
    return path


def checked(program: Path, record: dict | str) -> tuple[int, str]:
    """Run the program on a record, with the standard library only; gives its code and words."""
    file = program.with_name("record.json")
    file.write_text(record if isinstance(record, str) else json.dumps(record))
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(program), str(file)],
        capture_output=True, text=True, check=False, cwd=program.parent,
    )  # fmt: skip
    assert done.stderr == ""
    return done.returncode, done.stdout


def test_the_program_of_the_docs_is_the_one_that_the_pages_offer(app, program) -> None:
    with app.test_client().get("/static/check_deal.py") as offered:
        assert offered.text == program.read_text()


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_good_record_passes(program, path) -> None:
    code, said = checked(program, path.read_text())
    assert (code, said.splitlines()[-1]) == (0, "The deal is the one that was committed to.")


@pytest.mark.parametrize("game", ["biscuit", "bisque", "snakebit"])
def test_a_fresh_record_passes_and_its_hands_are_those_of_the_letters(
    app, program, now, game
) -> None:
    match = running_match(["ann", "bob", "cleo"], now=now, game=game)
    table = load(match)
    held = [sorted(card.code for card in table.view(seat).hand) for seat in (1, 2, 3)]
    for _ in range(12):
        turn = open_turns(match)[0]
        play.make_move(turn.id, play.choose_for(turn.id, "greedy"), by="link", now=now)
    agreements.as_host(match.id, "end", {}, now=now)
    record = app.test_client().get(f"/g/{match.code}/record.json").text
    code, said = checked(program, record)
    assert code == 0
    told = [line.partition(": ")[2].split() for line in said.splitlines()[:-1]]
    assert [len(cards) for cards in told] == [len(told[0])] * 3
    # Who can play nothing at the start has drawn a card already.
    assert all(set(cards) <= set(hand) for cards, hand in zip(told, held, strict=True))


@pytest.mark.parametrize("name", ["biscuit-3p-02", "bisque-3p-11", "snakebit-4p-14"])
def test_another_key_another_card_and_another_phrase_are_found_out(program, name) -> None:
    record = json.loads((ROOT / f"tests/golden/records/{name}.json").read_text())
    key = record["deal"]["key"]
    forged = {
        "the key is not the one": record | {"deal": record["deal"] | {"key": key[::-1]}},
        "without having it": record | {"deal": record["deal"] | {
            "phrases": ["another"] * len(record["seats"])
        }},
    }  # fmt: skip
    for why, bad in forged.items():
        code, said = checked(program, bad)
        assert (code, why in said) == (1, True)


def test_seats_that_were_not_drawn_are_found_out(program) -> None:
    record = json.loads((ROOT / "tests/golden/records/biscuit-3p-drawn-seats.json").read_text())
    record["seating"] = record["seating"][1:] + record["seating"][:1]
    assert checked(program, record) == (1, "WRONG: the seats are not those that the key draws\n")


def test_the_page_shows_the_commitment_and_after_the_end_the_key(app, now) -> None:
    ann = player("ann", now=now)
    chairs = [Chair(address=ADDRESSES["bob"])]
    match = lobby.open_table(ann, "biscuit", chairs, {}, phrase="early", now=now)
    client = app.test_client()
    address = f"/g/{match.code}/deal"
    open_page = words(client.get(address))
    assert match.commitment in open_page
    # A phrase that others could see before they give theirs would be worth less.
    assert "early" not in open_page
    later = now + timedelta(hours=3)
    lobby.sit(match.seats[1].id, name="Bob", phrase="late", language="en", zone="UTC", now=later)
    running = words(client.get(address))
    assert re.search(
        r"Ann : “early”, .* Bob : “late”", running.replace("Ann:", "Ann :").replace("Bob:", "Bob :")
    )
    key = match.server_key.hex()
    assert key not in client.get(address).text
    finished(db.session.get_one(Match, match.id), now=later)
    over = client.get(address).text
    assert key in over
    assert f'href="/g/{match.code}/record.json"' in over
    assert client.get("/g/no-such-game/deal").status_code == 404
