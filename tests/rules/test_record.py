import json
from dataclasses import replace
from pathlib import Path

import pytest
from rules.biscuit_tables import GAME

from engine import deal, record
from engine.bots import BOTS
from engine.decktet import CARDS
from engine.errors import BadRecord

RECORDS = Path(__file__).parent.parent / "golden" / "records"


def golden(name="biscuit-2p-01"):
    return json.loads((RECORDS / f"{name}.json").read_text(encoding="utf-8"))


def refused(data):
    """What reading and checking the record says."""
    text = data if isinstance(data, str) else json.dumps(data)
    with pytest.raises(BadRecord) as caught:
        record.verify(record.loads(text))
    return str(caught.value)


def changed(path, value, name="biscuit-2p-01"):
    """The golden record with one value changed; None as the value takes it away."""
    data = golden(name)
    *way, last = path
    place = data
    for step in way:
        place = place[step]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return data


def test_a_record_comes_back_as_it_was_written():
    read = record.loads(json.dumps(golden()))
    text = record.dumps(read)
    assert record.loads(text) == read
    assert "\n" not in text
    assert json.loads(text)["options"] == dict.fromkeys(("excuse", "pawns", "courts"), False) | {
        "partners": False,
        "target": 0,
    }


def test_keys_beside_the_known_ones_are_kept():
    data = golden()
    data["moves"][0] |= {"by": "link", "at": "2026-12-01T10:00:00Z"}
    written = json.loads(record.dumps(record.loads(json.dumps(data))))
    assert written["moves"][0] == data["moves"][0]


def test_a_record_that_is_cut_off_is_no_record():
    text = json.dumps(golden())
    assert refused(text[: len(text) // 2]).startswith("not JSON, or cut off: ")
    assert refused("[]") == "a record is a JSON object"
    assert refused("[" * 100_000).startswith("not JSON, or cut off: ")


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (["format"], "decktet-record/9", "format: it is not decktet-record/1"),
        (["game"], "chess", "game: 'chess' is unknown"),
        (["game"], None, "game: a text belongs here"),
        (["id"], 7, "id: a text belongs here"),
        (["options"], [], "options: an object belongs here"),
        (["options"], {"jokers": True}, "options: Biscuit has no option 'jokers'"),
        (["options"], {"target": -1}, "options: option target: -1 is not possible"),
        (["options"], {"partners": True}, "options: option partners: it needs 4 seats, not 2"),
        (["seats"], [], "options: Biscuit is for this many seats: 2, 3, 4; not 0"),
        (["seats", 1], {"seat": 3, "name": "x"}, "seats: seat 2 is missing or out of order"),
        (["seats", 1], "Ada", "seats[1]: an object belongs here"),
        (["seats", 0, "name"], None, "seats[0].name: a text belongs here"),
        (["deal"], None, "deal: an object belongs here"),
        (["deal", "phrases"], ["", "", ""], "deal.phrases: there is one for each seat"),
        (["deal", "phrases"], ["", 1], "deal.phrases: a list of texts belongs here"),
        (["deal", "key"], None, "deal.key: missing; a running match cannot be checked yet"),
        (["deal", "key"], "xyz", "deal.key: it is not hexadecimal"),
        (["deal", "key"], "00" * 32, "deal.commitment: it is not the SHA-256 of the key"),
        (["deal", "commitment"], "00" * 32, "deal.commitment: it is not the SHA-256 of the key"),
        (["moves"], "none", "moves: a list belongs here"),
        (["moves", 2, "ply"], 4, "ply 3: its number is 4; one is missing"),
        (["moves", 2, "seat"], True, "ply 3: seat: a whole number belongs here"),
        (["moves", 2, "move"], None, "ply 3: move: a text belongs here"),
        (["moves", 2, "scores"], [1, 2, 3], "ply 3: scores: there is one score for each seat"),
        (["moves", 2, "scores"], [99, 0], "ply 3: the scores are "),
        (["moves", 2, "move"], "EX left", "ply 3: 'EX left' is not legal now"),
        (["scores"], [0, 0], "scores: they are [2, 11] at the end"),
        (["scores"], [0], "scores: there is one score for each seat"),
        (["winners"], [1], "winners: they are [2], not [1]"),
        (["winners"], None, "winners: they are [2], not None"),
        (["winners"], [True], "winners: a list of whole numbers belongs here"),
        (["ended"], "stale", "ended: it is 'out', not 'stale'"),
        (["ended"], None, "ended: it is 'out', not None"),
        (["ended"], "stopped", "ended: it is 'out', not 'stopped'"),
    ],
)
def test_what_is_wrong_is_told_by_its_field_or_ply(path, value, said):
    assert refused(changed(path, value)).startswith(said)


def test_a_changed_card_is_told_by_its_ply():
    data = golden()
    first = data["moves"][0]
    card = "AM" if not first["move"].startswith("AM") else "AS"
    data["moves"][0] = first | {"move": f"{card} {first['move'].split()[1]}"}
    assert refused(data).startswith("ply 1: ")


def test_a_seat_out_of_turn_is_told_by_its_ply():
    data = golden()
    data["moves"][0]["seat"] = 3 - data["moves"][0]["seat"]
    assert refused(data) == f"ply 1: seat {data['moves'][0]['seat']} was not to move"


def test_a_move_after_the_end_is_told_by_its_ply():
    data = golden()
    after = len(data["moves"]) + 1
    data["moves"].append({"ply": after, "seat": 1, "move": "keep"})
    assert refused(data) == f"ply {after}: seat 1 was not to move"


def test_a_missing_last_move_leaves_the_match_running():
    data = golden()
    data["moves"].pop()
    data["scores"] = data["moves"][-1]["scores"]
    assert refused(data) == "ended: 'out', but after the last ply the match goes on"


def test_only_the_canonical_notation_stands_in_a_record():
    data = golden()
    data["moves"][0]["move"] = data["moves"][0]["move"].lower()
    assert refused(data).startswith("ply 1: ")


def test_another_phrase_is_another_deal():
    assert refused(changed(["deal", "phrases"], ["", "unlucky"])).startswith("ply ")


def stopped(ended, **seat):
    data = golden()
    data["moves"] = data["moves"][:5]
    data["scores"] = data["moves"][-1]["scores"]
    best = max(data["scores"])
    data["winners"] = [n for n, score in enumerate(data["scores"], 1) if score == best]
    data["seats"][0] |= seat
    data["ended"] = ended
    return data


def test_a_match_may_be_stopped_after_any_ply_with_the_scores_as_they_stand():
    record.verify(record.loads(json.dumps(stopped("stopped"))))
    assert refused(stopped("stopped") | {"winners": []}).startswith("winners: they are ")


def test_who_resigned_is_left_out_of_the_winners():
    data = stopped("resigned", resigned=True)
    record.verify(record.loads(json.dumps(data | {"winners": [2]})))
    assert refused(data | {"winners": [1]}) == "winners: they are [2], not [1]"


def test_resigned_needs_one_seat_marked_so():
    assert refused(stopped("resigned")).startswith("ended: 'resigned' is for two seats")


def test_drawn_seats_are_checked():
    name = "biscuit-3p-drawn-seats"
    seating = golden(name)["seating"]
    others = [seating[2], seating[1], seating[0]]
    assert refused(changed(["seating"], others, name)) == (
        "seating: the seats are not those that the key draws"
    )
    assert refused(changed(["seating"], ["Ada", "Ada", "Linus"], name)) == (
        "seating: it does not name the players of the seats"
    )


def test_players_of_one_name_do_not_spoil_the_check_of_drawn_seats():
    data = golden("biscuit-3p-drawn-seats")
    for place in data["seats"]:
        place["name"] = "Ada"
    record.verify(record.loads(json.dumps(data | {"seating": ["Ada"] * 3})))


def test_a_match_that_we_play_makes_a_record_that_verifies():
    key, phrases = b"k" * 32, ("one", "two", "three")
    options = GAME.check_options(3, {"excuse": True, "target": 15})
    bot = BOTS["random"]("record")
    state, _ = GAME.new_game(deal.deal_key(key, "ours", phrases), 3, options)
    decisions = []
    while GAME.to_move(state):
        (seat,) = GAME.to_move(state)
        move = bot.choose(GAME, GAME.view(state, seat))
        GAME.step(state, seat, move)
        decisions.append(record.Decision(seat, GAME.format(move), GAME.scores(state)))
    outcome = GAME.outcome(state)
    made = record.Record(
        game="biscuit",
        id="ours",
        options=options,
        names=("ann", "bob", "cleo"),
        resigned=frozenset(),
        seating=None,
        commitment=deal.commitment(key),
        phrases=phrases,
        key=key,
        decisions=tuple(decisions),
        scores=outcome.scores,
        winners=outcome.winners,
        ended=outcome.reason,
    )
    record.verify(record.loads(record.dumps(made)))
    with pytest.raises(BadRecord, match="key: missing"):
        record.verify(replace(made, key=None))


@pytest.mark.parametrize("name", sorted(path.stem for path in RECORDS.glob("*.json")))
def test_no_damage_to_a_record_passes(name):
    """Of every game: cut off, a ply lost, a card changed, a seat too few, options unknown."""
    text = json.dumps(golden(name))
    for part in (3, 5, 7):
        assert refused(text[: len(text) * part // 8]).startswith("not JSON, or cut off: ")
    moves = golden(name)["moves"]
    for at in range(0, len(moves), max(1, len(moves) // 9)):
        lost = changed(["moves"], moves[:at] + moves[at + 1 :], name)
        assert refused(lost).startswith(
            f"ply {at + 1}: " if moves[at + 1 :] else ("ended", "score")
        )
        for other in ("AM", "CK", "2MK", "9LK", "5SW"):
            words = [other if word in CARDS else word for word in moves[at]["move"].split()]
            if " ".join(words) != moves[at]["move"]:
                told = refused(changed(["moves", at, "move"], " ".join(words), name))
                # A card that could have been played is found out where it is missed.
                assert int(told.removeprefix("ply ").split(":")[0]) > at
    assert "this many seats" in refused(changed(["seats"], [], name))
    assert "has no option 'jokers'" in refused(changed(["options"], {"jokers": True}, name))
