"""`±N` is about the headline where that is a mean of the samples' scores, plain or weighted; else
it looks at their plain mean, and the report says so."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import pytest
from msgspec import structs
from test_declarations import FILES, Layout, of, roles
from test_intervals_everywhere import COPIES, half_right

from snellen.core.benchmark import Benchmark
from snellen.core.record import Record
from snellen.core.sample import Sample
from snellen.core.summary import ANYTIME, Metric, Summary
from snellen.engine.anytime.early_stop import PrecisionRule
from snellen.engine.anytime.sample_order import headline_weights
from snellen.engine.loop.comparison_run import ComparisonStop
from snellen.scoring.accuracy import counted_score

SENTENCE = "not at the headline"
MEANS = {"blink", "cvbench", "mmt-bench", "tablevqabench", "vcr-wiki"}
"""Their headlines are weighted means of the samples' scores."""
PARTLY_SCORED = {"mega-bench"}
"""A row of each kind stands in its file, also of the tasks that are not scored."""
EVEN = {"coco-caption", "llava-bench", "mega-bench", "mmdu"}
"""CIDEr, a ratio of sums and means over tasks and turns, which on these files, of one picture, one
row of a task or as many turns in every row, are the means of samples."""


def copies(benchmark: Benchmark) -> Iterator[Sample]:
    """The samples that `half_right` answers."""
    for copy in range(COPIES):
        for one in benchmark.samples(benchmark.open()):
            unit = f"{copy}#{one.unit}" if one.unit else ""
            yield structs.replace(one, id=f"{one.id}#{copy}", unit=unit)


def asked(layout: Layout, records: Sequence[Record]) -> tuple[Benchmark, Summary]:
    """The report of a run under `±5` that asked everything."""
    benchmark = of(layout, judges=int("judge" in roles(layout)))
    monitor = PrecisionRule(5).start_monitor(list(copies(benchmark)), 0, "exclude", benchmark)
    for record in records:
        monitor.add_record(record)
    return benchmark, monitor.annotate(benchmark.summarise(records))


def says_no_mean(summary: Summary) -> bool:
    return any(SENTENCE in notice for notice in summary.notices)


def is_headline(found: Metric, summary: Summary) -> bool:
    """Whether the rule looked at the headline: everything was asked, so it is known."""
    headline = summary.headline
    assert found.interval is not None
    assert found.interval.low == pytest.approx(found.interval.high)
    return headline.value == pytest.approx(headline.top * (found.value or 0) / 100, rel=1e-9)


@pytest.mark.parametrize("layout", FILES, ids=lambda one: one.path.name)
def test_a_report_says_where_the_rule_looked_at_another_number(layout: Layout) -> None:
    if of(layout, judges=int("judge" in roles(layout))).unscorable:
        return
    records = list(half_right(layout))
    if layout.benchmark not in PARTLY_SCORED:
        assert all(counted_score(record, "exclude") is not None for record in records)
    benchmark, summary = asked(layout, records)
    if layout.path.stem in EVEN:
        assert says_no_mean(summary)
    else:
        assert says_no_mean(summary) is not is_headline(summary.metrics[ANYTIME], summary)
    if benchmark.name in MEANS:
        assert benchmark.headline_sums is not None
        assert not says_no_mean(summary)


@pytest.mark.parametrize("name", ["blink", "cvbench"])
def test_a_failure_makes_the_headline_another_weighted_mean(name: str) -> None:
    layout = next(one for one in FILES if one.benchmark == name)
    records = list(half_right(layout))
    failed = structs.replace(records[0], score=None, outcome="failed", unscored="failed")
    _, summary = asked(layout, [failed, *records[1:]])
    assert says_no_mean(summary)


def test_the_strata_are_the_samples_of_a_weight() -> None:
    layout = next(one for one in FILES if one.benchmark == "cvbench")
    benchmark = of(layout)
    samples = list(copies(benchmark))
    draw = random.Random(0)
    uneven = [one for one in samples if one.groups["source"] != "ADE20K" or draw.random() < 0.5]
    weights = headline_weights(benchmark, uneven)
    assert weights.headline == "weighted mean"
    assert min(weights.by_sample) == 1
    by_source: dict[str, set[float]] = {}
    for sample, weight in zip(uneven, weights.by_sample, strict=True):
        by_source.setdefault(sample.groups["source"], set()).add(round(weight, 9))
    assert all(len(each) == 1 for each in by_source.values())
    assert by_source["ADE20K"] != by_source["COCO"]


def test_comparison_stop_uses_the_plain_mean_and_reports_it() -> None:
    layout = next(one for one in FILES if one.benchmark == "pope")
    benchmark = of(layout)
    side = ComparisonStop(("a", "b")).monitor(0)
    samples, records = list(copies(benchmark)), list(half_right(layout))
    side.start_monitor(samples, 0, "exclude", benchmark)
    for record in records:
        for which in (0, 1):
            side._comparison.add_record(which, record)
    summary = side.annotate(benchmark.summarise(records))
    assert any("not at the headline f1" in notice for notice in summary.notices)
