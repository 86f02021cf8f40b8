"""A sample costs each command no more than `budgets.toml` grants, on a busy machine too."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

HERE = Path(__file__).parent
BUDGETS = tomllib.loads((HERE / "budgets.toml").read_text())
SCRIPT = HERE / "sample_costs.py"
sys.path.insert(0, str(HERE))

from benchmarks.perf.counting import Counts, bytes_written  # noqa: E402
from benchmarks.perf.samples_file import write_samples  # noqa: E402
from sample_costs import commands  # noqa: E402


def counted(cache: Path, *words: str) -> dict[str, dict[str, float]]:
    environment = os.environ | {"SNELLEN_CACHE": str(cache)}
    done = subprocess.run([sys.executable, str(SCRIPT), *words], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[str, float]] = json.loads(done.stdout)
    return found


SLACK = 0.02
"""Per sample: what is done by the clock, as a commit after a second, is more on a slow machine."""


def excess(found: dict[str, float], budget: dict[str, float]) -> list[str]:
    return [
        f"{name}: {found[name]:,.2f}, the budget is {most:,}; make it cheaper, or raise it in "
        "tests/perf/budgets.toml and say why"
        for name, most in budget.items()
        if found[name] > most + SLACK
    ]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def costs(cache: Path) -> dict[str, dict[str, float]]:
    return counted(cache)


@pytest.mark.parametrize("command", BUDGETS["samples"])
def test_a_sample_costs_no_more_than_granted(costs: dict[str, dict[str, float]], command: str) -> None:
    assert excess(costs[command], BUDGETS["samples"][command]) == []


def test_every_counted_command_has_a_budget(costs: dict[str, dict[str, float]]) -> None:
    assert costs.keys() == BUDGETS["samples"].keys()
    assert all(costs[name].keys() == BUDGETS["samples"][name].keys() for name in costs)


@pytest.mark.parametrize("command", BUDGETS["modules"])
def test_a_command_imports_no_more_than_granted(command: str, cache: Path, tmp_path: Path) -> None:
    words = command.split()
    if words[-1] != "--help":
        write_samples(tmp_path, 4)
        named = commands(tmp_path, 4) | {"info": ["info", str(tmp_path / "q4.tsv")]}
        words = named.get(command, named["score"])
        if command == "run":
            words = ["run", "-m", "random", *words[words.index("-b") :]]
        if command == "leaderboard":
            run = ["run", "-m", "random", "-b", str(tmp_path / "q4.tsv"), "--no-html"]
            counted(cache, "modules", *run, "--out", str(tmp_path / "runs"))
            words = ["leaderboard", str(tmp_path / "runs")]
    found = counted(cache, "modules", *words)
    assert excess(found, BUDGETS["modules"][command]) == []  # type: ignore[arg-type]


def test_counting_sees_calls_statements_syncs_and_bytes(tmp_path: Path) -> None:
    import sqlite3

    with Counts() as counts:
        connection = sqlite3.connect(tmp_path / "a.sqlite", isolation_level=None)
        connection.execute("CREATE TABLE t (x)")
        for _ in range(5):
            excess({}, {})
        descriptor = os.open(tmp_path / "file", os.O_WRONLY | os.O_CREAT)
        os.write(descriptor, b"x" * 1000)
        os.fsync(descriptor)
        os.close(descriptor)
    connection.close()
    assert counts.python_calls >= 10  # each call of `excess`, and its comprehension
    assert counts.statements == ["CREATE TABLE t (x)"]
    assert counts.syncs == 1
    assert counts.bytes_written >= 1000 or not bytes_written()


def test_reports_exceeded_budget() -> None:
    [sentence] = excess({"python_calls": 12.0, "syncs": 0}, {"python_calls": 11, "syncs": 0})
    assert sentence.startswith("python_calls: 12.00, the budget is 11; make it cheaper, or raise")
