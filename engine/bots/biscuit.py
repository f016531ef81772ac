"""What bots know of Biscuit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from engine.biscuit import BiscuitView
from engine.biscuit_state import BiscuitState, Shown, Sign, deck_of
from engine.biscuit_table import RANKS, Keep, Move, gain, left_value
from engine.bots.skill import Skill
from engine.bots.unseen import deal_out
from engine.decktet import DECK, cards_of, mask
from engine.game import following

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from engine.biscuit_table import Lines, Play, Ranks
    from engine.decktet import Card
    from engine.game import Seat

_ALL: Final = mask(DECK)
_LEFT: Final = tuple(left_value((card,)) for card in DECK)


class BiscuitSkill(Skill[BiscuitState, BiscuitView, Move]):
    """Most points now; of equals what leaves the fewest points in the hand."""

    iterations = 60

    def best(self, view: BiscuitView) -> Move:
        """Return the play that scores most now, of equals the one that leaves least."""
        cards = view.hand if view.drawn is None else (view.drawn,)
        return _choice(view.lines, cards, _ranks(view))

    def reply(self, state: BiscuitState, seat: Seat) -> Move:
        """Return what ``best`` would return for a seat of an imagined state."""
        playable = cards_of(state.hands[seat - 1] & state.lines.fits)
        cards = playable if state.drawn is None else (state.drawn,)
        return _choice(state.lines, cards, state.ranks)

    def imagine(self, view: BiscuitView, chance: random.Random) -> BiscuitState:
        """Return a state whose other hands could have drawn, passed and played as was seen."""
        hands, (face_down, *pile) = _dealt(view, chance)
        assert view.seat is not None
        return BiscuitState(
            key=chance.randbytes(32),
            options=view.options,
            ranks=_ranks(view),
            scores=list(view.scores),
            hand_number=view.hand_number,
            hands=hands,
            pile=pile,
            face_down=face_down,
            lines=view.lines.copy(),
            turn=view.seat,
            scores_before=view.scores_before,
            drawn=view.drawn,
            last_hand=view.last_hand,
            shown=view.shown,
        )

    def rivals(self, view: BiscuitView) -> Sequence[Seat]:
        """Return the other seats, but not the partner."""
        others = super().rivals(view)
        return others[::2] if view.partners else others


def _choice(lines: Lines, cards: Sequence[Card], ranks: Ranks) -> Move:
    """Return the best play of the cards; to keep the drawn one where there is none."""

    def worth(play: Play) -> tuple[int, int]:
        return gain(lines, play, ranks).points, _LEFT[play.card.index]

    return max(lines.plays(cards), key=worth, default=Keep())


def _ranks(view: BiscuitView) -> Ranks:
    return RANKS[view.options["pawns"] is True, view.options["courts"] is True]


def _dealt(view: BiscuitView, chance: random.Random) -> tuple[list[int], list[Card]]:
    """Return hands by seat, and the cards that are left: the face-down one, then the pile."""
    assert view.seat is not None
    others = following(view.seat, view.seats)
    could = {seat: _could_hold(view, seat) for seat in others}
    places = [card for hand in could.values() for card in hand] + [_ALL] * (1 + view.pile)
    cards = deal_out(_unseen(view), places, chance)
    hands = [mask(view.hand)] * view.seats
    for seat, hand in could.items():
        hands[seat - 1] = mask(tuple(cards[: len(hand)]))
        del cards[: len(hand)]
    return hands, cards


def _unseen(view: BiscuitView) -> int:
    """Return the cards that lie in other hands, in the pile or face down."""
    # A cross card lies in the main line and in its column.
    seen = {*view.hand, *view.lines.main}
    seen.update(card for column in view.lines.columns for card in column.cards)
    return mask(deck_of(view.options)) & ~mask(seen)


def _could_hold(view: BiscuitView, seat: Seat) -> list[int]:
    """Return for each card of a hand the mask of what it may be, by all that was seen."""
    seen = [shown for shown in view.shown if shown.seat == seat]
    signs = [shown.sign for shown in seen]
    dealt = view.hand_sizes[seat - 1] + signs.count(Sign.PLAYED) - signs.count(Sign.DREW)
    hand = [_ALL] * dealt
    for shown in seen:
        _learn(hand, shown)
    return hand


def _learn(hand: list[int], shown: Shown) -> None:
    match shown.sign:
        case Sign.LACKED:
            hand[:] = [card & ~shown.cards for card in hand]
        case Sign.DREW:
            hand.append(shown.cards)
        case Sign.PLAYED:
            # Of two cards of a hand either all that one may be the other may be too, or
            # nothing. So the played card may be taken for the one that is known best: what
            # the rest may be is then neither less nor more than what was seen allows.
            hand.remove(min((card for card in hand if card & shown.cards), key=int.bit_count))
