from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.replies import HEADERS, PLACES, SIGNATURES, a_reply, wrapped
from pbem.mail import note, reply
from pbem.mail.flatten import flatten
from pbem.mail.listed import listed_commands
from pbem.mail.reply import Command, Reply, clean

MAILS = Path(__file__).parents[1] / "mails"
LETTER = (MAILS / "letter.txt").read_text()
SENT = LETTER + "\n" + flatten((MAILS / "letter.html").read_text())

MOVES = ("5SW left", "5SW right", "6LK left", "9MS up 9WY", "2MK right")
command = listed_commands(MOVES)


def understood(text: str, sent: str | None = SENT, *, page: str = "") -> Reply:
    return reply.read(text, page=page, sent=sent, command=command)


def expected() -> list[dict]:
    lines = (MAILS / "expected.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def test_every_mail_of_the_collection_is_expected() -> None:
    assert {row["mail"] for row in expected()} == {path.stem for path in MAILS.glob("*.eml")}
    assert len(expected()) >= 250


@pytest.mark.parametrize("row", expected(), ids=lambda row: row["mail"])
def test_a_mail_of_the_collection_is_read_as_expected(row: dict) -> None:
    facts = note.read((MAILS / f"{row['mail']}.eml").read_bytes())
    read = understood(facts.text, page=facts.page)
    assert {
        "mail": row["mail"],
        "commands": list(read.commands),
        "say": read.say,
        "ambiguous": list(read.ambiguous),
        "unreadable": read.unreadable,
        "refused": [[line, str(reason)] for line, reason in read.refused],
        "automatic": facts.automatic,
    } == row


def test_a_page_that_asks_for_another_move_than_the_text_leaves_a_choice() -> None:
    read = understood("5SW left", page="5SW right\n> 6LK left")
    assert (read.commands, read.ambiguous) == ((), ("5SW left", "5SW right"))


@pytest.mark.parametrize("page", ["5sw left!", "> 5SW right", "Hello Bob"])
def test_a_page_that_asks_for_nothing_else_leaves_none(page: str) -> None:
    read = understood("5SW left", page=page)
    assert (read.commands, read.ambiguous) == (("5SW left",), ())


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("sign", ["> ", ""])
@pytest.mark.parametrize("width", [40, 60, 65, 72, 76])
def test_a_move_is_read_wherever_it_stands(place: str, sign: str, width: int) -> None:
    for nth, header in enumerate(HEADERS):
        signature = SIGNATURES[(nth + width) % len(SIGNATURES)]
        text = a_reply(LETTER, "9MS up 9WY", header, place, width, sign, signature)
        assert understood(text).commands == ("9MS up 9WY",), text


@pytest.mark.parametrize("sign", ["> ", ""])
def test_without_a_typed_move_nothing_is_read_at_any_width(sign: str) -> None:
    for width in range(10, 140):
        header = HEADERS[width % len(HEADERS)]
        for place in PLACES:
            read = understood(a_reply(LETTER, "Nice one!", header, place, width, sign, "Ann"))
            assert (read.commands, read.ambiguous, read.refused) == ((), (), ())


def test_a_letter_that_is_not_known_is_no_move_either() -> None:
    for width in range(10, 140):
        read = understood("\n".join(["Hello", *wrapped(LETTER, width)]), sent=None)
        assert (read.commands, read.ambiguous, read.refused) == ((), (), ())


@given(text=st.text(max_size=300), sent=st.none() | st.text(max_size=300))
@settings(max_examples=200, deadline=None)
def test_any_text_can_be_read(text: str, sent: str | None) -> None:
    assert isinstance(understood(text, sent), Reply)


@given(line=st.text(max_size=600))
def test_a_clean_line_stays_as_it_is(line: str) -> None:
    assert clean(clean(line)) == clean(line)
    assert len(clean(line)) <= 400


@pytest.mark.parametrize(
    ("line", "cleaned"),
    [
        ("  *5SW*\u00a0Left!  ", "5sw left"),
        ("- 5SW left.", "5sw left"),
        ("• “5SW” left", "5sw left"),
        ("５ＳＷ　ＬＥＦＴ", "5sw left"),
        ("\u200f5SW\u200b left\u202c", "5sw left"),
        ("[3] 5ML left: +2", "[3] 5ml left: +2"),
        ("5SW,", "5sw,"),
        ("l’as de lunes", "l'as de lunes"),
        ("-5", "-5"),
    ],
)
def test_a_line_is_cleaned_of_decoration_only(line: str, cleaned: str) -> None:
    assert clean(line) == cleaned


OLDER = "Biscuit, move 10.\n\n[1] 6LK left: +3\n[2] 2MK left: none\n"


@pytest.mark.parametrize("nth", range(len(HEADERS)))
def test_an_older_move_below_is_never_taken(nth: int) -> None:
    header, other = HEADERS[nth], HEADERS[(nth * 7 + 3) % len(HEADERS)].replace("Biscuit", "Ann")
    below = [header, "", *wrapped(LETTER, 72), "", other, "", "6LK left", "", header, OLDER]
    for sent in (SENT, None):
        assert understood("\n".join(below), sent).commands == ()
        assert understood("\n".join(["5SW left", "", *below]), sent).commands == ("5SW left",)
        assert understood("\n".join([*below, "", "5SW left"]), sent).commands == ()


def test_a_move_in_a_mail_of_somebody_else_is_not_the_senders() -> None:
    bob = "-----Original Message-----\nFrom: Bob <bob@players.example>\nSent: today\n\n5SW left\n\n"
    ours = f"-----Original Message-----\nFrom: Biscuit <g@play.example>\nSent: today\n\n{LETTER}"
    assert understood(f"See what Bob says.\n\n{bob}{ours}").unreadable == "See what Bob says."
    assert understood(f"6LK left\n\n{bob}{ours}").commands == ("6LK left",)
    assert understood(f"Bob's:\n\n{ours}\n9MS above 9WY\n\n{bob}").commands == ("9MS up 9WY",)


def test_lines_for_two_questions_are_two_commands() -> None:
    def pot_and_lead(line: str) -> Command | None:
        verb, _, card = clean(line).partition(" ")
        if verb in ("pot", "play"):
            return Command(f"{verb} {card.upper()}", weak=False, question=verb)
        return None

    text = "pot 4MS\nplay 9MS\n"
    assert reply.read(text, sent=None, command=pot_and_lead) == Reply(("pot 4MS", "play 9MS"))


def refusals(read: Reply) -> list[tuple[str, str]]:
    return [(line, str(reason)) for line, reason in read.refused]


def test_a_move_that_is_not_legal_yet_waits_for_the_command_above_it() -> None:
    read = understood("5SW left\n7SK right\n")
    assert read.commands == ("5SW left",)
    assert refusals(read) == [("7SK right", "it is not in the list of moves")]
    assert read.then == ("7SK right",)


def test_a_number_out_of_the_list_never_waits_for_another_list() -> None:
    assert understood("5SW left\n#9\n").then == ()


def test_an_illegal_move_at_the_top_is_not_replaced_by_one_below() -> None:
    read = understood("7SK left\n\n> quoted\n5SW left\n")
    assert read.commands == ()
    assert refusals(read) == [("7SK left", "it is not in the list of moves")]


def test_say_runs_over_lines_that_look_like_moves() -> None:
    assert understood("say: I nearly played\n5SW left\n> q") == Reply(
        (), say="I nearly played\n5SW left"
    )


def test_hostile_texts_are_read_to_their_end() -> None:
    for line in ("-" * 60_000, "(" * 60_000, "\n" * 60_000, "a:" * 30_000, "On " * 20_000):
        assert understood(line, line).commands == ()
    assert understood("On 1\n" * 13_000, "5\n" * 30_000).commands == ()


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("sit down", Command("sit", weak=False, question="invitation")),
        ("Yes!", Command("sit", weak=True, question="invitation")),
        ("I'll join, please", Command("sit", weak=False, question="invitation")),
        ("OK", Command("sit", weak=True, question="invitation")),
        ("Je joue", Command("sit", weak=False, question="invitation")),
        ("No, thanks", Command("decline", weak=True, question="invitation")),
        ("no thanks", Command("decline", weak=False, question="invitation")),
        ("non merci", Command("decline", weak=False, question="invitation")),
        ("decline", Command("decline", weak=False, question="invitation")),
        ("perhaps", None),
        ("yes and no", None),
    ],
)
def test_an_invitation_is_answered(line: str, answer: Command | None) -> None:
    assert reply.invitation_commands()(line) == answer
