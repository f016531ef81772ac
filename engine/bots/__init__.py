"""Players that take a View and choose a move."""

from __future__ import annotations

from engine.bots.base import Bot
from engine.bots.greedy import Greedy
from engine.bots.random import Random
from engine.bots.strong import Strong

BOTS: dict[str, type[Bot]] = {"random": Random, "greedy": Greedy, "strong": Strong}
