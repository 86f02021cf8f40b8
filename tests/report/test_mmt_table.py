"""MMT-Bench's Table 2 for one's own runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from mmt_rows import picture, row, write

from snellen import evaluate
from snellen.cli import main
from snellen.core.benchmark import Variant
from snellen.core.errors import UsageError
from snellen.core.model import Capabilities, Identity
from snellen.core.output import Failure, Generated, Output
from snellen.core.request import Request
from snellen.report.documents.mmt_table import mmt_document
from snellen.report.writers import write_text
from snellen.store.runs import RunFolder

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


def made(
    folder: Path, rows: Sequence[Mapping[str, str]] = ROWS, failures: str = "exclude", **how: Any
) -> list[RunFolder]:
    """Runs of two models; `how` holds options of the benchmark, and `limit`, `seed`, `until`."""
    data = str(write(folder / "mmt.tsv", rows))
    models = [Saying("always-b", "B"), Saying("always-a", "A")]
    terms = {name: how.pop(name) for name in ("limit", "seed", "until") if name in how}
    variant = Variant(data=data, options=how, failures=failures)
    done = evaluate(models, ["mmt-bench"], out=folder / "out", variant=variant, html=False, **terms)
    return list(done.runs)


def mmt_table(runs: list[RunFolder]) -> str:
    return write_text(mmt_document(runs), "markdown")


def cells(table: str) -> dict[str, list[str]]:
    plain = table.replace("**", "")
    lines = [line.strip("| ").split(" | ") for line in plain.splitlines() if line.startswith("|")]
    return {name: values for name, *values in lines}


def without_intervals(row: Sequence[str]) -> list[str]:
    return [cell.partition(" (")[0] for cell in row[:5]]


def test_rows_in_order_with_ranks_among_models_and_guesses(tmp_path: Path) -> None:
    table = cells(mmt_table(made(tmp_path)))
    assert list(table)[2:] == ["always-a", "always-b", "random guess", "frequency guess"]
    # VR: 100, 0, 25, 100; DU: 50, 50, 25, 100.
    assert without_intervals(table["always-a"]) == ["75.0", "75.0", "1.5", "50.0", "2.0"]
    assert without_intervals(table["always-b"]) == ["25.0", "25.0", "3.0", "50.0", "2.0"]
    assert table["random guess"][:5] == ["25.0", "25.0", "3.5", "25.0", "4.0"]
    assert table["frequency guess"][:5] == ["100.0", "100.0", "1.0", "100.0", "1.0"]
    columns = dict(zip(table["model"], table["always-a"], strict=True))
    assert (columns["VR"], columns["DU"], columns["Loc"]) == ("100.0", "50.0", "–")


def test_the_row_of_frequent_guessing_is_the_run_of_the_model_frequent(tmp_path: Path) -> None:
    rows = [
        *ROWS,
        row(5, "doc_vqa", "doc_understanding", "B"),
        row(6, "doc_vqa", "doc_understanding", "A"),
        row(7, "weather_recognition", "visual_recognition", "C"),
    ]
    data = str(write(tmp_path / "mmt.tsv", rows))
    variant = Variant(data=data)
    done = evaluate(["frequent", "random"], ["mmt-bench"], out=tmp_path / "out", variant=variant, html=False)
    text = mmt_table(list(done.runs))
    table = cells(text)
    assert without_intervals(table["frequent"])[:2] == ["79.2", "71.4"]
    for name in ("random guess", "frequency guess"):
        assert "–" not in table[name][:5]
    # Of two labels that are equally frequent both score the same.
    assert without_intervals(table["frequent"]) == table["frequency guess"][:5]


def test_own_prompt_is_named_after_the_model(tmp_path: Path) -> None:
    assert "always-a (images=single)" in cells(mmt_table(made(tmp_path, images="single")))


def test_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made(tmp_path)
    assert main(["export", str(tmp_path / "out"), "--to", "mmt-table"]) == 0
    assert "mean rank over 2 and 1 meta-tasks among 4 rows" in capsys.readouterr().out
    paper = tmp_path / "table.tex"
    assert main(["export", str(tmp_path / "out"), "--to", "mmt-table", "-o", str(paper)]) == 0
    assert r"\begin{tabular}" in paper.read_text()


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"limit": 2}, "limit 2"),
        ({"limit": 3, "seed": 1}, "seed 1"),
        ({"until": "±20"}, "--until ±20"),
        ({"split": "all"}, "split=all"),
        ({"images": "single"}, "images=single"),
        ({"failures": "count-wrong"}, "failures count-wrong"),
        ({"rows": ROWS[:3]}, "data "),
    ],
)
def test_runs_that_do_not_belong_together_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], how: dict[str, Any], words: str
) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    usual: dict[str, Any] = {"limit": 3} if "seed" in how else {}
    first, second = made(tmp_path / "one", **usual)[0], made(tmp_path / "two", **how)[1]
    for order in ((first, second), (second, first)):
        command = ["export", *(str(run.path) for run in order), "--to", "mmt-table"]
        assert main(command) == 2
        told = capsys.readouterr()
        assert not told.out
        assert "do not belong in one table" in told.err
        assert words in told.err


def test_other_benchmarks_and_nothing_are_refused() -> None:
    with pytest.raises(UsageError, match="at least one run"):
        mmt_document([])


def test_a_run_without_a_meta_task_is_named(tmp_path: Path) -> None:
    class Failing(Saying):
        """Fails on the questions of one meta-task."""

        def answer(self, request: Request) -> Output:
            if request.ref.sample in ("3", "4"):
                return Failure("server", "gone")
            return super().answer(request)

    data = str(write(tmp_path / "mmt.tsv", ROWS))
    models = [Saying("always-b", "B"), Failing("broken", "A")]
    done = evaluate(models, ["mmt-bench"], out=tmp_path / "out", variant=Variant(data=data), html=False)
    text = mmt_table(list(done.runs))
    assert "DU counts in no mean rank: broken has no value there." in text
    assert "mean rank over 1 and 0 meta-tasks" in text


def test_mean_ranks_have_intervals(tmp_path: Path) -> None:
    """Forty questions of each subtask: one model has nine of ten right, the other none. Where all
    are about one picture, nothing is known of others."""
    rows = [
        row(
            at,
            *(("weather_recognition", "visual_recognition") if at % 2 else ("doc_vqa", "doc_understanding")),
            "A" if at % 20 > 1 else "B",
        )
        for at in range(80)
    ]
    (tmp_path / "shared").mkdir()
    assert cells(mmt_table(made(tmp_path / "shared", rows)))["always-a"][2] == "1.0"
    rows = [one | {"image": picture("red", (60, 40 + at))} for at, one in enumerate(rows)]
    found = cells(mmt_table(made(tmp_path, rows)))
    # Where questions are drawn anew, the most frequent answer may be ahead.
    assert found["always-a"][2] == "1.0 (1.0–2.0)"
    assert found["always-b"][2].startswith("4.0 (")
    assert " (" not in found["random guess"][2]
