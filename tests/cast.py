"""The cast: ann, bob and cleo play, dan is the stranger; and what they do at a table."""

from __future__ import annotations

import re
import smtplib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from email import policy
from email.message import EmailMessage
from typing import TYPE_CHECKING, Any

from flask.testing import FlaskClient
from sqlalchemy import select

from engine import GAMES
from pbem import lobby, play, telling, worker
from pbem.ext import db, tokens, writing
from pbem.lobby import Chair
from pbem.models import Beat, Letter, Match, Player, Seat, Turn
from pbem.table import load
from torture.relay import parsed  # noqa: F401 - tests take it from here

if TYPE_CHECKING:
    from flask import Flask
    from mail_server import Mailbox

    from pbem.mail.listener import Listener

TOKEN = "a-token"
ADDRESSES = {name: f"{name}@players.example" for name in ("ann", "bob", "cleo", "dan")}


def player(name: str, *, now: datetime, language: str = "en", zone: str = "Europe/Paris") -> Player:
    """Return one of the cast, signed up."""
    with writing():
        found = lobby.new_player(
            ADDRESSES[name], name=name.title(), language=language, zone=zone, now=now
        )
        # Who is asked next would depend on the deal.
        found.plays_forced = False
        return found


def running_match(
    names: Sequence[str],
    *,
    now: datetime,
    game: str = "biscuit",
    pace_hours: int = 72,
    bank_hours: int = 0,
    policy: str = "house",
    weekends: bool = False,
    **options: object,
) -> Match:
    """Return a started match of these people, the first of them its opener; `bot` is a bot."""
    opener, *_others = [player(name, now=now) for name in names if name != "bot"]
    chairs = [
        Chair(bot="greedy") if name == "bot" else Chair(address=ADDRESSES[name])
        for name in names[1:]
    ]
    match = lobby.open_table(
        opener,
        game,
        chairs,
        options,
        pace_hours=pace_hours,
        bank_hours=bank_hours,
        policy=policy,
        weekends=weekends,
        now=now,
    )
    for seat in list(match.seats):
        if seat.invited:
            name = seat.invited.split("@")[0].title()
            lobby.sit(seat.id, name=name, phrase="", language="en", zone="Europe/Paris", now=now)
    return db.session.get_one(Match, match.id)


def open_turns(match: Match) -> list[Turn]:
    """Return the open turns of a match, in seat order; several seats may be asked at once."""
    asked = select(Turn).where(Turn.match_id == match.id, Turn.closed_at.is_(None))
    return list(db.session.scalars(asked.order_by(Turn.seat)))


def open_turn(match: Match) -> Turn:
    """Return the one open turn of a match."""
    (turn,) = open_turns(match)
    return turn


def seat_of(match: Match, name: str) -> Seat:
    """Return the seat of one of the cast."""
    return next(seat for seat in match.seats if seat.name == name.title())


def finished(match: Match, *, now: datetime) -> Match:
    """Let the house play a match to its end, a move each five minutes."""
    while match.status == "running":
        turn = open_turns(match)[0]
        now += timedelta(minutes=5)
        text = play.choose_for(turn.id, "greedy")
        assert text is not None
        play.make_move(turn.id, text, by="link", now=now)
        match = db.session.get_one(Match, match.id)
    return match


def letters_to(name: str, kind: str | None = None) -> list[Letter]:
    """Return the letters to one of the cast, oldest first."""
    wanted = select(Letter).where(Letter.address == ADDRESSES[name]).order_by(Letter.id)
    if kind is not None:
        wanted = wanted.where(Letter.kind == kind)
    return list(db.session.scalars(wanted))


def text_of(message: EmailMessage) -> str:
    """Return a mail's text part."""
    part = message.get_body(("plain",))
    assert part is not None
    return str(part.get_content()).replace("\r\n", "\n")


def html_of(message: EmailMessage) -> str:
    """Return a mail's HTML part."""
    part = message.get_body(("html",))
    assert part is not None
    return str(part.get_content())


def first_turn(mailbox: Mailbox, *, now: datetime) -> tuple[str, EmailMessage, Match]:
    """Start a match of two and return who is asked, the letter as it arrived, and the match.

    The turn leaves a choice, since some tests answer it twice.
    """
    match = running_match(["ann", "bob"], now=now)
    while len(telling.tell(load(match), open_turn(match).seat).choices) < 2:
        turn = open_turn(match)
        play.make_move(turn.id, play.choose_for(turn.id, "greedy"), by="link", now=now)
        match = db.session.get_one(Match, match.id)
    run_worker(now)
    name = open_turn(match).asked.name.lower()
    (letter,) = [m for m in mailbox.to(ADDRESSES[name]) if "your turn" in m["Subject"]]
    return name, letter, match


def move_links(message: EmailMessage) -> list[str]:
    """Return the paths of the links to moves, in the mail's order."""
    return re.findall(r'href="https?://[^/"]+(/m/[^"]+)"', html_of(message))


def reply_to(message: EmailMessage, text: str, *, sender: str, message_id: str = "") -> bytes:
    """Return a reply as a mail program writes it: the text above, the letter quoted below."""
    reply = EmailMessage(policy=policy.SMTP)
    reply["From"] = sender
    reply["To"] = str(message["Reply-To"])
    reply["Subject"] = f"Re: {message['Subject']}"
    reply["In-Reply-To"] = str(message["Message-ID"])
    if message_id:
        reply["Message-ID"] = message_id
    quoted = "\n".join(f"> {line}" for line in text_of(message).splitlines())
    reply.set_content(
        f"{text}\n\nOn Tue, 1 Dec 2026 at 12:00 {message['From']} wrote:\n\n{quoted}\n"
    )
    return reply.as_bytes()


def form_token(client: FlaskClient, page: str = "/") -> str:
    """Return the token of a page's form."""
    found = re.search(r'name="form_token" value="([^"]+)"', client.get(page).text)
    assert found is not None
    return found[1]


def sign_in_path(name: str) -> str:
    """Return the path of the link in the last letter that signs one of the cast in."""
    return f"/sign-in/{tokens().timed_link('sign-in', letters_to(name, 'sign_in')[-1].id)}"


class KnownDevice(FlaskClient):
    """A browser in which somebody has said before that it is them."""

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        token = self.application.extensions["pbem.tokens"].link("device", 1)
        self.set_cookie("device", token)


def signed_in(app: Flask, name: str) -> FlaskClient:
    """Return a browser in which one of the cast is signed in; its forms carry TOKEN."""
    client = app.test_client()
    with client.session_transaction() as session:
        session["player"] = lobby.find_player(ADDRESSES[name]).id
        session["form"] = TOKEN
    return client


def signed_in_host(app: Flask, name: str) -> FlaskClient:
    """Return a browser in which one of the cast is signed in, whom the settings name as host."""
    # As people write an address by hand.
    written = f" {ADDRESSES[name].title()} "
    app.extensions["pbem.settings"] = replace(
        app.extensions["pbem.settings"], host_addresses=(written,)
    )
    return signed_in(app, name)


def path(url: str) -> str:
    """Return a link's place on the server."""
    return url.removeprefix("https://play.example")


def words(page: Any) -> str:
    """Return the words of a page, with single spaces."""
    return " ".join(re.sub(r"<[^>]+>", " ", page.text).split())


def last_answer(mailbox: Mailbox, address: str) -> EmailMessage:
    """The last mail that answers one, whatever came beside it."""
    mails = mailbox.to(address)
    return [one for one in mails if one["Auto-Submitted"] == "auto-replied"][-1]


def by_link(app: Flask, message: EmailMessage, nth: int) -> None:
    """Open a move's link and press its button, as a browser does."""
    links = move_links(message)
    path = links[nth % len(links)]
    client = app.test_client()
    page = client.get(path)
    assert page.status_code == 200
    assert client.post(path).status_code == 200


def by_number(listener: Listener, message: EmailMessage, nth: int) -> None:
    """Reply with a number from the list, through the server's own SMTP listener."""
    number = nth % len(move_links(message)) + 1
    by_words(listener, message, f"{number}")


def by_words(listener: Listener, message: EmailMessage, text: str) -> None:
    """Reply with these words, through the server's own SMTP listener."""
    raw = reply_to(message, text, sender=str(message["To"]))
    with smtplib.SMTP("127.0.0.1", listener.port) as relay:
        relay.sendmail("ann@players.example", [str(message["Reply-To"])], raw)


def run_worker(now: datetime) -> None:
    """Let the worker do everything that is due, once."""
    on_time(worker.run_once, now)


def on_time(job: Callable[[datetime], None], now: datetime) -> None:
    """Run a job of the worker that has been at work until now."""
    with writing():
        db.session.merge(Beat(id=1, at=now))
    job(now)


def positions(name: str, now: datetime, *, moves: int = 60) -> Iterator[tuple[Match, Turn]]:
    """Yield a running match of people at each of its turns; moves are by chance."""
    seats = list(ADDRESSES)[: GAMES[name].seat_counts[-1]]
    match_id = running_match(seats, now=now, game=name).id
    for _ in range(moves):
        match = db.session.get_one(Match, match_id)
        if match.status == "over":
            return
        turn = db.session.scalars(
            select(Turn).where(Turn.match_id == match_id, Turn.closed_at.is_(None))
        ).first()
        assert turn is not None
        yield match, turn
        text = play.choose_for(turn.id, "random")
        assert text is not None
        play.make_move(turn.id, text, by="link", now=now)
