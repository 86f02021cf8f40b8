"""`NAME:file=PATH`: a data file for one benchmark of several; and what is said of no score."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen import evaluate
from snellen.api.report import report_of
from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.core.benchmark import Variant
from snellen.core.errors import DataError, UsageError

LAYOUTS = Path(__file__).parent / "layouts"


def test_each_benchmark_reads_its_own_file(tmp_path: Path) -> None:
    specs = [f"{name}:file={LAYOUTS / name}.tsv" for name in ("mmstar", "chartqa")]
    runs = evaluate(["random"], specs, out=tmp_path, html=False).runs
    assert [run.info.benchmark for run in runs] == ["mmstar", "chartqa"]
    assert [Path(run.info.data.path).name for run in runs] == ["mmstar.tsv", "chartqa.tsv"]
    assert [report_of(run).summary.total for run in runs] == [3, 4]


def test_file_option_overrides_run_data_and_is_not_a_parameter() -> None:
    spec = f"mlvu:file={LAYOUTS / 'mlvu@part=open.tsv'},part=open"
    made = open_benchmark(spec, Variant(data="elsewhere.tsv"))
    assert len(list(made.samples(made.open()))) == 2
    assert "file" not in made.parameters


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(DataError, match=r"nowhere\.tsv"):
        open_benchmark("mmstar:file=nowhere.tsv").open()


def test_a_data_file_takes_no_other() -> None:
    with pytest.raises(UsageError, match="is a data file itself"):
        open_benchmark(f"{LAYOUTS / 'mmstar.tsv'}:file=other.tsv")


def test_unscorable_benchmark_reports_its_reason_not_missing_golds(tmp_path: Path) -> None:
    spec = f"core-mm:file={LAYOUTS / 'core-mm.tsv'}"
    (run,) = evaluate(["random"], [spec], out=tmp_path, html=False).runs
    summary = run.report().summary
    assert summary.notices == (open_benchmark("core-mm").unscorable,)
    assert summary.headline.note == open_benchmark("core-mm").unscorable


def test_unsupported_samples_are_reported_with_the_reason(tmp_path: Path) -> None:
    from seed_files import seed_h

    file = seed_h(tmp_path / "data", per_dimension=1)
    spec = f"seedbench:file={file},version=H,level=L3"
    (run,) = evaluate(["random"], [spec], out=tmp_path / "out", html=False).runs
    summary = run.report().summary
    assert summary.outcomes["unsupported"] > 0
    assert any(": the model " in notice for notice in summary.notices), summary.notices
