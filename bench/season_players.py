"""The players of a season: they read what comes, and press links or reply as it is their habit."""

from __future__ import annotations

import hashlib
import heapq
import random
import smtplib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from bench import mail_programs
from bench.mail_programs import Asking, Letter
from bench.season_deeds import Deeds
from pbem.errors import BadAbsence
from pbem.ext import db, tokens
from pbem.models import Player, Turn
from torture import habits
from torture.habits import BEGIN

FAULTS: Final = 0.02  # of all that can go wrong
BOUNCES: Final = 0.05  # of the letters to whose address is bad now and then
LOSES_INTEREST: Final = timedelta(days=10)  # when the "gone" go
LOOKS_AGAIN: Final = timedelta(hours=12)  # who was not there
MOST_LATE: Final = 36.0  # hours that a mail may be on its way
GOES_ON: Final = 0.7  # of who is asked twice in a row, on the page that asks
_WAYS: Final = ("link", "reply", "page")
_CHANGES: Final = 0.2  # of all acts, for which somebody takes another way than they like
_GARBLED: Final = ("what?", "999", "yes", "play the joker", "0", "\N{THUMBS UP SIGN}", "1 or 2?")


@dataclass(eq=False, slots=True)
class Person:
    """Somebody who plays: their habit, the way they like, and their browser."""

    id: int
    address: str
    habit: str
    way: str
    browser: FlaskClient
    told_away: datetime = BEGIN


class People:
    """All who play, what they are going to do and when, and what they have done."""

    def __init__(self, app: Flask, known: dict[int, str], chance: random.Random, port: int) -> None:
        """Take players with their habits, by id; the server takes mail at the port."""
        self.counts: Counter[str] = Counter()
        self.wrongs: list[str] = []
        self.deeds = Deeds()
        self._chance = chance
        self._port = port
        self._people = {}
        for nth, (player_id, habit) in enumerate(known.items()):
            address, way = db.session.get_one(Player, player_id).address, _WAYS[nth % len(_WAYS)]
            self._people[address] = Person(player_id, address, habit, way, app.test_client())
        self._agenda: list[tuple[datetime, int, Callable[[datetime], None]]] = []
        self._planned = 0
        self._busy: set[tuple[int, str]] = set()

    @property
    def next_act(self) -> datetime | None:
        """Return when somebody does something next; None if nobody has anything to do."""
        return self._agenda[0][0] if self._agenda else None

    def act(self, now: datetime) -> None:
        """Do all that people do by now."""
        while self._agenda and self._agenda[0][0] <= now:
            heapq.heappop(self._agenda)[2](now)
        if self._chance.random() < FAULTS:
            self._go_away(now)

    def read(self, mails: Sequence[tuple[str, str, bytes]], now: datetime) -> None:
        """Let people get letters, and plan what they do about them."""
        for envelope, recipient, raw in mails:
            letter = mail_programs.opened(envelope, recipient, raw)
            self.counts["letters"] += 1
            if self._is_copy(letter.message_id, hashlib.sha256(raw).hexdigest()):
                continue
            self._get(self._people[recipient], letter, now)

    def _is_copy(self, message_id: str, digest: str) -> bool:
        """Return whether a letter of this name came before; programs show it once."""
        first = self.deeds.arrived.get(message_id)
        if first is None:
            self.deeds.arrived[message_id] = digest
            return False
        self.counts["letters that came twice"] += 1
        # A copy hours later tells of the deadline that it has moved.
        self.counts["letters that came twice, with other words"] += digest != first
        return True

    def _get(self, person: Person, letter: Letter, now: datetime) -> None:
        if person.habit == "bouncing" and self._chance.random() < BOUNCES:
            self.counts["bounces"] += 1
            self._send(mail_programs.bounce(letter), letter.envelope, "<>", now=now)
            return
        if not self._is_there(person, now) and person.told_away < now:
            self.counts["automatic answers"] += 1
            person.told_away = now + timedelta(days=4)
            raw = mail_programs.absence(letter, self._chance, now=now)
            self._send(raw, letter.envelope, "", now=now)
        found = mail_programs.askings(letter)
        if letter.reply_to and found and not found[0].held:
            listed, linked = mail_programs.numbers(letter), len(found[0].moves)
            if listed != linked:
                self.wrongs.append(f"{letter.message_id}: {listed} moves and {linked} links")
        for asking in found:
            self._consider(person, asking, now)

    def _consider(self, person: Person, asking: Asking, now: datetime) -> None:
        """Plan an answer, if none is planned already."""
        if (person.id, asking.key) in self._busy:
            return
        whole = timedelta(hours=24)
        if not asking.held:
            turn_id = tokens().read_renewable("move", asking.moves[0][3:], ids=3)[0][0]
            # The letter says until when; its reader knows.
            whole = max(whole / 8, db.session.get_one(Turn, turn_id).deadline - now)
        leaves_at = BEGIN + LOSES_INTEREST
        when = habits.wish(person.habit, self._chance, now, whole, leaves_at=leaves_at)
        if when is not None:
            self._busy.add((person.id, asking.key))
            self._plan(when, partial(self._answer, person, asking))

    def _plan(self, when: datetime, deed: Callable[[datetime], None]) -> None:
        self._planned += 1
        heapq.heappush(self._agenda, (when, self._planned, deed))

    def _answer(self, person: Person, asking: Asking, now: datetime) -> None:
        """Do what a person has planned, or put it off while they are away."""
        if not self._is_there(person, now):
            self._plan(now + LOOKS_AGAIN, partial(self._answer, person, asking))
            return
        self._busy.discard((person.id, asking.key))
        way = person.way
        if self._chance.random() < _CHANGES:
            way = self._chance.choice(_WAYS)
        if asking.held:
            self._press(person, asking.held, now)
        elif way == "reply" and asking.reply_to:
            self._reply(person, asking, now)
        elif way == "page":
            self._choose(person, self._open(person, asking.seat), now)
        else:
            self._press(person, self._chance.choice(asking.moves), now)

    def _open(self, person: Person, link: str) -> str:
        """Return the page of a link."""
        page = person.browser.get(link)
        self.counts["pages"] += 1
        if page.status_code != 200:
            self.wrongs.append(f"GET {link[:3]} of {person.address}: {page.status}")
        return page.text

    def _choose(self, person: Person, page: str, now: datetime) -> None:
        """Take one of the moves that a seat's page links to, if there are any."""
        links = mail_programs.links(page)
        if links:
            self._press(person, self._chance.choice(links), now)
        else:
            self.counts["pages without a move"] += 1

    def _press(self, person: Person, link: str, now: datetime) -> None:
        """Open a move's page and press its button; now and then twice."""
        form = mail_programs.form(self._open(person, link))
        if form is None:
            self.counts["links of turns that were over"] += 1
            return
        self.deeds.pressed.append((link, form.move))
        presses = 2 if self._is_fault("pressed twice") else 1
        for _ in range(presses):
            answer = person.browser.post(link, data=form.filled_in())
            self.counts["clicks"] += 1
            self._note_answer(link, form.move, answer)
        if mail_programs.links(answer.text) and self._chance.random() < GOES_ON:
            self.counts["went on at the page"] += 1
            self._choose(person, answer.text, now)

    def _note_answer(self, link: str, move: str, answer: TestResponse) -> None:
        """Keep what a page has acknowledged; a form once more is none, nor is "too late"."""
        if answer.status_code == 409:
            self.counts["clicks that came too late"] += 1
        elif answer.status_code != 200 or mail_programs.form(answer.text):
            self.wrongs.append(f"POST {link[:3]}: {answer.status}")
        else:
            self.deeds.played.append((link, move))

    def _reply(self, person: Person, asking: Asking, now: datetime) -> None:
        """Answer by mail with a number from the list, or with what a fault makes of it."""
        n = self._chance.randrange(len(asking.moves)) + 1
        text = mail_programs.typed(asking, n, self._chance)
        if self._is_fault("garbled replies"):
            text = self._chance.choice(_GARBLED)
        self.deeds.replied.append((asking.reply_to, n))
        sender = person.address
        if self._is_fault("replies from another address"):
            sender = f"other-{person.address}"
        raw = mail_programs.reply(asking, text, sender, self._chance, now=now)
        self.counts["replies"] += 1
        if self._is_fault("replies that came late"):
            arrives = now + timedelta(hours=self._chance.uniform(1, MOST_LATE))
            self._plan(arrives, partial(self._bring, raw, asking.reply_to, sender))
            return
        self._send(raw, asking.reply_to, sender, now=now)
        if self._is_fault("mails delivered twice"):
            copy = self._chance.choice((raw, mail_programs.rerouted(raw, self._chance)))
            later = now + timedelta(hours=self._chance.choice((0, 1, 30)))
            self._plan(later, partial(self._bring, copy, asking.reply_to, sender))

    def _bring(self, raw: bytes, recipient: str, sender: str, now: datetime) -> None:
        self._send(raw, recipient, sender, now=now)

    def _send(self, raw: bytes, recipient: str, sender: str, *, now: datetime) -> None:
        """Hand a mail to the server; what it does not take now comes again later."""
        try:
            with smtplib.LMTP("127.0.0.1", self._port) as line:
                line.sendmail(sender, [recipient], raw)
        except smtplib.SMTPDataError as error:
            self.wrongs.append(f"a mail was not taken: {error}")
            self._plan(now + LOOKS_AGAIN, partial(self._bring, raw, recipient, sender))
        else:
            self.deeds.take(raw, recipient)

    def _go_away(self, now: datetime) -> None:
        """Let somebody tell the server that they will be away."""
        person = self._chance.choice(
            [one for one in self._people.values() if one.habit == "holiday"]
        )
        try:
            habits.go_away(db.session.get_one(Player, person.id), self._chance, now=now)
            self.counts["absences"] += 1
        except BadAbsence:
            self.counts["absences refused"] += 1

    def _is_there(self, person: Person, now: datetime) -> bool:
        return habits.is_there(db.session.get_one(Player, person.id), person.habit, now)

    def _is_fault(self, what: str) -> bool:
        """Return whether a fault happens, and count it."""
        happens = self._chance.random() < FAULTS
        self.counts[f"fault: {what}"] += happens
        return happens
