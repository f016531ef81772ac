"""What Biscuit tells: its events in words.

What is told of a seat or a card recurs in every match: each such event is made once.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING

from engine.biscuit_table import End, Play, plays_at
from engine.decktet import DECK
from engine.game import Event, Phrase, Scores, Seat, count, private, say

if TYPE_CHECKING:
    from collections.abc import Iterator

    from engine.decktet import Card


def place_phrase(move: Play) -> Phrase:
    """Return where a card is played, in words."""
    return _place(move.spot)


@cache
def _place(spot: int) -> Phrase:
    move = plays_at(spot)[0]
    if move.column is None:
        return say("on the left") if move.end is End.LEFT else say("on the right")
    if move.end is End.UP:
        return say("above %(card)s", card=move.column)
    return say("below %(card)s", card=move.column)


# These would be many in the end: those of late are kept.
@lru_cache(maxsize=1 << 14)
def play(seat: Seat, card: int, spot: int, points: int) -> Event:
    """Tell that a card was played at the end of that number, and what it scored."""
    move = plays_at(spot)[card]
    place = place_phrase(move)
    phrase = say("%(seat)s played %(card)s %(place)s.", seat=seat, card=move.card, place=place)
    return Event("play", phrase, seat, (move.card,), points)


@cache
def keep(seat: Seat) -> Event:
    """Tell that the drawn card was kept."""
    return Event("keep", say("%(seat)s kept the drawn card.", seat=seat), seat=seat)


@cache
def eleven(seat: Seat, card: int, far: int) -> Event:
    """Tell which two cards, by their indexes, made eleven."""
    cards = (DECK[card], DECK[far])
    phrase = say("%(card)s and %(end)s made eleven.", card=cards[0], end=cards[1])
    return Event("eleven", phrase, seat=seat, cards=cards)


@cache
def draw(seat: Seat, card: int) -> Event:
    """Tell that a seat drew, and to that seat what."""
    drawn = DECK[card]
    secret = say("%(seat)s drew %(card)s.", seat=seat, card=drawn)
    return private("draw", seat, say("%(seat)s drew a card.", seat=seat), secret, drawn)


@cache
def draw_instead(seat: Seat, card: int) -> Event:
    """Tell that a seat could not play and drew, and to that seat what."""
    drawn = DECK[card]
    phrase = say("%(seat)s could not play and drew a card.", seat=seat)
    secret = say("%(seat)s could not play and drew %(card)s.", seat=seat, card=drawn)
    return private("draw", seat, phrase, secret, drawn)


@cache
def no_play(seat: Seat) -> Event:
    """Tell that a seat could neither play nor draw."""
    return Event("pass", say("%(seat)s could not play.", seat=seat), seat=seat)


@cache
def passed(seat: Seat) -> Event:
    """Tell that a seat could not play what it drew."""
    return Event("pass", say("%(seat)s passed.", seat=seat), seat=seat)


@cache
def stale() -> Event:
    """Tell that nobody can play any more."""
    return Event("stale", say("The pile was empty and nobody could play."))


@cache
def out(seat: Seat, points: int) -> Event:
    """Tell that a seat has no card left, and what it scored by that."""
    return Event("out", say("%(seat)s went out.", seat=seat), seat=seat, points=points)


def left(seat: Seat, cards: tuple[Card, ...]) -> Event:
    """Tell what a seat holds at the end of a hand."""
    return Event("left", _left(seat, len(cards)), seat, cards)


@cache
def _left(seat: Seat, cards: int) -> Phrase:
    one, many = "%(seat)s was left with one card.", "%(seat)s was left with %(n)s cards."
    return count(cards, one, many, seat=seat)


def gains(number: int, points: Scores) -> Iterator[Event]:
    """Tell what each seat gained in a hand."""
    for seat, gain in enumerate(points, 1):
        phrase = say("%(seat)s ended hand %(number)s.", seat=seat, number=number)
        yield Event("gain", phrase, seat=seat, points=gain)


@cache
def redeal() -> Event:
    """Tell that the Excuse lay face up."""
    return Event("redeal", say("The Excuse was turned up, so the cards were dealt again."))


@lru_cache(maxsize=1 << 10)
def deal(number: int, initial: int) -> Event:
    """Tell that a hand was dealt, and with which initial card, by its index."""
    card = DECK[initial]
    phrase = say(
        "Hand %(number)s was dealt with %(card)s as the initial card.", number=number, card=card
    )
    return Event("deal", phrase, cards=(card,))
