"""What a line of a reply means as a command: a move of a turn, or a word that is known."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from engine import orders
from engine.errors import IllegalMove, Unreadable
from pbem.mail.lines import clean
from pbem.mail.numbers import NUMBER_WORDS

if TYPE_CHECKING:
    from engine.game import Game, View


class NoSuchNumber(IllegalMove):
    """there is no move with that number in the list"""


@dataclass(frozen=True, slots=True)
class Command:
    """What one line means: canonical text, and the question that it answers.

    A weak one, such as a bare number, counts only as the first line with text.
    """

    text: str
    weak: bool
    question: str = "move"


Commands: TypeAlias = Callable[[str], Command | None]
# Returns the move, in notation, that a text means; raises Unreadable and IllegalMove.
Meant: TypeAlias = Callable[[str], str]


# The question of lines about orders: there may be many in one mail.
ORDER: Final = "order"

# A card's code: with its digit, or with letters only.
CODE: Final = re.compile(r"\b(?:[2-9]\s?[mswlyk]{2}|[ac][mswlyk]|[pt][mswlyk]{3}|ex)\b")
_LARGE_ACE: Final = re.compile(r"\bA[MS]\b")
_SIGNS: Final = re.compile(r"[^\w\s'-]|^-|-$|-\s|\s-")
_COURTESY: Final = re.compile(
    r"^(?:please |ok,? |(?:i|i'll|i will|let me|je|je vais|we) "
    r"(?=play|move|pick|take|choose|joue|prends))|"
    r",? (?:please|pls|thanks|thank you|thx|s'il te plaît|s'il vous plaît|svp|stp|merci)$"
)
_VERB: Final = re.compile(r"^(?:play|move|joue|jouer|my move is) ")
_VERBS_ALONE: Final = frozenset({"keep", "garder"})
_NUMBER: Final = re.compile(
    r"(?P<strong>(?:play|move|pick|take|choose|option|joue|jouer|prends|choisis|coup)"
    r"(?: number| nr| n°| numéro)? |(?:number|nr|n°|numéro) )?(?P<mark>#\s?)?"
    r"(?:(?P<digits>[0-9]{1,3})\)?|\((?P<round>[0-9]{1,3})\)|\[(?P<square>[0-9]{1,3})\]|"
    r"(?P<word>[^\W\d]+(?:-[^\W\d]+)?))"
)


def is_weak(line: str) -> bool:
    """Return whether the line names a move too loosely to count but as the first line.

    A code with its digit is strong, as are a word for moving or a # before a number.
    """
    text = _plain(line)
    number = _NUMBER.fullmatch(text)
    if number and _nth(number) is not None:
        return not (number["strong"] or number["mark"])
    if text in _VERBS_ALONE:
        return False
    codes = [code for code in CODE.findall(text) if code not in ("am", "as")]
    # "am" and "as" are words as well as Aces, unless somebody wrote them large.
    return text.isalpha() or not (codes or _LARGE_ACE.search(line))


def turn_commands(game: Game[Any, Any, Any], view: View) -> Commands:
    """Return what reads a line as a move of this turn: by its number or its notation.

    The reader raises Ambiguous, and IllegalMove for a move that is none now.
    """
    return list_commands(
        [game.format(move) for move in game.moves(view)],
        lambda text: game.format(game.parse(view, text)),
    )


def list_commands(moves: Sequence[str], meant: Meant) -> Commands:
    """Return what reads a line as one of the listed moves, by its number or by ``meant``."""

    def command(line: str) -> Command | None:
        text = _plain(line)
        number = _NUMBER.fullmatch(text)
        nth = _nth(number) if number else None
        if nth is not None:
            if not 1 <= nth <= len(moves):
                raise NoSuchNumber
            return Command(moves[nth - 1], is_weak(line))
        # Our own lines glue a sign to every code, so nothing with signs is a move.
        if not text or _SIGNS.search(text):
            return None
        return _parsed(text, meant, weak=is_weak(line))

    return command


def _parsed(text: str, meant: Meant, *, weak: bool) -> Command | None:
    try:
        return Command(meant(text), weak)
    except Unreadable:
        without_verb = _VERB.sub("", text)
        if without_verb == text:
            return None
        return _parsed(without_verb, meant, weak=weak)


def _plain(line: str) -> str:
    """Return the line, cleaned, without the words of courtesy around a move."""
    text = clean(line)
    for _ in range(3):
        text = _COURTESY.sub("", text)
    return text


def _nth(number: re.Match[str]) -> int | None:
    digits = number["digits"] or number["round"] or number["square"]
    return int(digits) if digits else NUMBER_WORDS.get(number["word"])


def word_commands(words: Mapping[str, str], *, weak: frozenset[str], question: str) -> Commands:
    """Return what reads a line that is one of the words; ``weak`` names the weak ones."""

    def command(line: str) -> Command | None:
        for said in (clean(line), _plain(line)):
            if said in words:
                return Command(words[said], said in weak, question)
        return None

    return command


def either(*readers: Commands) -> Commands:
    """Return what reads a line by the first of some readers that knows it."""

    def command(line: str) -> Command | None:
        found = (reader(line) for reader in readers)
        return next((one for one in found if one is not None), None)

    return command


_UNDO: Final = (
    *(
        "undo",
        "undo my move",
        "take back",
        "take it back",
        "take my move back",
        "take back my move",
    ),
    *("reprendre", "reprendre mon coup", "je reprends", "je reprends mon coup"),
    *("annuler mon coup", "annule mon coup"),
)


def undo_commands() -> Commands:
    """Return what reads a line that takes the last move back: ``undo``."""
    words = dict.fromkeys(_UNDO, "undo")
    return word_commands(words, weak=frozenset({"undo", "take back", "reprendre"}), question="undo")


# What stands at the beginning of a line that leaves an order, in both languages.
_ORDER: Final = re.compile(r"(?:and |et )?(?:then|puis|ensuite)\b|(?:if|si) ")
_ORDER_SIGNS: Final = re.compile(r"[^\w\s':,-]|[:,-]$")
_QUOTATION: Final = re.compile('["“”„«»‹›]')
_ORDER_WORDS: Final = {
    **dict.fromkeys(("orders", "my orders", "ordres", "mes ordres"), "orders"),
    **dict.fromkeys(("cancel orders", "cancel my orders", "cancel all orders"), "cancel orders"),
    **dict.fromkeys(
        ("annuler les ordres", "annuler mes ordres", "annule les ordres"), "cancel orders"
    ),
}


def order_commands(game: Game[Any, Any, Any]) -> Commands:
    """Return what reads a line about orders for later turns: one is left, all are cancelled.

    Whether an order makes sense now is not asked here, only whether it is one.
    """
    words = word_commands(_ORDER_WORDS, weak=frozenset({"orders", "ordres"}), question=ORDER)

    def command(line: str) -> Command | None:
        text = clean(line)
        if not _ORDER.match(text):
            return words(line)
        # As with moves: our own lines glue a sign to every order, a quotation mark at least.
        if _ORDER_SIGNS.search(text) or _QUOTATION.search(line):
            return None
        try:
            return Command(orders.read(game, text).text, weak=False, question=ORDER)
        except Unreadable:
            return None

    return command


_SIT: Final = (
    *("sit down", "sit", "yes", "yes please", "join", "i join", "i'll join", "i'm in", "accept"),
    *("i accept", "ok", "okay", "oui", "je joue", "je participe", "j'accepte", "accepter"),
)
_DECLINE: Final = (
    *("decline", "i decline", "no", "no thanks", "no thank you", "not this time", "non"),
    *("non merci", "refuser", "je refuse", "décliner"),
)
_WEAK: Final = frozenset({"yes", "no", "ok", "okay", "oui", "non", "sit", "accept", "join"})


def invitation_commands() -> Commands:
    """Return what reads a line as the answer to an invitation: ``sit`` or ``decline``."""
    words = dict.fromkeys(_SIT, "sit") | dict.fromkeys(_DECLINE, "decline")
    return word_commands(words, weak=_WEAK, question="invitation")
