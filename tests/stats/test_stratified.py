"""Means of group means: against the plain rule, statsmodels, and the truth in simulations."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
import pytest
from numpy.typing import NDArray

from snellen.core.summary import Interval
from snellen.stats.intervals import score_interval, wilson
from snellen.stats.stratified import group_sums, mean_of_groups
from snellen.stats.student_t import two_sided_quantile

Z = NormalDist().inv_cdf(0.975)
Groups = Sequence[tuple[Sequence[float], Sequence[str]]]


def interval(groups: Groups, weights: Sequence[float] | None = None) -> Interval:
    return mean_of_groups([group_sums(*group) for group in groups], weights=weights)


def of_counts(right: Sequence[int], sizes: Sequence[int], weights: Sequence[float] | None = None) -> Interval:
    """Of groups whose samples stand alone."""
    return interval(
        [([1.0] * count + [0.0] * (size - count), [""] * size) for count, size in zip(right, sizes, strict=True)],
        weights,
    )


def drawn(
    random: np.random.Generator,
    pictures: NDArray[np.int64],
    groups: NDArray[np.int64],
    shares: NDArray[np.float64],
    alike: float,
) -> list[tuple[list[float], list[str]]]:
    """Right and wrong answers to questions about these `pictures` in these `groups`, right as often
    as `shares` says; a picture is hard or easy in all groups, by the correlation `alike` of what
    lies behind its answers."""
    picture = random.standard_normal(pictures.max() + 1)[pictures]
    behind = np.sqrt(alike) * picture + np.sqrt(1 - alike) * random.standard_normal(len(pictures))
    bars = np.array([NormalDist().inv_cdf(share) for share in shares.tolist()])
    right = (behind < bars[groups]).astype(float)
    return [(right[groups == at].tolist(), [f"p{one}" for one in pictures[groups == at]]) for at in range(len(shares))]


def apart(groups: Groups) -> list[tuple[Sequence[float], list[str]]]:
    """The same answers as if no picture stood in two groups."""
    return [(scores, [f"{at} {name}" for name in names]) for at, (scores, names) in enumerate(groups)]


def covered(
    pictures: NDArray[np.int64], groups: NDArray[np.int64], shares: NDArray[np.float64], alike: float, runs: int
) -> tuple[float, float]:
    """How often the interval holds the truth, and how often it would if each group had pictures of
    its own."""
    random, truth = np.random.default_rng(7), float(shares.mean())
    hits = naive = 0
    for _ in range(runs):
        found = drawn(random, pictures, groups, shares, alike)
        one, other = interval(found), interval(apart(found))
        hits += one.low <= truth <= one.high
        naive += other.low <= truth <= other.high
    return hits / runs, naive / runs


def test_single_group_has_the_interval_of_a_plain_mean() -> None:
    random = np.random.default_rng(1)
    for _ in range(200):
        n = int(random.integers(1, 40))
        right = (random.random(n) < 0.6).astype(float).tolist()
        names = [f"p{one}" for one in random.integers(0, 20, n)]
        for clusters in (names, [""] * n):
            expected, found = score_interval(right, clusters), interval([(right, clusters)])
            assert expected is not None
            assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
            assert found.method == expected.method


@pytest.mark.parametrize("weights", [None, [0.5, 0.25, 0.125, 0.125]])
def test_stratified_variance_agrees_with_statsmodels(weights: list[float] | None) -> None:
    """A regression on the groups has their means as coefficients, and the cluster-robust variance
    of their mean with the correction G/(G-1) and another, (n-1)/(n-k), that is taken out."""
    from statsmodels.api import OLS

    random = np.random.default_rng(3)
    pictures, groups = random.integers(0, 700, 4000), random.integers(0, 4, 4000)
    shares = np.array([0.4, 0.55, 0.6, 0.8])
    found = drawn(random, pictures, groups, shares, 0.5)
    right = np.concatenate([scores for scores, _ in found])
    names = np.array([name for _, names in found for name in names])
    dummies = np.repeat(np.eye(4), [len(scores) for scores, _ in found], axis=0)
    _, numbers = np.unique(names, return_inverse=True)
    fit = OLS(right, dummies).fit(cov_type="cluster", cov_kwds={"groups": numbers})
    each = np.array(weights or [0.25] * 4)
    mean = float(each @ fit.params)
    variance = float(each @ fit.cov_params() @ each) * (4000 - 4) / (4000 - 1)
    few = Z / two_sided_quantile(0.95, len(set(numbers.tolist())) - 1)
    size = mean * (1 - mean) / variance * few**2
    expected, ours = wilson(size * mean, size), interval(found, weights)
    # Each group borrows one sample of a thousand, and is corrected for its own pictures.
    assert ours.low == pytest.approx(expected.low, abs=3e-4)
    assert ours.high == pytest.approx(expected.high, abs=3e-4)
    without = interval(apart(found), weights)
    assert ours.high - ours.low > 1.2 * (without.high - without.low)


def test_images_shared_by_all_groups_keep_coverage() -> None:
    """Five questions about each of 80 pictures, one in each group. Of 500 runs at 95 % a share
    between 0.92 and 0.98 is within three standard errors."""
    pictures, groups = np.repeat(np.arange(80), 5), np.tile(np.arange(5), 80)
    shares = np.array([0.62, 0.66, 0.7, 0.74, 0.78])
    hits, naive = covered(pictures, groups, shares, 0.4, 500)
    assert 0.92 <= hits <= 0.98
    assert naive < 0.88


def test_images_shared_by_some_groups_keep_coverage() -> None:
    """One to four questions about each of 200 pictures, spread over ten groups by chance, also two
    in one group."""
    random = np.random.default_rng(1)
    pictures = np.repeat(np.arange(200), random.integers(1, 5, 200))
    groups = random.integers(0, 10, len(pictures))
    hits, naive = covered(pictures, groups, np.linspace(0.35, 0.85, 10), 0.6, 500)
    assert 0.92 <= hits <= 0.98
    assert naive < hits - 0.03


@pytest.mark.parametrize(("size", "each"), [(6, 3), (8, 4), (3, 3)])
def test_pictures_within_small_groups_are_covered(size: int, each: int) -> None:
    """One or two pictures in each of 60 groups, all questions about one as right as the picture is
    easy. Of 300 runs 0.91 is three standard errors below 0.95."""
    random = np.random.default_rng([size, each])
    names = [f"{at // each}" for at in range(size)]
    shares = random.uniform(0.3, 0.8, 60)
    hits = 0
    for _ in range(300):
        easy = random.beta(shares, 1 - shares, (size // each, 60))
        right = (random.random((size, 60)) < np.repeat(easy, each, axis=0)).astype(float)
        groups = [(right[:, at].tolist(), [f"{at}/{name}" for name in names]) for at in range(60)]
        found = interval(groups)
        hits += found.low <= shares.mean() <= found.high
    assert hits / 300 > 0.91


@pytest.mark.parametrize(("sizes", "share"), [([3, 997], 0.9), ([10] * 10, 0.97)])
def test_a_tiny_group_is_not_taken_for_certain(sizes: list[int], share: float) -> None:
    """Its few samples, all right, could have been others."""
    random = np.random.default_rng(len(sizes))
    hits = 0
    for _ in range(400):
        found = of_counts(random.binomial(sizes, share).tolist(), sizes)
        hits += found.low <= share <= found.high
    assert hits / 400 > 0.92


@pytest.mark.parametrize("size", [4, 20])
def test_many_small_groups_are_covered(size: int) -> None:
    """Limits leave a few samples of each subtask; what groups borrow makes it no narrower."""
    random = np.random.default_rng(5)
    shares = random.uniform(0.05, 0.98, 100)
    hits = 0
    for _ in range(400):
        right = random.binomial(size, shares).tolist()
        found = of_counts(right, [size] * 100)
        hits += found.low <= shares.mean() <= found.high
    # Three standard errors below 0.95; above, because a group of four may seem like the others.
    assert 0.917 <= hits / 400 <= 0.995


def test_many_large_groups_have_the_normal_interval() -> None:
    found = of_counts([1400, 200] * 20, [2000] * 40)
    half = Z * np.sqrt((0.7 * 0.3 + 0.1 * 0.9) / 2 / 2000 / 40)
    assert found.low == pytest.approx(0.4 - half, abs=2e-4)
    assert found.high == pytest.approx(0.4 + half, abs=2e-4)
    assert found.method == "wilson, combined"


def test_perfect_group_keeps_uncertainty() -> None:
    found = of_counts([50, 0], [50, 50])
    assert found.low < 0.485
    assert found.high > 0.515
    none = of_counts([0, 0], [4, 4])
    assert (none.low, none.high) == (0.0, pytest.approx(wilson(0, 8).high))


def test_where_all_are_right_clusters_count() -> None:
    both = ([1.0] * 4, ["a", "a", "b", "b"])
    found, other = interval([both, both]), interval([both, ([1.0] * 4, ["c", "c", "d", "d"])])
    assert (found.low, found.high) == pytest.approx((wilson(2, 2).low, 1.0))
    assert (other.low, other.high) == pytest.approx((wilson(4, 4).low, 1.0))
    assert found.method == "wilson, clustered, combined"


def test_pictures_right_in_one_group_and_wrong_in_the_other_narrow_nothing() -> None:
    names = [f"p{at}" for at in range(60)]
    right = [float(at % 2) for at in range(60)]
    wrong = [1 - score for score in right]
    groups: Groups = [(right, names), (wrong, names)]
    found, alone = interval(groups), interval([(scores, [""] * 60) for scores, _ in groups])
    # Student's t with 59 degrees of freedom is 2 % above the normal distribution's quantile.
    assert (found.low, found.high) == pytest.approx((alone.low, alone.high), rel=0.006)
    same = interval([(right, names), (right, names)])
    # As much as one of the two groups tells, and a little less for the few pictures.
    assert same.high - same.low == pytest.approx(2 * (wilson(30, 60).high - 0.5), rel=0.04)


def test_parts_of_a_point_have_the_interval_of_their_spread() -> None:
    random = np.random.default_rng(2)
    parts = [(random.uniform(0.4, 0.6, 300)).tolist() for _ in range(3)]
    found = interval([(scores, [""] * 300) for scores in parts])
    error = np.sqrt(sum(np.var(scores, ddof=1) for scores in parts) / 300) / 3
    # What scores of 0 or 1, none of which was seen, could move beside: Z^2 / n at most.
    assert 2 * Z * error < found.high - found.low < 2 * Z * error + Z**2 / 900
    assert found.method == "wilson, graded, combined"


def test_weights_say_what_each_group_counts() -> None:
    right, sizes = [3, 8, 20], [10, 10, 40]
    assert of_counts(right, sizes, [1 / 3] * 3) == of_counts(right, sizes)
    first = of_counts(right, sizes, [0.8, 0.1, 0.1])
    assert first.low < of_counts(right, sizes).low
    assert first.high - first.low > of_counts(right, sizes).high - of_counts(right, sizes).low


@pytest.mark.parametrize(
    ("sizes", "weights", "problem"), [([], None, "0 groups"), ([3, 0], None, r"\[3, 0\]"), ([3, 3], [1.0], "1 weights")]
)
def test_each_group_has_scores_and_a_weight(sizes: list[int], weights: list[float] | None, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        of_counts([0 for _ in sizes], sizes, weights)
