"""Mean ranks and the largest of several scores, with their intervals."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.stats.intervals import wilson
from snellen.stats.rank_intervals import largest_interval, mean_rank_intervals, ranks


def test_mean_ranks_are_those_of_the_tasks() -> None:
    observed = np.array([[0.9, 0.5, 0.1], [0.8, 0.8, 0.2]])
    drawn = np.array([observed, [[0.5, 0.9, 0.1], [0.8, 0.7, 0.2]], observed, observed])
    assert ranks(observed).mean(axis=0).tolist() == [1.0, 1.5, 3.0]
    first, _, last = mean_rank_intervals(observed, drawn)
    # One of four draws has it half a rank lower.
    assert first.high == pytest.approx(1 + 1.96 * 0.25, abs=1e-3)
    assert first.low == 1.0
    assert (last.low, last.high) == (3.0, 3.0)
    with pytest.raises(ValueError, match=r"got \(2, 3\)"):
        mean_rank_intervals(observed, drawn[:, :1])


def test_mean_ranks_of_a_benchmark_drawn_anew_are_covered() -> None:
    """Six models on twelve tasks of 50 questions; of 6 x 60 ranks 0.92 is two standard errors
    below 0.95, if those of one run were as good as independent."""
    random = np.random.default_rng(2)
    shares = random.uniform(0.3, 0.8, (12, 1)) + np.linspace(-0.05, 0.05, 6)
    truth = ranks(random.binomial(50, shares, (4000, 12, 6))).mean(axis=(0, 1))
    held = []
    for _ in range(60):
        right = random.binomial(50, shares)
        drawn = random.binomial(50, right / 50, (300, 12, 6))
        held += [
            one.low <= rank <= one.high for one, rank in zip(mean_rank_intervals(right, drawn), truth, strict=True)
        ]
    assert np.mean(held) > 0.92


def test_the_largest_of_ten_equal_shares_is_covered() -> None:
    random, hits, plain = np.random.default_rng(4), 0, 0
    for _ in range(400):
        right = random.binomial(100, 0.6, 10).tolist()
        intervals = [wilson(count, 100) for count in right]
        found = largest_interval([count / 100 for count in right], intervals)
        hits += found.low <= 0.6 <= found.high
        best = intervals[right.index(max(right))]
        plain += best.low <= 0.6 <= best.high
    assert hits / 400 > 0.94
    assert plain / 400 < 0.85


def test_interval_of_the_largest_of_one_share() -> None:
    one = wilson(97, 100)
    found = largest_interval([0.97], [one])
    assert (found.low, found.high) == pytest.approx((one.low, one.high))
    certain = largest_interval([1.0, 0.0], [wilson(20, 20), wilson(0, 20)])
    assert certain.low == pytest.approx(wilson(20, 20, 0.975).low)
    assert certain.high == 1.0
    with pytest.raises(ValueError, match="got 0 shares"):
        largest_interval([], [])
