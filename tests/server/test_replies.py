"""Made-up replies to letters of all games in both languages: none is read as another move."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.replies import (
    FORMS,
    HEADERS,
    PLACES,
    SIGNATURES,
    Asking,
    a_reply,
    asking_letters,
    outcome,
)
from engine import GAMES
from pbem.config import LANGUAGES
from pbem.mail import reply


@pytest.fixture(scope="module")
def askings() -> list[Asking]:
    return list(asking_letters())


def test_there_is_a_letter_of_each_game_in_each_language(askings) -> None:
    names = [f"{game} {language}" for game in GAMES for language in LANGUAGES]
    assert [asking.name for asking in askings] == names
    assert all(len(asking.moves) > 1 for asking in askings)
    assert len({asking.sent for asking in askings}) == len(askings)


@given(
    data=st.data(), known=st.booleans(), place=st.sampled_from(PLACES), form=st.sampled_from(FORMS)
)
@settings(max_examples=300, deadline=None)
def test_no_reply_is_read_as_another_move(askings, data, known, place, form) -> None:
    asking = data.draw(st.sampled_from(askings))
    n = data.draw(st.integers(1, len(asking.moves)))
    text = a_reply(
        data.draw(st.sampled_from(asking.parts)),
        form.format(n=n, move=asking.moves[n - 1]),
        data.draw(st.sampled_from(HEADERS)),
        place,
        data.draw(st.integers(20, 120)),
        data.draw(st.sampled_from(("> ", ">", "| ", ""))),
        data.draw(st.sampled_from(SIGNATURES)),
    )
    read = outcome(asking, text, n, known=known)
    assert read in ("right", "asked")
    # Above all else, or told so that nobody takes it for chat, it needs no asking.
    if known and (place == "top" or (place == "chat" and form != "{n}")):
        assert read == "right"


@given(
    data=st.data(),
    known=st.booleans(),
    width=st.integers(10, 140),
    place=st.sampled_from(PLACES),
    typed=st.sampled_from(("Nice one!", "Bravo Grace", "I think till tomorrow.", "")),
)
@settings(max_examples=100, deadline=None)
def test_a_reply_without_a_move_gives_none(askings, data, known, width, place, typed) -> None:
    asking = data.draw(st.sampled_from(askings))
    part = data.draw(st.sampled_from(asking.parts))
    header = data.draw(st.sampled_from(HEADERS))
    text = a_reply(part, typed, header, place, width, data.draw(st.sampled_from((">", ""))), "Ann")
    read = reply.read(text, sent=asking.sent if known else None, command=asking.command)
    assert (read.commands, read.ambiguous) == ((), ())
