"""Tokens prove that we made them, and nothing else opens anything."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pbem.errors import BadLink
from pbem.tokens import Named, Tokens

OLD, NEW = "11" * 32, "22" * 32
numbers = st.integers(0, 2**40 - 1)


@given(numbers, numbers)
def test_a_link_gives_back_its_ids(one: int, two: int) -> None:
    assert Tokens([NEW]).read_link("move", Tokens([NEW]).link("move", one, two), ids=2) == (
        one,
        two,
    )


def test_a_link_has_at_most_60_characters() -> None:
    assert len(Tokens([NEW]).link("move", 10**9, 99)) <= 60


@given(numbers, st.sampled_from(list(Named)))
def test_an_address_survives_any_case(number: int, named: Named) -> None:
    token = Tokens([NEW]).address(named, number)
    assert len(token) == 24
    assert token == token.lower()
    assert Tokens([NEW]).read_address(token.upper()) == (named, number)


def test_a_purpose_opens_no_other() -> None:
    with pytest.raises(BadLink):
        Tokens([NEW]).read_link("seat", Tokens([NEW]).link("move", 1))
    with pytest.raises(BadLink):
        Tokens([NEW]).read_link("move", Tokens([NEW]).link("move", 1), ids=2)


def test_an_old_key_still_verifies_and_the_last_one_signs() -> None:
    before, after = Tokens([OLD]), Tokens([OLD, NEW])
    assert after.read_link("move", before.link("move", 7)) == (7,)
    assert after.read_address(before.address(Named.TURN, 7)) == (Named.TURN, 7)
    with pytest.raises(BadLink):
        before.read_link("move", after.link("move", 7))
    assert before.read_address(after.address(Named.TURN, 7)) is None


@given(st.text(max_size=80))
def test_no_text_of_somebody_else_opens_anything(text: str) -> None:
    with pytest.raises(BadLink):
        Tokens([NEW]).read_link("move", text)
    assert Tokens([NEW]).read_address(text) is None


@given(st.integers(0, 23), st.sampled_from("abcdefghijklmnopqrstuvwxyz234567"))
def test_a_changed_address_names_nothing(place: int, letter: str) -> None:
    token = Tokens([NEW]).address(Named.SEAT, 5)
    changed = token[:place] + letter + token[place + 1 :]
    if changed != token:
        assert Tokens([NEW]).read_address(changed) is None
