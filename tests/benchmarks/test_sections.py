"""Sections: the mean of the accuracies of several groups, beside the headline."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.core.benchmark import Benchmark, Variant, final_summary
from snellen.core.output import Failure, Generated, Output
from snellen.core.record import Record, run_flow
from snellen.core.sample import Sample
from snellen.core.summary import FailurePolicy

SOURCES = ("TextVQA", "TextVQA", "OCRVQA")
"""Of the section `ocr`."""


@pytest.fixture
def data(tmp_path: Path) -> str:
    rows = (f"{n}\tWhich?\tred\tblue\tA\t{source}" for n, source in enumerate(SOURCES))
    path = tmp_path / "vmc.tsv"
    path.write_text("\n".join(["index\tquestion\tA\tB\tanswer\tcategory", *rows]))
    return str(path)


def records_of(benchmark: Benchmark, *outputs: Output) -> list[Record]:
    def record(sample: Sample, output: Output) -> Record:
        return run_flow(benchmark.flow(sample), lambda request: output)

    samples = benchmark.samples(benchmark.open())
    return [record(*pair) for pair in zip(samples, outputs, strict=True)]


@pytest.mark.parametrize(
    ("failures", "third", "value"), [("exclude", "B", 25.0), ("count-wrong", None, 25.0), ("withhold", None, None)]
)
def test_a_section_is_the_plain_mean_of_its_groups(
    data: str, failures: FailurePolicy, third: str | None, value: float | None
) -> None:
    benchmark = open_benchmark("vmcbench", Variant(data=data, failures=failures))
    last = Failure("timeout", "too late") if third is None else Generated(third)
    summary = final_summary(benchmark, records_of(benchmark, Generated("A"), Generated("B"), last))
    assert summary.metrics["ocr"].value == value
    assert summary.metrics["general"].value is None
    if value is None:
        assert summary.metrics["ocr"].note == summary.headline.note != ""
