"""Tests are sorted by kind, and those that call themselves unit tests are watched."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.kinds import ROOT, draw_files, kind_of, parse_share, read_kinds, read_seconds

KINDS = {"tests/models": "extended", "tests/models/test_a.py": "unit", "tests/x.py": "system"}


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        ("tests/models/test_b.py", "extended"),
        ("tests/models/test_a.py", "unit"),
        ("tests/x.py", "system"),
        ("tests/core/test_c.py", "unit"),
    ],
)
def test_the_nearest_listed_folder_says_the_kind(file: str, kind: str) -> None:
    assert kind_of(file, KINDS) == kind


def test_every_file_that_is_listed_exists() -> None:
    assert [name for name in read_kinds() if not (ROOT / name).exists()] == []


def test_every_file_of_extended_tests_says_how_long_it_takes() -> None:
    seconds, kinds = read_seconds(), read_kinds()
    paths = [*ROOT.glob("tests/**/test_*.py"), *ROOT.glob("packages/*/tests/**/test_*.py")]
    files = [path.relative_to(ROOT).as_posix() for path in paths]
    assert [file for file in files if kind_of(file, kinds) == "extended" and file not in seconds] == []
    assert min(seconds.values()) > 0


def test_a_share_of_the_time_is_drawn_and_every_file_has_its_turn() -> None:
    seconds = {f"tests/test_{number}.py": 1.0 + number % 50 for number in range(200)}
    drawn = [draw_files(seconds, 0.1, f"{commit}") for commit in range(100)]
    times = [sum(seconds[file] for file in files) for files in drawn]
    whole = sum(seconds.values())
    assert max(times) <= 0.1 * whole
    assert min(times) > 0.09 * whole
    assert drawn[0] != drawn[1]
    assert set().union(*drawn) == set(seconds)
    assert draw_files(seconds, 0.0, "a") == set()
    assert draw_files(seconds, 1.0, "a") == set(seconds)


def test_a_file_that_takes_longer_than_the_share_has_its_turn_alone() -> None:
    drawn = [draw_files({"long": 90.0, "a": 5.0, "b": 5.0}, 0.05, f"{commit}") for commit in range(40)]
    assert {"long"} in drawn
    assert {"a"} in drawn


def test_a_share_is_a_fraction() -> None:
    assert (parse_share("20%"), parse_share("0.5"), parse_share("1")) == (0.2, 0.5, 1.0)
    with pytest.raises(ValueError, match="expected a share"):
        parse_share("120%")


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ("import subprocess; subprocess.run(['true'])", "starts a process"),
        ("import socket; socket.socket().bind(('127.0.0.1', 0))", "opens a port"),
        ("import torch", "imports torch"),
    ],
)
def test_a_unit_test_that_is_none_is_an_error(body: str, what: str, tmp_path: Path) -> None:
    done = run_here(tmp_path, f"def test_it():\n    {body}\n", kind="unit")
    assert done.returncode == 1
    assert f"test_it {what}: list its file under `system`" in done.stdout


def test_a_system_test_may_do_so_and_what_passed_is_left_out(tmp_path: Path) -> None:
    body = "import socket\ndef test_it():\n    socket.socket().bind(('127.0.0.1', 0))\n"
    body += "def test_fails():\n    assert not __import__('os').environ.get('FAIL')\n"
    first = run_here(tmp_path, body, "--resume", str(tmp_path / "passed"), kind="system", FAIL="1")
    assert "1 failed, 1 passed" in first.stdout
    again = run_here(tmp_path, body, "--resume", str(tmp_path / "passed"), kind="system")
    assert "1 passed, 1 deselected" in again.stdout


PLUGIN = """
import pytest, tests.kinds as kinds
kinds.read_kinds = lambda path: {{"test_it.py": {kind!r}}}
kinds.read_seconds = lambda path: {{}}
def pytest_addoption(parser): kinds.add_options(parser)
def pytest_configure(config):
    for name in ("unit", "system", "extended", "release"):
        config.addinivalue_line("markers", name)
    config.pluginmanager.register(kinds.Kinds(config), "kinds")
"""


def run_here(folder: Path, body: str, *words: str, kind: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run one file of tests in a folder of its own, under `kinds` alone."""
    (folder / "test_it.py").write_text(body)
    (folder / "conftest.py").write_text(PLUGIN.format(kind=kind))
    (folder / "pytest.ini").write_text("[pytest]\n")
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "test_it.py", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
