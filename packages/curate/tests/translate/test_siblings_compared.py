"""A model on a data set and on its translation, compared sample by sample."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import snellen
from snellen.cli import main
from snellen.core.errors import UsageError

ENGLISH: list[dict[str, Any]] = [
    {"index": n, "question": f"Which is {n}?", "A": "this", "B": "that", "answer": "AB"[n % 2]} for n in range(20)
]
CHINESE = [{**row, "question": f"哪一个是 {row['index']}？", "A": "这", "B": "那"} for row in ENGLISH]


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    return path


def replies(path: Path, wrong: set[int]) -> str:
    rows = [
        {"index": row["index"], "prediction": "BA"[n % 2] if n in wrong else "AB"[n % 2]}
        for n, row in enumerate(ENGLISH)
    ]
    return f"replay/{write_rows(path, rows)}"


def test_runs_on_siblings_are_paired_by_id(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = write_rows(tmp_path / "small.jsonl", ENGLISH)
    # One item has another key in the translation: it is no sibling, and is left out.
    spoiled = [*CHINESE[:19], {**CHINESE[19], "answer": "A"}]
    sibling = write_rows(tmp_path / "small-zh.jsonl", spoiled)
    runs = [
        snellen.evaluate(replies(tmp_path / "en.jsonl", {0}), data, out=tmp_path / "runs"),
        snellen.evaluate(replies(tmp_path / "zh.jsonl", {0, 1, 2}), sibling, out=tmp_path / "runs"),
    ]
    with pytest.raises(UsageError, match="no two of the runs are of one benchmark"):
        snellen.compare(*runs)
    [pair] = snellen.compare(*runs, siblings=True)
    assert pair.n == 19
    assert (pair.first_better, pair.second_better) == (2, 0)
    assert pair.difference == pytest.approx(-100 * 2 / 19)
    folders = [str(result.runs[0].path) for result in runs]
    capsys.readouterr()
    assert main(["compare", "--siblings", *folders]) == 0
    printed = capsys.readouterr().out
    assert "on small-zh" in printed
    assert "19 of 20 samples are compared" in " ".join(printed.split())
