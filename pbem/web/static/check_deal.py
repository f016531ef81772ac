"""Checks the deal of a finished game from its record: python check_deal.py RECORD.json

Needs Python 3.8 or newer and nothing else.
"""

import hashlib
import hmac
import json
import sys

ACES = "AM AS AW AL AY AK".split()
NUMBERS = (
    "2MK 2SY 2WL 3MW 3SK 3LY 4MS 4WL 4YK 5ML 5SW 5YK 6MW 6SY 6LK 7ML 7SK 7WY 8MS 8WL 8YK"
    " 9MS 9WY 9LK"
).split()
CROWNS = "CM CS CW CL CY CK".split()
ADDED = {
    "pawns": "PMSL PMYK PSWK PWLY".split(),
    "courts": "TMWK TMLY TSWY TSLK".split(),
    "excuse": ["EX"],
}


def deal_key(key, record, phrases):
    return hmac.digest(key, "\n".join([record["id"], *phrases]).encode(), "sha256")


def stream(key, label):
    block = 0
    while True:
        digest = hmac.digest(key, f"{label}/{block}".encode(), "sha256")
        for start in range(0, 32, 8):
            yield int.from_bytes(digest[start : start + 8], "big")
        block += 1


def shuffle(key, label, items):
    items, words = list(items), stream(key, label)
    for last in range(len(items) - 1, 0, -1):
        word = next(words)
        while word >= 2**64 - 2**64 % (last + 1):
            word = next(words)
        other = word % (last + 1)
        items[last], items[other] = items[other], items[last]
    return items


def hands(key, record, hand):
    """Return the cards dealt to each seat in a hand, and the rest of the deck, top first."""
    seats, options = len(record["seats"]), record.get("options", {})
    deck = NUMBERS if record["game"] == "snakebit" else ACES + NUMBERS + CROWNS
    if record["game"] == "biscuit":
        deck = deck + [card for name in ADDED if options.get(name) for card in ADDED[name]]
    each = 6 if record["game"] == "biscuit" else len(deck) // seats
    redeal = 0
    while True:
        label = f"hand/{hand}" + (f"/redeal/{redeal}" if redeal else "")
        cards = shuffle(key, label, deck)
        dealt = [cards[place : each * seats : seats] for place in range(seats)]
        first = (hand - 1) % seats  # the seat that opens the hand gets the first card
        dealt = [dealt[(seat - first) % seats] for seat in range(seats)]
        rest = cards[each * seats :]
        is_void = record["game"] == "bisque" and any(
            all(card[0] in "AC" for card in held) for held in dealt
        )
        if not is_void and not (record["game"] == "biscuit" and rest[1] == "EX"):
            return dealt, rest
        redeal += 1


def moves_of_hands(record):
    """Return the moves hand by hand, as far as their number tells where a hand ends."""
    moves = [(move["seat"] - 1, move["move"].split()) for move in record["moves"]]
    if record["game"] == "biscuit":
        # With a target the hands' lengths depend on the play, so only the deal is shown.
        return [] if record.get("options", {}).get("target") else [moves]
    # Bisque: 3 aims, 11 tricks of 3 cards, a card for the pot after each.
    size = 24 if record["game"] == "snakebit" else 3 + 11 * 3 + 11
    return [moves[start : start + size] for start in range(0, len(moves), size)]


def check(record):
    deal = record["deal"]
    key = bytes.fromhex(deal["key"])
    if hashlib.sha256(key).hexdigest() != deal["commitment"]:
        return "the key is not the one of the commitment"
    names = [seat["name"] for seat in record["seats"]]
    joined = record.get("seating")
    if joined and len(set(names)) == len(names):
        phrases = [deal["phrases"][names.index(name)] for name in joined]
        if shuffle(deal_key(key, record, phrases), "seats", joined) != names:
            return "the seats are not those that the key draws"
    key = deal_key(key, record, deal["phrases"])
    for hand, moves in enumerate(moves_of_hands(record), 1):
        dealt, rest = hands(key, record, hand)
        pile = rest[2:] if record["game"] == "biscuit" else []
        for seat, words in moves:
            card = words[1] if words[0] in ("aim", "play") else words[0]
            if card not in ("pot", "keep") and card not in dealt[seat] + pile:
                return f"hand {hand}: {names[seat]} played {card} without having it"
    for name, held in zip(names, hands(key, record, 1)[0]):
        print(f"The first hand of {name}: {' '.join(held)}")
    return None


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        wrong = check(json.load(file))
    print(f"WRONG: {wrong}" if wrong else "The deal is the one that was committed to.")
    sys.exit(1 if wrong else 0)
