"""A table of one's own in VLMEvalKit's data folder is found by its name, as VLMEvalKit finds it."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen import evaluate, score
from snellen.benchmarks.declaration.registry import is_data_source, open_benchmark
from snellen.core.errors import UnknownName

ROWS = "index\tquestion\tA\tB\tanswer\n1\tWhich?\tx\ty\tA\n2\tAnd?\tx\ty\tB\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "DotBench.tsv").write_text(ROWS)
    (tmp_path / "MMBench_DEV_EN.tsv").write_text(ROWS)
    (tmp_path / "eyechart.tsv").write_text(ROWS)
    monkeypatch.setenv("LMUData", str(tmp_path))
    return tmp_path


def test_table_in_lmu_data_is_asked_and_scored_by_name(tmp_path: Path) -> None:
    (run,) = evaluate("random", "DotBench", out=tmp_path / "o", html=False, progress=None).runs
    assert (run.info.benchmark, run.summary.n) == ("DotBench", 2)
    predictions = tmp_path / "p.csv"
    predictions.write_text("index,prediction\n1,A\n2,A\n")
    assert score("DotBench", predictions).summary.headline.value == 50.0


@pytest.mark.parametrize("name", ["MMBench_DEV_EN", "eyechart"])
def test_a_benchmark_of_that_name_comes_first(name: str) -> None:
    assert not is_data_source(name)
    assert open_benchmark(name).name in ("mmbench", "eyechart")


@pytest.mark.parametrize("name", ["DotBenchX", "../DotBench", "Dot*"])
def test_any_other_name_is_unknown(name: str) -> None:
    with pytest.raises(UnknownName):
        open_benchmark(name)
