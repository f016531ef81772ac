"""Which edition of the pages this server shows."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Final

import engine

_PACKAGES: Final = (Path(__file__).parents[1], Path(engine.__file__).parent)
_ENDINGS: Final = {".py", ".mo", ".html", ".txt"}


@cache
def edition(templates: str) -> str:
    """Return a short text that is another one once code, words or a template have changed.

    It is the same in all processes of a release, so that what browsers keep stays good.
    """
    found = hashlib.sha256()
    for folder in (*_PACKAGES, Path(templates)):
        for path in sorted(folder.rglob("*")):
            if path.suffix in _ENDINGS:
                found.update(path.read_bytes())
    return found.hexdigest()[:16]
