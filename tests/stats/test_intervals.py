"""Intervals against scipy, and their coverage in simulations."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snellen.stats.intervals import (
    clustered_mean,
    clustered_wilson,
    effective_size,
    score_interval,
    wilson,
)
from snellen.stats.student import two_sided_quantile


@settings(max_examples=100, deadline=None)
@given(st.data(), st.integers(1, 3000), st.sampled_from([0.8, 0.9, 0.95, 0.99]))
def test_wilson_is_scipys(data: st.DataObject, n: int, level: float) -> None:
    from scipy.stats import binomtest

    successes = data.draw(st.integers(0, n))
    expected = binomtest(successes, n).proportion_ci(level, method="wilson")
    found = wilson(successes, n, level)
    assert found.low == pytest.approx(expected.low, abs=1e-9)
    assert found.high == pytest.approx(expected.high, abs=1e-9)
    assert (found.method, found.level) == ("wilson", level)


@pytest.mark.parametrize(
    ("successes", "n", "level"),
    [(0, 0, 0.95), (-1, 5, 0.95), (6, 5, 0.95), (math.nan, 5, 0.95), (1, 5, 1.0)],
)
def test_wilson_refuses_what_is_no_proportion(successes: float, n: int, level: float) -> None:
    with pytest.raises(ValueError, match=r"got"):
        wilson(successes, n, level)


def test_wilson_covers() -> None:
    n, rng = 150, np.random.default_rng(7)
    shares = rng.uniform(0.05, 0.95, 20_000)
    hits = 0
    for share, right in zip(shares.tolist(), rng.binomial(n, shares).tolist(), strict=True):
        interval = wilson(right, n)
        hits += interval.low <= share <= interval.high
    assert hits / 20_000 == pytest.approx(0.95, abs=0.01)


@pytest.mark.parametrize("freedom", [1, 2, 3, 10, 57, 199, 200, 10_000])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99])
def test_student_quantiles_are_scipys(level: float, freedom: int) -> None:
    from scipy.stats import t

    assert two_sided_quantile(level, freedom) == pytest.approx(
        t.ppf(0.5 + level / 2, freedom), rel=1e-8
    )


def test_clusters_of_one_give_the_t_interval() -> None:
    from scipy.stats import sem, t

    values = [0.0, 1.0, 1.0, 0.5, 0.25, 1.0]
    found = clustered_mean(values, range(len(values)))
    low, high = t.interval(0.95, len(values) - 1, sum(values) / len(values), sem(values))
    assert (found.low, found.high) == (pytest.approx(low), pytest.approx(high))


def test_clustered_mean_covers_where_values_repeat() -> None:
    rng = random.Random(11)
    hits = naive = 0
    for _ in range(8000):
        values, clusters = [], []
        for cluster in range(60):
            level = rng.gauss(0.5, 0.3)
            for _ in range(4):
                values.append(level + rng.gauss(0, 0.1))
                clusters.append(cluster)
        found = clustered_mean(values, clusters)
        hits += found.low <= 0.5 <= found.high
        alone = clustered_mean(values, range(len(values)))
        naive += alone.low <= 0.5 <= alone.high
    assert hits / 8000 == pytest.approx(0.95, abs=0.01)
    assert naive / 8000 < 0.8


def test_clustered_mean_refuses_bad_input() -> None:
    with pytest.raises(ValueError, match="got none"):
        clustered_mean([], [])
    with pytest.raises(ValueError, match="1 clusters"):
        clustered_mean([1.0, 0.0], ["a"])
    with pytest.raises(ValueError, match="at least 2 clusters"):
        clustered_mean([1.0, 0.0], ["a", "a"])
    with pytest.raises(ValueError, match="value 1 is nan"):
        clustered_mean([1.0, math.nan], ["a", "b"])


def answers(
    rng: np.random.Generator, sizes: Sequence[int], share: float, alike: float
) -> tuple[list[float], list[int]]:
    """Right and wrong answers about pictures with that many questions; each picture has its own
    share of right ones, and `alike` is the correlation within it."""
    spread = (1 - alike) / alike
    levels = rng.beta(share * spread, (1 - share) * spread, len(sizes))
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    right = rng.random(len(clusters)) < levels[clusters]
    return right.astype(float).tolist(), clusters.tolist()


@pytest.mark.parametrize("share", [0.3, 0.7, 0.9])
@pytest.mark.parametrize(
    ("sizes", "alike", "naive"),
    [([4] * 60, 0.3, 0.87), ([1] * 150 + [2] * 60, 0.5, 0.95), ([2, 3, 4] * 30, 0.2, 0.92)],
    ids=["fours", "few pairs", "uneven"],
)
def test_the_clustered_wilson_interval_covers(
    sizes: Sequence[int], alike: float, naive: float, share: float
) -> None:
    rng = np.random.default_rng([len(sizes), int(10 * share)])
    runs, hits, plain = 4000, 0, 0
    for _ in range(runs):
        values, clusters = answers(rng, sizes, share, alike)
        found, alone = clustered_wilson(values, clusters), wilson(sum(values), len(values))
        hits += found.low <= share <= found.high
        plain += alone.low <= share <= alone.high
    assert hits / runs == pytest.approx(0.95, abs=0.0125)
    assert plain / runs < naive


def test_the_effective_size_falls_with_the_clusters() -> None:
    twice = [float(at % 3 > 0) for at in range(60) for _ in range(2)]
    pairs = [at // 2 for at in range(120)]
    assert effective_size(twice, range(120)) == 120
    # A little less than the 60 pictures, because the variance is taken from no more of them.
    assert 55 < effective_size(twice, pairs) < 60
    # Always one of the two right: the mean is known better than from 120 draws, and 120 is said.
    assert effective_size([0.0, 1.0] * 60, pairs) == 120
    assert effective_size([1.0] * 120, pairs) == 60
    assert effective_size([1.0, 0.0, 1.0], ["a", "a", "a"]) == 1


def test_answers_that_stand_alone_have_wilsons_interval() -> None:
    scores = [1.0, 0.0, 1.0, 1.0]
    assert score_interval(scores) == wilson(3, 4)
    assert score_interval(scores, ["", "", "", ""]) == wilson(3, 4)
    assert score_interval(scores, ["a", "b", "", "c"]) == wilson(3, 4)
    held = score_interval(scores, ["a", "a", "", "b"])
    assert held is not None
    assert held.method == "wilson, clustered"
    assert score_interval([]) is None
