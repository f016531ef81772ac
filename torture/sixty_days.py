"""Many games over many days with a made-up clock, players of all habits, and a mortal worker.

    make torture            200 games, 60 days
    python torture/sixty_days.py --matches 20 --days 30 --seed 3

Letters are taken by a postman of our own, since no real relay lives through sixty days in
minutes; all else is the server's own code on a real database. Whatever breaks a promise of
time is counted, and the exit code is 1 if anything did.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from flask import Flask
from flask_migrate import upgrade
from sqlalchemy import select

from pbem import audit, away, clocks, create_app, deadlines, play, worker
from pbem.config import Settings
from pbem.errors import PbemError
from pbem.ext import db, writing
from pbem.mail import letters, outbox
from pbem.models import Beat, Letter, Match, Move, Player, Reminder, Seat, Status, Turn
from torture import habits
from torture.dying import Killed, dying
from torture.habits import BEGIN, TICK


class Days:
    """One run: its players and games, and what it has counted."""

    def __init__(self, matches: int, days: int, seed: int) -> None:
        """Make everybody and open all tables; must run inside an application's context."""
        self.chance = random.Random(seed)
        self.now = self.worked_at = BEGIN  # this tick, and when the worker was at work in it
        self.days = days
        self.counts: Counter[str] = Counter()
        self.wrongs: list[str] = []
        self.moves_at: dict[int, datetime | None] = {}
        self.deadlines: dict[int, datetime] = {}
        self.habits = habits.new_players(max(8, matches // 3), self.chance, now=self.now)
        for nth in range(matches):
            habits.new_table(nth, list(self.habits), self.chance, {}, now=self.now)

    def run(self) -> None:
        """Let the days go by."""
        with _small_letters(), self._postman():
            while self.now < BEGIN + timedelta(days=self.days):
                self._work()
                self._play()
                self.now += TICK
        self._check_the_end()

    def _work(self) -> None:
        """Run the worker once; now and then it dies at some statement and begins again."""
        with writing():
            db.session.merge(Beat(id=1, at=self.now))
        before = self._deadlines()
        dies_after = self.chance.randrange(5) if self.chance.random() < 0.05 else None
        try:
            self.worked_at = self.now
            with dying(dies_after):
                worker.run_once(self.worked_at)
        except Killed:
            self.counts["worker killed"] += 1
            db.session.rollback()
            # The next one begins when the leases of this one are over.
            self.worked_at += outbox.LEASE + timedelta(seconds=1)
            worker.run_once(self.worked_at)
        self._check_timeouts(before)

    def _deadlines(self) -> dict[int, datetime]:
        rows = select(Turn.id, Turn.deadline).where(Turn.closed_at.is_(None))
        return {row.id: row.deadline for row in db.session.execute(rows)}

    def _check_timeouts(self, before: dict[int, datetime]) -> None:
        """Look that each turn that timed out was out of time by the deadline shown before."""
        closed = [turn_id for turn_id in before if turn_id not in self._deadlines()]
        for turn_id in closed:
            move = db.session.scalar(select(Move).where(Move.turn_id == turn_id))
            if move is None:
                self._check_stop(db.session.get_one(Turn, turn_id).match, before)
            if move is None or move.by != "timeout":
                continue
            self.counts["played by the house"] += 1
            seat = db.session.get_one(Turn, turn_id).asked
            if seat.misses == 0 or seat.misses > play.MOST_MISSES or seat.is_kept:
                continue
            if self.worked_at <= before[turn_id] + deadlines.GRACE:
                self.wrongs.append(f"turn {turn_id} timed out before its deadline and grace")

    def _check_stop(self, match: Match, before: dict[int, datetime]) -> None:
        """Look that a game that was stopped had a turn out of time."""
        turns = select(Turn.id).where(Turn.match_id == match.id, Turn.id.in_(before))
        first = min(before[turn_id] for turn_id in db.session.scalars(turns))
        if match.ended == "stopped" and self.worked_at <= first + deadlines.GRACE:
            self.wrongs.append(f"game {match.code} was stopped before a deadline and its grace")

    def _play(self) -> None:
        """Let everybody move who wants to by now."""
        turns = db.session.execute(
            select(Turn.id, Turn.opened_at, Turn.deadline, Seat.player_id)
            .join(Turn.asked)
            .where(Turn.closed_at.is_(None), Seat.player_id.is_not(None))
        ).all()
        for turn_id, opened_at, deadline, player_id in turns:
            assert player_id is not None, "the query wants it"
            if turn_id not in self.moves_at:
                self.moves_at[turn_id] = self._wish(player_id, opened_at, deadline)
            wish = self.moves_at[turn_id]
            if wish is None or wish > self.now or not self._is_there(player_id):
                continue
            try:
                text = play.choose_for(turn_id, "random")
                if text is not None:
                    play.make_move(turn_id, text, by="link", now=self.now)
                    self.counts["moves"] += 1
            except PbemError as error:
                self.wrongs.append(f"turn {turn_id}: {error}")
        if self.chance.random() < 0.03:
            self._go_away()

    def _wish(self, player_id: int, opened_at: datetime, deadline: datetime) -> datetime | None:
        """Return when a player will move, None for never."""
        leaves_at = BEGIN + timedelta(days=self.days / 5)
        habit, whole = self.habits[player_id], deadline - opened_at
        return habits.wish(habit, self.chance, opened_at, whole, leaves_at=leaves_at)

    def _is_there(self, player_id: int) -> bool:
        player = db.session.get_one(Player, player_id)
        return habits.is_there(player, self.habits[player_id], self.now)

    def _go_away(self) -> None:
        """Let somebody set an absence, and perhaps end one early."""
        holiday = [one for one, habit in self.habits.items() if habit == "holiday"]
        player = db.session.get_one(Player, self.chance.choice(holiday))
        before = self._deadlines()
        try:
            habits.go_away(player, self.chance, now=self.now)
        except PbemError:
            self.counts["absence refused"] += 1
            return
        self.counts["absences"] += 1
        for turn_id, deadline in self._deadlines().items():
            if deadline < before.get(turn_id, deadline):
                self.wrongs.append(f"turn {turn_id}: an absence brought its deadline forward")

    @contextmanager
    def _postman(self) -> Iterator[None]:
        """Take all letters, look at each as it leaves, and let some come back."""
        days = self

        class Connection:
            def send(self, parcel: Any, *, envelope_from: str) -> None:  # noqa: ARG002
                days._look(int(parcel.subject))

        class Postman:
            @contextmanager
            def connect(self) -> Iterator[Connection]:
                yield Connection()

        from flask import current_app

        kept = current_app.extensions["pbem.postman"]
        current_app.extensions["pbem.postman"] = Postman()
        yield
        current_app.extensions["pbem.postman"] = kept

    def _look(self, letter_id: int) -> None:
        letter = db.session.get_one(Letter, letter_id)
        self.counts[f"letters: {letter.kind}"] += 1
        player = letter.player
        if letter.kind in ("your_turn", "reminder") and letter.turn and letter.turn.closed_at:
            self.wrongs.append(f"letter {letter_id}: its turn was over when it left")
        if player is None:
            return
        calendar = deadlines.Calendar(clocks.zone_of(player), clocks.quiet_of(player))
        quiet = deadlines.out_of_quiet(self.worked_at, calendar) != self.worked_at
        if quiet and letter.kind not in outbox.ASKED_FOR:
            self.wrongs.append(f"letter {letter_id} left in quiet hours")
        bounces = self.habits[player.id] == "bouncing" and self.chance.random() < 0.2
        db.session.rollback()
        if bounces:
            self.counts["bounces"] += 1
            with writing():
                away.bounced(letter_id, "550 no such user", now=self.now)

    def _check_the_end(self) -> None:
        """Every game has ended, or stands where a rule says why."""
        self.wrongs += [f"audit: {wrong}" for wrong in audit.wrongs(now=self.now)]
        for match in db.session.scalars(select(Match)):
            self.counts[f"games {match.status}"] += 1
            if match.status != Status.RUNNING:
                continue
            for turn in clocks.open_turns(match=match):
                seat = turn.asked
                is_due = turn.deadline + deadlines.GRACE + TICK < self.now
                if is_due and not clocks.standstill(turn, seat, now=self.now):
                    self.wrongs.append(f"turn {turn.id} of {match.code} stands for no reason")
        twice = Counter(
            (one.turn_id, one.deadline, one.step) for one in db.session.scalars(select(Reminder))
        )
        self.wrongs += [f"reminded twice: {key}" for key, number in twice.items() if number > 1]
        self.counts["reminders given"] = sum(twice.values())


@contextmanager
def _small_letters() -> Iterator[None]:
    """Write letters without their pictures and words: here only their coming counts."""

    def build(letter: Letter) -> EmailMessage:
        message = EmailMessage()
        message["Subject"], message["From"] = str(letter.id), "play@play.example"
        return message

    kept, letters.build = letters.build, build
    try:
        yield
    finally:
        letters.build = kept


def simulate(app: Flask, *, matches: int, days: int, seed: int) -> Days:
    """Run it in an application whose database is empty."""
    with app.app_context():
        run = Days(matches, days, seed)
        run.run()
        return run


def main() -> int:
    """Run it on a database of its own and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--matches", type=int, default=200)
    parser.add_argument("--days", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        app = create_app(
            Settings(
                instance=Path(folder),
                mail_domain="play.example",
                base_url="https://play.example",
                secret_keys=("ab" * 32,),
                listen_protocol="none",
            )
        )
        with app.app_context():
            upgrade()
        run = simulate(app, matches=given.matches, days=given.days, seed=given.seed)
    print(f"{given.matches} games, {given.days} days, seed {given.seed}")
    for what, number in sorted(run.counts.items()):
        print(f"  {what}: {number}")
    print(f"  wrongs: {len(run.wrongs)}")
    for wrong in run.wrongs[:20]:
        print(f"    {wrong}")
    return 1 if run.wrongs else 0


if __name__ == "__main__":
    sys.exit(main())
