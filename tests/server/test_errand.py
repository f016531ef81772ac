"""Which lines of a reply ask for something beside a move; ordinary sentences never do."""

from __future__ import annotations

from datetime import date

import pytest

from pbem.mail import errand
from pbem.mail.errand import Errand

TODAY = date(2026, 12, 1)


def read(line: str) -> Errand | None:
    return errand.read(line, today=TODAY)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("help", "help"),
        ("*Help!*", "help"),
        ("aide", "help"),
        ("Status please", "status"),
        ("état", "status"),
        ("statut", "status"),
        ("again", "again"),
        ("- encore", "again"),
        ("HISTORY.", "history"),
        ("historique", "history"),
        ("more time", "more time"),
        ("plus de temps, svp", "more time"),
        ("I'm back!", "back"),
        ("de retour", "back"),
        ("resign", "resign"),
        ("abandonner", "resign"),
        ("yes, resign", "yes, resign"),
        ("oui, abandonner", "yes, resign"),
        ("rematch", "rematch"),
        ("revanche", "rematch"),
        ("stop", "stop"),
        ("start mails", "start"),
    ],
)
def test_a_whole_line_is_understood(line: str, what: str) -> None:
    assert read(line) == Errand(what)


@pytest.mark.parametrize(
    ("line", "first", "last"),
    [
        ("away 24 Dec to 2 Jan", "2026-12-24", "2027-01-02"),
        ("Away from 24th December until 2nd January.", "2026-12-24", "2027-01-02"),
        ("absent du 24 déc au 2 janv", "2026-12-24", "2027-01-02"),
        ("absente du 24 déc. au 2 janv.", "2026-12-24", "2027-01-02"),
        ("I am away Dec 24 - Jan 2", "2026-12-24", "2027-01-02"),
        ("away 2026-12-24 to 2027-01-02", "2026-12-24", "2027-01-02"),
        ("away 1 March 2027 to 3 March 2027", "2027-03-01", "2027-03-03"),
        ("away until 5 Dec", "2026-12-01", "2026-12-05"),
        ("away on 5 Dec", "2026-12-05", "2026-12-05"),
        ("absent le 1er févr", "2027-02-01", "2027-02-01"),
        # A slip is not read as an absence of a year; the use case says what is wrong.
        ("away 24 Dec to 20 Dec", "2026-12-24", "2026-12-20"),
    ],
)
def test_an_absence_is_read_in_words(line: str, first: str, last: str) -> None:
    assert read(line) == Errand("away", (first, last))


def test_a_day_that_is_none_is_passed_on_to_be_refused() -> None:
    assert read("away 31 Feb to 3 Mar") == Errand("away", ("31 feb", "3 mar"))


def test_a_new_game_names_its_people() -> None:
    wanted = Errand("new", ("biscuit", "bob@players.example", "cleo@players.example"))
    for line in (
        "new biscuit with bob@players.example, cleo@players.example",
        "New Biscuit with <bob@players.example> and cleo@players.example",
        "nouvelle biscuit avec bob@players.example, cleo@players.example",
        "nouvelle partie de biscuit avec bob@players.example et cleo@players.example",
    ):
        assert read(line) == wanted


@pytest.mark.parametrize(
    "line",
    [
        "",
        "9",
        "5SW left",
        "I need some help with this",
        "what is the status of the other game?",
        "do it again, Bob",
        "I will be back on Monday",
        "please stop doing that",
        "never resign",
        "I won't resign",
        "away from home I play badly",
        "away with you",
        "I have been away",
        "a new game with you would be nice",
        "new shoes with laces",
        "yes",
        "no",
    ],
)
def test_an_ordinary_sentence_asks_for_nothing(line: str) -> None:
    assert read(line) is None
