"""Orders that a player leaves for turns to come: what they say, and the move they choose.

An order is a move or a rule in words, English or French. It chooses from a view only, and
only where it leaves no choice: an order that could mean two moves plays none.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from engine import reading
from engine.decktet import Card, Rank, Suit
from engine.errors import Ambiguous, IllegalMove, RulesError, Unreadable
from engine.game import N_, Game, View

AnyGame: TypeAlias = Game[Any, Any, Any]

_THEN: Final = re.compile(r"(?:and |et )?(?:then|puis|ensuite)\b[\s:,]*")
_LED: Final = re.compile(
    r"(?:if|si)\s+(?:(?:the|les?|la)\s+)?(?P<suit>\w+)\s+(?:(?:is|are|was|were|est|sont)\s+)?"
    r"(?:led|named|mene|menee|entame|entamee|nomme|nommee|demande|demandee)s?"
    r"(?:\s*[:,]\s*|\s+)(?:(?:then|alors|play|jouer?)\s+)?(?P<rest>.+)"
)
_SCORES: Final = re.compile(
    r"(?P<rest>.+?),?\s+(?:if|si)\s+(?:(?:it|ca|cela|il|elle)\s+)?"
    r"(?:scores?|makes?|gives?|marque|rapporte|fait)\s+"
    r"(?:(?:at least|au moins)\s+(?P<least>\d{1,3})(?:\s+points?)?"
    r"|(?P<more>\d{1,3})\s+(?:points?\s+)?(?:or more|ou plus|or better|ou mieux))"
)
_EXTREME: Final = re.compile(
    r"(?:(?:play|jouer?)\s+)?(?:(?:my|the|ma|la)\s+)?(?:carte\s+la\s+)?(?:plus\s+)?"
    r"(?P<which>lowest|highest|basse|haute)(?:\s+(?:card|carte))?"
    r"(?:\s+(?:of|in|from|de|du|des|en|dans)\s+(?P<of>.+))?"
)
_OF_NAMED: Final = re.compile(
    r"(?:(?:the|la)\s+)?(?:(?:named|led) suit|suit (?:named|led)"
    r"|couleur (?:nommee|demandee|entamee|menee))"
)
_FORCED: Final = re.compile(
    r"(?:whatever|what) is forced|whatever's forced|forced(?: moves?)?"
    r"|ce qui est force|(?:le |les )?coups? forces?"
)
_LOWEST: Final = frozenset({"lowest", "basse"})
_NUMBERED: Final = tuple(Rank)


@dataclass(frozen=True, slots=True)
class Order:
    """What an order says; ``text`` is how it was written, without signs that nobody sees.

    With ``led`` it counts only if that suit was led, with ``least`` only for moves that
    score so much. ``move`` is a move in words; without one it is a rule: the ``lowest`` or
    the highest card (of ``suit``, or ``of_named``), or what is ``forced``.
    """

    text: str
    led: Suit | None = None
    least: int | None = None
    move: str = ""
    forced: bool = False
    lowest: bool = False
    suit: Suit | None = None
    of_named: bool = False


def read(game: AnyGame, text: str) -> Order:
    """Return what a text says as an order, whatever the position; raises Unreadable."""
    if len(text) > reading.MOST_TEXT:
        raise Unreadable(N_("that is too long for an order"))
    visible = "".join(
        sign for sign in text if sign.isspace() or unicodedata.category(sign)[0] != "C"
    )
    written = " ".join(visible.casefold().split()).strip(" .!'")
    written = _THEN.sub("", written, count=1) if _THEN.match(written) else written
    plain = _plain(written)
    led = _LED.fullmatch(plain)
    suit = _suit(led["suit"]) if led else None
    if led and suit is None:
        raise Unreadable
    rest = led["rest"] if led else plain
    scores = _SCORES.fullmatch(rest)
    least = int(scores["least"] or scores["more"]) if scores else None
    return _body(game, written, scores["rest"] if scores else rest, suit, least)


def check(game: AnyGame, view: View, order: Order) -> None:
    """Refuse an order that can't be done any more in the hand, or that has two readings.

    Raises IllegalMove or Ambiguous.
    """
    if (order.led or order.of_named) and not game.has_tricks:
        raise IllegalMove(N_("no suit is led in %(title)s"), title=game.title)
    if order.of_named and not game.names_suit:
        raise IllegalMove(N_("no suit is named in %(title)s"), title=game.title)
    if order.suit and game.has_tricks and not any(order.suit in c.suits for c in view.hand):
        raise IllegalMove(N_("you hold no card of that suit"))
    if not order.move:
        return
    said = game.said(order.move)
    # A card told by its rank alone might be another one by the time that the order fires.
    named = said.cards[0].cards if said.cards else ()
    if len(named) > 1:
        raise Ambiguous([card.code for card in named])
    if not any(
        game.may_come(view, move) and said.fits(game.said(game.format(move)))
        for move in game.all_moves()
    ):
        raise IllegalMove(
            N_("%(move)s can't be a move of yours any more in this hand"), move=order.move
        )


def choose(game: AnyGame, view: View, order: Order) -> Any | None:
    """Return the one legal move that an order means now, or None if that is none or several."""
    if order.led and order.led not in game.led(view):
        return None
    found = _found(game, view, order)
    if order.least is not None:
        scored = [(game.preview(view, move).points, move) for move in found]
        found = [move for points, move in scored if points is not None and points >= order.least]
    return found[0] if len(found) == 1 else None


def _body(game: AnyGame, text: str, body: str, led: Suit | None, least: int | None) -> Order:
    """Return the order whose conditions are read already."""
    if _FORCED.fullmatch(body):
        return Order(text, led, least, forced=True)
    extreme = _EXTREME.fullmatch(body)
    if extreme is None:
        game.said(body)
        return Order(text, led, least, move=body)
    lowest, of = extreme["which"] in _LOWEST, extreme["of"]
    if of is None:
        return Order(text, led, least, lowest=lowest)
    if _OF_NAMED.fullmatch(of):
        return Order(text, led, least, lowest=lowest, of_named=True)
    suit = _suit(of)
    if suit is None:
        raise Unreadable
    return Order(text, led, least, lowest=lowest, suit=suit)


def _found(game: AnyGame, view: View, order: Order) -> list[Any]:
    """Return the legal moves that an order may mean, its conditions aside."""
    moves = list(game.moves(view))
    if order.forced:
        return moves if len(moves) == 1 else []
    if order.move:
        return _meant(game, view, order.move)
    suits = game.led(view) if order.of_named else {order.suit} if order.suit else set(Suit)
    ranked = [
        (_NUMBERED.index(card.rank), move)
        for move in moves
        if (card := _card(move)) in view.hand and card is not None and suits & {*card.suits}
    ]
    if not ranked:
        return []
    pick = min if order.lowest else max
    best = pick(rank for rank, _move in ranked)
    return [move for rank, move in ranked if rank == best]


def _meant(game: AnyGame, view: View, text: str) -> list[Any]:
    try:
        return [game.parse(view, text)]
    except Ambiguous as error:
        return [game.canonical(view, text) for text in error.readings]
    except RulesError:
        return []


def _card(move: Any) -> Card | None:
    """Return the card that a move plays; there are moves without one."""
    card: Card | None = getattr(move, "card", None)
    return card


def _suit(text: str) -> Suit | None:
    """Return the suit that a text names, and nothing else."""
    match reading.read(text, {}):
        case (reading.CardWords(rank=None, suits=(suit,)),):
            return suit
    return None


def _plain(text: str) -> str:
    """Return a text without accents."""
    apart = unicodedata.normalize("NFD", text.replace("œ", "oe").replace("’", "'"))
    return "".join(sign for sign in apart if not unicodedata.combining(sign))
