"""The console commands that need no database, as a shell runs them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from engine import GAMES
from engine.record import loads, verify
from pbem import cli

ROOT = Path(__file__).parents[2]


def pbem(*arguments: str, stdin: str = "", cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pbem", *arguments],
        input=stdin, capture_output=True, text=True, cwd=cwd, check=False, timeout=60,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
    )  # fmt: skip


@pytest.mark.parametrize("game", list(GAMES))
def test_simulated_records_are_the_same_for_a_seed_and_verify(tmp_path: Path, game: str) -> None:
    seats = str(GAMES[game].seat_counts[-1])
    asked = (
        "simulate",
        game,
        "--seats",
        seats,
        "--count",
        "5",
        "--seed",
        "7",
        "--player",
        "random",
    )
    first, again = pbem(*asked), pbem(*asked)
    assert first.returncode == 0
    assert first.stdout == again.stdout
    records = first.stdout.splitlines()
    assert len(records) == 5
    assert len({json.loads(line)["deal"]["key"] for line in records}) == 5
    file = tmp_path / "records.jsonl"
    file.write_text(first.stdout)
    checked = pbem("verify", str(file))
    assert (checked.returncode, checked.stdout) == (0, f"{file}: 5 good, 0 wrong\n")


def test_options_and_players_are_taken(tmp_path: Path) -> None:
    out = pbem(
        "simulate", "biscuit", "--seats", "4", "--option", "partners=true", "--option",
        "target=20", "--player", "greedy,random,greedy,random",
    )  # fmt: skip
    record = loads(out.stdout)
    assert record.options["partners"] is True
    assert record.options["target"] == 20
    verify(record)


def test_as_many_sit_down_as_bots_are_named() -> None:
    out = pbem("simulate", "bisque", "--option", "rounds=1", "--player", "strong,greedy,greedy")
    assert len(loads(out.stdout).names) == 3
    again = pbem("simulate", "bisque", "--option", "rounds=1", "--player", "strong,greedy,greedy")
    assert out.stdout == again.stdout
    two = pbem("simulate", "biscuit", "--player", "greedy,random")
    assert len(loads(two.stdout).names) == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("biscuit", "--seats", "5"), "Biscuit is for this many seats: 2, 3, 4; not 5"),
        (("biscuit", "--option", "pawn=true"), "Biscuit has no option 'pawn'"),
        (("biscuit", "--option", "pawns=maybe"), "option pawns: 'maybe' is not possible"),
        (("biscuit", "--option", "target=many"), "option target: 'many' is not possible"),
        (("biscuit", "--option", "pawns"), "write it as NAME=VALUE"),
        (("biscuit", "--player", "hal"), "there is no bot 'hal'"),
        (("biscuit", "--seats", "4", "--player", "greedy,random"), "names 2 bots for 4 seats"),
    ],
)
def test_a_wrong_call_is_told_in_words(arguments: tuple[str, ...], words: str) -> None:
    out = pbem("simulate", *arguments)
    assert out.returncode == 2
    assert words in out.stderr
    assert "Traceback" not in out.stderr


def test_verify_tells_the_first_wrong_ply(tmp_path: Path) -> None:
    record = json.loads(pbem("simulate", "biscuit", "--seats", "2", "--seed", "3").stdout)
    record["moves"][3]["scores"] = [99, 99]
    file = tmp_path / "wrong.json"
    file.write_text(json.dumps(record, indent=1))
    out = pbem("verify", str(file))
    assert out.returncode == 1
    assert "ply 4: the scores are" in out.stderr


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"format": "x"}', "{}\n{}", "\x00"])
def test_verify_answers_any_file_in_words(tmp_path: Path, text: str) -> None:
    file = tmp_path / "file"
    file.write_text(text)
    out = pbem("verify", str(file))
    assert out.returncode == 1
    assert "Traceback" not in out.stderr


def test_verify_reads_golden_records_and_standard_input() -> None:
    golden = sorted((ROOT / "tests/golden/records").glob("*.json"))
    out = pbem("verify", *map(str, golden))
    assert out.returncode == 0, out.stderr
    assert pbem("verify", "-", stdin=golden[0].read_text()).returncode == 0
    assert pbem("verify", "no-such-file").returncode == 2


def test_simulate_and_verify_load_no_web_stack() -> None:
    code = (
        "import sys; from pbem.cli import main; main(['simulate', 'biscuit']);"
        "assert not {'flask', 'sqlalchemy', 'jinja2', 'PIL'} & set(sys.modules)"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert out.returncode == 0, out.stderr


@pytest.mark.parametrize(
    "command",
    [
        "demo",
        "serve",
        "worker",
        "simulate",
        "verify",
        "inbox",
        "backup",
        "restore",
        "export",
        "import",
        "prune",
        "audit",
        "doctor",
        "sample-letters",
        "db",
    ],
)
def test_every_command_says_what_it_does(command: str) -> None:
    out = pbem(command, "--help")
    assert out.returncode == 0, out.stderr
    assert len(out.stdout.splitlines()) > 3
    assert command in pbem("--help").stdout


def test_a_wrong_setting_stops_a_command_in_words(tmp_path: Path) -> None:
    out = subprocess.run(
        [sys.executable, "-m", "pbem", "audit"], capture_output=True, text=True, cwd=ROOT,
        check=False, env={"PBEM_SMTP_PORT": "many", "PYTHONPATH": str(ROOT), "PATH": "/usr/bin"},
    )  # fmt: skip
    assert out.returncode == 1
    assert "smtp_port: 'many' is not possible; write a whole number" in out.stderr
    assert "Traceback" not in out.stderr


def test_ctrl_c_while_a_command_is_still_being_loaded_is_no_traceback(monkeypatch, capsys) -> None:
    def interrupted(_name: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "import_module", interrupted)
    assert cli.main(["demo"]) == 130
    assert capsys.readouterr().err == "Stopped.\n"
