"""MMT-Bench's Table 2 for one's own runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from mmt_rows import row, write

from snellen.api import evaluate
from snellen.cli import main
from snellen.core.benchmark import Variant
from snellen.core.errors import UsageError
from snellen.core.model import Capabilities, Identity
from snellen.core.output import Generated, Output
from snellen.core.request import Request
from snellen.core.run import Report
from snellen.report.mmt_table import mmt_table

ROWS = [
    row(1, "weather_recognition", "visual_recognition", "A"),
    row(2, "rock_recognition", "visual_recognition", "A"),
    row(3, "doc_vqa", "doc_understanding", "B"),
    row(4, "clock_reading", "doc_understanding", "A"),
]


class Saying:
    capabilities = Capabilities()

    def __init__(self, name: str, reply: str) -> None:
        self.identity = Identity("test", name)
        self.reply = reply

    def answer(self, request: Request) -> Output:
        return Generated(self.reply)


def reports(folder: Path, **options: str) -> list[Report]:
    data = str(write(folder / "mmt.tsv", ROWS))
    models = [Saying("always-b", "B"), Saying("always-a", "A")]
    variant = Variant(data=data, options=options)
    done = evaluate(models, ["mmt-bench"], out=folder / "out", variant=variant, html=False)
    return [run.report() for run in done.runs]


def cells(table: str) -> dict[str, list[str]]:
    lines = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("|")]
    return {name: values for name, *values in lines}


def test_rows_in_order_with_ranks_among_models_and_guesses(tmp_path: Path) -> None:
    table = cells(mmt_table(reports(tmp_path)))
    assert list(table)[2:] == ["always-a", "always-b", "random guess", "frequency guess"]
    # VR: 100, 0, 25, 100; DU: 50, 50, 25, 100.
    assert table["always-a"][:5] == ["75.0", "75.0", "1.5", "50.0", "2.0"]
    assert table["always-b"][:5] == ["25.0", "25.0", "3.0", "50.0", "2.0"]
    assert table["random guess"][:5] == ["25.0", "-", "3.5", "-", "4.0"]
    assert table["frequency guess"][:5] == ["100.0", "-", "1.0", "-", "1.0"]
    columns = dict(zip(table["model"], table["always-a"], strict=True))
    assert (columns["VR"], columns["DU"], columns["Loc"]) == ("100.0", "50.0", "-")


def test_a_prompt_of_its_own_stands_behind_the_name(tmp_path: Path) -> None:
    assert "always-a (images=single)" in cells(mmt_table(reports(tmp_path, images="single")))


def test_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reports(tmp_path)
    assert main(["export", str(tmp_path / "out"), "--to", "mmt-table"]) == 0
    assert "mean rank over 2 and 1 meta-tasks among 4 rows" in capsys.readouterr().out


def test_other_questions_are_not_compared(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    found = reports(tmp_path / "one")
    with pytest.raises(UsageError, match="at least one run"):
        mmt_table([])
    hidden = reports(tmp_path / "two", split="all")
    with pytest.raises(UsageError, match="of the splits all, val"):
        mmt_table([*found, *hidden])
