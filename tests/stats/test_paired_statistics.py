"""Two systems by a statistic of sums: against the mean, against another way to the error, and where
parts of the statistic have few clusters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from snellen.stats.intervals import MIN_CLUSTERS
from snellen.stats.paired import paired_mean
from snellen.stats.paired_statistics import (
    LinearisedStatistic,
    linearise,
    min_clusters_in_stratum,
    paired_statistics,
    single_clusters,
)

Floats = NDArray[np.float64]


def shares(sums: Floats) -> Floats:
    """The plain mean of ratios of neighbouring columns, in percent."""
    parts, wholes = sums[:, 0::2], sums[:, 1::2]
    ratios = np.where(wholes > 0, parts, 0.0) / np.where(wholes > 0, wholes, 1.0)
    found: Floats = 100 * ratios.mean(axis=1)
    return found


def f1(sums: Floats) -> Floats:
    found: Floats = 100 * sums[:, 0] / np.where(sums[:, 1] > 0, sums[:, 1], 1.0)
    return found


def macro(scores: Floats, strata: NDArray[np.int64], clusters: NDArray[np.int64]) -> list[LinearisedStatistic]:
    """The mean of the strata's means, for each column of scores (samples, systems)."""
    counts = np.bincount(strata)
    places, systems = np.arange(len(strata)), []
    for column in scores.T:
        rows = np.zeros((len(strata), 2 * len(counts)))
        rows[places, 2 * strata], rows[places, 2 * strata + 1] = column, 1.0
        systems.append(linearise(rows, clusters, shares, 1 / counts[strata]))
    return systems


@pytest.mark.parametrize("each", [1, 4])
def test_a_mean_is_tested_as_a_mean(each: int) -> None:
    rng = np.random.default_rng(3)
    scores = np.round(rng.random((80, 3)), 2)
    clusters = np.arange(80) // each
    systems = [linearise(np.stack([column, np.ones(80)], axis=1), clusters, shares) for column in scores.T]
    pairs = [(0, 1), (0, 2), (2, 1)]
    for (one, other), found in zip(pairs, paired_statistics(systems, pairs, clusters, top=100.0), strict=True):
        mean = paired_mean(scores[:, other] - scores[:, one], clusters)
        assert found.mean == pytest.approx(100 * mean.mean)
        assert found.error == pytest.approx(100 * (mean.error or 0.0), rel=1e-6)
        assert (found.df, found.p) == (pytest.approx(mean.df), pytest.approx(mean.p, rel=1e-5))
        assert found.interval is not None
        assert mean.interval is not None
        assert found.interval.low == pytest.approx(100 * mean.interval.low, rel=1e-5)


@pytest.mark.parametrize("count", [3, 8, 30])
def test_the_test_rejects_exactly_where_the_interval_leaves_out_0(count: int) -> None:
    rng = np.random.default_rng(count)
    for shift in np.linspace(0, 0.6, 25):
        clusters = np.repeat(np.arange(count), 6)
        gold = np.arange(6 * count) % 2 == 0
        systems = []
        for right in (0.6, 0.6 + shift / 2):
            yes = np.where(rng.random(6 * count) < right, gold, ~gold)
            hit = (yes & gold).astype(float)
            rows = np.stack([2 * hit, 2 * hit + (yes != gold)], axis=1)
            systems.append(linearise(rows, clusters, f1, rows[:, 1]))
        (found,) = paired_statistics(systems, [(0, 1)], clusters, top=100.0)
        assert found.mean == pytest.approx(systems[1].value - systems[0].value)
        if count < MIN_CLUSTERS:
            assert (found.p, found.interval) == (None, None)
            assert found.reason
            continue
        assert found.p is not None
        if found.interval is not None:
            leaves_out = not found.interval.low <= 0 <= found.interval.high
            assert (found.p < 0.05) == leaves_out
            assert -100 <= found.interval.low < found.interval.high <= 100


def test_strata_are_as_wide_as_the_stratified_variance() -> None:
    """W. G. Cochran, "Sampling Techniques" (1977), Sec. 5.4: the mean of strata of equal weight."""
    rng = np.random.default_rng(5)
    strata = np.repeat(np.arange(4), (12, 30, 30, 80))
    clusters = np.arange(len(strata))
    scores = np.round(rng.random((len(strata), 2)), 3)
    scores[:, 1] += strata / 10
    systems = macro(scores, strata, clusters)
    (found,) = paired_statistics(systems, [(0, 1)], clusters, strata, top=100.0)
    difference = scores[:, 1] - scores[:, 0]
    parts = [difference[strata == one] for one in range(4)]
    variance = sum(part.var(ddof=1) / len(part) for part in parts) / 16
    assert found.mean == pytest.approx(100 * np.mean([part.mean() for part in parts]))
    # Each stratum borrows one cluster from all.
    assert found.error == pytest.approx(100 * np.sqrt(variance), rel=0.03)
    assert found.df is not None
    assert found.df < 60  # the small stratum bears most of the variance
    plain = paired_mean(np.clip(difference, -1, 1), clusters)
    assert found.error > 100 * (plain.error or 0.0)


def test_a_part_of_one_cluster_counts_with_all_that_it_adds() -> None:
    rng = np.random.default_rng(2)
    strata = np.arange(40)
    scores = (rng.random((40, 2)) < (0.5, 0.8)).astype(float)
    clusters = np.arange(40)
    assert single_clusters(clusters, strata).tolist() == list(range(40))
    assert single_clusters(clusters, None).tolist() == []
    assert (min_clusters_in_stratum(clusters, strata), min_clusters_in_stratum(clusters, strata // 8)) == (1, 8)
    (found,) = paired_statistics(macro(scores, strata, clusters), [(0, 1)], clusters, strata, top=100.0)
    # Every stratum has one sample, so that the mean of strata is that of the samples; their spread
    # is taken about 0, and so is no smaller.
    plain = paired_mean(scores[:, 1] - scores[:, 0], clusters)
    assert found.mean == pytest.approx(100 * plain.mean)
    assert plain.error is not None
    assert found.error is not None
    assert 100 * plain.error <= found.error < 130 * plain.error


@pytest.mark.parametrize("shared", [0, 4])
def test_a_picture_counts_in_all_of_the_parts_it_is_in(shared: int) -> None:
    """MME: right answers over questions, and pictures with both right over pictures. Against the
    error by hand."""
    rng = np.random.default_rng(3)
    parts, pictures = 8, 40
    systems: list[LinearisedStatistic] = []
    names = [
        picture if part < shared else pictures * (part + 1) + picture
        for part in range(parts)
        for picture in range(pictures)
    ]
    clusters = np.unique(names, return_inverse=True)[1]
    hard = rng.random((clusters.max() + 1, 2)) < 0.3
    slopes = []
    for system in range(2):
        right = rng.random((parts * pictures, 2)) < np.where(hard[clusters, system], 0.4, 0.9)[:, None]
        rows, slope = np.zeros((parts * pictures, 4 * parts)), np.zeros(parts * pictures)
        for part in range(parts):
            at = slice(part * pictures, (part + 1) * pictures)
            single, both = right[at].sum(axis=1), right[at].all(axis=1)
            rows[at, 4 * part : 4 * part + 4] = np.stack(
                [single, np.full(pictures, 2.0), both, np.ones(pictures)], axis=1
            )
            slope[at] = 100 * (single - single.mean()) / (2 * pictures)
            slope[at] += 100 * (both - both.mean()) / pictures
        systems.append(linearise(rows, clusters, lambda sums: 2 * parts * shares(sums)))
        slopes.append(slope)
    strata = np.repeat(np.arange(parts), pictures)
    (found,) = paired_statistics(systems, [(0, 1)], clusters, strata, top=200.0 * parts)
    by_hand = np.bincount(clusters, weights=slopes[1] - slopes[0])
    assert found.error == pytest.approx(np.linalg.norm(by_hand), rel=0.03)
    alone = np.linalg.norm(slopes[1] - slopes[0])
    assert (np.linalg.norm(by_hand) > 1.05 * alone) == bool(shared)


def test_refuses_too_few_samples_or_clusters() -> None:
    nothing: Sequence[float] = []
    with pytest.raises(ValueError, match="got 0 samples"):
        linearise(np.zeros((0, 2)), np.array(nothing, dtype=int), f1)
    with pytest.raises(ValueError, match="2 clusters"):
        linearise(np.ones((3, 2)), np.arange(2), f1)


def test_two_systems_that_are_the_same_do_not_differ() -> None:
    rng = np.random.default_rng(0)
    rows = np.stack([rng.random(30), np.ones(30)], axis=1)
    one = linearise(rows, np.arange(30), f1)
    (found,) = paired_statistics([one, one], [(0, 1)], np.arange(30), top=100.0)
    assert (found.mean, found.p, found.interval) == (0.0, 1.0, None)
    assert found.reason
