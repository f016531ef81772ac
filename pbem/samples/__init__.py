"""Sample letters: one of each kind for each game, from tables that nobody plays at.

They come from a throw-away application with a database and keys of its own, so that the
links in them open nothing, by the same use cases as true letters (see ``story``). Keys,
codes, ids and the clock are fixed, and so two runs give the same bytes, save that a
link that is good for half an hour holds the moment at which it was made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import Context
from dataclasses import dataclass, replace
from email.message import EmailMessage
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Final

from flask import Flask
from sqlalchemy import ColumnElement, func, select, update

from engine import GAMES
from pbem.config import Settings
from pbem.ext import db, writing
from pbem.links import Links
from pbem.mail import letters
from pbem.models import Letter
from pbem.samples import story

KEY: Final = "5a" * 32  # signs what stands in samples; no true server has it

Build = Callable[[Settings], Flask]


@dataclass(frozen=True, slots=True)
class Sample:
    """A letter as it goes out; one that asks for a move comes with all of them, in notation."""

    name: str
    message: EmailMessage
    moves: tuple[str, ...]

    @property
    def raw(self) -> bytes:
        """Return the letter as it goes over the wire."""
        return self.message.as_bytes()

    @property
    def text(self) -> str:
        """Return the text part."""
        return self._body("plain")

    @property
    def html(self) -> str:
        """Return the HTML part."""
        return self._body("html")

    @property
    def pictures(self) -> dict[str, bytes]:
        """Return the pictures by their Content-ID."""
        return {
            str(part["Content-ID"]).strip("<>"): part.get_content()
            for part in self.message.walk()
            if part["Content-ID"]
        }

    @property
    def table_picture(self) -> bytes | None:
        """Return the picture of the table, of several that of the first."""
        found = self.pictures.items()
        return next((data for name, data in found if "table." in name), None)

    def _body(self, kind: str) -> str:
        part = self.message.get_body((kind,))
        assert part is not None, "a letter has both parts"
        return str(part.get_content()).replace("\r\n", "\n")


class Shelf:
    """The samples of each language by their names, made at the first need and kept."""

    def __init__(self, build: Build, site: Settings) -> None:
        """Take what builds an application, and the settings of the true one."""
        self._build, self._site = build, site
        self._made: dict[str, dict[str, Sample]] = {}
        self._lock = Lock()

    def samples(self, language: str) -> dict[str, Sample]:
        """Return all samples in a language."""
        with self._lock:
            if language not in self._made:
                found = made(self._build, self._site, language)
                self._made[language] = {sample.name: sample for sample in found}
            return self._made[language]


def made(build: Build, site: Settings, language: str) -> list[Sample]:
    """Return one sample of each kind for each game, with this site's names and addresses."""
    # A page may ask for them, and nothing of its request must get into a letter.
    return Context().run(_made, build, site, language)


def write(samples: Iterable[Sample], folder: Path) -> None:
    """Write each sample's letter, text, picture of the table and moves as files of its name."""
    folder.mkdir(parents=True, exist_ok=True)
    for sample in samples:
        path = folder / sample.name
        path.with_suffix(".eml").write_bytes(sample.raw)
        path.with_suffix(".txt").write_text(sample.text, encoding="utf-8")
        if sample.table_picture is not None:
            path.with_suffix(".png").write_bytes(sample.table_picture)
        if sample.moves:
            lines = "".join(f"{move}\n" for move in sample.moves)
            path.with_suffix(".moves").write_text(lines, encoding="utf-8")


@contextmanager
def throw_away(build: Build, site: Settings) -> Iterator[None]:
    """Run a block in an application that looks like the site's and knows nothing of it."""
    with TemporaryDirectory() as folder:
        own = replace(
            site,
            instance=Path(folder),
            database_url="",
            secret_keys=(KEY,),
            host_addresses=(story.READER,),
        )
        with build(own).app_context():
            db.create_all()
            try:
                yield
            finally:
                db.session.remove()
                db.engine.dispose()


def told(language: str, zone: str) -> Iterator[tuple[Sample, Letter]]:
    """Tell the story in an empty application; yield each sample while its letter is true."""
    story.sign_up(language, zone)
    tables = [story.played(name) for name in GAMES]
    for kind, happens in story.OF_SITE.items():
        happens(tables)
        yield _built(kind, kind)
    for match in tables:
        for kind, happen in story.OF_TABLE.items():
            happen(match)
            yield _built(f"{kind}-{match.game}", kind, Letter.match.has(game=match.game))


def _made(build: Build, site: Settings, language: str) -> list[Sample]:
    with throw_away(build, site):
        return [sample for sample, _letter in told(language, site.zone)]


def _built(name: str, kind: str, *which: ColumnElement[bool]) -> tuple[Sample, Letter]:
    """Build the last letter of a kind."""
    with writing():
        # Tails are by chance, so that nobody guesses a Message-ID; here they come from the id.
        db.session.execute(update(Letter).values(tail=func.printf("%016x", Letter.id)))
    found = select(Letter).where(Letter.kind == kind, *which).order_by(Letter.id.desc())
    letter = db.session.scalars(found.limit(1)).one()
    message = letters.build(letter)
    sample = Sample(name, message, ())
    if letter.turn is None or Links().move(letter.turn, 1) not in sample.html:
        return sample, letter
    return replace(sample, moves=story.moves(letter.turn)), letter
