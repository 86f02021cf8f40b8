"""One file of one's own that holds questions, answers and replies, scored by its path."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from snellen import score
from snellen.benchmarks.declaration.data_file import data_file_name

ROWS = [{"index": i, "question": f"q{i}", "A": "cat", "B": "dog", "answer": "A", "prediction": "A"} for i in range(4)]


def written(path: Path, rows: list[dict[str, object]]) -> str:
    if path.suffix == ".xlsx":
        from openpyxl import Workbook

        book = Workbook()
        sheet = book.active
        assert sheet is not None
        sheet.append(list(rows[0]))
        for row in rows:
            sheet.append(list(row.values()))
        book.save(path)
    else:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    return str(path)


@pytest.mark.parametrize("name", ["all.csv", "all.xlsx"])
def test_predictions_file_can_serve_as_the_benchmark(tmp_path: Path, name: str) -> None:
    path = written(tmp_path / name, ROWS)
    assert score(path, path).summary.headline.value == 100.0


def test_agreeing_repeats_are_counted_as_given_with_a_warning(tmp_path: Path) -> None:
    path = written(tmp_path / "all.csv", [*ROWS, ROWS[0]])
    scored = score(path, path)
    assert scored.summary.n == 5
    assert "repeats" in scored.warnings[0]


def test_video_dim_and_i_are_ids(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"video": video, "dim": "speed", "i": i, "question": "x?\nA. cat\nB. dog"}
        | {"gt-answer": "A. cat", "prediction": "A"}
        for video in "ab"
        for i in range(2)
    ]
    path = written(tmp_path / "clips.csv", rows)
    summary = score(path, path).summary
    assert (summary.n, summary.outcomes["missing"]) == (4, 0)


@pytest.mark.parametrize(
    ("path", "name"), [("a/llava1.5_13b.jsonl.gz", "llava1.5_13b"), ("x.tsv", "x"), ("hf://org/name", "name")]
)
def test_the_name_is_the_file_without_its_suffixes(path: str, name: str) -> None:
    assert data_file_name(path) == name
