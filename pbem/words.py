"""Words for people: cards, events, moves and times in the reader's language.

All functions speak the language of the running request or letter (Flask-Babel).
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cache
from typing import Any, Final
from zoneinfo import ZoneInfo

from babel import Locale
from babel.dates import format_datetime
from babel.lists import format_list
from flask_babel import get_locale, get_translations, gettext, ngettext

from engine.decktet import Card, Rank, Suit
from engine.game import N_, FieldValue, Phrase

MOST_QUOTED: Final = 40  # characters of a mail that are quoted back in one piece

_SUITS = {
    Suit.MOONS: N_("Moons"),
    Suit.SUNS: N_("Suns"),
    Suit.WAVES: N_("Waves"),
    Suit.LEAVES: N_("Leaves"),
    Suit.WYRMS: N_("Wyrms"),
    Suit.KNOTS: N_("Knots"),
}
_RANKS = {
    Rank.ACE: N_("Ace"),
    Rank.CROWN: N_("Crown"),
    Rank.PAWN: N_("Pawn"),
    Rank.COURT: N_("Court"),
    Rank.EXCUSE: N_("Excuse"),
}


def speaker(names: Sequence[str]) -> Callable[[Phrase], str]:
    """Return a function that says phrases at a table of these names, seat 1 first.

    It is for the language in which it was asked for: a page says hundreds of phrases, and to
    find the reader's language takes longer than to say one.
    """
    spoken, card_said = get_translations(), cache(card)

    def say(phrase: Phrase) -> str:
        words = {name: value(name, what) for name, what in phrase.fields.items()}
        pattern = (
            spoken.ugettext(phrase.text)
            if phrase.one is None
            else spoken.ungettext(phrase.one, phrase.text, words["n"])
        )
        said: str = pattern % words if words else pattern
        return said

    def value(name: str, what: FieldValue) -> Any:
        if name in ("seat", "other") and isinstance(what, int):
            return names[what - 1]
        if isinstance(what, Phrase):
            return say(what)
        if isinstance(what, Card):
            return card_said(what)
        if isinstance(what, Suit):
            return spoken.ugettext(_SUITS[what])
        return what

    return say


def suit(which: Suit) -> str:
    """Return a suit's name."""
    return gettext(_SUITS[which])


def card(which: Card) -> str:
    """Return a card within a sentence: "the Merchant (9LK)"."""
    return f"{card_name(which)} ({which.code})"


def card_name(which: Card) -> str:
    """Return the name printed on a card: "the Merchant"; an Ace is told by its suit."""
    if which.rank is Rank.ACE:
        return gettext("the %(card)s", card=card_title(which))
    return gettext("the %(card)s", card=which.name.removeprefix("The "))


def card_line(which: Card) -> str:
    """Return all that is printed on a card: "9 of Leaves and Knots, the Merchant"."""
    if which.rank in (Rank.ACE, Rank.EXCUSE):
        return card_title(which)
    return f"{card_title(which)}, {card_name(which)}"


def card_title(which: Card) -> str:
    """Return what a card is: "9 of Leaves and Knots"."""
    rank = gettext(_RANKS[which.rank]) if which.rank in _RANKS else which.rank.value
    suits = [suit(one) for one in which.suits]
    if not suits:
        return rank
    if len(suits) == 1:
        return gettext("%(rank)s of %(suit)s", rank=rank, suit=suits[0])
    return gettext(
        "%(rank)s of %(suits)s and %(last)s",
        rank=rank,
        suits=", ".join(suits[:-1]),
        last=suits[-1],
    )


def points(number: int) -> str:
    """Return what a move scores, short: "+2"."""
    return f"{number:+d}".replace("-", "−") if number else gettext("no points")


def total(number: int) -> str:
    """Return a total: "12 points"."""
    words = ngettext("%(num)d point", "%(num)d points", number)
    # A true minus is read out and is as wide as a plus.
    return words.replace("-", "−", 1)


def language_name(code: str) -> str:
    """Return a language's name in itself: "English", "français"."""
    return Locale.parse(code).get_display_name() or code


def quoted(text: str) -> str:
    """Return words of a mail so that they can't be read as a move where they are quoted.

    Nothing breaks within them, and a sign is glued on at both ends.
    """
    return f"‹{text[:MOST_QUOTED]}›".replace(" ", "\u00a0")


def listed(names: Sequence[str]) -> str:
    """Return names in one phrase: "Grace and Linus"."""
    return format_list(names, locale=get_locale())


def wrap(text: str, width: int = 72) -> str:
    """Return a text in lines of at most this width; words stay whole, hyphens included."""
    return textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)


def span(seconds: int) -> str:
    """Return a length of time to the hour, below a day to the minute: "2 days 3 hours"."""
    minutes = seconds // 60
    days, hours, minutes = minutes // 1440, minutes // 60 % 24, minutes % 60
    parts = [
        ngettext("%(num)d day", "%(num)d days", days) if days else "",
        ngettext("%(num)d hour", "%(num)d hours", hours) if hours else "",
        ngettext("%(num)d minute", "%(num)d minutes", minutes) if minutes and not days else "",
    ]
    return " ".join(part for part in parts if part) or gettext("no time")


def wall(minutes: int | None) -> str:
    """Return minutes after midnight as a field has them: "22:00", or nothing."""
    return "" if minutes is None else f"{minutes // 60:02}:{minutes % 60:02}"


def moment(when: datetime, zone: str) -> str:
    """Return a moment with its date, hour and zone: "Thu 3 Dec, 18:00 (Paris time)"."""
    locale = get_locale()
    text = format_datetime(when, "EEE d MMM, HH:mm", tzinfo=ZoneInfo(zone), locale=locale)
    if zone == "UTC":
        return f"{text} (UTC)"
    city = zone.rsplit("/", 1)[-1].replace("_", " ")
    return gettext("%(time)s (%(city)s time)", time=text, city=city)
