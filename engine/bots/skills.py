"""What bots know, by the game's name. A new game adds its line here."""

from __future__ import annotations

from typing import Any, Final

from engine.bots.biscuit import BiscuitSkill
from engine.bots.bisque import BisqueSkill
from engine.bots.skill import Skill
from engine.bots.snakebit import SnakebitSkill

SKILLS: Final[dict[str, Skill[Any, Any, Any]]] = {
    "biscuit": BiscuitSkill(),
    "bisque": BisqueSkill(),
    "snakebit": SnakebitSkill(),
}
