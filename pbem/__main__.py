"""Lets `python -m pbem` stand for the console command."""

from __future__ import annotations

from pbem.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
