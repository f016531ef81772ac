import json
from pathlib import Path

import pytest
from rules.biscuit_tables import GAME, biscuit, legal, played

from engine.biscuit_state import advance
from engine.biscuit_table import End, Play, gain
from engine.decktet import CARDS

LINES = (Path(__file__).parent.parent / "golden" / "scenarios.jsonl").read_text(encoding="utf-8")
SCENARIOS = [line for line in map(json.loads, LINES.splitlines()) if line["id"].startswith("BI-")]
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
