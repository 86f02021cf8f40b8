"""`snellen data pull`: several benchmarks at once, one failing without the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen.api.pull import PullStep, pull
from snellen.cli import main


def table(path: Path, rows: int) -> str:
    lines = ["index\tquestion\tanswer", *(f"{number}\tq\tyes" for number in range(rows))]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def test_pull_prepares_several_and_reports_a_missing_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = table(tmp_path / "one.tsv", 3), table(tmp_path / "other.tsv", 4)
    missing = str(tmp_path / "missing.tsv")
    assert main(["data", "pull", one, missing, other]) == 2
    told = capsys.readouterr()
    assert sorted(told.out.splitlines()) == sorted([f"{one}: 3 rows", f"{other}: 4 rows"])
    assert told.err.count("\n") == 1
    assert told.err.startswith("snellen: ")
    assert "missing.tsv" in told.err


def test_pull_reports_its_progress(tmp_path: Path) -> None:
    names = [table(tmp_path / f"{rows}.tsv", rows) for rows in (2, 3)]
    steps: list[PullStep] = []
    pulled = {one.name: one for one in pull(names, steps.append)}
    assert {name: one.rows for name, one in pulled.items()} == dict(zip(names, (2, 3), strict=True))
    last = {step.name: step for step in steps}
    assert [(last[name].phase, last[name].done, last[name].total) for name in names] == [
        ("preparing", 2, 2),
        ("preparing", 3, 3),
    ]
