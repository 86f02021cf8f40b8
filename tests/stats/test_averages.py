"""Intervals of averages."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.core.summary import Interval
from snellen.stats.averages import difference_of_averages, interval_of_average
from snellen.stats.intervals import wilson
from snellen.stats.paired import PairedMean, paired_mean


def test_variances_add_on_each_side() -> None:
    found = interval_of_average([50.0, 90.0], [Interval(47, 53, "x"), Interval(86, 92, "x")])
    assert (found.low, found.high) == pytest.approx((70 - 5 / 2, 70 + 13**0.5 / 2))
    assert found.level == 0.95


def test_average_of_one_number_keeps_its_interval() -> None:
    found = interval_of_average([99.0], [Interval(94, 99.8, "x")])
    assert (found.low, found.high) == pytest.approx((94, 99.8))


def test_interval_of_average_covers_the_truth() -> None:
    """Eight benchmarks of 100 to 800 samples, some near the ceiling."""
    random = np.random.default_rng(3)
    truth, sizes = np.linspace(0.4, 0.98, 8), np.arange(1, 9) * 100
    held = 0
    for right in random.binomial(sizes, truth, size=(1000, 8)).tolist():
        intervals = [wilson(count, n) for count, n in zip(right, sizes.tolist(), strict=True)]
        found = interval_of_average((np.array(right) / sizes).tolist(), intervals)
        held += found.low <= truth.mean() <= found.high
    assert held >= 935


def test_refuses_mismatched_values_and_intervals() -> None:
    with pytest.raises(ValueError, match="expected as many"):
        interval_of_average([1.0, 2.0], [Interval(0, 2, "x")])
    with pytest.raises(ValueError, match=r"levels \[0.9, 0.95\]"):
        interval_of_average([1.0, 2.0], [Interval(0, 2, "x", 0.9), Interval(0, 2, "x")])
    with pytest.raises(ValueError, match="got 0 values"):
        interval_of_average([], [])


def paired(differences: np.ndarray, size: int = 1) -> PairedMean:
    return paired_mean(differences, np.arange(len(differences)) // size)


def test_the_difference_of_two_averages_is_paired_by_benchmark() -> None:
    random = np.random.default_rng(5)
    parts = [paired(random.normal(0.1, 0.4, n).clip(-1, 1), 4) for n in (200, 400)]
    found = difference_of_averages(parts, [0.5, 0.5])
    assert found.mean == pytest.approx((parts[0].mean + parts[1].mean) / 2)
    assert found.interval is not None
    assert found.p is not None
    error = 0.5 * np.hypot(parts[0].error or 0, parts[1].error or 0)
    assert found.interval.high - found.mean == pytest.approx(1.96 * error, rel=0.02)
    assert (found.p < 0.05) == (found.interval.low > 0 or found.interval.high < 0)


def test_equal_systems_are_separated_at_most_at_the_level() -> None:
    random = np.random.default_rng(8)
    told = 0
    for _ in range(600):
        parts = [paired(random.choice([-1.0, 0.0, 1.0], size=60, p=[0.15, 0.7, 0.15]), 3) for _ in range(3)]
        p = difference_of_averages(parts, [1 / 3] * 3).p
        told += p is not None and p < 0.05
    assert told <= 50


def test_no_test_with_few_clusters_or_no_spread() -> None:
    few = paired(np.array([0.0, 1.0, 0.0]))
    same = paired(np.zeros(50))
    assert difference_of_averages([few], [1.0])[1:] == (None, None)
    assert difference_of_averages([same], [1.0])[1:] == (None, None)
    with pytest.raises(ValueError, match="got 1 parts and 2 weights"):
        difference_of_averages([same], [0.5, 0.5])
