"""What is said of runs that a rule ended early, and the interval of their difference."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from snellen import evaluate
from snellen.analysis.comparison.paired import compare
from snellen.analysis.comparison.stopped_early import has_stopped_early, interval_at_stop
from snellen.api.why import explain
from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.core.benchmark import Variant
from snellen.core.model import Capabilities, Identity
from snellen.core.request import Request
from snellen.report.documents.comparison import notices, verdicts
from snellen.report.documents.why import observed_table
from snellen.stats.confidence_sequences import interval_of_differences
from snellen.store.runs import RunFolder


class Chancy:
    """Right with a chance of its own, by the question's id."""

    capabilities = Capabilities(inputs=frozenset({"text"}))
    concurrency = 1

    def __init__(self, name: str, share: float) -> None:
        self.identity = Identity("test", name)
        self.share = share

    async def answer(self, request: Request) -> str:
        lot = random.Random(f"{self.identity.name} {request.ref.sample}")
        return "Yes" if lot.random() < self.share else "No"


def held(folder: Path, until: str | None, *shares: float, count: int = 1000) -> list[RunFolder]:
    """Runs of models a, b, ... with these chances on yes/no questions."""
    data = folder / "q.tsv"
    rows = [f"{at}\tIs it {at}?\tYes" for at in range(count)]
    data.write_text("\n".join(["index\tquestion\tanswer", *rows]) + "\n")
    models = [Chancy("ab"[at], share) for at, share in enumerate(shares)]
    benchmark = open_benchmark(str(data), Variant())
    out = folder / str(until)
    return list(evaluate(models, [benchmark], until=until, out=out, html=False).runs)


def test_difference_that_stopped_the_runs_has_an_anytime_interval(tmp_path: Path) -> None:
    runs = held(tmp_path, "A>B", 0.9, 0.7)
    assert all(has_stopped_early(run.info) for run in runs)
    found = compare(runs, ["a", "b"], common=True)
    (pair,) = found.pairs
    assert pair.anytime is not None
    assert pair.interval is not None
    assert pair.anytime.low < -20 < pair.anytime.high < 0
    assert pair.anytime.high - pair.anytime.low > pair.interval.high - pair.interval.low
    told = " ".join(notices(found))
    assert "a and b stopped early by --until a>b, which looks at the difference" in told
    assert "the 95 % anytime interval of the difference is" in " ".join(verdicts(found))


def test_why_reports_the_anytime_interval(tmp_path: Path) -> None:
    runs = held(tmp_path, "A>B", 0.9, 0.7)
    found = explain(runs[0].path, runs[1].path).why
    assert found.observed.anytime is not None
    assert found.observed.anytime.low < -20 < found.observed.anytime.high < 0
    assert any("stopped early by --until a>b" in notice for notice in found.notices)
    assert "anytime interval" in [column.name for column in observed_table(found).columns]


def test_no_anytime_interval_for_complete_runs(tmp_path: Path) -> None:
    runs = held(tmp_path, None, 0.9, 0.7, count=60)
    assert not any(has_stopped_early(run.info) for run in runs)
    found = compare(runs, ["a", "b"])
    assert found.pairs[0].anytime is None
    assert "stopped early" not in " ".join((*notices(found), *verdicts(found)))


def test_a_rule_about_one_score_is_named(tmp_path: Path) -> None:
    runs = held(tmp_path, "±8", 0.9, 0.7)
    found = compare(runs, ["a", "b"], common=True)
    told = list(notices(found))
    assert any(notice.endswith("a and b stopped early by --until ±8") for notice in told)
    assert found.pairs[0].anytime is not None


def test_a_verdict_needs_the_anytime_interval_too(tmp_path: Path) -> None:
    """Where a run stopped early, p alone does not make a winner."""
    runs = held(tmp_path, "±10", 0.6, 0.5)
    found = compare(runs, ["a", "b"], common=True)
    (pair,) = found.pairs
    assert pair.p_holm is not None
    assert pair.p_holm < 0.05
    assert pair.anytime is not None
    assert pair.anytime.low < 0 < pair.anytime.high
    (sentence,) = verdicts(found)
    assert "cannot be told apart" in sentence


def test_the_interval_does_not_depend_on_the_order() -> None:
    draw = np.random.default_rng(3)
    totals, sizes = draw.integers(-2, 3, 80).astype(float), np.full(80, 2.0)
    found = interval_of_differences(totals.tolist(), sizes.tolist(), 200)
    turned = interval_of_differences(totals[::-1].tolist(), sizes.tolist(), 200)
    assert (found.low, found.high) == pytest.approx((turned.low, turned.high))
    mean = totals.sum() / sizes.sum()
    assert -1 <= found.low < mean < found.high <= 1


def test_no_clusters_are_refused() -> None:
    with pytest.raises(ValueError, match="got 0 totals and 0 sizes"):
        interval_of_differences([], [], 10)


def test_runs_without_a_rule_have_none() -> None:
    assert interval_at_stop([None, None], np.ones(4), np.arange(4)) is None
