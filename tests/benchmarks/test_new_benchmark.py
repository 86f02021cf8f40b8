"""A new benchmark is two or three files, needs no registration, and fails until it is filled in."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from snellen.benchmarks.declaration.scaffold import write_new_benchmark
from snellen.core.errors import UsageError

ROOT = Path(__file__).parents[2]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the benchmarks and of the tests that hold every one of them."""
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    tests = tmp_path / "tests" / "benchmarks"
    (tests / "layouts").mkdir(parents=True)
    shutil.copy(ROOT / "tests/benchmarks/test_declarations.py", tests)
    shutil.copy(ROOT / "tests/benchmarks/names_of_other_tools.txt", tests)
    return tmp_path


def failures(checkout: Path, *words: str) -> str:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *words]
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True)
    return "\n".join(line for line in done.stdout.splitlines() if line.startswith("FAILED"))


def test_a_new_benchmark_fails_until_it_is_filled_in(checkout: Path) -> None:
    family, layout, test = write_new_benchmark("colour-quiz", "perception", checkout)
    assert family.name == "colour_quiz.py"
    assert "test_published_predictions" in failures(checkout, str(test))
    held = failures(checkout, "tests/benchmarks/test_declarations.py", "-k", "colour-quiz")
    assert "test_declares_what_it_is[colour-quiz]" in held
    assert "test_gold_scores_the_oracle[colour-quiz.tsv]" in held

    layout.write_text("index\tquestion\tA\tB\tanswer\n0\tRed?\tyes\tno\tA\n")
    text = family.read_text().replace('paper=""', 'paper="https://arxiv.org/abs/0000.00000"')
    family.write_text(text)
    assert not failures(checkout, "tests/benchmarks/test_declarations.py", "-k", "colour-quiz")
    with pytest.raises(UsageError, match="is there already"):
        write_new_benchmark("colour-quiz", "perception", checkout)


def test_benchmark_without_code_is_two_files(checkout: Path) -> None:
    family, layout = write_new_benchmark("colour-quiz.toml", "perception", checkout)
    assert family.name == "colour-quiz.toml"
    held = ("tests/benchmarks/test_declarations.py", "-k", "colour-quiz")
    assert "test_declares_what_it_is[colour-quiz]" in failures(checkout, *held)

    layout.write_text("index\tquestion\tA\tB\tanswer\n0\tRed?\tyes\tno\tA\n")
    text = family.read_text().replace('paper = ""', 'paper = "https://arxiv.org/abs/0000.00000"')
    family.write_text(text)
    assert not failures(checkout, *held)


@pytest.mark.parametrize(
    ("name", "message"), [("Colour", "lower-case"), ("mmstar", "is there already"), ("../x", "lower-case")]
)
def test_refuses_invalid_benchmark_names(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        write_new_benchmark(name, "perception", tmp_path)
    with pytest.raises(UsageError, match="root of a checkout"):
        write_new_benchmark("colour-quiz", "perception", tmp_path)


def test_a_folder_there_is_not(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"colours: expected one of .*abilities, documents"):
        write_new_benchmark("colour-quiz", "colours", tmp_path)
