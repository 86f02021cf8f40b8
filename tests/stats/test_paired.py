"""Paired tests against scipy, statsmodels and published examples; intervals by simulation."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snellen.stats.intervals import MIN_CLUSTERS
from snellen.stats.paired import (
    CLUSTER_TEST,
    MANY_CLUSTERS,
    SCORE_TEST,
    binary_p_values,
    design_effect,
    detectable_difference,
    holm,
    holm_of_sides,
    mcnemar,
    paired_mean,
    paired_means,
    required_samples,
    satterthwaite,
)
from snellen.stats.rank_intervals import rank_intervals, ranks
from snellen.stats.resampling import bootstrap_sums, seeded_generator


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 400), st.integers(0, 400))
def test_mcnemar_is_the_binomial_test(first: int, second: int) -> None:
    from scipy.stats import binom, binomtest

    found = mcnemar(first, second)
    if not first + second:
        assert found == (1.0, 1.0)
        return
    n, fewer = first + second, min(first, second)
    assert found.exact == pytest.approx(binomtest(first, n).pvalue, rel=1e-9)
    mid = min(1.0, 2 * binom.cdf(fewer, n, 0.5) - binom.pmf(fewer, n, 0.5))
    assert found.mid_p == pytest.approx(mid, rel=1e-8, abs=1e-12)


def test_mcnemar_is_that_of_statsmodels() -> None:
    from statsmodels.stats.contingency_tables import mcnemar as reference

    table = [[30, 12], [27, 41]]
    assert mcnemar(12, 27).exact == pytest.approx(reference(table, exact=True).pvalue)


def test_the_published_example_of_mid_p() -> None:
    """Fagerland et al. 2013, Table 1: one and seven discordant pairs."""
    found = mcnemar(1, 7)
    assert found.exact == pytest.approx(0.0703, abs=5e-5)
    assert found.mid_p == pytest.approx(0.0391, abs=5e-5)


def test_mcnemar_of_many_samples_does_not_underflow() -> None:
    found = mcnemar(15_000, 15_400)
    assert 0.01 < found.mid_p < found.exact < 0.05
    assert mcnemar(1_000, 30_000).exact >= 0.0
    with pytest.raises(ValueError, match="got -1"):
        mcnemar(-1, 2)


def test_equal_clusters_are_those_of_statsmodels() -> None:
    """For clusters of one size CR2 is the sandwich with G / (G - 1), and df is G - 1."""
    from statsmodels.api import OLS

    rng = np.random.default_rng(3)
    clusters = np.repeat(np.arange(40), 5)
    differences = rng.normal(0.02, 0.2, 200) + rng.normal(0, 0.1, 40)[clusters]
    fit = OLS(differences, np.ones(200)).fit(
        cov_type="cluster", cov_kwds={"groups": clusters, "use_correction": False}, use_t=True
    )
    error = fit.bse[0] * math.sqrt(40 / 39)
    found = paired_mean(differences, clusters)
    assert found.mean == pytest.approx(differences.mean())
    assert found.error == pytest.approx(error)
    assert found.df == pytest.approx(39)
    from scipy.stats import t

    assert found.p == pytest.approx(2 * t.sf(abs(differences.mean()) / error, 39))
    assert found.interval is not None
    low, high = differences.mean() + t.ppf([0.025, 0.975], 39) * error
    assert (found.interval.low, found.interval.high) == (pytest.approx(low), pytest.approx(high))
    assert (found.test, found.reason) == (CLUSTER_TEST, "")


def bell_and_mccaffrey(sizes: list[int], alike: bool) -> tuple[float, np.ndarray]:
    """Degrees of freedom, and the weights of the clusters' residual sums, from the matrices of
    Bell and McCaffrey (2002), Sec. 3: the regression on a constant, with samples that are
    independent or all alike within a cluster."""
    n, labels = sum(sizes), np.repeat(np.arange(len(sizes)), sizes)
    x = np.ones((n, 1))
    residual = np.eye(n) - x @ x.T / n
    columns, weights = [], []
    for cluster in range(len(sizes)):
        rows = labels == cluster
        values, vectors = np.linalg.eigh(residual[np.ix_(rows, rows)])
        root = vectors @ np.diag(values**-0.5) @ vectors.T
        columns.append(residual[rows].T @ root @ x[rows] / n)
        weights.append((root @ x[rows])[0, 0])
    g = np.hstack(columns)
    omega = (labels[:, None] == labels[None, :]).astype(float) if alike else np.eye(n)
    m = g.T @ omega @ g
    return float(np.trace(m) ** 2 / np.trace(m @ m)), np.array(weights)


@pytest.mark.parametrize("sizes", [[4] * 7, [1, 2, 3, 4, 9, 1], [20, 1, 1, 1, 1, 2], [7, 3, 2, 2, 1, 1, 1, 1, 1, 30]])
def test_unequal_clusters_are_those_of_the_matrices(sizes: list[int]) -> None:
    (apart, weights), (alike, _) = (bell_and_mccaffrey(sizes, one) for one in (False, True))
    assert satterthwaite(np.array(sizes, float)) == pytest.approx(min(apart, alike))
    labels = np.repeat(np.arange(len(sizes)), sizes)
    differences = np.random.default_rng(1).normal(0, 0.3, len(labels))
    sums = np.bincount(labels, weights=differences - differences.mean())
    found = paired_mean(differences, labels)
    assert found.error == pytest.approx(np.linalg.norm(weights * sums) / len(labels))
    assert found.df == pytest.approx(min(apart, alike))


@pytest.mark.parametrize(
    ("won", "lost", "n", "low", "high"),
    [
        # M. W. Fagerland, S. Lydersen and P. Laake, "Recommended tests and confidence intervals for
        # paired binomial proportions", Statistics in Medicine 33 (2014): Tango's interval for the
        # stem cell transplantations of Bentur et al. and the therapies of Cavo et al.
        (1, 7, 21, -0.517, -0.026),
        (6, 16, 161, -0.124, -0.0054),
    ],
)
def test_published_intervals_of_tango(won: int, lost: int, n: int, low: float, high: float) -> None:
    differences = np.array([1.0] * won + [-1.0] * lost + [0.0] * (n - won - lost))
    found = paired_mean(differences, np.arange(n))
    assert found.interval is not None
    assert found.interval.low == pytest.approx(low, abs=5e-4)
    assert found.interval.high == pytest.approx(high, abs=5e-4)
    assert found.test == SCORE_TEST


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 200))
def test_the_score_test_is_mcnemar_without_correction(won: int, lost: int, same: int) -> None:
    from statsmodels.stats.contingency_tables import mcnemar as reference

    differences = np.array([1.0] * won + [-1.0] * lost + [0.0] * (same + 13))
    found = paired_mean(differences, np.arange(len(differences)))
    assert found.p is not None
    if not won + lost:
        assert (found.p, found.mean) == (1.0, 0.0)
        return
    theirs = reference([[0, won], [lost, 0]], exact=False, correction=False).pvalue
    # Four answers are never enough, whatever the number of samples.
    assert found.p == pytest.approx(max(theirs, min(1, 2.0 ** (1 - won - lost))), rel=1e-9)


shapes = st.lists(st.integers(1, 6), min_size=2, max_size=18)


@settings(max_examples=150, deadline=None)
@given(shapes, st.integers(0, 2**32), st.sampled_from((0.8, 0.9, 0.95, 0.99)), st.integers(0, 3))
def test_the_test_rejects_exactly_where_the_interval_leaves_out_0(
    sizes: list[int], seed: int, level: float, kind: int
) -> None:
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    tilt = rng.uniform(-1, 1)
    differences = {
        0: np.sign(rng.normal(tilt, 1, len(labels))),
        1: np.round(np.clip(rng.normal(tilt, 0.3, len(labels)), -1, 1), 1),
        2: np.where(rng.random(len(labels)) < 0.8, 0.0, 1.0),
        3: np.full(len(labels), tilt),
    }[kind]
    found = paired_mean(differences, labels, level)
    if len(sizes) < MIN_CLUSTERS:
        assert (found.p, found.interval) == (None, None)
        assert found.reason
        return
    assert found.p is not None
    if found.interval is None:
        assert found.reason
        return
    assert found.interval.low <= found.mean + 1e-12
    assert found.interval.high >= found.mean - 1e-12
    leaves_out = not found.interval.low <= 0 <= found.interval.high
    assert (found.p < 1 - level) == leaves_out
    if differences.any():
        assert found.interval.high > found.interval.low


def test_no_interval_without_spread_between_clusters() -> None:
    # Always yes against always no on yes/no pairs: the differences of each picture cancel.
    pairs = paired_mean(np.array([1.0, -1.0] * 10), np.repeat(np.arange(10), 2))
    assert (pairs.p, pairs.interval) == (1.0, None)
    assert "same in every cluster" in pairs.reason
    # Sums of floats: the error comes out as 4e-16 or so.
    parts = paired_mean(np.array([0.1, 0.7, 0.1] * 20), np.repeat(np.arange(20), 3))
    assert (parts.p, parts.interval) == (2.0**-19, None)
    # Every answer of 40 changed: as many signs, and an interval all the same.
    whole = paired_mean(np.ones(40), np.arange(40))
    assert whole.p is not None
    assert whole.p < 1e-9
    assert whole.interval is not None
    assert 0.8 < whole.interval.low < whole.interval.high == 1.0


@pytest.mark.parametrize("clusters", [1, 2, 4])
def test_no_paired_test_with_few_clusters(clusters: int) -> None:
    found = paired_mean(np.array([1.0] + [0.0] * 11), np.arange(12) % clusters)
    assert (found.p, found.interval) == (None, None)
    assert found.reason.startswith(f"the samples form {clusters} cluster")
    assert found.mean == pytest.approx(1 / 12)


def test_up_to_twelve_clusters_all_flips_are_gone_through() -> None:
    from itertools import product

    rng = np.random.default_rng(5)
    sizes = np.array([1, 2, 3, 1, 5, 2, 4])
    labels = np.repeat(np.arange(7), sizes)
    for shift in (0.0, 0.1, 0.3):
        differences = np.clip(rng.normal(shift, 0.2, len(labels)), -1, 1)
        found = paired_mean(differences, labels, 0.9)
        assert found.interval is not None
        assert found.p is not None
        sums = np.bincount(labels, weights=differences)
        signs = np.array(list(product((-1, 1), repeat=7)))
        flips = [
            abs(signs @ (sums - m * sizes)) >= abs(sum(sums - m * sizes)) - 1e-9
            for m in (0.0, found.interval.low - 1e-6, found.interval.high + 1e-6)
        ]
        assert found.p >= flips[0].mean() - 1e-12
        assert max(flips[1].mean(), flips[2].mean()) < 0.1


def test_many_systems_are_those_one_by_one() -> None:
    rng = np.random.default_rng(0)
    for labels in (np.arange(30), np.repeat(np.arange(10), 3), rng.permutation(np.arange(60) % 20)):
        differences = rng.choice([-1.0, 0.0, 0.5, 1.0], (len(labels), 9))
        differences[:, 0] = rng.choice([-1.0, 0.0, 1.0], len(labels))
        every = paired_means(differences, labels)
        for at, many in enumerate(every):
            one = paired_mean(differences[:, at], labels)
            assert (many.p, many.mean, many.error) == pytest.approx((one.p, one.mean, one.error))
            assert (many.test, many.clusters, many.reason) == (one.test, one.clusters, one.reason)
    for wrong in (np.zeros(30), np.array([0, 2] * 15)):
        with pytest.raises(ValueError, match=r"got 0|has no sample"):
            paired_mean(np.array([]) if not wrong.any() else np.ones(30), wrong.astype(int))
    with pytest.raises(ValueError, match="level"):
        paired_mean(np.ones(30), np.arange(30), 1.0)


@pytest.mark.parametrize("samples", [13, 40, 700])
def test_p_values_of_right_and_wrong_are_those_of_paired_means(samples: int) -> None:
    scores = np.random.default_rng(samples).integers(0, 2, (samples, 6)).astype(float)
    scores[:, 5] = scores[:, 4]
    pairs = np.array(list(combinations(range(6), 2)))
    first, second = pairs.T
    alone = np.arange(samples)
    expected = [test.p for test in paired_means(scores[:, second] - scores[:, first], alone)]
    found = binary_p_values(scores, pairs)
    assert found is not None
    assert found.tolist() == expected
    assert binary_p_values(scores[:12], pairs) is None
    assert binary_p_values(scores / 2, pairs) is None


def test_large_difference_is_significant_among_a_thousand_pairs() -> None:
    """240 samples on 40 pictures: one pair of 1,000 is 0.95 apart, the others are equal."""
    rng = np.random.default_rng(33)
    labels = np.repeat(np.arange(40), 6)
    differences = rng.choice([-1.0, 0.0, 1.0], (240, 1000), p=[0.2, 0.6, 0.2])
    differences[:, 7] = np.where(rng.random(240) < 0.95, 1.0, 0.0)
    tested = [one.p for one in paired_means(differences, labels)]
    adjusted = holm([p for p in tested if p is not None])
    assert len(adjusted) == 1000
    assert adjusted[7] < 0.001
    assert sum(p < 0.05 for p in adjusted) == 1


def covered(runs: int, size: int, clusters: int) -> float:
    """Share of the intervals of the difference of two systems that hold the true one."""
    rng = np.random.default_rng(size + clusters)
    numbers = np.arange(size) % clusters
    # Hardness is shared by a cluster and by both systems, as questions about one picture share it.
    hardness = rng.normal(0, 1, (runs, clusters))[:, numbers]
    hits = 0
    true = 0.0
    shares = []
    for level in (0.2, 0.6):
        shares.append(1 / (1 + np.exp(-(hardness + level + rng.normal(0, 1, (runs, clusters))[:, numbers]))))
    first, second = (rng.random((runs, size)) < share for share in shares)
    big = np.random.default_rng(0).normal(0, math.sqrt(2), 2_000_000)
    true = float((1 / (1 + np.exp(-(big + 0.6)))).mean() - (1 / (1 + np.exp(-(big + 0.2)))).mean())
    differences = second.astype(float) - first.astype(float)
    for found in paired_means(differences.T, numbers):
        assert found.interval is not None
        hits += found.interval.low <= true <= found.interval.high
    return hits / runs


@pytest.mark.parametrize(("size", "clusters"), [(300, 300), (300, 75), (400, 40)])
def test_intervals_of_differences_cover(size: int, clusters: int) -> None:
    # 2,000 runs have a standard error of 0.5 points.
    assert covered(2_000, size, clusters) == pytest.approx(0.95, abs=0.012)


def test_alike_rows_are_drawn_as_often_as_rows_one_by_one() -> None:
    rng = np.random.default_rng(2)
    rows = rng.choice([0.0, 1.0], (500, 2))
    quick = bootstrap_sums(rows, seeded_generator("q"), 20_000)
    slow = np.array([rows[rng.integers(0, 500, 500)].sum(axis=0) for _ in range(20_000)])
    assert quick.mean(axis=0) == pytest.approx(rows.sum(axis=0), rel=0.005)
    assert quick.std(axis=0) == pytest.approx(slow.std(axis=0), rel=0.03)
    assert np.cov(quick.T)[0, 1] == pytest.approx(np.cov(slow.T)[0, 1], abs=4)


@pytest.mark.parametrize("size", range(1, 21))
def test_holm_is_that_of_statsmodels(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from statsmodels.stats.multitest import multipletests

    # It collects garbage with each call, which takes seconds in a process of many tests.
    monkeypatch.setattr("gc.collect", lambda: 0)
    rng = np.random.default_rng(size)
    for p_values in (rng.random(size), rng.random(size).round(1), rng.random(size) ** 8):
        expected = multipletests(p_values, method="holm")[1]
        assert holm(p_values.tolist()) == pytest.approx(expected.tolist(), abs=1e-12)


def test_holm_of_nothing() -> None:
    assert holm([]) == []


def test_holm_of_sides_uses_shaffers_factor() -> None:
    """Shaffer's factor is the number of pairs that may still hold a true hypothesis."""
    assert holm_of_sides([]) == []
    # One pair: whichever side is true, it is one.
    assert holm_of_sides([(0.02, 0.04)]) == [(0.02, 0.04)]
    # Two pairs: both may hold one, until both sides of a pair are rejected.
    (first, second) = holm_of_sides([(0.001, 0.002), (0.03, 0.9)])
    assert first == pytest.approx((0.002, 0.004))
    assert second == pytest.approx((0.03, 0.9))
    (first, second) = holm_of_sides([(0.001, 0.04), (0.03, 0.9)])
    assert first == pytest.approx((0.002, 0.08))
    assert second == pytest.approx((0.06, 0.9))


@pytest.mark.parametrize("each", [1, 4])
def test_a_margin_is_tested_by_the_same_method(each: int) -> None:
    """p at a bound of the interval is 1 - level; one side of it is half."""
    rng = np.random.default_rng(7)
    differences = rng.choice([-1.0, 0.0, 1.0], 160, p=[0.15, 0.65, 0.2])
    if each > 1:
        differences *= rng.random(160)
    labels = np.arange(160) // each
    found = paired_mean(differences, labels)
    assert found.interval is not None
    for end in (found.interval.low, found.interval.high):
        assert paired_mean(differences, labels, null=end).p == pytest.approx(0.05, rel=1e-6)
    assert paired_mean(differences, labels, null=found.mean).p == pytest.approx(1.0)
    with pytest.raises(ValueError, match="null"):
        paired_mean(differences, labels, null=1.5)


def test_a_design_effect_below_1_needs_many_clusters() -> None:
    # Twelve of 42 samples share a picture, and one of those differs: an error of 0.74 of the usual.
    differences = np.array([1.0] + [0.0] * 41)
    labels = np.array([0] * 12 + list(range(1, 31)))
    error = paired_mean(differences, labels).error
    assert design_effect(differences, labels, error) == 1.0
    # Always yes against always no: differences of a picture nearly cancel.
    rng = np.random.default_rng(1)
    labels = np.repeat(np.arange(MANY_CLUSTERS + 10), 2)
    differences = np.where(rng.random(len(labels)) < 0.9, np.tile([1.0, -1.0], len(labels) // 2), 0)
    error = paired_mean(differences, labels).error
    assert design_effect(differences, labels, error) < 0.5
    few = labels < MANY_CLUSTERS - 1
    error = paired_mean(differences[few], labels[few]).error
    assert design_effect(differences[few], labels[few], error) == 1.0
    alike = np.repeat(rng.choice([-1.0, 1.0], 30), 4)
    labels = np.repeat(np.arange(30), 4)
    assert design_effect(alike, labels, paired_mean(alike, labels).error) == pytest.approx(4, rel=0.05)
    assert design_effect(np.zeros(9), np.arange(9), 0.0) == 1.0


def test_samples_needed_give_the_power_that_was_asked_for() -> None:
    difference, discordance = 0.05, 0.2
    size = required_samples(difference, discordance)
    assert size is not None
    rng = np.random.default_rng(4)
    counts = rng.multinomial(
        size, [(discordance - difference) / 2, (discordance + difference) / 2, 1 - discordance], size=4_000
    )
    z = (counts[:, 1] - counts[:, 0]) / np.sqrt(counts[:, 0] + counts[:, 1])
    assert (abs(z) > 1.959964).mean() == pytest.approx(0.8, abs=0.02)


def test_the_least_difference_found_is_the_one_that_needs_so_many() -> None:
    least = detectable_difference(0.25, 812)
    assert least is not None
    size = required_samples(least, 0.25)
    assert size in (812, 813)
    assert required_samples(least, 0.25, design=2) == pytest.approx(2 * 812, abs=2)
    assert (detectable_difference(0.25, 1_000_000) or 1.0) < least / 20
    assert detectable_difference(0.0, 100) is None
    assert detectable_difference(0.01, 5) is None
    assert required_samples(0.0, 0.3) is None
    with pytest.raises(ValueError, match="discordance"):
        required_samples(0.1, 1.5)


def test_ranks_of_systems_far_apart_are_sure_and_of_twins_are_not() -> None:
    rng = np.random.default_rng(6)
    good = (rng.random(400) < 0.9).astype(float)
    twin, other = (rng.random((2, 400)) < 0.5).astype(float)
    found = rank_intervals(np.stack([twin, good, other], axis=1), "x")
    assert (found[1].rank, found[1].low, found[1].high, found[1].first) == (1, 1, 1, 1.0)
    assert {found[0].rank, found[2].rank} == {2, 3}
    assert (found[0].low, found[0].high) == (2, 3)
    assert ranks(np.array([[0.1 + 0.2, 0.3, 0.1]])).tolist() == [[1.0, 1.0, 3.0]]
    with pytest.raises(ValueError, match="shape"):
        rank_intervals(np.zeros((0, 2)), "x")


def test_rank_intervals_cover_the_true_rank() -> None:
    rng = np.random.default_rng(9)
    levels = np.array([0.5, 0.53, 0.56])
    hits = 0
    for at in range(600):
        scores = (rng.random((300, 3)) < levels).astype(float)
        found = rank_intervals(scores, str(at), draws=400)
        hits += sum(one.low <= rank <= one.high for one, rank in zip(found, (3, 2, 1), strict=True))
    # Ranks are whole numbers, so their intervals hold the true rank more often than they claim.
    assert hits / 1_800 >= 0.95
