"""For the contract: where a game's cards are, and the same table with the unseen dealt anew.

It reaches into the states, as only tests may. A new game adds a line to each table below.
"""

from rules.biscuit_tables import full_deck

from engine.decktet import cards_of, mask


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


CARDS_OF = {"biscuit": biscuit_cards}
REDEALERS = {"biscuit": biscuit_redeal}
