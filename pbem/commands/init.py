"""`pbem init`: asks what a server needs and writes instance/config.toml."""

from __future__ import annotations

import json
import os
import secrets
import sys
from dataclasses import fields
from getpass import getpass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pbem import config
from pbem.app import default_instance
from pbem.cleaning import clean_zone
from pbem.commands import CannotRun
from pbem.commands.providers import ACCOUNT, PROVIDERS, Provider, Question
from pbem.config import LANGUAGES
from pbem.errors import BadZone

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Mapping, Sequence

_SETTINGS: Final = {field.name for field in fields(config.Settings)}
_FIRST: Final = (
    Question("base_url", "Where will people open the pages? Such as https://play.example.org"),
    Question("site_name", "What is the server called?", "Decktet by mail"),
    Question("host_addresses", "Your own mail address, as the host"),
    Question("language", "The language of new players", "en", choices=LANGUAGES),
)


def run(parser: ArgumentParser, arguments: Sequence[str]) -> int:
    """Ask, write the file, and say what is to be done next."""
    parser.add_argument(
        "--again", action="store_true", help="write anew; what was there stays as config.toml.old"
    )
    parsed = parser.parse_args(arguments)
    file = default_instance() / "config.toml"
    if file.exists() and not parsed.again:
        raise CannotRun(f"{file} is there already; edit it, or write it anew with --again")
    print("A few questions; Enter takes what stands in brackets, and nothing is written yet.")
    answers: dict[str, str] = {"new_secret": secrets.token_hex(16)}
    for question in (*_FIRST, _zone_question()):
        _ask(question, answers)
    provider = _ask_provider()
    for question in provider.questions:
        _ask(question, answers)
    given: dict[str, str | int] = {
        name: value for name, value in answers.items() if name in _SETTINGS
    }
    given |= {name: _filled(value, answers) for name, value in provider.settings.items()}
    _write(file, {name: config.checked(name, value) for name, value in given.items()})
    print(f"\nWritten: {file} (only you can read it: it holds passwords)")
    steps = [str(_filled(step, given | answers)) for step in provider.todo]
    steps += [
        "Run: pbem db upgrade",
        "Run: pbem serve --with-worker (docs/run.md shows how it starts with the machine)",
        "Run: pbem doctor --mail, and do what it says",
    ]
    print("\nNow:\n" + "\n".join(f"{nth}. {step}" for nth, step in enumerate(steps, 1)))
    return 0


def _zone_question() -> Question:
    """Return the question about the time zone, with this machine's own where it is known."""
    place = Path("/etc/localtime").resolve().as_posix().partition("/zoneinfo/")[2]
    try:
        return Question("zone", "The time zone of new players", clean_zone(place))
    except BadZone:
        return Question("zone", "The time zone of new players", "Europe/Paris")


def _ask_provider() -> Provider:
    names = list(PROVIDERS)
    print("\nWho sends the mail?")
    for nth, provider in enumerate(PROVIDERS.values(), 1):
        print(f"  {nth} {provider.title}")
    while True:
        text = _read("Its number").lower()
        if text in PROVIDERS:
            return PROVIDERS[text]
        if text.isdecimal() and 1 <= int(text) <= len(names):
            return PROVIDERS[names[int(text) - 1]]
        print(f"  That is none of them; write a number from 1 to {len(names)}.")


def _ask(question: Question, answers: dict[str, str]) -> None:
    """Ask until the answer can be used, and keep it."""
    default = str(_filled(question.default, answers))
    choices = f" ({' or '.join(question.choices)})" if question.choices else ""
    while True:
        text = _read(f"{question.text}{choices}", default=default, is_secret=question.is_secret)
        try:
            _check(question, text, answers)
        except ValueError as error:
            print(f"  {error}")
            continue
        answers[question.name] = text
        if question.name == ACCOUNT:
            answers[ACCOUNT] = text.lower()
            answers["account_local"], _, answers["account_domain"] = text.lower().partition("@")
        return


def _check(question: Question, text: str, answers: Mapping[str, str]) -> None:
    """Raise ValueError, with what to write instead, if the answer can't be used."""
    if not text:
        raise ValueError("this is needed")
    if question.choices and text not in question.choices:
        raise ValueError(f"write one of {', '.join(question.choices)}")
    if question.name == ACCOUNT:
        config.checked("mail_from", text)
        if text.lower() == answers["host_addresses"].lower():
            raise ValueError("all mail in it is taken for replies, so it can't be your own")
    elif question.name in _SETTINGS:
        config.checked(question.name, text)


def _read(text: str, *, default: str = "", is_secret: bool = False) -> str:
    """Return a line that was typed; raises CannotRun where no more are to come."""
    prompt = f"{text} [{default}]: " if default else f"{text}: "
    try:
        # Scripts that answer have no terminal, whose echo could be turned off.
        typed = getpass(prompt) if is_secret and sys.stdin.isatty() else input(prompt)
    except EOFError:
        raise CannotRun("the answers ended too early; nothing was written") from None
    return typed.strip() or default


def _filled(value: str | int, answers: dict[str, Any]) -> str | int:
    return value.format_map(answers) if isinstance(value, str) else value


def _write(file: Path, values: dict[str, Any]) -> None:
    """Write the settings, readable by their owner only, whole or not at all."""
    lines = ["# Written by `pbem init`; docs/settings.md lists all settings.\n"]
    for name, value in values.items():
        told = list(value) if isinstance(value, tuple) else value
        # JSON's texts, numbers and lists of texts are TOML's too.
        lines.append(f"{name} = {json.dumps(told, ensure_ascii=False)}\n")
    file.parent.mkdir(parents=True, exist_ok=True)
    fresh = file.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as out:
        out.writelines(lines)
        out.flush()
        os.fsync(out.fileno())
    if file.exists():
        file.replace(file.with_name("config.toml.old"))
    fresh.replace(file)
