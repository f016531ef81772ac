"""The demo's one player, and the games that wait for them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sqlalchemy import exists, select

from pbem import lobby
from pbem.ext import db, settings, writing
from pbem.lobby import Chair
from pbem.models import Match, Player

ADDRESS: Final = "ada@home.localhost"
NAME: Final = "Ada"


def the_player() -> Player:
    """Return the demo's player, who is there since the first start."""
    return db.session.scalars(select(Player).where(Player.address == ADDRESS)).one()


def welcome(*, now: datetime) -> None:
    """At the first start: add the player and a game against two bots."""
    if lobby.find_player(ADDRESS) is None:
        language = "fr" if os.environ.get("LANG", "").startswith("fr") else settings().language
        with writing():
            lobby.new_player(ADDRESS, name=NAME, language=language, zone=machine_zone(), now=now)
    if not db.session.scalar(select(exists().where(Match.id.is_not(None)))):
        open_game(the_player(), "biscuit", 2, {}, now=now)


def open_game(
    player: Player, game: str, bots: int, options: Mapping[str, object], *, now: datetime
) -> None:
    """Open a game of the player, who is asked first, against bots.

    Raises BadOption, also where the game is not for so many.
    """
    lobby.open_table(player, game, [Chair(bot="greedy")] * bots, options, now=now)


def machine_zone() -> str:
    """Return this machine's time zone by name, or the settings' where it tells none."""
    for name in (os.environ.get("TZ", "").lstrip(":"), _linked_zone(), _written_zone()):
        try:
            if name:
                return ZoneInfo(name).key
        except (ZoneInfoNotFoundError, ValueError, OSError):
            continue
    return settings().zone


def _linked_zone() -> str:
    link = Path("/etc/localtime")
    return str(link.resolve()).partition("zoneinfo/")[2] if link.is_symlink() else ""


def _written_zone() -> str:
    try:
        return Path("/etc/timezone").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""
