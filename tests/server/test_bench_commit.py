"""What the benchmark of a move's transaction rests on: the bare driver does all that ours does."""

from __future__ import annotations

import random
from contextlib import closing

import pytest
from cast import running_match

from bench import bare, site
from pbem import play
from pbem.ext import db


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_the_bare_driver_stores_the_same_rows_as_a_move(app, now, tmp_path):
    match_id = running_match(["ann", "bob"], now=now).id
    with site.copied(app, tmp_path) as copy:
        recorder = bare.Recorder(db.engine)
        chance = random.Random(1)
        for _ in range(3):
            [chosen] = site.choose([match_id], chance)
            play.make_move(chosen.turn_id, chosen.text, by="link", now=now)
        moves = recorder.take()
        assert len(moves) == 3
        assert site.rows(app) != site.rows(copy)

        with closing(bare.connect(copy.extensions["pbem.settings"].database)) as line:
            assert len(bare.play_again(line, moves)) == 3
            assert line.execute("PRAGMA synchronous").fetchone() == (2,)
            assert line.execute("PRAGMA journal_mode").fetchone() == ("wal",)

        assert site.rows(app) == site.rows(copy)
        assert len(site.rows(copy)["move"]) == 3
        assert recorder.take() == []
