"""The console command `pbem`: one sub-command for each thing a host or a player runs."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Final

from pbem.commands import CannotRun

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Each command with the module that does it and a line for --help. The modules are
# imported when they are run: simulate and verify start without the web stack.
COMMANDS = {
    "init": ("pbem.commands.init", "ask what a server needs and write instance/config.toml"),
    "demo": ("pbem.commands.demo", "play a whole game on this machine, mailbox included"),
    "serve": ("pbem.commands.serve", "serve the pages; --with-worker keeps time as well"),
    "worker": ("pbem.commands.worker", "keep time: send letters, take mail in, mind deadlines"),
    "simulate": ("pbem.commands.simulate", "let bots play and print a record a line"),
    "verify": ("pbem.commands.verify", "check records alone: deal, moves, scores, outcome"),
    "inbox": ("pbem.commands.inbox", "take one mail from standard input, for a mail server's pipe"),
    "read-note": ("pbem.commands.read_note", "tell what the server would make of a mail, as JSON"),
    "backup": ("pbem.commands.backup", "copy the whole database to a file, while it is in use"),
    "restore": ("pbem.commands.restore", "put the database back as a copy has it"),
    "export": ("pbem.commands.export", "write one game to a file, for another server"),
    "import": ("pbem.commands.import_game", "take in one game that another server exported"),
    "prune": (
        "pbem.commands.prune",
        "throw old mail away: mails that were read, letters that left",
    ),
    "audit": ("pbem.commands.audit", "replay every running game and check the promises"),
    "doctor": ("pbem.commands.doctor", "check the settings, the database and the ways of the mail"),
    "matches": ("pbem.commands.matches", "list what waits and for whom; --late only what is late"),
    "sample-letters": ("pbem.commands.letters", "write each kind of letter as files"),
    "db": ("pbem.commands.db", "bring the database to the code's version"),
}

_INTERRUPTED: Final = 130  # as shells have it: 128 and the number of SIGINT


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit code."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    parser = argparse.ArgumentParser(
        prog="pbem",
        description="Slow card games by mail.",
        epilog="\n".join(f"  {name:14} {line}" for name, (_, line) in COMMANDS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", choices=COMMANDS, metavar="command", help="see below")
    parser.add_argument("rest", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    parsed = parser.parse_args(arguments)
    module, line = COMMANDS[parsed.command]
    command = argparse.ArgumentParser(prog=f"pbem {parsed.command}", description=f"{line}.")
    try:
        run: Callable[[argparse.ArgumentParser, Sequence[str]], int] = import_module(module).run
        return run(command, parsed.rest)
    except KeyboardInterrupt:
        # Loading what a command needs takes a moment, in which nothing listens to Ctrl-C yet.
        print("Stopped.", file=sys.stderr)
        return _INTERRUPTED
    except (CannotRun, OSError) as error:
        # A wrong setting, a port in use, a database that is not there: words, no traceback.
        print(f"pbem {parsed.command}: {error}", file=sys.stderr)
        return 1
