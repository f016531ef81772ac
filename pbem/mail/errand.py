"""What a whole line of a reply asks for beside a move: status, history, an absence, and so on."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import Final

from pbem.mail.commands import word_commands
from pbem.mail.lines import clean

_WORDS: Final[dict[str, tuple[str, ...]]] = {
    "help": ("help", "commands", "aide", "commandes"),
    "status": ("status", "my games", "état", "etat", "statut", "mes parties"),
    "again": ("again", "send again", "once more", "resend", "encore", "encore une fois"),
    "history": ("history", "the history", "historique", "l'historique"),
    "more time": ("more time", "i need more time", "plus de temps", "davantage de temps"),
    "back": ("back", "i am back", "i'm back", "de retour", "je suis de retour"),
    "resign": ("resign", "i resign", "abandonner", "j'abandonne"),
    "yes, resign": (
        *("yes, resign", "yes resign", "yes, i resign", "yes i resign"),
        *("oui, abandonner", "oui abandonner", "oui, j'abandonne", "oui j'abandonne"),
    ),
    "rematch": ("rematch", "revanche"),
    "stop": ("stop", "stop mails", "no more mails", "plus de mails", "arrêter les mails"),
    "start": ("start mails", "mail me again", "mails again", "reprendre les mails"),
}
_SAID: Final = {said: what for what, words in _WORDS.items() for said in words}
_WORD: Final = word_commands(_SAID, weak=frozenset(), question="errand")

_MONTHS: Final = (
    ("january", "janvier"),
    ("february", "février", "fevrier"),
    ("march", "mars"),
    ("april", "avril"),
    ("may", "mai"),
    ("june", "juin"),
    ("july", "juillet"),
    ("august", "août", "aout"),
    ("september", "septembre"),
    ("october", "octobre"),
    ("november", "novembre"),
    ("december", "décembre"),
)
_DAY: Final = (
    r"(?:\d{4}-\d{2}-\d{2}|\d{1,2}(?:st|nd|rd|th|er)? [^\W\d]{3,9}\.?(?: \d{4})?"
    r"|[^\W\d]{3,9}\.? \d{1,2}(?:st|nd|rd|th)?(?:,? \d{4})?)"
)
_AWAY: Final = re.compile(
    r"(?:(?:i am|i'm|i will be|i'll be|je suis|je serai) )?(?:away|absente?)"
    rf"(?: (?:from|on|du|de|le))?(?: (?P<first>{_DAY}))?"
    rf"(?: (?:to|till|until|au|à|jusqu'au) (?P<last>{_DAY}))?"
)
_NEW: Final = re.compile(
    r"(?:new|nouvelle(?: partie de)?|nouveau) (?P<game>\w{1,32}) (?:with|avec) (?P<who>\S.*)"
)
_EARS: Final = re.compile(r"(?P<what>mute|unmute|ignorer|écouter) (?P<who>\S.*)")
_DASH: Final = re.compile(r"(?<=\w)\.?\s[-–—]\s")
_YEAR: Final = 366  # days
_NEAR: Final = 60  # days: an end with no year that is farther off is a slip


@dataclass(frozen=True, slots=True)
class Errand:
    """Something that a line asks for; ``rest`` are the words that go with it, as typed.

    ``rest`` of an absence are its first and last day, those of a new game its name and the
    addresses.
    """

    what: str
    rest: tuple[str, ...] = ()


def read(line: str, *, today: date) -> Errand | None:
    """Return what a line asks for, or None; it must be nothing else, from end to end."""
    word = _WORD(line)
    if word is not None:
        return Errand(word.text)
    # A dash between two days would be taken for a list's.
    text = clean(_DASH.sub(" to ", line))
    return _away(text, today) or _new(text) or _ears(text)


def _away(text: str, today: date) -> Errand | None:
    found = _AWAY.fullmatch(text)
    if found is None or not (found["first"] or found["last"]):
        return None
    first = _day(found["first"], after=today, within=_YEAR) if found["first"] else today
    last = _day(found["last"], after=first or today, within=_NEAR) if found["last"] else first
    if first is None or last is None:
        # No date, though it looks like one: the words about absences tell how to write them.
        return Errand("away", (found["first"] or "", found["last"] or ""))
    return Errand("away", (first.isoformat(), last.isoformat()))


def _new(text: str) -> Errand | None:
    found = _NEW.fullmatch(text)
    if found is None or "@" not in found["who"]:
        return None
    addresses = re.split(r"[\s,;]+(?:(?:and|et)\s)?\s*", found["who"].strip(" ,;"))
    return Errand("new", (found["game"], *(one.strip("<>") for one in addresses if one)))


def _ears(text: str) -> Errand | None:
    found = _EARS.fullmatch(text)
    if found is None:
        return None
    what = {"ignorer": "mute", "écouter": "unmute"}.get(found["what"], found["what"])
    return Errand(what, (found["who"],))


def _day(text: str, *, after: date, within: int) -> date | None:
    """Return the day that is meant, None if it is no day.

    With no year it is the next one ``after`` a day; or that of the same year, if the next one
    is not ``within`` so many days.
    """
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text):
        return _date(*(int(part) for part in text.split("-")))
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    (word,) = re.findall(r"[^\W\d]{3,9}", re.sub(r"(?<=\d)(?:st|nd|rd|th|er)\b", "", text))[:1]
    month = _month(word)
    if month is None:
        return None
    if len(numbers) == 2:
        return _date(numbers[1], month, numbers[0])
    this, following = (_date(year, month, numbers[0]) for year in (after.year, after.year + 1))
    if this is None or this >= after:
        return this
    is_slip = following is None or (following - after).days > within
    return this if is_slip else following


def _month(word: str) -> int | None:
    for number, names in enumerate(_MONTHS, 1):
        if any(name.startswith(word) for name in names):
            return number
    return None


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
