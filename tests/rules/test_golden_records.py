from pathlib import Path

import pytest

from engine import GAMES, record

RECORDS = sorted((Path(__file__).parent.parent / "golden" / "records").glob("*.json"))


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_golden_record_replays_to_its_scores_after_every_ply(path):
    golden = record.loads(path.read_text(encoding="utf-8"))
    assert golden.decisions
    assert all(decision.scores is not None for decision in golden.decisions)
    record.verify(golden)


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_golden_record_is_written_as_it_is_read(path):
    golden = record.loads(path.read_text(encoding="utf-8"))
    written = record.dumps(golden)
    assert record.loads(written) == golden
    assert record.dumps(record.loads(written)) == written


def test_every_game_and_number_of_seats_has_a_golden_record():
    recorded = {
        (golden.game, len(golden.names))
        for golden in (record.loads(path.read_text(encoding="utf-8")) for path in RECORDS)
    }
    assert recorded >= {(game.name, seats) for game in GAMES.values() for seats in game.seat_counts}
