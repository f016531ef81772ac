from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from icalendar import Calendar, Event

from pbem.mail.calendar import Entry, file

TURN = Entry(
    uid="turn-14.k3v9@play.example",
    sequence=0,
    starts=datetime(2026, 12, 4, 17, 0, tzinfo=UTC),
    summary="Biscuit with Bob: your turn",
    description="Move 14. Answer the letter, or open the page.",
    url="https://play.example/m/k3v9q2x7m4",
    is_cancelled=False,
    changed_at=datetime(2026, 11, 30, 10, 20, tzinfo=UTC),
)


def written(*entries: Entry, name: str = "Ann's turns") -> bytes:
    return file(entries, name=name, domain="play.example")


def parsed(*entries: Entry, name: str = "Ann's turns") -> Calendar:
    calendar = Calendar.from_ical(written(*entries, name=name))
    assert isinstance(calendar, Calendar)
    return calendar


def event(entry: Entry) -> Event:
    (only,) = parsed(entry).walk("VEVENT")
    assert isinstance(only, Event)
    return only


def names(raw: bytes) -> list[bytes]:
    """Return the property that each unfolded line starts with."""
    lines = raw.replace(b"\r\n ", b"").removesuffix(b"\r\n").split(b"\r\n")
    return [line.partition(b":")[0].partition(b";")[0] for line in lines]


def test_a_file_reads_as_it_should() -> None:
    assert written(TURN).decode() == (
        "BEGIN:VCALENDAR\r\n"
        "VERSION:2.0\r\n"
        "PRODID:-//play.example//pbem//EN\r\n"
        "CALSCALE:GREGORIAN\r\n"
        "METHOD:PUBLISH\r\n"
        "X-WR-CALNAME:Ann's turns\r\n"
        "BEGIN:VEVENT\r\n"
        "SUMMARY:Biscuit with Bob: your turn\r\n"
        "DTSTART:20261204T170000Z\r\n"
        "DTSTAMP:20261130T102000Z\r\n"
        "UID:turn-14.k3v9@play.example\r\n"
        "SEQUENCE:0\r\n"
        "DESCRIPTION:Move 14. Answer the letter\\, or open the page.\r\n"
        "STATUS:CONFIRMED\r\n"
        "TRANSP:TRANSPARENT\r\n"
        "URL:https://play.example/m/k3v9q2x7m4\r\n"
        "END:VEVENT\r\n"
        "END:VCALENDAR\r\n"
    )


def test_the_calendar_names_the_site_and_itself() -> None:
    calendar = parsed(TURN)
    assert {key: str(value) for key, value in calendar.items()} == {
        "PRODID": "-//play.example//pbem//EN",
        "VERSION": "2.0",
        "CALSCALE": "GREGORIAN",
        "METHOD": "PUBLISH",
        "X-WR-CALNAME": "Ann's turns",
    }
    assert not calendar.errors


def test_an_entry_comes_back_whole_and_rings_no_alarm() -> None:
    found = event(TURN)
    assert found.decoded("DTSTART") == TURN.starts
    assert found.decoded("DTSTAMP") == TURN.changed_at
    assert found.decoded("SEQUENCE") == 0
    assert [str(found[key]) for key in ("UID", "SUMMARY", "DESCRIPTION", "URL")] == [
        TURN.uid,
        TURN.summary,
        TURN.description,
        TURN.url,
    ]
    assert (found["STATUS"], found["TRANSP"]) == ("CONFIRMED", "TRANSPARENT")
    assert found.subcomponents == []


def test_no_entries_make_an_empty_calendar() -> None:
    assert parsed().subcomponents == []


def test_entries_keep_their_order() -> None:
    later = replace(TURN, uid="turn-15.k3v9@play.example")
    assert [str(one["UID"]) for one in parsed(later, TURN).walk("VEVENT")] == [later.uid, TURN.uid]


def test_a_cancelled_entry_has_the_same_uid_and_a_higher_sequence() -> None:
    found = event(replace(TURN, sequence=3, is_cancelled=True))
    assert (found["UID"], found["SEQUENCE"], found["STATUS"]) == (TURN.uid, 3, "CANCELLED")


def test_letters_beyond_ascii_come_back() -> None:
    summary = "Jörg, Zoë & 花子: „du bist dran“ 🎴; \\n is no line"
    assert str(event(replace(TURN, summary=summary))["SUMMARY"]) == summary
    assert "X-WR-CALNAME:Jörgs Züge\\, alle\r\n" in written(name="Jörgs Züge, alle").decode()


def test_long_lines_are_folded_at_75_octets() -> None:
    text = "Äpfel und Öl 🎴 " * 40
    entry = replace(TURN, summary=text, description=text, url=TURN.url + "?x=" + "y" * 300)
    raw = written(entry)
    assert raw.count(b"\n") == raw.count(b"\r") == raw.count(b"\r\n")
    assert max(len(line) for line in raw.split(b"\r\n")) <= 75
    found = event(entry)
    assert (str(found["SUMMARY"]), str(found["DESCRIPTION"])) == (text, text)
    assert str(found["URL"]) == entry.url


@pytest.mark.parametrize("end", ["\r\n", "\n", "\r", "\v", "\f", "\x1c", "\x85", "\u2028"])
def test_a_line_end_in_the_words_starts_no_property(end: str) -> None:
    evil = f"Biscuit{end}END:VEVENT{end}BEGIN:VEVENT{end}X-EVIL:1"
    raw = written(replace(TURN, summary=evil, description=evil), name=evil)
    assert names(raw) == names(written(TURN))
    assert len(raw.decode().splitlines()) == raw.count(b"\r\n")
    found = event(replace(TURN, summary=evil))
    assert str(found["SUMMARY"]) == "Biscuit\nEND:VEVENT\nBEGIN:VEVENT\nX-EVIL:1"


def test_control_characters_are_left_out() -> None:
    raw = written(replace(TURN, summary="a\0b\x1b[1m\x7fc\x9bd\te", description="\udcffx"))
    assert "SUMMARY:ab[1mcd\te\r\n" in raw.decode()
    assert "DESCRIPTION:x\r\n" in raw.decode()


def test_a_url_with_a_line_end_is_refused() -> None:
    with pytest.raises(ValueError, match="CR or LF"):
        written(replace(TURN, url="https://play.example/\r\nX-EVIL:1"))


def test_the_same_entries_give_the_same_bytes() -> None:
    assert written(TURN, replace(TURN, uid="b")) == written(TURN, replace(TURN, uid="b"))


@given(words=st.text(max_size=200))
@settings(deadline=None)
def test_any_words_leave_the_file_whole(words: str) -> None:
    raw = written(replace(TURN, summary=words, description=words), name=words)
    assert names(raw) == names(written(TURN))
    assert max(len(line) for line in raw.split(b"\r\n")) <= 75
    assert len(Calendar.from_ical(raw).walk("VEVENT")) == 1
