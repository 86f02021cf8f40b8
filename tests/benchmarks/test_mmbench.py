"""MMBench: its files, its three levels, its rotations, its hidden answers. The rows are ours, in
the columns of the published file."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen import evaluate, score
from snellen.benchmarks.abilities.mmbench import BENCHMARK, LEVEL_1
from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.cli import main
from snellen.core.benchmark import Variant

COLUMNS = ("index", "question", "A", "B", "answer", "category", "l2-category", "split")


def rows(gold: bool = True) -> list[tuple[str, ...]]:
    """Two questions of two options, each with its rotation as a row of its own."""
    found = []
    for index, (category, level_2) in enumerate(
        [("ocr", "finegrained_perception (instance-level)"), ("future", "logic_reasoning")], 1
    ):
        shared = (category, level_2, "dev")
        question = f"What is thing {index}?"
        found.append((str(index), question, "cat", "dog", "A" if gold else "", *shared))
        found.append((str(index + 1_000_000), question, "dog", "cat", "B" if gold else "", *shared))
    return found


def written(path: Path, cells: list[tuple[str, ...]]) -> str:
    path.write_text("\n".join("\t".join(row) for row in [COLUMNS, *cells]) + "\n")
    return str(path)


def test_every_variant_has_a_published_file() -> None:
    names = {BENCHMARK.data.files[key].name for key in BENCHMARK.data.files}
    assert len(names) == 9
    assert {"MMBench_DEV_EN.tsv", "MMBench_TEST_CN_V11.tsv"} <= names
    assert open_benchmark("MMBench_TEST_CN_V11").parameters["lang"] == "cn"


def test_mmbench_is_circular_by_default_and_reports_three_levels(tmp_path: Path) -> None:
    data = written(tmp_path / "MMBench_DEV_EN.tsv", rows())
    replies = tmp_path / "replies.csv"
    replies.write_text("index,prediction\n1,A\n1000001,B\n2,A\n1000002,A\n")
    scored = score("mmbench", replies, data=data)
    summary = scored.summary
    assert (summary.headline.name, summary.headline.value, summary.n) == ("circular", 50.0, 2)
    assert summary.metrics["vanilla"].value == 100.0
    assert {label: cell.value for label, cell in summary.groups["l1-category"].items()} == {
        "perception": 100.0,
        "reasoning": 0.0,
    }
    assert set(summary.groups) == {"l1-category", "l2-category", "category", "split"}


def test_the_files_own_rotations_are_what_is_asked(tmp_path: Path) -> None:
    data = written(tmp_path / "q.tsv", rows())
    variant = Variant(data=data, circular="full")
    (run,) = evaluate(["random"], ["mmbench"], variant=variant, out=tmp_path / "o", html=False).runs
    passes = [one.row for record in run.records() for one in record.passes]
    assert sorted(passes, key=str) == ["1000001", "1000002", None, None]


def test_hidden_answers_ask_every_pass_and_leave_a_submission(tmp_path: Path, capsys) -> None:
    data = written(tmp_path / "q.tsv", rows(gold=False))
    command = ["run", "-m", "random", "-b", "mmbench:split=test", "--data", data, "--no-html"]
    assert main([*command, "--out", str(tmp_path / "o")]) == 0
    said = capsys.readouterr().out
    assert "2 of 2 samples have no gold answer" in said.replace("\n", " ")
    (submission,) = (tmp_path / "o").glob("*/submission.xlsx")
    assert submission.stat().st_size > 0


@pytest.mark.parametrize("level_2", sorted(LEVEL_1))
def test_level_one_is_perception_or_reasoning(level_2: str) -> None:
    assert LEVEL_1[level_2] == ("reasoning" if "reasoning" in level_2 else "perception")
