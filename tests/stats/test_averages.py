"""Intervals of averages."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.core.summary import Interval
from snellen.stats.averages import interval_of_average
from snellen.stats.intervals import wilson


def test_variances_add_on_each_side() -> None:
    found = interval_of_average([50.0, 90.0], [Interval(47, 53, "x"), Interval(86, 92, "x")])
    assert (found.low, found.high) == pytest.approx((70 - 5 / 2, 70 + 13**0.5 / 2))
    assert found.level == 0.95


def test_one_number_keeps_its_interval() -> None:
    found = interval_of_average([99.0], [Interval(94, 99.8, "x")])
    assert (found.low, found.high) == pytest.approx((94, 99.8))


def test_it_holds_the_truth() -> None:
    """Eight benchmarks of 100 to 800 samples, some near the ceiling."""
    random = np.random.default_rng(3)
    truth, sizes = np.linspace(0.4, 0.98, 8), np.arange(1, 9) * 100
    held = 0
    for right in random.binomial(sizes, truth, size=(1000, 8)).tolist():
        intervals = [wilson(count, n) for count, n in zip(right, sizes.tolist(), strict=True)]
        found = interval_of_average((np.array(right) / sizes).tolist(), intervals)
        held += found.low <= truth.mean() <= found.high
    assert held >= 935


def test_what_does_not_go_together() -> None:
    with pytest.raises(ValueError, match="expected as many"):
        interval_of_average([1.0, 2.0], [Interval(0, 2, "x")])
    with pytest.raises(ValueError, match=r"levels \[0.9, 0.95\]"):
        interval_of_average([1.0, 2.0], [Interval(0, 2, "x", 0.9), Interval(0, 2, "x")])
    with pytest.raises(ValueError, match="got 0 values"):
        interval_of_average([], [])
