"""The bootstrap of sums beside the general bootstrap and the truth."""

from __future__ import annotations

import math

import pytest

from snellen.stats.intervals import bootstrap
from snellen.stats.resampling import percentile_interval, resampled_sums


def test_sums_of_resampled_rows_have_the_right_mean_and_spread() -> None:
    rows = [(float(value), 1.0) for value in range(50)]
    sums = resampled_sums(rows, "seed", draws=4000)
    assert sums.shape == (4000, 2)
    assert set(sums[:, 1]) == {50.0}
    variance = sum((value - 24.5) ** 2 for value in range(50))
    assert sums[:, 0].mean() == pytest.approx(sum(range(50)), rel=0.01)
    assert sums[:, 0].std() == pytest.approx(math.sqrt(variance), rel=0.05)


def test_agrees_with_the_general_bootstrap() -> None:
    rows = [(float(value % 7), 2.0) for value in range(80)]
    ours = percentile_interval(100 * resampled_sums(rows, "a")[:, 0] / 160)
    other = bootstrap(rows, lambda some: 100 * sum(row[0] for row in some) / 160, seed=1)
    assert ours is not None
    assert other is not None
    assert (ours.low, ours.high) == pytest.approx((other.low, other.high), abs=6)


def test_the_same_seed_gives_the_same_draws() -> None:
    rows = [(1.0,), (2.0,), (4.0,)]
    assert (resampled_sums(rows, "a") == resampled_sums(rows, "a")).all()
    assert (resampled_sums(rows, "a") != resampled_sums(rows, "b")).any()


def test_no_interval_where_most_draws_are_undefined() -> None:
    import numpy as np

    assert percentile_interval(np.array([1.0, math.nan, math.nan])) is None
    assert percentile_interval(np.array([1.0, 1.0, 1.0])) is None
    with pytest.raises(ValueError, match="needs rows"):
        resampled_sums([], "a")
