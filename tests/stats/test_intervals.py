"""Intervals against scipy, and their coverage in simulations."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from snellen.stats.intervals import score_interval, standard_error, wilson
from snellen.stats.student_t import two_sided_quantile


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
    ("successes", "n", "level"), [(0, 0, 0.95), (-1, 5, 0.95), (6, 5, 0.95), (math.nan, 5, 0.95), (1, 5, 1.0)]
)
def test_wilson_refuses_values_that_are_not_proportions(successes: float, n: int, level: float) -> None:
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

    assert two_sided_quantile(level, freedom) == pytest.approx(t.ppf(0.5 + level / 2, freedom), rel=1e-8)


def test_the_error_of_clusters_of_one_is_that_of_the_mean() -> None:
    from scipy.stats import sem

    values = [0.0, 1.0, 1.0, 0.5, 0.25, 1.0]
    assert standard_error(values) == pytest.approx(sem(values))
    assert standard_error(values, ["a", "b", "", "", "", ""]) == pytest.approx(sem(values))
    # As many values that come by twos: as if there were half of them.
    twice = [value for value in values for _ in range(2)]
    names = [f"{at // 2}" for at in range(12)]
    assert standard_error(twice, names) == pytest.approx(sem(values))
    assert standard_error([1.0, 0.0], ["a", "a"]) is None
    with pytest.raises(ValueError, match="got none"):
        standard_error([])
    with pytest.raises(ValueError, match="value 1 is nan"):
        standard_error([1.0, math.nan])
    with pytest.raises(ValueError, match="2 values but 1 clusters"):
        standard_error([1.0, 0.0], ["a"])


def answers(
    rng: np.random.Generator, sizes: Sequence[int], share: float, alike: float
) -> tuple[list[float], list[str]]:
    """Right and wrong answers about pictures with that many questions; each picture has its own
    share of right ones, and `alike` is the correlation within it."""
    spread = (1 - alike) / alike
    levels = rng.beta(share * spread, (1 - share) * spread, len(sizes))
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    right = rng.random(len(clusters)) < levels[clusters]
    return right.astype(float).tolist(), [f"p{one}" for one in clusters]


def bounds(scores: Sequence[float], clusters: Sequence[str] = ()) -> tuple[float, float]:
    found = score_interval(scores, clusters)
    assert found is not None
    return found.low, found.high


@pytest.mark.parametrize(
    ("sizes", "alike", "share", "naive"),
    [([4] * 60, 0.3, 0.7, 0.87), ([1] * 150 + [2] * 60, 0.5, 0.3, 0.95), ([20] * 50, 0.5, 0.99, 0.7)],
    ids=["fours", "few pairs", "near the ceiling"],
)
def test_answers_about_shared_pictures_are_covered(
    sizes: Sequence[int], alike: float, share: float, naive: float
) -> None:
    """Of 1,000 runs at 95 %, 0.93 is three standard errors below."""
    rng = np.random.default_rng([len(sizes), int(10 * share)])
    runs, hits, plain = 1000, 0, 0
    for _ in range(runs):
        values, clusters = answers(rng, sizes, share, alike)
        low, high = bounds(values, clusters)
        alone = wilson(sum(values), len(values))
        hits += low <= share <= high
        plain += alone.low <= share <= alone.high
    assert hits / runs > 0.93
    assert plain / runs < naive


def test_clusters_never_narrow_the_interval() -> None:
    """Always one of two right: the mean is known better than from 120 draws, and 120 is said."""
    pairs = [f"p{at // 2}" for at in range(120)]
    alone = wilson(60, 120)
    low, high = bounds([0.0, 1.0] * 60, pairs)
    assert alone.high - alone.low < high - low < 1.1 * (alone.high - alone.low)
    # Twice the same answer tells as much as one.
    twice = [float(at % 3 > 0) for at in range(60) for _ in range(2)]
    once = wilson(40, 60)
    assert bounds(twice, pairs) == pytest.approx((once.low, once.high), abs=0.01)
    assert bounds([1.0] * 120, pairs) == pytest.approx((wilson(60, 60).low, 1.0))
    assert bounds([1.0, 0.0, 1.0], ["a"] * 3)[0] < 0.2


def test_fewer_images_widen_the_interval_of_a_perfect_score() -> None:
    uneven = [1.0] * 100, [f"p{at // 10}" if at < 50 else "" for at in range(100)]
    even = [1.0] * 100, [f"p{at // 2}" for at in range(100)]
    assert bounds(*uneven)[0] < bounds(*even)[0] < wilson(100, 100).low


def near_misses(rng: np.random.Generator, n: int, zeros: float, near: float) -> NDArray[np.float64]:
    """Scores of 1, some of 0.85 to 0.95, and a few of 0."""
    drawn = rng.random(n)
    scores = np.where(drawn < zeros + near, 0.85 + 0.1 * rng.random(n), 1.0)
    return np.where(drawn < zeros, 0.0, scores)


@pytest.mark.parametrize(("zeros", "near", "n"), [(0.01, 0.1, 50), (0.01, 0.1, 100), (0.005, 0.05, 200)])
def test_partial_credit_near_the_ceiling_is_covered(zeros: float, near: float, n: int) -> None:
    rng, truth = np.random.default_rng(3), 1 - zeros - 0.1 * near
    hits = 0
    for _ in range(1000):
        low, high = bounds(near_misses(rng, n, zeros, near).tolist())
        hits += low <= truth <= high
    assert hits / 1000 > 0.94


@settings(max_examples=300, deadline=None)
@given(st.lists(st.floats(0.5, 1), min_size=1, max_size=40), st.data())
def test_a_lower_score_never_raises_the_lower_end(scores: list[float], data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(scores) - 1))
    worse = [*scores]
    worse[place] = data.draw(st.floats(0, scores[place]))
    assume(sum(worse) / len(worse) >= 2 / 3)
    assert bounds(worse)[0] <= bounds(scores)[0] + 1e-12


def test_the_worse_of_two_models_has_no_narrower_interval_near_the_ceiling() -> None:
    ends = [bounds([1.0] * 99 + [last])[0] for last in (1.0, 0.9999, 0.99, 0.9, 0.5, 0.01, 0.0)]
    assert ends == sorted(ends, reverse=True)
    assert ends[0] == pytest.approx(wilson(100, 100).low)
    assert ends[2] > 0.96
    assert ends[-1] == pytest.approx(wilson(99, 100).low)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 5)), min_size=1, max_size=30), st.booleans())
def test_no_width_is_zero(drawn: list[tuple[float, int]], together: bool) -> None:
    scores = [score for score, _ in drawn]
    clusters = [f"p{name}" if name else "" for _, name in drawn] if together else []
    found = score_interval(scores, clusters)
    if found is None:
        assert len(set(clusters)) == 1
        assert len(set(scores)) > 1
        return
    mean = sum(scores) / len(scores)
    assert -1e-12 <= found.low <= mean + 1e-12
    assert mean - 1e-12 <= found.high <= 1 + 1e-12
    assert found.high - found.low > 0.05 / len(scores)


def test_scores_far_from_the_ends_have_the_interval_of_their_spread() -> None:
    scores = np.random.default_rng(5).beta(6, 4, 3000)
    low, high = bounds(scores.tolist())
    assert high - low == pytest.approx(2 * 1.96 * scores.std() / np.sqrt(3000), rel=0.1)


def test_unclustered_answers_have_the_wilson_interval() -> None:
    scores = [1.0, 0.0, 1.0, 1.0]
    assert score_interval(scores) == wilson(3, 4)
    assert score_interval(scores, ["", "", "", ""]) == wilson(3, 4)
    assert score_interval(scores, ["a", "b", "", "c"]) == wilson(3, 4)
    held = score_interval(scores, ["a", "a", "", "b"])
    assert held is not None
    assert held.method == "wilson, clustered"
    assert score_interval([]) is None
