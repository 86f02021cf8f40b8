from __future__ import annotations

import math

import numpy as np
import pytest

from snellen.stats.intervals import wilson
from snellen.stats.stratified import mean_of_shares


def test_one_share_has_its_wilson_interval() -> None:
    assert mean_of_shares([3], [10]) == wilson(3, 10)


def test_many_large_samples_have_the_normal_interval() -> None:
    interval = mean_of_shares([800] * 40, [2000] * 40)
    half = 1.96 * math.sqrt(0.4 * 0.6 / 2000 / 40)
    assert interval.low == pytest.approx(0.4 - half, abs=2e-4)
    assert interval.high == pytest.approx(0.4 + half, abs=2e-4)


def test_it_keeps_its_width_where_all_are_wrong() -> None:
    interval = mean_of_shares([0, 0], [4, 4])
    assert interval.low == 0.0
    assert 0.2 < interval.high < wilson(0, 4).high


def test_it_holds_the_truth_about_as_often_as_it_says() -> None:
    random = np.random.default_rng(7)
    sizes = random.integers(5, 30, 30)
    truth = random.uniform(0.05, 0.95, 30)
    held = 0
    for _ in range(400):
        interval = mean_of_shares(random.binomial(sizes, truth).tolist(), sizes.tolist())
        held += interval.low <= truth.mean() <= interval.high
    assert 0.92 <= held / 400 <= 0.99


@pytest.mark.parametrize(
    ("right", "sizes", "problem"),
    [
        ([], [], "at least one size"),
        ([1, 1], [2], "2 counts and 1 sizes"),
        ([1], [0], "n >= 1"),
        ([3], [2], "must lie in 0..2"),
    ],
)
def test_impossible_counts_are_refused(right: list[int], sizes: list[int], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        mean_of_shares(right, sizes)


def test_weights_say_what_each_share_counts() -> None:
    right, sizes = [3.0, 8.0, 20.0], [10, 10, 40]
    assert mean_of_shares(right, sizes, weights=[1 / 3] * 3) == mean_of_shares(right, sizes)
    alone = mean_of_shares(right[:1], sizes[:1])
    first = mean_of_shares(right, sizes, weights=[1.0, 0.0, 0.0])
    assert (first.low, first.high) == pytest.approx((alone.low, alone.high))
