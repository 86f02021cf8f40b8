"""A4Bench: questions of which several options are right."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from snellen import score
from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.core.benchmark import Variant
from snellen.core.sample import Row

CELLS = {"question": "What is it for?", "A": "to sit", "B": "to cut", "C": "to fly", "D": "to eat"}


@pytest.mark.parametrize(
    ("gold", "reply", "credit"),
    [
        ("['A']", "['A']", 1.0),
        ("['A']", "A", 1.0),
        ("['A']", "['A', 'B']", 0.0),
        ("['B', 'D']", "['B', 'D']", 1.0),
        ("['B', 'D']", "['D','B']", 1.0),
        ("['B', 'D']", "B and D", 1.0),
        ("['B', 'D']", "['B']", 0.0),
        ("['B', 'D']", "['B', 'C', 'D']", 0.0),
        ("['B', 'D']", "D", 0.0),
    ],
)
def test_all_right_options_and_no_other_must_be_named(gold: str, reply: str, credit: float, tmp_path: Path) -> None:
    row = {"index": 1, **CELLS, "answer": gold, "prediction": reply}
    predictions = tmp_path / "predictions.jsonl"
    predictions.write_text(json.dumps(row))
    [record] = score("a4bench", predictions).records
    assert record.score == credit


def test_question_contains_the_options() -> None:
    row = Row(0, {"index": "1", **CELLS, "answer": "['B', 'D']"})
    [sample] = open_benchmark("a4bench", Variant()).samples([row])
    assert sample.gold == ("B, D",)
    assert "\nB. to cut\nC. to fly\n" in sample.question
