"""What reports say of questions that were asked several times."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from msgspec import structs

from snellen import evaluate
from snellen.api.report import report_of
from snellen.cli.main import main
from snellen.core.request import Sampling
from snellen.core.run import Report
from snellen.report.documents.repeats import draw_lines
from snellen.report.documents.run_document import run_document
from snellen.report.writers import write_text
from snellen.store.runs import RunFolder

ROWS = "".join(f"{n}\tWhich is {n}?\tred{n}\tblue{n}\t{'AB'[n % 2]}\n" for n in range(20))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("draws")
    (folder / "q.tsv").write_text(f"index\tquestion\tA\tB\tanswer\n{ROWS}")
    return folder


@pytest.fixture(scope="module")
def run(home: Path) -> RunFolder:
    return evaluate(["random"], [str(home / "q.tsv")], out=home / "out", repeats=6, sampling=Sampling(seed=1)).runs[0]


@pytest.fixture(scope="module")
def report(run: RunFolder) -> Report:
    return report_of(run)


def test_lines_about_draws(report: Report) -> None:
    found = dict(draw_lines(report))
    assert list(found) == [
        "draws",
        "accuracy, these questions",
        "accuracy, questions like these",
        "pass@k for k",
        "majority@k for k",
        "two draws, same answer",
        "two draws, same score",
        "variance of one draw",
        "standard error in points, k draws",
        "the same, otherwise",
    ]
    assert found["draws"] == "6 of each question, sampled as the benchmark asks, seed 1"
    assert [part.split(":")[0] for part in found["pass@k for k"].split(", ")] == list("1246")
    assert "between questions" in found["variance of one draw"]
    assert "12: " in found["standard error in points, k draws"]


def test_every_format_has_the_lines_about_draws(
    run: RunFolder, report: Report, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(run.path)]) == 0
    told = capsys.readouterr().out
    document = run_document([report])
    markdown = write_text(document, "markdown")
    for line in draw_lines(report):
        assert line.name in told
        assert line.name.replace(",", "") in markdown.replace(",", "")
    caption = r"\caption{q, accuracy, draws of random (6 draws, seed 1)}"
    assert caption in write_text(document, "latex")
    assert '"draws":{' in write_text(document, "json")
    assert "majority@k" in (run.path / "report.html").read_text()
    rows = {row["metric"]: row for row in csv.DictReader(io.StringIO(write_text(document, "csv")))}
    assert {"pass@1", "pass@6", "majority@6", "same_answer", "same_score"} <= rows.keys()
    these, alike = rows["accuracy, these questions"], rows["accuracy"]
    assert (these["value"], these["method"]) == (alike["value"], "draws within questions")
    assert alike["method"] != these["method"]


def test_the_page_has_every_draw(run: RunFolder) -> None:
    text = (run.path / "report.html").read_text()
    assert text.count('"draws":[{"result"') == 20
    assert "each question was asked 6 times" in text


def test_runs_with_other_draws_get_distinct_labels(home: Path, run: RunFolder) -> None:
    from snellen.report.format import run_info_labels

    once = evaluate(["random"], [str(home / "q.tsv")], out=home / "out", html=False).runs[0]
    assert run_info_labels([once.info, run.info]) == ["random", "random (6 draws, seed 1)"]
    named = structs.replace(run.info, model="own:seed=1")
    assert run_info_labels([once.info, named]) == ["random", "own:seed=1 (6 draws)"]


@pytest.mark.parametrize(
    "command",
    [
        ["export", "vlmevalkit-tsv"],
        ["export", "seed-results"],
        ["analyse", "readers", "--sheet", "unused.csv"],
        ["analyse", "letters"],
        ["analyse", "refusals"],
        ["analyse", "steps"],
        ["analyse", "errors"],
    ],
)
def test_analyses_of_single_replies_refuse_repeats(
    run: RunFolder, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    name, *form = command
    path, to = str(run.path), ["--to", *form]
    assert main([name, path, *to] if name == "export" else [*command, path]) == 2
    said = capsys.readouterr().err
    assert "asked each question 6 times" in said
    assert "without --repeats" in said
