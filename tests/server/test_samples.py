"""Sample letters: one of each kind, and what the finished bytes of every letter must be."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from email.message import EmailMessage
from functools import cached_property
from html.parser import HTMLParser
from io import BytesIO
from itertools import islice
from pathlib import Path

import pytest
from cast import html_of, parsed, text_of
from own_lines import paragraphs, reads, rewrapped
from PIL import Image

from engine import GAMES
from pbem import cli, create_app, post, samples
from pbem.clocks import open_turns
from pbem.config import LANGUAGES, Settings
from pbem.mail import contents, errand, letters, reply
from pbem.models import Letter, Turn
from pbem.samples import Sample, story
from pbem.table import load
from pbem.tokens import Tokens

HEAVIEST = 60_000  # bytes of HTML, and of the table's picture
LONGEST = 100  # characters of a line of text
MOST_STYLE = 16_000  # bytes of a style block, of which Gmail takes 16 KB

SITE = Settings(
    instance=Path("/nowhere"),
    site_name="Cards at Example",
    base_url="https://play.example",
    mail_domain="mail.example",
    database_url="sqlite:////nowhere/true.sqlite3",
)


@dataclass
class Case:
    """A sample, and what may read a reply to it."""

    sample: Sample
    readers: dict[tuple[int, ...], Callable]

    @cached_property
    def message(self) -> EmailMessage:
        return parsed(self.sample.raw)

    @cached_property
    def text(self) -> str:
        return text_of(self.message)

    @cached_property
    def html(self) -> str:
        return html_of(self.message)


@pytest.fixture(scope="module")
def cases(tmp_path_factory) -> dict[str, dict[str, Case]]:
    """All samples in each language, by name; the French ones as an application keeps them."""
    english = {case.sample.name: case for case in told()}
    folder = tmp_path_factory.mktemp("site")
    app = create_app(replace(SITE, instance=folder, database_url="", secret_keys=("ab" * 32,)))
    with app.test_request_context(headers={"Accept-Language": "en"}):
        french = app.extensions["pbem.samples"].samples("fr")
    assert list(folder.iterdir()) == []  # nothing of the site's own was made or touched
    # The story and so the turns are the same.
    return {
        "en": english,
        "fr": {name: Case(sample, english[name].readers) for name, sample in french.items()},
    }


@pytest.fixture(scope="module")
def everything(cases) -> dict[str, Case]:
    """The samples of all languages together."""
    return {
        f"{name} {language}": case
        for language, found in cases.items()
        for name, case in found.items()
    }


def told(most: int | None = None) -> Iterator[Case]:
    """Tell the story in English, as far as so many samples."""
    with samples.throw_away(create_app, SITE):
        for sample, letter in islice(samples.told("en", "Europe/Paris"), most):
            assert letters.is_true(letter), sample.name
            yield Case(sample, readers(letter))


def readers(letter: Letter) -> dict[tuple[int, ...], Callable]:
    """What reads replies about a letter: by its own turn, and by those that are open now."""
    turns = contents.open_turns(letter) if "turns" in letter.about else []
    turns += [letter.turn] if letter.turn else []
    turns += open_turns(match=letter.match) if letter.match else []
    return {(0,): reply.invitation_commands()} | {
        (turn.match_id, turn.seat, turn.ply): reader(turn) for turn in turns
    }


def reader(turn: Turn) -> Callable:
    table = load(turn.match, ply=turn.ply)
    return reply.turn_commands(table.game, table.view(turn.seat))


def wrong(everything: dict[str, Case], check: Callable[[Case], object]) -> dict[str, object]:
    """What a check finds, by the samples at which it finds something."""
    found = {name: check(case) for name, case in everything.items()}
    return {name: what for name, what in found.items() if what}


# What samples there are.


def test_every_kind_of_letter_has_a_sample_and_no_other() -> None:
    assert set(story.OF_SITE) | set(story.OF_TABLE) == set(contents.PLAIN) | set(contents.AT_TABLE)


def test_every_kind_comes_for_every_game(cases) -> None:
    for found in cases.values():
        assert list(found) == [
            *story.OF_SITE,
            *(f"{kind}-{game}" for game in GAMES for kind in story.OF_TABLE),
        ]


def test_two_runs_give_the_same_bytes_but_for_links_that_know_when_they_were_made(cases) -> None:
    again = {case.sample.name: case.sample.raw for case in told(20)}
    differ = [name for name, raw in again.items() if raw != cases["en"][name].sample.raw]
    assert set(differ) <= {"sign_in", "add_address"}
    assert len(again) == 20


def test_the_files_hold_letter_text_picture_and_moves(cases, tmp_path) -> None:
    made = [case.sample for case in cases["fr"].values()]
    samples.write(made, tmp_path / "new")
    files = {path.name: path.read_bytes() for path in (tmp_path / "new").iterdir()}
    turn = cases["fr"]["your_turn-biscuit"].sample
    assert files["your_turn-biscuit.eml"] == turn.raw
    assert files["your_turn-biscuit.txt"].decode() == turn.text
    assert files["your_turn-biscuit.png"] == turn.table_picture
    assert files["your_turn-biscuit.moves"].decode().splitlines() == list(turn.moves)
    assert {"sign_in.eml", "sign_in.txt"} <= set(files)
    assert not {"sign_in.png", "sign_in.moves", "digest.moves"} & set(files)
    assert len([name for name in files if name.endswith(".eml")]) == len(made)


def test_the_command_takes_the_sites_words_and_no_key(cases, monkeypatch, tmp_path, capsys) -> None:
    asked = []

    def made(_build, site: Settings, language: str) -> list[Sample]:
        asked.append((site.base_url, site.secret_keys, language))
        return [cases["fr"]["sign_in"].sample]

    monkeypatch.setattr(samples, "made", made)
    monkeypatch.setenv("PBEM_BASE_URL", "https://other.example")
    monkeypatch.setenv("PBEM_SECRET_KEYS", "cd" * 32)
    assert cli.main(["sample-letters", str(tmp_path), "--lang", "fr"]) == 0
    assert asked == [("https://other.example", (samples.KEY,), "fr")]
    assert {path.name for path in tmp_path.iterdir()} == {"sign_in.eml", "sign_in.txt"}
    assert capsys.readouterr().out == f"1 letters are in {tmp_path}\n"


def test_wrong_settings_are_told_in_words(monkeypatch, tmp_path, capsys) -> None:
    monkeypatch.setenv("PBEM_BASE_URL", "nowhere")
    assert cli.main(["sample-letters", str(tmp_path)]) == 1
    assert "these settings are wrong:\nbase_url:" in capsys.readouterr().err


# The mail around the words.


def test_every_letter_is_parsed_without_defects(everything) -> None:
    assert (
        wrong(
            everything, lambda case: [part.defects for part in case.message.walk() if part.defects]
        )
        == {}
    )
    assert wrong(everything, lambda case: not case.sample.raw.isascii()) == {}
    assert wrong(everything, lambda case: max(map(len, case.sample.raw.split(b"\r\n"))) > 78) == {}


def test_every_letter_is_built_as_mail_programs_like_it(everything) -> None:
    assert wrong(everything, lambda case: shape(case.message) != wanted_shape(case)) == {}


def shape(message: EmailMessage) -> object:
    """The types of a message's parts, each multipart as a list after its name."""
    if not message.is_multipart():
        return message.get_content_type()
    return [message.get_content_subtype(), *(shape(part) for part in message.iter_parts())]


def wanted_shape(case: Case) -> object:
    pictures = ["image/png"] * len(case.sample.pictures)
    html = ["related", "text/html", *pictures] if pictures else "text/html"
    files = [part.get_content_type() for part in case.message.iter_attachments()]
    both = ["alternative", "text/plain", html]
    return ["mixed", both, *files] if case.message.get_content_subtype() == "mixed" else both


def test_only_turns_and_ends_have_something_attached(everything) -> None:
    mixed = {
        (case.sample.name.partition("-")[0], part.get_content_type())
        for case in everything.values()
        if case.message.get_content_subtype() == "mixed"
        for part in case.message.iter_attachments()
    }
    assert mixed == {("your_turn", "text/calendar"), ("game_over", "application/json")}


def test_every_picture_is_shown_and_every_shown_one_is_there(everything) -> None:
    for name, case in everything.items():
        shown = re.findall(r'src="cid:([^"]+)"', case.html)
        assert sorted(set(shown)) == sorted(case.sample.pictures), name
        assert "table" not in case.sample.name or case.sample.table_picture


def test_every_letter_says_that_a_machine_wrote_it(everything) -> None:
    for name, case in everything.items():
        is_answer = name.split()[0].partition("-")[0] in post.ANSWERS
        assert case.message["Auto-Submitted"] == (
            "auto-replied" if is_answer else "auto-generated"
        ), name
        assert case.message["X-Auto-Response-Suppress"] == "All", name
        assert case.message["x-ms-reactions"] == "disallow", name
        stop = case.message["List-Unsubscribe"].strip()
        assert re.fullmatch(r"<https://play\.example/u/[\w.-]{40,60}>", stop), name
        assert case.message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click", name
        assert re.fullmatch(r"<\d+\.[0-9a-f]{16}@mail\.example>", case.message["Message-ID"]), name


def test_every_letter_of_a_table_has_its_list_and_no_other(everything) -> None:
    for name, case in everything.items():
        of_table = name.split()[0].partition("-")[2]
        wanted = rf"<sample-{of_table}-[\w-]+\.mail\.example>" if of_table else ""
        assert re.fullmatch(wanted, case.message["List-Id"] or ""), name


def test_what_is_answered_goes_to_an_address_of_ours_with_a_token(everything) -> None:
    tokens = Tokens((samples.KEY,))
    for name, case in everything.items():
        to = re.fullmatch(r"g\+([a-z2-7]{24})@mail\.example", case.message["Reply-To"] or "")
        assert bool(to) == bool(case.message["Reply-To"]), name
        assert to is None or tokens.read_address(to[1]), name
        # What cannot be answered says nothing that a reply could be about.
        assert to or not case.sample.moves, name


# The words.


def test_both_languages_list_the_same_moves_in_the_same_order(cases) -> None:
    assert set(cases["en"]) == set(cases["fr"])
    for name, case in cases["en"].items():
        french = cases["fr"][name]
        assert case.sample.moves == french.sample.moves, name
        assert [nth for nth, _ in numbered(case.text)] == [nth for nth, _ in numbered(french.text)]


def test_the_moves_beside_a_letter_are_those_that_it_numbers(everything) -> None:
    seen = 0
    for name, case in everything.items():
        if not case.sample.moves:
            continue
        numbers = [nth for nth, _ in numbered(case.text)]
        assert numbers == list(range(1, len(case.sample.moves) + 1)), name
        read = [own_reader(case)(f"move {nth}").text for nth in numbers]
        assert read == list(case.sample.moves), name
        assert cards_of_numbers(case.text) == [card_of(move) for move in case.sample.moves], name
        assert len(re.findall(r'href="[^"]+/m/[^"]+"', case.html)) == len(numbers), name
        seen += 1
    assert seen >= 3 * len(GAMES) * len(LANGUAGES)  # turn, reminder and what was not done


def own_reader(case: Case) -> Callable:
    (found,) = [read for key, read in case.readers.items() if len(key) == 3]
    return found


def cards_of_numbers(text: str) -> list[str]:
    """The code of the card under which each number stands."""
    found, card = [], ""
    for line in text.splitlines():
        heading = re.match(r"([A2-9CPTX]\w+),", line)
        card = heading[1] if heading else card
        if re.match(r" +\[\d+\]", line):
            found.append(card)
    return found


def card_of(move: str) -> str:
    return next(word for word in move.split() if word.isupper())


def test_text_and_html_number_the_same_moves(everything) -> None:
    assert (
        wrong(
            everything,
            lambda case: (
                numbered(case.text)
                != [
                    (int(nth), " ".join(html.unescape(line).split()))
                    for nth, line in re.findall(r">(\d+)\. ([^<]+)</a>", case.html)
                ]
            ),
        )
        == {}
    )


def numbered(text: str) -> list[tuple[int, str]]:
    """The numbered moves of a text part with their words; a long one goes on indented."""
    found = re.findall(r"^  \[(\d+)\] (.+(?:\n      .+)*)$", text, re.MULTILINE)
    return [(int(nth), " ".join(line.split())) for nth, line in found]


def test_no_line_of_text_is_long(everything) -> None:
    assert wrong(everything, lambda case: long_lines(case.text)) == {}


def long_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if len(line) > LONGEST]


OURS = re.compile(r"https://play\.example(/.*)?|cid:.*|mailto:g\+[a-z2-7]{24}@mail\.example")


def test_links_lead_to_the_configured_address_only(everything) -> None:
    for name, case in everything.items():
        links = re.findall(r'(?:href|src)="([^"]*)"', case.html)
        links += re.findall(r"\bhttps?:[^\s<>]*", case.text)
        foreign = [link for link in links if not OURS.fullmatch(link)]
        assert foreign == [], name
        assert links, name


def test_no_line_reads_as_a_move_at_any_width(everything) -> None:
    by_reader: dict[tuple[int, ...], tuple[Callable, set[str]]] = {}
    for case in everything.values():
        for key, read in case.readers.items():
            by_reader.setdefault(key, (read, set()))[1].update(paragraphs(case.message))
    broken: dict[str, set[str]] = {}
    for read, whole in by_reader.values():
        lines = set()
        for paragraph in whole:
            lines |= broken.setdefault(paragraph, rewrapped(paragraph))
        assert {line for line in lines if reads(line, read)} == set()


def test_no_line_of_ours_asks_for_anything(everything) -> None:
    today = date(2026, 12, 1)
    lines = {line for case in everything.values() for line in paragraphs(case.message)}
    # A word alone may end a paragraph of ours; below a quote it counts only as all there is.
    lines = {line for line in lines if " " in line.strip()}
    assert {line for line in lines if errand.read(line, today=today)} == set()


# What mail programs do not show, or show otherwise (caniemail.com, 2026-06).


class Tags(HTMLParser):
    """The tags of a page with their attributes, and the text of its style blocks."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.styles: list[tuple[bool, str]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        if self.lasttag == "style" and data.strip():
            in_head = "body" not in [tag for tag, _ in self.found]
            self.styles.append((in_head, data))


NO_TAGS = {
    *("svg", "form", "input", "button", "select", "textarea", "script", "link", "iframe"),
    *("object", "embed", "video", "audio", "canvas", "base", "picture", "amp-img"),
}
NO_STYLES = re.compile(
    r"\b(?:flex|grid|position|float)\b|\bvar\(|--[a-z]|gradient|background-image|url\(|@import"
)


def test_html_has_no_tag_that_mail_programs_drop(everything) -> None:
    assert wrong(everything, lambda case: NO_TAGS & {tag for tag, _ in Tags(case.html).found}) == {}
    events = re.compile(r"on\w+")
    assert (
        wrong(
            everything,
            lambda case: [
                name
                for _, attrs in Tags(case.html).found
                for name in attrs
                if events.fullmatch(name)
            ],
        )
        == {}
    )
    assert wrong(everything, lambda case: re.findall(r"\b(?:data|javascript):", case.html)) == {}


def test_html_has_no_style_that_mail_programs_drop(everything) -> None:
    for name, case in everything.items():
        tags = Tags(case.html)
        inline = [attrs.get("style", "") for _, attrs in tags.found]
        assert [style for style in inline if NO_STYLES.search(style)] == [], name
        for in_head, block in tags.styles:
            assert in_head, name
            assert len(block.encode()) < MOST_STYLE, name
            assert not NO_STYLES.search(block), name
            # All of it depends on the device, so that the mail is whole where it is dropped.
            assert re.fullmatch(r"\s*(@media [^{]+\{(?:[^{}]+\{[^{}]*\}\s*)*\}\s*)*", block), name


def test_tables_are_for_layout_and_say_so(everything) -> None:
    for name, case in everything.items():
        tables = [attrs for tag, attrs in Tags(case.html).found if tag == "table"]
        assert tables, name
        assert all(attrs.get("role") == "presentation" for attrs in tables), name
        colours = re.compile(r"background(-color)?: *#[0-9a-f]{6}", re.IGNORECASE)
        grounds = [attrs["style"] for _, attrs in Tags(case.html).found if "bgcolor" in attrs]
        assert all(colours.search(style) for style in grounds), name


def test_every_picture_has_its_size_and_says_what_it_shows(everything) -> None:
    for name, case in everything.items():
        for attrs in (attrs for tag, attrs in Tags(case.html).found if tag == "img"):
            assert attrs["alt"].strip(), name
            width, height = int(attrs["width"]), int(attrs.get("height", 0))
            picture = Image.open(BytesIO(case.sample.pictures[attrs["src"].removeprefix("cid:")]))
            assert height == round(picture.height * width / picture.width), (name, attrs)


def test_no_letter_is_clipped_or_heavy(everything) -> None:
    assert wrong(everything, lambda case: heavy(case.sample)) == {}


def heavy(sample: Sample) -> list[int]:
    weights = [len(sample.html.encode()), len(sample.table_picture or b"")]
    return [weight for weight in weights if weight >= HEAVIEST]
