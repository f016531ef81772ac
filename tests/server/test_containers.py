"""The files for containers, read as an engine would; none runs here."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import yaml

from pbem.cli import COMMANDS
from pbem.config import Settings, load

ROOT = Path(__file__).parents[2]
INSTRUCTIONS = {
    "FROM", "WORKDIR", "RUN", "COPY", "ENV", "USER", "VOLUME", "EXPOSE", "HEALTHCHECK", "CMD",
}  # fmt: skip


def instructions() -> list[tuple[str, str]]:
    """Return the Containerfile's instructions with what follows them, lines joined."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Containerfile").read_text(), flags=re.MULTILINE)
    lines = text.replace("\\\n", " ").splitlines()
    found = [tuple(line.split(maxsplit=1)) for line in lines if line.strip()]
    return [(name, " ".join(rest.split())) for name, rest in found]


def all_of(wanted: str) -> list[str]:
    return [rest for name, rest in instructions() if name == wanted]


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "compose.yaml").read_text())


def is_command(words: list[str]) -> bool:
    return words[0] == "pbem" and words[1] in COMMANDS


def environment(service: dict[str, Any]) -> dict[str, str]:
    return service.get("environment", {})


def check_settings(given: dict[str, str], tmp_path: Path) -> None:
    ours = {name: value for name, value in given.items() if name.startswith("PBEM_")}
    known = {f"PBEM_{field.name.upper()}" for field in fields(Settings)}
    assert ours.keys() <= known
    load(tmp_path, ours)  # their values can be used


def test_the_image_is_made_of_known_instructions_and_pinned_bases() -> None:
    assert {name for name, _rest in instructions()} <= INSTRUCTIONS
    assert instructions()[0][0] == "FROM"
    for base in all_of("FROM"):
        image = base.split()[0]
        assert re.fullmatch(r"docker\.io/library/python:3\.\d+-slim-\w+", image)
    # The last stage has what was installed, not what installed it.
    last = instructions()[max(n for n, (name, _) in enumerate(instructions()) if name == "FROM") :]
    assert not [rest for name, rest in last if name == "RUN" and "pip" in rest]


def test_everything_that_is_copied_exists_and_is_sent_to_the_build() -> None:
    ignored = (ROOT / ".containerignore").read_text().splitlines()
    assert "*" in ignored
    sent = {line.removeprefix("!") for line in ignored if line.startswith("!")}
    copied = set()
    for line in all_of("COPY"):
        if "--from=build" not in line:
            copied.update(shlex.split(line)[:-1])
    assert copied == sent
    for name in copied:
        assert (ROOT / name).exists(), name
    assert (ROOT / ".dockerignore").read_text() == (ROOT / ".containerignore").read_text()


def test_the_wheel_can_be_built_from_what_is_copied() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    target = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {*target["packages"], *target["force-include"], project["project"]["readme"]}
    assert needed <= {word for line in all_of("COPY") for word in shlex.split(line)}


def test_the_image_runs_as_a_user_of_its_own_with_a_volume_and_a_health_check(tmp_path) -> None:
    names = [name for name, _rest in instructions()]
    site = Settings(instance=tmp_path)
    assert all_of("USER") == ["pbem"]
    assert "useradd" in all_of("RUN")[-2]
    assert names.index("USER") < names.index("CMD")
    assert all_of("VOLUME") == ["/opt/pbem/var/pbem-instance"]
    (health,) = all_of("HEALTHCHECK")
    told = json.loads(health.partition(" CMD ")[2])
    assert "http://127.0.0.1:8000/healthz" in told[-1]
    compile(told[-1], "HEALTHCHECK", "exec")
    assert all_of("EXPOSE") == [f"{site.bind_port} {site.listen_port}"]
    assert is_command(json.loads(all_of("CMD")[0]))
    given = dict(item.split("=", 1) for line in all_of("ENV") for item in shlex.split(line))
    check_settings(given, tmp_path)


def test_compose_runs_commands_that_exist_with_settings_that_exist(compose, tmp_path) -> None:
    services = compose["services"]
    assert services.keys() == {"database", "migrate", "web", "worker"}
    for name in ("migrate", "web", "worker"):
        assert is_command(services[name]["command"]), name
        assert services[name]["env_file"] == "compose.env"
        assert services[name]["build"] == {"context": ".", "dockerfile": "Containerfile"}
        assert services[name]["image"] == services["migrate"]["image"]
        check_settings(environment(services[name]), tmp_path)
    for name in ("web", "worker"):
        assert services[name]["depends_on"]["migrate"]["condition"] == (
            "service_completed_successfully"
        )


def test_compose_keeps_what_must_be_kept_and_shows_nothing_to_the_internet(compose) -> None:
    services = compose["services"]
    used = {
        volume.partition(":")[0]
        for service in services.values()
        for volume in service.get("volumes", [])
    }
    assert used == compose["volumes"].keys() == {"database", "instance"}
    assert "ports" not in services["database"]
    for service in services.values():
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:")
    # Secrets are in a file of the host's own, which is kept out of the repository.
    assert "PASSWORD" not in (ROOT / "compose.yaml").read_text()
    assert "compose.env" in (ROOT / ".gitignore").read_text().split()


def test_the_docs_name_settings_that_exist(tmp_path) -> None:
    text = (ROOT / "docs/containers.md").read_text()
    lines = re.findall(r"^ +(PBEM_\w+)=(.*)$", text, re.MULTILINE)
    assert len(lines) > 5
    check_settings(dict(lines), tmp_path)
