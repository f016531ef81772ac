"""Small tables of Bisque and Snakebit, arranged in words, for tests."""

from rules.biscuit_tables import cards

from engine import GAMES
from engine.bisque_state import BisqueState, Phase
from engine.decktet import CARDS, mask
from engine.game import following
from engine.snakebit_state import ACES, CROWNS, SnakebitState

BISQUE = GAMES["bisque"]
SNAKEBIT = GAMES["snakebit"]


def bisque(
    *hands, aims="", turn=0, trick="", leader=1, pot="", hand_number=1, scores=(0, 0, 0), **options
):
    """A table of Bisque; without ``turn`` objectives are chosen, `-` stands for none yet."""
    laid = cards(trick)
    chosen = [CARDS.get(code) for code in (aims or "- - -").split()]
    resting = Phase.AIM if None in chosen else Phase.OVER
    playing = Phase.POT if len(laid) == 3 else Phase.PLAY
    return BisqueState(
        key=b"table",
        options=BISQUE.check_options(3, options),
        scores=scores,
        hand_number=hand_number,
        hands=[mask(cards(hand)) for hand in hands],
        aims=chosen,
        phase=playing if turn else resting,
        turn=turn,
        leader=leader,
        trick=laid,
        pot=cards(pot),
    )


def snakebit(
    *hands,
    flip="AM CK",
    turn=1,
    leader=None,
    named=None,
    trick="",
    played="",
    hand_number=1,
    scores=None,
    **options,
):
    """A table of Snakebit; ``played`` are cards of tricks that are done."""
    ace, crown = cards(flip)
    shown = {suit for card in cards(played) + cards(trick) for suit in card.suits}
    special = dict.fromkeys((ace.suits[0], crown.suits[0]))
    return SnakebitState(
        key=b"table",
        options=SNAKEBIT.check_options(len(hands), options),
        scores=scores or (0,) * len(hands),
        hand_number=hand_number,
        hands=[mask(cards(hand)) for hand in hands],
        ace=ace,
        crown=crown,
        turn=turn,
        leader=leader or turn,
        named=named,
        barred=tuple(suit for suit in special if suit not in shown),
        piles=tuple(zip(ACES, CROWNS, strict=True)),
        trick=cards(trick),
    )


def legal(game, state, seat=None):
    """The legal moves as they are written."""
    view = game.view(state, seat or min(game.to_move(state)))
    return [game.format(move) for move in game.moves(view)]


def played(game, state, *texts, seat=None):
    """The state after moves of whoever is asked first, and what happened at the last."""
    events = ()
    for text in texts:
        mover = seat or min(game.to_move(state))
        move = game.canonical(game.view(state, mover), text)
        state, events = game.apply(state, mover, move)
    return state, events


def read(game, state, text, seat=None):
    """What a typed text is taken for."""
    view = game.view(state, seat or min(game.to_move(state)))
    return game.format(game.parse(view, text))


def in_turn(seat, seats):
    """The seats from this one on, clockwise."""
    return [seat, *following(seat, seats)]
