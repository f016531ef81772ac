"""`pbem simulate`: bots play, and each match is printed as a record."""

from __future__ import annotations

import hashlib
import sys
from typing import TYPE_CHECKING, Any

from engine import GAMES, deal
from engine.bots import BOTS
from engine.errors import BadOption
from engine.record import Decision, Record, dumps

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Mapping, Sequence

    from engine.bots.base import Bot
    from engine.game import Game, Option, OptionValue


def run(parser: ArgumentParser, arguments: Sequence[str]) -> int:
    """Print the records; the same arguments print the same records."""
    parser.add_argument("game", choices=GAMES, help="the game to play")
    parser.add_argument(
        "--seats", type=int, help="how many seats (default: one for each bot named, or the most)"
    )
    parser.add_argument(
        "--option", action="append", default=[], metavar="NAME=VALUE", help="may be repeated"
    )
    parser.add_argument("--count", type=int, default=1, help="how many matches (default: 1)")
    parser.add_argument("--seed", default="0", help="any text; it decides all chance")
    parser.add_argument(
        "--player",
        default="random",
        help=f"a bot for all seats, or one a seat with commas: {', '.join(BOTS)}",
    )
    parsed = parser.parse_args(arguments)
    game = GAMES[parsed.game]
    names = parsed.player.split(",")
    seats = parsed.seats
    if seats is None:
        seats = len(names) if len(names) > 1 else max(game.seat_counts)
    try:
        options = game.check_options(seats, _options(game, parsed.option))
        players = _players(names, seats)
    except BadOption as error:
        print(f"pbem simulate: {error}", file=sys.stderr)
        return 2
    for nth in range(parsed.count):
        print(dumps(_play(game, options, players, _named(parsed, seats, nth))))
    return 0


def _named(parsed: Namespace, seats: int, nth: int) -> str:
    return f"simulated-{parsed.game}-{seats}-{parsed.seed}-{nth + 1}"


def _options(game: Game[Any, Any, Any], given: Sequence[str]) -> dict[str, object]:
    known = {option.name: option for option in game.options}
    found: dict[str, object] = {}
    for item in given:
        name, separator, text = item.partition("=")
        if not separator:
            raise BadOption(f"option {item!r}: write it as NAME=VALUE")
        found[name] = _value(known[name], text) if name in known else text
    return found


def _value(option: Option, text: str) -> OptionValue:
    """Return a typed value as the option's own type; what does not fit stays a text."""
    if isinstance(option.default, bool):
        return {"true": True, "false": False}.get(text.lower(), text)
    if isinstance(option.default, int) and text.lstrip("-").isdigit():
        return int(text)
    return text


def _players(names: Sequence[str], seats: int) -> list[type[Bot]]:
    if len(names) == 1:
        names = [*names] * seats
    if len(names) != seats:
        raise BadOption(f"--player names {len(names)} bots for {seats} seats")
    for name in names:
        if name not in BOTS:
            raise BadOption(f"--player: there is no bot {name!r}; there is {', '.join(BOTS)}")
    return [BOTS[name] for name in names]


def _play(
    game: Game[Any, Any, Any],
    options: Mapping[str, OptionValue],
    players: Sequence[type[Bot]],
    name: str,
) -> Record:
    """Play one match; its key comes from its name, so that it can be played again."""
    server_key = hashlib.sha256(name.encode()).digest()
    phrases = [""] * len(players)
    state, _ = game.new_game(deal.deal_key(server_key, name, phrases), len(players), options)
    bots = [player(f"{name}/{seat}") for seat, player in enumerate(players, 1)]
    decisions = []
    while asked := game.to_move(state):
        seat = min(asked)
        move = bots[seat - 1].choose(game, game.view(state, seat))
        game.step(state, seat, move)
        decisions.append(Decision(seat, game.format(move), game.scores(state), {"by": "bot"}))
    outcome = game.outcome(state)
    assert outcome is not None, "nobody is asked, so the match is over"
    return Record(
        game=game.name,
        id=name,
        options=options,
        names=tuple(f"Seat {seat}" for seat in range(1, len(players) + 1)),
        resigned=frozenset(),
        seating=None,
        commitment=deal.commitment(server_key),
        phrases=tuple(phrases),
        key=server_key,
        decisions=tuple(decisions),
        scores=outcome.scores,
        winners=outcome.winners,
        ended=outcome.reason,
    )
