"""Draws that are all the same tell what one tells, whatever a benchmark's numbers are made of."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.differential.compare import _scored
from tests.differential.sets import FOLDER, read_set

from snellen.benchmarks.protocol.repeats import summary_of
from snellen.core.benchmark import final_summary
from snellen.core.record import Record, merge_draws
from snellen.core.summary import Metric
from snellen.store.runs import compact_records

SETS = ("a-bench", "docvqa", "mme.authors", "pope.authors", "hallusionbench", "mmt-bench", "wemath")


def stored(name: str) -> Path:
    return next(path for path in sorted(FOLDER.glob("*.jsonl.gz")) if path.name.startswith(name))


def width(metric: Metric) -> float:
    return 0.0 if metric.interval is None else metric.interval.high - metric.interval.low


@pytest.mark.parametrize("name", SETS)
def test_draws_that_are_the_same_change_no_number(name: str, tmp_path: Path) -> None:
    judged = read_set(stored(name))
    scored = _scored(judged, judged.rows[:300], tmp_path)
    once = final_summary(scored.benchmark, compact_records(scored.records))
    thrice = [merge_draws([record, record, record]) for record in scored.records]
    summary = summary_of(scored.benchmark, compact_records(thrice))
    assert values(summary.metrics) == pytest.approx(values(once.metrics), nan_ok=True)
    assert summary.groups.keys() == once.groups.keys()
    for column, groups in once.groups.items():
        assert values(summary.groups[column]) == pytest.approx(values(groups), nan_ok=True)
    # Three draws that agree are no more questions than one.
    assert width(summary.headline) == pytest.approx(width(once.headline), rel=0.02)
    assert summary.outcomes == {name: 3 * count for name, count in once.outcomes.items()}
    assert (summary.n, summary.total) == (once.n, once.total)


def values(metrics: dict[str, Metric]) -> dict[str, float]:
    return {name: float("nan") if one.value is None else one.value for name, one in metrics.items()}


def test_a_single_draw_is_itself() -> None:
    record = Record("1", "open", "?", "answered", score=1.0)
    assert merge_draws([record]) is record
