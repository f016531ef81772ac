import json
from pathlib import Path

import pytest
from rules import trick_tables
from rules.biscuit_tables import GAME, biscuit, cards, legal, played
from rules.trick_tables import BISQUE, SNAKEBIT, bisque, snakebit

from engine import bisque_state, snakebit_state
from engine.biscuit_state import advance
from engine.biscuit_table import End, Play, gain
from engine.decktet import CARDS, Suit, cards_of, mask
from engine.errors import IllegalMove

LINES = (Path(__file__).parent.parent / "golden" / "scenarios.jsonl").read_text(encoding="utf-8")
ALL = [json.loads(line) for line in LINES.splitlines()]
SCENARIOS = [line for line in ALL if line["id"].startswith("BI-")]
SCORED = [line for line in SCENARIOS if line["move"] and "illegal" not in line["expect"]]


def arranged(line):
    columns = {
        line["main"][int(at)]: (" ".join(column["up"]), " ".join(column["down"]))
        for at, column in line["cross"].items()
    }
    return biscuit(
        " ".join(line["main"]),
        *(" ".join(line["hands"][str(seat)]) for seat in range(1, line["players"] + 1)),
        start=line["initial"],
        columns=columns,
        pile=" ".join(line["pile"]),
        turn=line["active"],
        **dict.fromkeys(line.get("opts", ()), True),
    )


def written(line):
    move = line["move"]
    column = [line["main"][move["column"]]] if "column" in move else []
    return " ".join([move["card"], move["at"], *column])


@pytest.mark.parametrize("line", SCORED, ids=lambda line: line["id"])
def test_a_scenario_scores_as_it_says(line):
    table = arranged(line)
    expect = line["expect"]
    _, at, *column = written(line).split()
    play = Play(CARDS[line["move"]["card"]], End(at), CARDS[column[0]] if column else None)
    gained = gain(table.lines, play, table.ranks)
    found = {
        "straight": gained.straight,
        "biscuits": [gained.hot, gained.hot_cross, gained.single],
        "points": gained.points,
        "elevensies": gained.eleven is not None,
    }
    assert found == {name: expect[name] for name in found}


@pytest.mark.parametrize("line", SCORED, ids=lambda line: line["id"])
def test_a_scenario_goes_on_as_it_says(line):
    expect = line["expect"]
    after = played(arranged(line), written(line))
    seat = line["active"]
    assert after.drew == {int(seat): codes[0] for seat, codes in expect["draws"].items()}
    assert after.scores[seat - 1] == expect.get("final", expect["points"])
    outcome = GAME.outcome(after.state)
    assert (outcome and outcome.reason) == expect.get("game_over")
    if "opens_cross_at" in expect:
        main = after.state.lines.main
        before = {column.cross for column in arranged(line).lines.columns}
        opened = [
            main.index(column.cross)
            for column in after.state.lines.columns
            if column.cross not in before
        ]
        at = expect["opens_cross_at"]
        assert opened == ([] if at is None else [at])


def test_scenario_19_draws_a_card_that_may_be_played_or_kept():
    (line,) = [line for line in SCENARIOS if line["id"] == "BI-19"]
    table = arranged(line)
    assert legal(table) == []
    advance(table, [])
    assert table.turn == line["active"]
    assert [table.drawn.code] == line["expect"]["after_draw_playable"]
    assert legal(table) == ["2SY left", "2SY right", "keep"]


def test_scenario_20_is_stale_at_once_and_gains_nothing():
    (line,) = [line for line in SCENARIOS if line["id"] == "BI-20"]
    table = arranged(line)
    advance(table, [])
    outcome = GAME.outcome(table)
    assert (outcome.reason, outcome.scores) == ("stale", (line["expect"]["final"], 0))


def test_all_scenarios_are_looked_at():
    assert len(SCENARIOS) == len(SCORED) + 2 == 19


def some(prefix, kind):
    """The scenarios of one kind, as parameters."""
    found = [line for line in ALL if line["id"].startswith(prefix) and line["kind"] == kind]
    LOOKED_AT.update(line["id"] for line in found)
    assert found
    return pytest.mark.parametrize("line", found, ids=lambda line: line["id"])


LOOKED_AT = set()


def one_card_hands(line):
    """Hands of just the cards that are played, by seat."""
    hands = {int(seat): code for seat, code in line["plays"]}
    return [hands[seat] for seat in sorted(hands)]


def bisque_trick(line):
    table = bisque(*one_card_hands(line), aims="8MS 9LK 7WY", turn=int(line["plays"][0][0]))
    table.leader = table.turn
    after, _ = trick_tables.played(BISQUE, table, *(f"play {code}" for _, code in line["plays"]))
    assert BISQUE.to_move(after) == {int(line["expect"]["winner"])}
    return after


@some("BQ", "trick")
def test_a_trick_of_bisque_is_won_as_a_scenario_says(line):
    after = bisque_trick(line)
    expected = [f"pot {code}" for code in line["expect"]["may_pick"]]
    assert sorted(trick_tables.legal(BISQUE, after)) == sorted(expected)


@some("BQ", "pick")
def test_the_winners_own_card_stays_out_of_the_pot(line):
    after = bisque_trick(line)
    with pytest.raises(IllegalMove):
        trick_tables.played(BISQUE, after, f"pot {line['pick']}")


@some("BQ", "objective")
def test_an_objective_is_chosen_as_a_scenario_says(line):
    table = bisque(" ".join(line["hand"]), "", "")
    assert trick_tables.legal(BISQUE, table, 1) == [f"aim {c}" for c in line["expect"]["legal"]]


@some("BQ", "deal")
def test_a_deal_is_void_as_a_scenario_says(line):
    hand = mask(cards(" ".join(line["hand"])))
    assert bisque_state.is_void(hand) == line["expect"]["redeal"]


@some("BQ", "score")
def test_a_pot_scores_as_a_scenario_says(line):
    aims = " ".join(line["objectives"][str(seat)] for seat in (1, 2, 3))
    table = bisque("", "", "", aims=aims, pot=" ".join(line["pot"]), turn=1, rounds=1)
    bisque_state._score_hand(table, [])
    expect = line["expect"]
    by_seat = {str(seat): list(pair) for seat, pair in enumerate(table.last_hand.totals, 1)}
    assert by_seat == expect["totals"]
    assert dict(zip("123", BISQUE.outcome(table).scores, strict=True)) == expect["score"]


@some("SB", "trick")
def test_a_trick_of_snakebit_is_won_as_a_scenario_says(line):
    (leader, led), *rest = line["plays"]
    table = snakebit(*one_card_hands(line), flip=" ".join(line["flip"]), turn=int(leader))
    moves = [f"{led} {line['named'].lower()}", *(code for _, code in rest)]
    hand = trick_tables.played(SNAKEBIT, table, *moves)[0].last_hand
    expect = line["expect"]
    assert [trick.winner for trick in hand.tricks] == [int(expect["winner"])]
    assert hand.bites[int(expect["winner"]) - 1] == sum(hand.bites) == expect["cursed_in_trick"]


@some("SB", "follow")
def test_a_follower_may_play_as_a_scenario_says(line):
    hand, named = " ".join(line["hand"]), Suit[line["named"].upper()]
    trick = next(card.code for card in cards_of(snakebit_state.SHOWS[named]))
    table = snakebit(
        hand, "", "", flip=" ".join(line["flip"]), trick=trick, leader=3, turn=1, named=named
    )
    assert trick_tables.legal(SNAKEBIT, table) == line["expect"]["legal"]


@some("SB", "lead")
def test_a_leader_may_name_as_a_scenario_says(line):
    table = snakebit(" ".join(line["hand"]), "", "", flip=" ".join(line["flip"]))
    shown = {Suit[name.upper()] for name in line["broken"]}
    table.barred = tuple(suit for suit in table.barred if suit not in shown)
    legal = [f"{code} {suit.lower()}" for code, suit in line["expect"]["legal"]]
    assert sorted(trick_tables.legal(SNAKEBIT, table)) == sorted(legal)


@some("SB", "hand")
def test_a_hand_of_snakebit_scores_as_a_scenario_says(line):
    table = snakebit(*[""] * line["players"])
    cursed = cards("2MK 3SK 4YK 5YK 6LK 7SK 8YK 9LK")
    plain = [card for card in snakebit_state.NUMBERS if card not in cursed]
    bad = list(cursed)
    for seat, number in line["tricks"].items():
        taken = [bad.pop() for _ in range(line["cursed"][seat])]
        taken += [plain.pop() for _ in range(number * line["players"] - len(taken))]
        for nth in range(number):
            table.tricks += (
                snakebit_state.Trick(1, Suit.SUNS, tuple(taken[nth::number]), int(seat)),
            )
    snakebit_state._score_hand(table, [])
    expected = [line["expect"]["score"][str(seat)] for seat in range(1, line["players"] + 1)]
    assert list(table.last_hand.gains) == list(table.scores) == expected


@some("SB", "end")
def test_a_match_of_snakebit_ends_as_a_scenario_says(line):
    table = snakebit(
        "",
        "",
        "",
        scores=tuple(line["totals"].values()),
        hand_number=line.get("hands_played", 1),
        end=line["mode"],
    )
    snakebit_state._score_hand(table, [])
    outcome = SNAKEBIT.outcome(table)
    assert (outcome is not None) == line["expect"]["over"]
    if outcome is not None:
        assert [str(seat) for seat in outcome.winners] == line["expect"]["winners"]
        assert outcome.reason == line["mode"]


def test_the_scenarios_of_all_games_are_looked_at():
    assert {line["id"] for line in ALL} == LOOKED_AT | {line["id"] for line in SCENARIOS}
