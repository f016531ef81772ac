"""What is installed from a wheel: all that the server needs, and nothing of the checkout.

Where REALLY_EMPTY is set (`make torture`) the dependencies come from the lock file, as hosts
install them. That takes half a minute, so the suite lends those that it runs with.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import sysconfig
import tarfile
import time
import tomllib
import urllib.request
from pathlib import Path
from zipfile import ZipFile

import pytest
from conftest import missing
from mail_server import free_port
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PATIENCE = 60  # seconds
LOCK = ROOT / "requirements.lock"


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    """Run a command away from the checkout and return what it printed."""
    done = subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, check=False, timeout=600,
        env={"PATH": "/usr/bin:/bin", **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist."""
    try:
        import hatchling  # noqa: F401 - it is run as a program
    except ImportError:
        missing("hatchling", "pip install hatchling")
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "hatchling", "build", "-d", folder, cwd=ROOT)
    return folder


@pytest.fixture(scope="session")
def wheel(built: Path) -> Path:
    """The wheel."""
    (found,) = built.glob("*.whl")
    return found


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a virtual environment in which the wheel is installed."""
    folder = tmp_path_factory.mktemp("venv")
    run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder)
    pip = [sys.executable, "-m", "pip", "--python", folder / "bin/python", "install", "-q"]
    if os.environ.get("REALLY_EMPTY"):
        run(*pip, "--require-hashes", "-r", LOCK, cwd=folder, **os.environ)
    else:
        # A path in a .pth file lends what lies there, but the .pth files in it, one of which
        # would show the checkout, are not read.
        (site,) = folder.glob("lib/python*/site-packages")
        (site / "lent.pth").write_text(sysconfig.get_path("purelib"))
    run(*pip, "--no-deps", "--no-index", wheel, cwd=folder)
    return folder / "bin"


def files(wheel: Path) -> dict[str, bytes]:
    with ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def sources(folder: str) -> set[str]:
    """Return the files of a folder that git keeps."""
    listed = run("git", "ls-files", folder, cwd=ROOT)
    return set(listed.splitlines())


def test_the_wheel_holds_what_runs_and_nothing_else(wheel: Path) -> None:
    expected = sources("pbem") | sources("engine")
    expected |= {f"pbem/{name}" for name in sources("templates") | sources("migrations")}
    found = {name for name in files(wheel) if ".dist-info/" not in name}
    assert found == expected
    assert "pbem/translations/fr/LC_MESSAGES/messages.mo" in found
    assert {"pbem/web/static/pages.css", "pbem/templates/web/front.html"} <= found


def test_the_sdist_builds_the_same_wheel(built: Path, wheel: Path, tmp_path: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = archive.getnames()
        archive.extractall(tmp_path, filter="data")
    assert [name for name in names if "secret_keys" in name or name.endswith(".sqlite3")] == []
    (source,) = tmp_path.iterdir()
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", "out", cwd=source)
    (again,) = (source / "out").glob("*.whl")
    assert files(again) == files(wheel)


def test_an_installed_server_makes_its_tables_and_finds_nothing_of_the_checkout(
    installed: Path, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path / 'games.sqlite3'}"
    run(installed / "pbem", "db", "upgrade", cwd=tmp_path, PBEM_DATABASE_URL=url)
    assert run(installed / "pbem", "audit", cwd=tmp_path, PBEM_DATABASE_URL=url) != ""
    # Its own instance folder, under the environment.
    assert (installed.parent / "var/pbem-instance/secret_keys").exists()
    tell = "import engine, pbem; print(pbem.__file__, engine.__file__)"
    assert str(ROOT) not in run(installed / "python", "-c", tell, cwd=tmp_path)


def test_the_demo_of_an_installed_server_waits_with_a_turn_mail(
    installed: Path, tmp_path: Path
) -> None:
    port = free_port()
    process = subprocess.Popen(
        [installed / "pbem", "demo", "--instance", tmp_path / "games", "--port", str(port)],
        cwd=tmp_path, env={"PATH": "/usr/bin:/bin"},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout.readline() == f"Your mailbox: http://127.0.0.1:{port}/demo/\n"
        end = time.monotonic() + PATIENCE
        while "your turn" not in mailbox(port):
            assert time.monotonic() < end, "no turn mail came"
            time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _out, told = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
        process.communicate()
    assert (process.returncode, "Traceback" in told) == (0, False), told


def mailbox(port: int) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/demo/", timeout=PATIENCE) as page:
        return page.read().decode()


def locked() -> dict[str, tuple[str, str]]:
    """Return what the lock file names: version and the rest of each entry."""
    entries = re.findall(r"^([\w.-]+)==([^\s;\\]+)(.*(?:\n .*)*)", LOCK.read_text(), re.MULTILINE)
    return {canonicalize_name(name): (version, rest) for name, version, rest in entries}


def test_the_lock_file_satisfies_every_range_and_pins_by_hash() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found = locked()
    for line in project["dependencies"]:
        wanted = Requirement(line)
        version, _rest = found[canonicalize_name(wanted.name)]
        assert wanted.specifier.contains(version), line
    for name, (_version, rest) in found.items():
        assert "--hash=sha256:" in rest, name


def test_the_lock_file_names_what_the_dependencies_need_and_no_address() -> None:
    from importlib.metadata import distribution

    found = locked()
    for name in found:
        try:
            needs = distribution(name).requires or []
        except ModuleNotFoundError:
            continue  # for another system or version of Python
        for need in map(Requirement, needs):
            if need.marker is None or need.marker.evaluate({"extra": ""}):
                assert canonicalize_name(need.name) in found, f"{name} needs {need.name}"
    assert "://" not in LOCK.read_text()
