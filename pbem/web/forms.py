"""What several forms have in common."""

from __future__ import annotations

from flask import request


def number(name: str) -> int:
    """Return a number of a form; what is none, or no database could hold, is out of range."""
    typed = request.form.get(name, "").strip()
    return int(typed) if typed.isdecimal() and len(typed) <= 18 else 0


def about() -> dict[str, object]:
    """Return what a form says of something that a table agrees on; see agreements.propose."""
    numbers = {name: number(name) for name in ("turn", "hours", "place")}
    return numbers | {"address": request.form.get("address", "")}
