"""Made-up replies to true letters: each is to be read as typed or asked back, none wrongly.

Header templates of many programs and languages stand above the letter, which is wrapped
anew; the move stands above, below or inside of it. Letters are of all games and languages.
"""

from __future__ import annotations

import random
import textwrap
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Final

from sqlalchemy import select

from bench.measure import Asked, Bar
from engine import GAMES
from pbem import create_app, samples
from pbem.config import LANGUAGES, Settings
from pbem.ext import db
from pbem.mail import letters, reply
from pbem.mail.commands import Commands
from pbem.mail.flatten import flatten
from pbem.models import Letter
from pbem.samples import story
from pbem.table import load

LEAST: Final = 5000  # combinations

# Headers as programs write them above the letter: with its date, its address, or both.
HEADERS: Final = (
    "On Mon, Nov 30, 2026 at 10:15 AM Biscuit <g+abc@play.example> wrote:",
    "On 30 Nov 2026, at 10:15, Biscuit <g+abc@play.example> wrote:",
    "On 30/11/2026 10:15, Biscuit wrote:",
    "On Monday, November 30, 2026 at 10:15:00 AM GMT+1, Biscuit <g+abc@play.example> wrote:",
    "Le lun. 30 nov. 2026 à 10:15, Biscuit <g+abc@play.example> a écrit :",
    "Le 30/11/2026 à 10:15, Biscuit a écrit :",
    "Am Mo., 30. Nov. 2026 um 10:15 Uhr schrieb Biscuit <g+abc@play.example>:",
    "Am 30.11.2026 um 10:15 schrieb Biscuit:",
    "El lun, 30 nov 2026 a las 10:15, Biscuit (<g+abc@play.example>) escribió:",
    "Em seg., 30 de nov. de 2026 às 10:15, Biscuit <g+abc@play.example> escreveu:",
    "Il giorno lun 30 nov 2026 alle ore 10:15 Biscuit <g+abc@play.example> ha scritto:",
    "Op ma 30 nov 2026 om 10:15 schreef Biscuit <g+abc@play.example>:",
    "Den mån 30 nov. 2026 kl 10:15 skrev Biscuit <g+abc@play.example>:",
    "man. 30. nov. 2026 kl. 10:15 skrev Biscuit <g+abc@play.example>:",
    "ma 30. marrask. 2026 klo 10.15 Biscuit (g+abc@play.example) kirjoitti:",
    "pon., 30 lis 2026 o 10:15 Biscuit <g+abc@play.example> napisał(a):",
    "po 30. 11. 2026 v 10:15 odesílatel Biscuit <g+abc@play.example> napsal:",
    "пн, 30 нояб. 2026 г. в 10:15, Biscuit <g+abc@play.example>:",
    "30.11.2026 10:15, Biscuit пишет:",
    "Biscuit <g+abc@play.example>, 30 Kas 2026 Pzt, 10:15 tarihinde şunu yazdı:",
    "Biscuit <g+abc@play.example> ezt írta (időpont: 2026. nov. 30., H, 10:15):",
    "În lun., 30 nov. 2026 la 10:15, Biscuit <g+abc@play.example> a scris:",
    "Στις Δευ, 30 Νοε 2026 στις 10:15 π.μ., ο χρήστης Biscuit <g+abc@play.example> έγραψε:",
    "2026年11月30日(月) 10:15 Biscuit <g+abc@play.example>:",
    "2026년 11월 30일 (월) 오전 10:15, Biscuit <g+abc@play.example>님이 작성:",
    "在 2026年11月30日，10:15，Biscuit <g+abc@play.example> 写道：",
    "בתאריך יום ב׳, 30 בנוב׳ 2026 ב-10:15 מאת Biscuit <g+abc@play.example>:",
    "Vào Th 2, 30 thg 11, 2026 lúc 10:15 Biscuit <g+abc@play.example> đã viết:",
    "---- On Mon, 30 Nov 2026 10:15:00 +0100 Biscuit <g+abc@play.example> wrote ----",
    "-----Original Message-----",
    "-------- Ursprüngliche Nachricht --------",
    "________________\nFrom: Biscuit <g+abc@play.example>\nSent: Monday\nTo: Ann",
    "From: Biscuit <g+abc@play.example>\nSent: Monday, November 30, 2026\nTo: Ann\nSubject: B",
    "Von: Biscuit <g+abc@play.example>\nGesendet: Montag, 30. November 2026\nAn: Ann",
    "De : Biscuit <g+abc@play.example>\nEnvoyé : lundi 30 novembre 2026 10:15\nÀ : Ann",
    "*De:* Biscuit <g+abc@play.example>\n*Enviado:* lunes, 30 de noviembre de 2026 10:15",
    "Od: Biscuit <g+abc@play.example>\nWysłano: poniedziałek, 30 listopada 2026 10:15\nDo: Ann",
    "差出人: Biscuit <g+abc@play.example>\n送信日時: 2026年11月30日 10:15\n宛先: Ann",
    "보낸 사람: Biscuit <g+abc@play.example>\n보낸 날짜: 2026년 11월 30일 10:15\n받는 사람: Ann",
)
SIGNATURES: Final = ("", "Ann", "-- \nAnn\n5 Main Street", "Sent from my phone", "--\n9")
PLACES: Final = ("top", "chat", "below", "inside")
SIGNS: Final = ("> ", "")
WIDTHS: Final = (40, 72)
# What people type for the n-th move: the sure ways and the loose ones.
FORMS: Final = ("{move}", "{move}", "#{n}", "play {n}", "{n}", "*{move}.*")


@dataclass(frozen=True, slots=True)
class Asking:
    """A letter that asks for a move: both parts as lines of text, and what reads its replies."""

    name: str
    parts: tuple[str, ...]
    sent: str
    moves: tuple[str, ...]
    command: Commands


def run(_asked: Asked) -> Iterator[Bar]:
    """Read all combinations for each letter."""
    askings = list(asking_letters())
    count = 0
    for asking in askings:
        found = Counter(outcome for _, outcome in _outcomes(asking))
        count += found.total()
        yield Bar(
            f"replies to {asking.name}: {found['right']} right, {found['asked']} asked back,"
            f" {found['wrong']} wrong (at most 0)",
            not found["wrong"],
        )
    yield Bar(f"replies: {count} combinations (at least {LEAST})", count >= LEAST)


def asking_letters() -> Iterator[Asking]:
    """Yield a turn letter of each game in each language."""
    with samples.throw_away(create_app, Settings(instance=Path("/nowhere"))):
        story.sign_up("en", "Europe/Paris")
        for game in GAMES:
            asks = Letter.kind == "your_turn", Letter.match_id == story.played(game).id
            letter = db.session.scalars(
                select(Letter).where(*asks).order_by(Letter.id.desc())
            ).first()
            assert letter is not None, "the table waits for its reader"
            for language in LANGUAGES:
                letter.language = language
                yield _asking(f"{game} {language}", letter)
            db.session.rollback()


def _asking(name: str, letter: Letter) -> Asking:
    turn = letter.turn
    assert turn is not None, "the letter asks for a move"
    sample = samples.Sample(name, letters.build(letter), ())
    table = load(turn.match, ply=turn.ply)
    return Asking(
        name,
        (sample.text, flatten(sample.html)),
        letters.words_of(letter),
        story.moves(turn),
        reply.turn_commands(table.game, table.view(turn.seat)),
    )


def _outcomes(asking: Asking) -> Iterator[tuple[str, str]]:
    """Yield each combination's text and what became of it; what is typed is by chance."""
    chance = random.Random(asking.name)
    for part, header, place, width, sign in product(asking.parts, HEADERS, PLACES, WIDTHS, SIGNS):
        n = chance.randint(1, len(asking.moves))
        typed = chance.choice(FORMS).format(n=n, move=asking.moves[n - 1])
        text = a_reply(part, typed, header, place, width, sign, chance.choice(SIGNATURES))
        yield text, outcome(asking, text, n)


def outcome(asking: Asking, text: str, n: int, *, known: bool = True) -> str:
    """Return whether a reply with the n-th move is read right, asked back, or wrong."""
    sent = asking.sent if known else None
    commands = reply.read(text, sent=sent, command=asking.command).commands
    if commands == (asking.moves[n - 1],):
        return "right"
    return "wrong" if commands else "asked"


def a_reply(
    letter: str, typed: str, header: str, place: str, width: int, sign: str, signature: str
) -> str:
    """Return a reply in which something is typed at one of the places."""
    quoted = wrapped(letter, width, sign)
    above = wrapped(header, width) if "\n" not in header else header.split("\n")
    half = len(quoted) // 2
    upper, lower = quoted[:half], quoted[half:]
    places = {
        "top": [typed, "", signature, "", *above, "", *upper, *lower],
        "chat": ["Hi all, what a turn!", "", typed, signature, "", *above, *upper, *lower],
        "below": [*above, *upper, *lower, "", typed, "", signature],
        "inside": [*above, *upper, "", typed, "", *lower, signature],
    }
    return "\n".join(places[place])


def wrapped(text: str, width: int, sign: str = "") -> list[str]:
    """Return the text's lines, wrapped, with the sign before each that is not empty."""
    lines = []
    for line in text.strip().split("\n"):
        lines += [sign + piece for piece in textwrap.wrap(line, width) or [""]]
    return lines
