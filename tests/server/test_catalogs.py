from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog, Message
from babel.messages.frontend import CommandLineInterface
from babel.messages.mofile import read_mo
from babel.messages.pofile import read_po
from flask import Flask
from flask_babel import force_locale

from engine.biscuit import Biscuit
from engine.decktet import CARDS
from engine.errors import RulesError
from engine.game import Phrase
from pbem import create_app, words
from pbem.config import Settings
from pbem.mail.commands import invitation_commands, turn_commands

ROOT = Path(__file__).parents[2]
TRANSLATIONS = ROOT / "pbem" / "translations"
FRENCH = TRANSLATIONS / "fr" / "LC_MESSAGES" / "messages"
KEYWORDS = ("-k", "N_", "-k", "say", "-k", "count:2,3")


def catalog(path: Path) -> Catalog:
    with path.open("rb") as file:
        return read_po(file, locale="fr")


def messages(found: Catalog) -> list[Message]:
    return [message for message in found if message.id]


def ids(found: Catalog) -> set[tuple[str, ...]]:
    return {forms(message.id) for message in messages(found)}


def forms(text: str | tuple[str, ...] | list[str]) -> tuple[str, ...]:
    return (text,) if isinstance(text, str) else tuple(text)


def strings(found: Catalog) -> dict[tuple[str, ...], tuple[str, ...]]:
    return {forms(message.id): forms(message.string) for message in messages(found)}


def placeholders(text: str) -> set[str]:
    return set(re.findall(r"%\(\w+\)[a-z]|%[a-z]", text))


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """All words for people, collected anew from the code and the templates."""
    template = tmp_path_factory.mktemp("catalogs") / "messages.pot"
    command = ["pybabel", "-q", "extract", "-F", str(ROOT / "babel.cfg"), *KEYWORDS]
    CommandLineInterface().run([*command, "-o", str(template), str(ROOT)])
    return catalog(template)


@pytest.fixture(scope="module")
def french() -> Catalog:
    """The French catalog."""
    return catalog(FRENCH.with_suffix(".po"))


@pytest.fixture
def speaking_french(tmp_path: Path) -> Iterator[Flask]:
    """The application, in French."""
    app = create_app(Settings(instance=tmp_path, secret_keys=("ab" * 32,)))
    with app.app_context(), force_locale("fr"):
        yield app


def test_the_extraction_finds_words_in_code_errors_and_templates(collected: Catalog) -> None:
    assert {
        ("Moons",),
        ("%(seat)s passed.",),
        ("%(n)s card", "%(n)s cards"),
        ("that move was already made; here is the game as it stands",),
        ("THE TABLE",),
        ("Open the table",),
    } <= ids(collected)


def test_the_catalogs_hold_the_words_of_the_code_and_no_others(
    collected: Catalog, french: Catalog
) -> None:
    advice = "run `make catalogs` and translate what is new"
    assert ids(catalog(TRANSLATIONS / "messages.pot")) == ids(collected), advice
    assert ids(french) == ids(collected), advice
    assert not french.obsolete


def test_every_message_is_translated_in_all_its_forms(french: Catalog) -> None:
    open_ones = [
        message.id
        for message in messages(french)
        if message.fuzzy or not all(text.strip() for text in forms(message.string))
    ]
    assert not open_ones
    assert all(len(forms(message.string)) == len(forms(message.id)) for message in messages(french))


def test_french_has_two_plural_forms_and_zero_takes_the_first(french: Catalog) -> None:
    assert french.plural_forms == "nplurals=2; plural=(n > 1);"


def test_a_translation_has_the_placeholders_of_its_message(french: Catalog) -> None:
    different = [
        (english, translated)
        for message in messages(french)
        for english, translated in zip(forms(message.id), forms(message.string), strict=True)
        if placeholders(english) != placeholders(translated)
    ]
    assert not different


def test_a_reason_begins_in_lower_case_and_has_no_full_stop(french: Catalog) -> None:
    reasons = [message for message in messages(french) if re.match(r"[a-z]", forms(message.id)[0])]
    assert reasons
    for message in reasons:
        for english, translated in zip(forms(message.id), forms(message.string), strict=True):
            assert re.match("%|[a-zà-ÿ]", translated), translated
            assert translated.endswith(".") == english.endswith("."), translated


def test_a_high_sign_is_tied_to_the_word_before_it(french: Catalog) -> None:
    for message in messages(french):
        for translated in forms(message.string):
            assert not re.search(r" [:;?!»]|« ", translated), translated
            assert not re.search(r"[^\s\d/][:;?!](?:\s|$)", translated), translated


def test_the_compiled_catalog_is_that_of_the_source(french: Catalog) -> None:
    with FRENCH.with_suffix(".mo").open("rb") as file:
        compiled = read_mo(file)
    assert strings(compiled) == strings(french)


def reads(line: str, commands: tuple[Callable[[str], object], ...]) -> bool:
    for command in commands:
        try:
            if command(line) is not None:
                return True
        except RulesError:
            return True
    return False


def test_no_line_of_french_reads_as_a_command_however_it_is_wrapped(french: Catalog) -> None:
    game = Biscuit()
    state, _ = game.new_game(bytes(32), 3, game.check_options(3, {}))
    (seat,) = game.to_move(state)
    commands = (invitation_commands(), turn_commands(game, game.view(state, seat)))
    assert reads("je joue", commands)
    assert reads("garder", commands)
    for message in messages(french):
        if any(reads(english, commands) for english in forms(message.id)):
            continue  # The words of a button are those of the command.
        for translated in forms(message.string):
            text = translated.replace("\u00a0", " ")
            lines = {line for width in range(20, 90) for line in textwrap.wrap(text, width)}
            # Numbers are the same in both languages; whole letters are tested for them.
            wordy = {line for line in lines if not re.search(r"\d", line)}
            assert not [line for line in wordy if reads(line, commands)]


def test_cards_are_named_in_french(speaking_french: Flask) -> None:
    assert words.card_title(CARDS["9LK"]) == "9 de Feuilles et Nœuds"
    assert words.card_title(CARDS["AM"]) == "As de Lunes"
    assert words.card_line(CARDS["9LK"]) == "9 de Feuilles et Nœuds, Merchant"


def test_events_and_numbers_are_told_in_french(speaking_french: Flask) -> None:
    say = words.speaker(["Ann", "Bob"])
    place = Phrase("above %(card)s", {"card": CARDS["8MS"]})
    played = Phrase(
        "%(seat)s played %(card)s %(place)s.", {"seat": 2, "card": CARDS["9LK"], "place": place}
    )
    assert say(played) == "Bob a joué Merchant (9LK) au-dessus de Diplomat (8MS)."
    assert [words.total(number) for number in (0, 1, 2)] == ["0 point", "1 point", "2 points"]


def test_a_moment_is_told_in_french(speaking_french: Flask) -> None:
    when = datetime(2026, 12, 3, 17, 0, tzinfo=UTC)
    assert words.moment(when, "Europe/Paris") == "jeu. 3 déc., 18:00 (heure de Paris)"


def test_a_speaker_is_for_the_language_in_which_it_was_asked_for(speaking_french: Flask) -> None:
    played = Phrase("%(seat)s played %(card)s.", {"seat": 1, "card": CARDS["9LK"]})
    say = words.speaker(["Ann"])
    said = say(played)
    with force_locale("en"):
        assert say(played) == said == "Ann a joué Merchant (9LK)."
        assert words.speaker(["Ann"])(played) == "Ann played the Merchant (9LK)."
