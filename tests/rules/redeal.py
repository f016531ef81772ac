"""For the contract: where a game's cards are, and the same table with the unseen dealt anew.

It reaches into the states, as only tests may. A new game adds a line to each table below.
"""

from rules.biscuit_tables import full_deck

from engine.decktet import BASIC, cards_of, mask
from engine.snakebit_state import CYCLE, NUMBERS


def biscuit_cards(state):
    """Every card of the match with the place where it lies."""
    found = [card for hand in state.hands for card in cards_of(hand)]
    found += state.pile
    found.append(state.face_down)
    found += state.lines.main
    for column in state.lines.columns:
        found += column.above + column.below
    return found, full_deck(state.options)


def biscuit_redeal(state, seat, chance):
    """A state that differs in all that the seat (None: an onlooker) can't see."""
    other = state.copy()
    unseen = [
        card
        for holder, hand in enumerate(state.hands, 1)
        if holder != seat
        for card in cards_of(hand)
    ]
    unseen += [*state.pile, state.face_down]
    unseen = chance.sample(unseen, len(unseen))
    for holder, hand in enumerate(state.hands, 1):
        if holder != seat:
            other.hands[holder - 1] = mask(tuple(unseen.pop() for _ in range(hand.bit_count())))
    other.pile = [unseen.pop() for _ in state.pile]
    other.face_down = unseen.pop()
    other.key = chance.randbytes(32)
    if state.drawn is not None and state.turn != seat:
        other.drawn = chance.choice(cards_of(other.hands[state.turn - 1]))
    return other


def bisque_cards(state):
    """Every card of the hand with the place where it lies."""
    found = [card for hand in state.hands for card in cards_of(hand)]
    found += [aim for aim in state.aims if aim is not None]
    found += state.trick
    for trick in state.tricks:
        found += trick.cards
    return found, BASIC


def bisque_redeal(state, seat, chance):
    """A state with other hands and other objectives of all but this seat."""
    other = state.copy()
    others = [holder for holder in (1, 2, 3) if holder != seat]
    unseen = [card for holder in others for card in cards_of(state.hands[holder - 1])]
    unseen += [state.aims[holder - 1] for holder in others if state.aims[holder - 1] is not None]
    unseen = chance.sample(unseen, len(unseen))
    for holder in others:
        if state.aims[holder - 1] is not None:
            aim = next(card for card in unseen if len(card.suits) == 2)
            unseen.remove(aim)
            other.aims[holder - 1] = aim
    for holder in others:
        held = state.hands[holder - 1].bit_count()
        other.hands[holder - 1] = mask(tuple(unseen.pop() for _ in range(held)))
    other.key = chance.randbytes(32)
    return other


def snakebit_cards(state):
    """Every number card of the hand with the place where it lies."""
    found = [card for hand in state.hands for card in cards_of(hand)]
    found += state.trick
    for trick in state.tricks:
        found += trick.cards
    return found, NUMBERS


def snakebit_redeal(state, seat, chance):
    """A state with other hands of all but this seat, and others of the hands to come."""
    other = state.copy()
    others = [holder for holder in range(1, state.seats + 1) if holder != seat]
    unseen = [card for holder in others for card in cards_of(state.hands[holder - 1])]
    unseen = chance.sample(unseen, len(unseen))
    for holder in others:
        held = state.hands[holder - 1].bit_count()
        other.hands[holder - 1] = mask(tuple(unseen.pop() for _ in range(held)))
    nth = state.hand_number % CYCLE or CYCLE
    aces, crowns = zip(*state.piles, strict=True)
    aces = (*aces[:nth], *chance.sample(aces[nth:], CYCLE - nth))
    crowns = (*crowns[:nth], *chance.sample(crowns[nth:], CYCLE - nth))
    other.piles = tuple(zip(aces, crowns, strict=True))
    other.key = chance.randbytes(32)
    return other


CARDS_OF = {"biscuit": biscuit_cards, "bisque": bisque_cards, "snakebit": snakebit_cards}
REDEALERS = {"biscuit": biscuit_redeal, "bisque": bisque_redeal, "snakebit": snakebit_redeal}
