from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from snellen.core.summary import Interval
from snellen.stats.intervals import clustered_wilson, wilson
from snellen.stats.stratified import mean_of_shares


def of_counts(
    right: Sequence[float], sizes: Sequence[int], weights: Sequence[float] | None = None
) -> Interval:
    counts = list(zip(right, sizes, strict=True))
    return mean_of_shares(
        [count / size for count, size in counts],
        [wilson(count, size) for count, size in counts],
        weights=weights,
    )


def test_one_share_has_its_wilson_interval() -> None:
    assert of_counts([3], [10]) == wilson(3, 10)


def test_many_large_samples_have_the_normal_interval() -> None:
    interval = of_counts([800] * 40, [2000] * 40)
    half = 1.96 * math.sqrt(0.4 * 0.6 / 2000 / 40)
    assert interval.low == pytest.approx(0.4 - half, abs=2e-4)
    assert interval.high == pytest.approx(0.4 + half, abs=2e-4)


def test_it_keeps_its_width_where_all_are_wrong() -> None:
    interval = of_counts([0, 0], [4, 4])
    assert interval.low == 0.0
    assert 0.2 < interval.high < wilson(0, 4).high


def test_it_holds_the_truth_about_as_often_as_it_says() -> None:
    random = np.random.default_rng(7)
    sizes = random.integers(5, 30, 30)
    truth = random.uniform(0.05, 0.95, 30)
    held = 0
    for _ in range(400):
        interval = of_counts(random.binomial(sizes, truth).tolist(), sizes.tolist())
        held += interval.low <= truth.mean() <= interval.high
    assert 0.92 <= held / 400 <= 0.99


@pytest.mark.parametrize(("shares", "problem"), [([], "0 shares"), ([0.5, 0.5], "2 shares and 1")])
def test_each_share_has_an_interval(shares: list[float], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        mean_of_shares(shares, [wilson(1, 2)][: len(shares)])


def test_shares_over_clusters_make_the_mean_one_over_clusters() -> None:
    plain = wilson(4, 8)
    twice = clustered_wilson([1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0], [1, 1, 2, 2, 3, 3, 4, 4])
    found = mean_of_shares([0.5, 0.5], [plain, twice])
    assert found.method == "wilson, clustered, combined"
    assert twice.high > found.high > mean_of_shares([0.5, 0.5], [plain, plain]).high


def test_weights_say_what_each_share_counts() -> None:
    right, sizes = [3.0, 8.0, 20.0], [10, 10, 40]
    assert of_counts(right, sizes, weights=[1 / 3] * 3) == of_counts(right, sizes)
    alone = of_counts(right[:1], sizes[:1])
    first = of_counts(right, sizes, weights=[1.0, 0.0, 0.0])
    assert (first.low, first.high) == pytest.approx((alone.low, alone.high))
