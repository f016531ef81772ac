"""Small tables of Biscuit, arranged in words, for tests."""

from dataclasses import dataclass

from engine.biscuit import Biscuit
from engine.biscuit_state import BiscuitState
from engine.biscuit_table import RANKS, Column, laid
from engine.decktet import BASIC, CARDS, COURTS, EXCUSE, PAWNS, Card, mask

GAME = Biscuit()


def cards(codes: str) -> tuple[Card, ...]:
    return tuple(CARDS[code] for code in codes.split())


def full_deck(options) -> tuple[Card, ...]:
    deck = BASIC
    deck += PAWNS if options["pawns"] else ()
    deck += COURTS if options["courts"] else ()
    return deck + ((EXCUSE,) if options["excuse"] else ())


def biscuit(
    main: str,
    *hands: str,
    start: int = 0,
    columns: dict[str, tuple[str, str]] | None = None,
    pile: str = "",
    turn: int = 1,
    **options: object,
) -> BiscuitState:
    """A table; cross cards are those of the initial card's rank, the pile's first is its top."""
    row = cards(main)
    given = columns or {}
    crosses = [
        card for nth, card in enumerate(row) if nth != start and card.rank is row[start].rank
    ]
    assert set(given) <= {card.code for card in crosses}
    grown = tuple(
        Column(card, *(cards(side) for side in given.get(card.code, ("", "")))) for card in crosses
    )
    lines = laid(row, start, grown)
    checked = GAME.check_options(len(hands), options)
    used = {*row, *cards(" ".join(hands)), *cards(pile)}
    used |= {card for column in grown for card in column.cards}
    return BiscuitState(
        key=b"table",
        options=checked,
        ranks=RANKS[checked["pawns"], checked["courts"]],
        scores=[0] * len(hands),
        hand_number=1,
        hands=[mask(cards(hand)) for hand in hands],
        pile=list(cards(pile)[::-1]),
        face_down=next(card for card in full_deck(checked) if card not in used),
        lines=lines,
        turn=turn,
        scores_before=(0,) * len(hands),
    )


@dataclass(frozen=True)
class Played:
    state: BiscuitState
    events: tuple

    @property
    def scores(self):
        return tuple(self.state.scores)

    @property
    def kinds(self):
        return [event.kind for event in self.events]

    @property
    def drew(self):
        """Who drew what for an eleven."""
        return {
            event.seat: event.secret_cards[0].code
            for event in self.events
            if event.kind == "draw" and event.phrase.text == "%(seat)s drew a card."
        }


def played(state: BiscuitState, text: str) -> Played:
    """The table after the seat in turn made the move, written as in records."""
    move = GAME.canonical(GAME.view(state, state.turn), text)
    return Played(*GAME.apply(state, state.turn, move))


def legal(state: BiscuitState) -> list[str]:
    view = GAME.view(state, state.turn)
    return [GAME.format(move) for move in GAME.moves(view)]


def points(state: BiscuitState, text: str) -> int:
    """What the play event of the move scores."""
    return next(event.points for event in played(state, text).events if event.kind == "play")
