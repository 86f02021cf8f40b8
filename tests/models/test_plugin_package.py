"""A model in a package of its own, installed for real."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which examples/plugin is installed, in a folder of its own."""
    home = tmp_path_factory.mktemp("plugin")
    shutil.copytree(ROOT / "examples" / "plugin", home / "source")
    alone = ["--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", *alone, "--target", home / "site", home / "source"], check=True
    )
    return {**os.environ, "PYTHONPATH": str(home / "site")}


def said(environment: dict[str, str], *words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "snellen", *map(str, words)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_plug_in_model_is_listed_with_its_docstring(environment: dict[str, str]) -> None:
    lines = said(environment, "list", "models").stdout.splitlines()
    (line,) = [line for line in lines if line.startswith("longest ")]
    assert line.split(maxsplit=1)[1].strip() == ("Always the longest option, without a look at the picture.")


def test_plug_in_model_runs_by_name(environment: dict[str, str], tmp_path: Path) -> None:
    questions = ROOT / "examples" / "my_questions.tsv"
    done = said(environment, "run", "-m", "longest", "-b", questions, "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("longest")]
    assert line.split()[1] == "100.0"


def test_identity_of_plug_in_model_is_its_file_content(environment: dict[str, str]) -> None:
    facts = said(environment, "info", "longest").stdout
    assert "sha256:" in facts


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("longest:colour=red", "known options: words"),
        ("longest/other", "unknown model 'longest/other'"),
        ("longes", "did you mean longest"),
    ],
)
def test_mistakes_give_one_sentence(environment: dict[str, str], tmp_path: Path, name: str, sentence: str) -> None:
    done = said(environment, "run", "-m", name, "-b", "eyechart", "--out", tmp_path)
    assert done.returncode == 2
    assert sentence in done.stderr


def test_without_the_package_the_name_is_unknown(environment: dict[str, str]) -> None:
    bare = {name: value for name, value in environment.items() if name != "PYTHONPATH"}
    assert "unknown model" in said(bare, "info", "longest").stderr
