"""Habits of made-up players: where they live, when they sleep, answer, and are away."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from engine import GAMES
from pbem import away, clocks, deadlines, lobby
from pbem.ext import db, writing
from pbem.lobby import Chair
from pbem.models import Match, Player, Policy

BEGIN: Final = datetime(2026, 10, 12, 9, 0, tzinfo=UTC)  # both changes of the clocks lie ahead
TICK: Final = timedelta(minutes=30)
ZONES: Final = (
    "Europe/Paris", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia",
    "Asia/Kolkata", "America/Santiago", "UTC",
)  # fmt: skip
HABITS: Final = ("prompt", "prompt", "slow", "late", "gone", "holiday", "weekends", "bouncing")
_SATURDAY: Final = 5


def new_players(number: int, chance: random.Random, *, now: datetime) -> dict[int, str]:
    """Sign people up; gives their habits by id."""
    found = {}
    for nth in range(number):
        with writing():
            player = lobby.new_player(
                f"p{nth}@players.example", name=f"P{nth}", language="en",
                zone=chance.choice(ZONES), now=now,
            )  # fmt: skip
            if chance.random() < 0.6:
                player.quiet_from, player.quiet_until = chance.choice(
                    ((22 * 60, 8 * 60), (0, 6 * 60 + 30), (13 * 60, 15 * 60))
                )
            if chance.random() < 0.2:
                player.digest_at = 60 * chance.randrange(24)
                away.plan_digest(player, now=now)
            player.reminder_steps = [step for step in deadlines.STEPS if chance.random() < 0.5]
        found[player.id] = HABITS[nth % len(HABITS)]
    return found


def new_table(
    nth: int,
    ids: Sequence[int],
    chance: random.Random,
    options: Mapping[str, Mapping[str, object]],
    *,
    paces: Sequence[int] = (12, 24, 48),
    banks: Sequence[int] = (0, 24, 72),
    now: datetime,
) -> Match:
    """Return a game that has begun, of each kind in turn, with some of these players.

    ``options`` are those of each game, by its name; paces and banks are in hours.
    """
    game = list(GAMES.values())[nth % len(GAMES)]
    seats = chance.choice(game.seat_counts)
    chosen = chance.sample(sorted(ids), seats)
    opener, *others = [db.session.get_one(Player, player_id) for player_id in chosen]
    match = lobby.open_table(
        opener, game.name, [Chair()] * len(others), options.get(game.name, {}),
        pace_hours=chance.choice(paces),
        bank_hours=chance.choice(banks),
        weekends=chance.random() < 0.3,
        policy=chance.choice((Policy.HOUSE, Policy.HOUSE, Policy.OPEN, Policy.STOP)),
        now=now,
    )  # fmt: skip
    for player in others:
        lobby.join(match.id, player, phrase="", now=now)
    return match


def wish(
    habit: str,
    chance: random.Random,
    opened_at: datetime,
    whole: timedelta,
    *,
    leaves_at: datetime,
) -> datetime | None:
    """Return when a player with so much time will move, None for never.

    ``leaves_at`` is when those who lose interest do.
    """
    match habit:
        case "slow":
            return opened_at + whole * chance.uniform(0.3, 0.95)
        case "late":
            return opened_at + whole * chance.uniform(0.7, 1.2)
        case "gone" if opened_at > leaves_at:
            return None
        case _:
            return opened_at + timedelta(hours=chance.uniform(0.2, 6))


def is_there(player: Player, habit: str, now: datetime) -> bool:
    """Return whether a player looks at their mail now."""
    if habit == "weekends":
        return now.astimezone(ZoneInfo(player.zone)).weekday() >= _SATURDAY
    return not any(span.holds(now) for span in clocks.absences_of(player))


def go_away(player: Player, chance: random.Random, *, now: datetime) -> None:
    """Set an absence of some days; raises BadAbsence where that is too much for a year."""
    first = now.astimezone(ZoneInfo(player.zone)).date()
    last = first + timedelta(days=chance.randrange(1, 12))
    away.set_absence(player.id, str(first), str(last), now=now)
