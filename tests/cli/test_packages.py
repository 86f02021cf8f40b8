"""Snellen without the packages that bring further commands, and with those of others."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import snellen
from snellen.cli.parser import COMMANDS, PACKAGE_COMMANDS

SOURCE = Path(snellen.__file__).parents[1]
START = "import sys; from snellen.cli import main; sys.exit(main(sys.argv[1:]))"


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The installed packages of others, without those of this repository."""
    folder = tmp_path_factory.mktemp("site")
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if not path.name.lower().startswith(("snellen", "_snellen", "__editable__")):
            (folder / path.name).symlink_to(path)
    return folder


def run(site: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A command of Snellen's source with the packages of a folder, and no other."""
    environment = os.environ | {"PYTHONPATH": f"{SOURCE}{os.pathsep}{site}"}
    return subprocess.run(
        # -S: neither the environment's packages nor its editable installations.
        [sys.executable, "-S", "-c", START, *words],
        env=environment,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("name", PACKAGE_COMMANDS)
def test_a_missing_package_is_named(alone: Path, name: str) -> None:
    for words in ([name], [name, "--help"], [name, "anything", "--out", "DIR"]):
        done = run(alone, *words)
        assert done.returncode == 2
        assert done.stderr.startswith(f"snellen: snellen {name} needs the package snellen-{name}")
        assert f"pip install ./packages/{name}" in done.stderr


def test_no_command_needs_another_package(alone: Path) -> None:
    program = (
        "import sys\nfrom snellen.cli.parser import import_command, COMMANDS\n"
        "from snellen.cli import main\n"
        "for name in COMMANDS:\n    import_command(name)\n"
        "code = main('run -m random -b eyechart --limit 2 -q --no-html'.split())\n"
        "foreign = [name for name in sys.modules if name.startswith('snellen_')]\n"
        "assert (code, foreign) == (0, []), (code, foreign)\n"
    )
    environment = os.environ | {"PYTHONPATH": f"{SOURCE}{os.pathsep}{alone}"}
    done = subprocess.run(
        [sys.executable, "-S", "-c", program], env=environment, cwd=alone.parent, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_the_help_names_all_commands(alone: Path) -> None:
    shown = run(alone, "--help").stdout
    assert [name for name in (*COMMANDS, *PACKAGE_COMMANDS) if f"    {name}" not in shown] == []


def test_plug_in_package_adds_a_command(alone: Path, tmp_path: Path) -> None:
    (tmp_path / "greeting.py").write_text(
        "def add(parser):\n    parser.add_argument('name')\n"
        "def main(arguments):\n    print('hello', arguments.name)\n    return 0\n"
    )
    information = tmp_path / "greeting-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Name: greeting\nVersion: 1.0\n")
    points = "[snellen.commands]\ngreet = greeting\nbroken = missing_module\n"
    (information / "entry_points.txt").write_text(points)
    path = f"{tmp_path}{os.pathsep}{alone}"
    done = run(Path(path), "greet", "Ada")
    assert (done.returncode, done.stdout) == (0, "hello Ada\n")
    assert "A command of greeting." in run(Path(path), "greet", "--help").stdout
    broken = run(Path(path), "broken")
    assert broken.returncode == 2
    assert "the plug-in 'broken' (missing_module, from greeting) cannot be loaded" in broken.stderr
