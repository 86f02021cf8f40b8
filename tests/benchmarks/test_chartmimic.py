"""ChartMimic: which part of a reply runs, what it earns, and that nothing runs unasked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from snellen import Scored, score
from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.benchmarks.documents.chartmimic.flow import (
    compare_charts,
    compare_encoded,
    find_program,
    mean_part,
    parse_chart_grade,
    until_drawn,
)
from snellen.benchmarks.documents.chartmimic.references import Reference, chartmimic_samples
from snellen.core.benchmark import Variant
from snellen.core.errors import DataError, MissingExtra, UsageError
from snellen.core.output import Drawn, Failure, Generated, Output
from snellen.core.record import Record, run_flow
from snellen.core.request import Draw, Request
from snellen.core.sample import Row
from snellen.generated_code import runner
from snellen.generated_code.charts import AxesPlace, ChartContents
from snellen.generated_code.limits import ProgramFailure
from snellen.generated_code.model import PROGRAM
from snellen.generated_code.program import ProgramReport
from snellen.prompts.judging import load_rubric

LAYOUT = Path(__file__).parent / "layouts" / "chartmimic.jsonl"
ROWS = [json.loads(line) for line in LAYOUT.read_text().splitlines()]
WHOLE = AxesPlace(1, 1, 0, 0, 0, 0)
CHART = ChartContents(("rain", "Weather"), {"plot": 1}, (("line", "#FF0000"),), (WHOLE,), 1)


@pytest.mark.parametrize(
    ("reply", "program"),
    [
        ("```python\nx = 1\n```", "\nx = 1\n"),
        ("a ```python\nx\n``` b ```python\ny\n```", "\nx\n"),
        ("```\nx\n```", None),
        ("```py\nx\n```", None),
        ("```python```", None),
        ("```python\nx", None),
        ("```python3\nx\n```", "3\nx\n"),
        ("", None),
    ],
)
def test_the_first_fenced_block_is_the_program(reply: str, program: str | None) -> None:
    assert find_program(reply) == program


@pytest.mark.parametrize(
    ("program", "runs"),
    [
        ("a()\nplt.savefig('x')\nb()", "a()"),
        ("a()\nplt.show()\nb()", "a()"),
        ("def f():\n  plt.show()\nf()", "def f():"),
        ("fig.savefig('x')\nb()", "fig.savefig('x')\nb()"),
        ("a()", "a()"),
    ],
)
def test_code_after_the_first_savefig_does_not_run(program: str, runs: str) -> None:
    assert until_drawn(program) == f"{runs}\nplt.gcf()\n"


@pytest.mark.parametrize(
    ("reply", "grade"),
    [
        ("- Style: 18/20\n\nScore: 91/100", 91.0),
        ("Score: **85/100**", 85.0),
        ("**Score:** 70", 70.0),
        ("Score: 20\n...\nScore: 85.5", 85.5),
        ("<think>Score: 10</think>Score: 60", 60.0),
        ("Score: 101", None),
        ("90/100", None),
        ("Score: ${your final score out of 100}", None),
    ],
)
def test_the_last_score_is_the_grade(reply: str, grade: float | None) -> None:
    parsed = parse_chart_grade(reply)
    assert (None if parsed is None else parsed.values["grade"]) == grade


def test_networks_count_their_axes_alone() -> None:
    other = msgspec.structs.replace(CHART, places=(AxesPlace(2, 1, 0, 0, 0, 0),))
    assert compare_charts(other, CHART, is_graph=False)["layout"] == 0.0
    parts = compare_charts(other, CHART, is_graph=True)
    assert parts == {"text": 1.0, "layout": 1.0, "chart_type": 1.0, "colour": 1.0}
    assert mean_part(parts) == 1.0


def test_the_judge_is_asked_in_the_authors_words() -> None:
    rubric = load_rubric("chartmimic")
    assert rubric.images == "before"
    assert not rubric.known_fields
    assert "Score: ${your final score out of 100}" in rubric.text


class Programs:
    """Answers programs with reports that the test gives, and all else with a verdict."""

    def __init__(self, *reports: ProgramReport | Failure, verdict: str = "Score: 80/100") -> None:
        self.reports, self.verdict = list(reports), verdict
        self.asked: list[Request] = []

    def answer(self, request: Request) -> Output:
        if request.messages[0].role == "system":
            return Generated(compare_encoded(request.messages[1].text().encode()).decode())
        self.asked.append(request)
        if request.to != PROGRAM:
            return Generated(self.verdict)
        if isinstance(request, Draw):
            return Drawn(("f" * 64,), data={"f" * 64: b"png"})
        report = self.reports.pop(0)
        return report if isinstance(report, Failure) else Generated(_json(report))


def _json(report: ProgramReport) -> str:
    return msgspec.json.encode(report).decode()


def record(programs: Programs, reply: str, row: int = 0, judges: int = 0) -> Record:
    benchmark = open_benchmark("chartmimic", Variant(data=str(LAYOUT), options={"run_code": "yes"}, judges=judges))
    sample = list(benchmark.samples(benchmark.open()))[row]

    def answer(request: Request) -> Output:
        return Generated(reply) if request.to == "model" else programs.answer(request)

    return run_flow(benchmark.flow(sample), answer)


DRAWN = ProgramReport(contents=CHART)
REPLY = "```python\ndraw()\nplt.show()\n```"


def test_two_charts_are_compared() -> None:
    other = msgspec.structs.replace(CHART, texts=("rain", "snow"))
    programs = Programs(ProgramReport(contents=other), DRAWN)
    made = record(programs, REPLY)
    assert made.values["text"] == 0.5
    assert made.score == pytest.approx((0.5 + 3) / 4)
    assert made.groups["program"] == "drawn"
    assert programs.asked[0].text() == "draw()\nplt.gcf()\n"
    assert "rain" in programs.asked[1].text()
    assert [verdict.step for verdict in made.passes[0].verdicts] == ["generated", "reference"]


def test_a_judge_sees_both_pictures() -> None:
    programs = Programs(DRAWN, DRAWN)
    made = record(programs, REPLY, judges=1)
    assert made.score == pytest.approx((1.0 + 0.8) / 2)
    assert (made.values["low_level"], made.values["high_level"]) == (1.0, 0.8)
    asked = programs.asked[-1]
    assert [part.digest for part in asked.messages[-1].media()][1] == "f" * 64
    unread = record(Programs(DRAWN, DRAWN, verdict="well done"), REPLY, judges=1)
    assert (unread.score, unread.unscored) == (None, "ungraded")


@pytest.mark.parametrize(
    ("reply", "report", "end"),
    [
        ("I cannot.", None, "no program"),
        ("", None, "no program"),
        (REPLY, ProgramReport(ProgramFailure("error", "NameError: x")), "error"),
        (REPLY, ProgramReport(ProgramFailure("timeout", "late")), "timeout"),
    ],
)
def test_no_chart_earns_nothing(reply: str, report: ProgramReport | None, end: str) -> None:
    programs = Programs(*([] if report is None else [report]))
    made = record(programs, reply, judges=1)
    assert (made.score, made.values["executed"], made.groups["program"]) == (0.0, 0.0, end)
    assert len(programs.asked) == (0 if report is None else 1)
    if report is not None and report.failure is not None:
        assert report.failure.message in str(made.passes[0].verdicts[0].output)


@pytest.mark.parametrize(
    ("report", "why"),
    [
        (ProgramReport(ProgramFailure("report", "no chart")), "no chart"),
        (ProgramReport(), "its report is not that of a chart: it holds none"),
    ],
)
def test_unreadable_report_is_a_failure(report: ProgramReport, why: str) -> None:
    """The program wrote it itself, now or where an earlier version stored it."""
    made = record(Programs(report), REPLY)
    assert (made.score, made.outcome, made.unscored) == (None, "failed", "failed")
    assert made.passes[0].verdicts[0].output == Failure("request", why)


def test_unreadable_image_is_a_failure() -> None:
    class Pictures(Programs):
        def answer(self, request: Request) -> Output:
            forged = ProgramReport(ProgramFailure("report", "no picture"))
            return Generated(_json(forged)) if isinstance(request, Draw) else super().answer(request)

    made = record(Pictures(DRAWN, DRAWN), REPLY, judges=1)
    assert (made.score, made.outcome, made.unscored) == (None, "failed", "failed")


def test_a_reference_that_does_not_run_leaves_the_reply_out() -> None:
    failed = ProgramReport(ProgramFailure("error", "ModuleNotFoundError: geopandas"))
    made = record(Programs(DRAWN, failed), REPLY)
    assert (made.score, made.unscored, made.groups["program"]) == (None, "ungraded", "no reference")


def test_a_lost_machine_is_a_failure_and_no_score() -> None:
    made = record(Programs(Failure("request", "gone")), REPLY)
    assert (made.score, made.outcome, made.unscored) == (None, "failed", "failed")
    assert made.is_retryable


def test_customised_task_includes_its_data() -> None:
    programs = Programs(DRAWN, DRAWN)
    record(programs, REPLY, row=1)
    generated, reference = (request.text() for request in programs.asked)
    assert "heights = [3, 5]" in generated
    assert "set_ylabel" not in generated
    assert generated.endswith("draw()\nplt.gcf()\n")
    assert "set_ylabel" in reference
    assert "savefig" not in reference


def test_files_are_found_beside_the_table(tmp_path: Path) -> None:
    folder = tmp_path / "ChartMimic" / "v2" / "direct_600"
    folder.mkdir(parents=True)
    (folder / "graph_1.py").write_text("draw()\n")
    (folder / "graph_1.png").write_bytes(b"reference")
    (folder / "shown.png").write_bytes(b"shown")
    table = tmp_path / "rows.jsonl"
    row = {"index": 1, "task": "Direct Mimic", "question": "Draw it."}
    row |= {"input_figure": "v2/direct_600/shown.png"}
    row |= {"ground_truth_figure_code": "v2/direct_600/graph_1.py"}
    table.write_text(json.dumps(row))
    benchmark = open_benchmark("chartmimic", Variant(data=str(table)))
    [sample] = benchmark.samples(benchmark.open())
    assert sample.media[0].source.read() == b"shown"
    assert sample.option_images["reference"].source.read() == b"reference"
    reference = msgspec.json.decode(sample.hint, type=Reference)
    assert reference == Reference("draw()\n", is_graph=True)
    assert sample.groups == {"task": "Direct Mimic", "chart_type": "graph"}
    assert sample.gold == ("```python\ndraw()\n\n```",)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({}, "no reference; expected"),
        ({"ground_truth_figure_code": "v1/a.py"}, "there is no file 'v1/a.py'.*dataset-old"),
        ({"ground_truth_code": "x", "task": "Customized Mimic"}, "has no part 'Part 2"),
    ],
)
def test_reports_rows_without_a_reference(cells: Mapping[str, str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        list(chartmimic_samples([Row(0, {"index": "1", **cells})]))


def scored(folder: Path, spec: str, replies: list[str]) -> Scored:
    rows: list[dict[str, Any]] = [
        {"index": row["index"], "prediction": reply} for row, reply in zip(ROWS, replies, strict=True)
    ]
    predictions = folder / "replies.jsonl"
    predictions.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return score(spec, predictions, data=LAYOUT)


def test_nothing_runs_unasked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(runner, "WorkerProcess", None)
    summary = scored(tmp_path, "chartmimic", [REPLY, REPLY]).summary
    assert summary.headline.value is None
    assert "run_code=yes" in summary.headline.note


def test_one_sentence_if_programs_cannot_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner.importlib.util, "find_spec", lambda name: None)
    benchmark = open_benchmark("chartmimic", Variant(data=str(LAYOUT), options={"run_code": "yes"}))
    with pytest.raises(MissingExtra, match=r"pip install 'snellen\[charts\]'"):
        benchmark.open()
    monkeypatch.delattr(runner.os, "fork")
    with pytest.raises(UsageError, match="does not have; run it on Linux"):
        benchmark.open()


@pytest.mark.parametrize("option", ["run_code=maybe", "version=3"])
def test_unknown_values_are_refused(option: str) -> None:
    key, value = option.split("=")
    with pytest.raises(UsageError, match=f"chartmimic:{key}={value}: expected one of"):
        open_benchmark("chartmimic", Variant(options={key: value}))


@pytest.mark.release
def test_programs_run_once_and_are_scored_from_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real thing: two replies, one drawn in another colour, one that fails."""
    monkeypatch.chdir(tmp_path)
    replies = [
        f"```python\n{ROWS[0]['ground_truth_code'].replace('red', 'blue')}```",
        "```python\nraise ValueError(names)\n```",
    ]
    first = scored(tmp_path, "chartmimic:run_code=yes", replies)
    assert first.summary.metrics["executed"].value == 50.0
    assert first.summary.metrics["text"].value == 50.0
    assert 0 < (first.summary.metrics["colour"].value or 0) < 50.0
    assert "elm" in str(first.records[1].passes[0].verdicts[0].output)
    monkeypatch.setattr(runner.ProgramRunner, "run", None)
    assert scored(tmp_path, "chartmimic:run_code=yes", replies).summary == first.summary
