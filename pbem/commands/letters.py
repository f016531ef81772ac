"""`pbem sample-letters`: every kind of letter for every game as files, to be looked at."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from pbem import config, create_app, samples
from pbem.app import default_instance
from pbem.commands import CannotRun
from pbem.config import LANGUAGES, BadSettings

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Sequence

    from pbem.config import Settings


def run(parser: ArgumentParser, arguments: Sequence[str]) -> int:
    """Write the samples; no database of the host is touched."""
    parser.add_argument("folder", type=Path, metavar="DIR", help="where to; it is made")
    parser.add_argument("--lang", choices=LANGUAGES, help="their language (default: the site's)")
    parsed = parser.parse_args(arguments)
    site = _settings()
    made = samples.made(create_app, site, parsed.lang or site.language)
    samples.write(made, parsed.folder)
    print(f"{len(made)} letters are in {parsed.folder}")
    return 0


def _settings() -> Settings:
    # With the samples' own key given, no secret is made where the host has none yet.
    own = os.environ | {"PBEM_SECRET_KEYS": samples.KEY}
    try:
        return config.load(default_instance(), own)
    except BadSettings as error:
        raise CannotRun(f"these settings are wrong:\n{error}") from error
