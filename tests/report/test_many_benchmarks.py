"""Many benchmarks on one page and in one table."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from snellen import evaluate
from snellen.api.report import report_of
from snellen.benchmarks.declaration.registry import Suite, SuiteMember
from snellen.cli import main
from snellen.report import format as fmt
from snellen.report.documents.suites import suite_document, suite_table
from snellen.report.writers.terminal import print_document

LAYOUTS = Path(__file__).parents[1] / "benchmarks" / "layouts"
FEW = ("a-bench", "a-okvqa", "aesbench")
MANY = (
    *FEW,
    "ai2d",
    "mmstar",
    "q-bench",
    "realworldqa",
    "scienceqa",
    "seedbench",
    "gqa",
    "taskmeanything",
    "blink",
    "mmmb",
)


SPECS = [f"{name}:file={LAYOUTS / name}.tsv" for name in MANY]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs")
    evaluate(["random"], SPECS, out=out, html=False)
    return out


def page(runs: Path, names: tuple[str, ...], tmp_path: Path) -> str:
    chosen = [str(path) for name in names for path in runs.glob(f"random--{name}--*")]
    target = tmp_path / "page.html"
    assert main(["report", *chosen, "--format", "html", "-o", str(target)]) == 0
    return target.read_text()


def test_a_page_of_many_is_headed_by_their_number(runs: Path, tmp_path: Path) -> None:
    text = page(runs, MANY, tmp_path)
    heading = re.search(r'<h1 id="title">(.*?)</h1>', text)
    assert heading is not None
    assert heading[1] == f"{len(MANY)} benchmarks"
    assert re.search(r'<nav aria-label="Sections"></nav>', text)
    for at in range(1, len(MANY) + 1):
        assert f'href="#board-{at}"' in text


def test_a_page_of_few_is_headed_by_their_names(runs: Path, tmp_path: Path) -> None:
    text = page(runs, FEW, tmp_path)
    heading = re.search(r'<h1 id="title">(.*?)</h1>', text)
    assert heading is not None
    assert sorted(heading[1].split(", ")) == sorted(FEW)


def test_many_members_of_a_suite_continue_in_tables_below(runs: Path) -> None:
    again = evaluate(["random"], SPECS, out=runs, html=False).runs
    members = tuple(SuiteMember(name, (spec,)) for name, spec in zip(MANY, SPECS, strict=True))
    reports = [report_of(one) for one in again]
    shown = suite_table(Suite("Many", members), again, reports, [])
    out = io.StringIO()
    print_document(suite_document(shown), Console(file=out, width=80))
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    found: dict[str, str] = {}
    for head, row in zip(lines, lines[2:], strict=False):
        if row.startswith(("1 ", "–")):
            found |= zip(re.split(r"\s{2,}", head.strip()), row.split(), strict=True)
    values = shown.rows[0].values
    assert {name: found[name] for name in MANY} == {name: fmt.score_text(values[name]) for name in MANY}
    assert found["average"] == fmt.score_text(shown.rows[0].average)
