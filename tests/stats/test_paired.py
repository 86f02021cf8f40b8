"""Paired tests against scipy, statsmodels and published examples; intervals by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snellen.stats.paired import (
    detectable,
    holm,
    mcnemar,
    needed,
    paired_bootstrap,
    paired_mean,
)
from snellen.stats.resampling import resampled_sums, seeded, stacked_sums
from snellen.stats.standing import ranks, standings


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


def test_clustered_differences_are_those_of_statsmodels() -> None:
    from statsmodels.api import OLS

    rng = np.random.default_rng(3)
    clusters = np.sort(rng.integers(0, 40, 200))
    clusters = np.unique(clusters, return_inverse=True)[1]
    differences = rng.normal(0.1, 1, 200) + rng.normal(0, 1, 40)[clusters]
    fit = OLS(differences, np.ones(200)).fit(
        cov_type="cluster", cov_kwds={"groups": clusters}, use_t=True
    )
    low, high = fit.conf_int()[0]
    found = paired_mean(differences, clusters)
    assert found.value == pytest.approx(differences.mean())
    assert found.error == pytest.approx(fit.bse[0])
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == (pytest.approx(low), pytest.approx(high))


def test_one_cluster_and_no_spread_have_no_interval() -> None:
    alone = paired_mean(np.array([0.0, 1.0]), np.array([0, 0]))
    assert (alone.value, alone.interval) == (0.5, None)
    assert paired_mean(np.ones(5), np.arange(5)).interval is None
    with pytest.raises(ValueError, match="got 0"):
        paired_mean(np.array([]), np.array([], dtype=int))


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
        shares.append(1 / (1 + np.exp(-(hardness + level + rng.normal(0, 1, (runs, clusters))[
            :, numbers
        ]))))  # fmt: skip
    first, second = (rng.random((runs, size)) < share for share in shares)
    big = np.random.default_rng(0).normal(0, math.sqrt(2), 2_000_000)
    true = float((1 / (1 + np.exp(-(big + 0.6)))).mean() - (1 / (1 + np.exp(-(big + 0.2)))).mean())
    differences = second.astype(float) - first.astype(float)
    for row in differences:
        interval = paired_mean(row, numbers).interval
        assert interval is not None
        hits += interval.low <= true <= interval.high
    return hits / runs


@pytest.mark.parametrize(("size", "clusters"), [(300, 300), (300, 75), (400, 40)])
def test_intervals_of_differences_cover(size: int, clusters: int) -> None:
    # 6,000 runs have a standard error of 0.28 points: the nominal level within one point.
    assert covered(6_000, size, clusters) == pytest.approx(0.95, abs=0.01)


def share(sums: np.ndarray) -> np.ndarray:
    return sums[:, 0] / sums[:, 1]


def test_the_paired_bootstrap_covers_and_keeps_its_level() -> None:
    rng = np.random.default_rng(8)
    runs, hits, rejected = 6_000, 0, 0
    for at in range(runs):
        row = rng.choice([-1.0, 0.0, 1.0], 300, p=[0.15, 0.7, 0.15])
        columns = np.stack([row, np.ones(300)], axis=1)
        found = paired_bootstrap(columns, share, str(at), draws=1_000)
        assert found.interval is not None
        hits += found.interval.low <= 0 <= found.interval.high
        rejected += found.p < 0.05
    assert hits / runs == pytest.approx(0.95, abs=0.01)
    assert rejected / runs == pytest.approx(0.05, abs=0.01)


def test_the_paired_bootstrap_agrees_with_scipy() -> None:
    from scipy.stats import bootstrap

    row = np.random.default_rng(5).choice([-1.0, 0.0, 1.0], 200, p=[0.1, 0.7, 0.2])
    found = paired_bootstrap(np.stack([row, np.ones(200)], axis=1), share, "x", draws=20_000)
    theirs = bootstrap((row,), np.mean, method="percentile", n_resamples=20_000, rng=1)
    assert found.interval is not None
    assert found.interval.low == pytest.approx(theirs.confidence_interval.low, abs=0.006)
    assert found.interval.high == pytest.approx(theirs.confidence_interval.high, abs=0.006)


def test_the_paired_bootstrap_is_seeded() -> None:
    columns = np.stack([np.arange(20.0) - 8, np.ones(20)], axis=1)
    assert paired_bootstrap(columns, share, "a") == paired_bootstrap(columns, share, "a")
    assert paired_bootstrap(columns, share, "a") != paired_bootstrap(columns, share, "b")
    same = paired_bootstrap(np.stack([np.zeros(9), np.ones(9)], axis=1), share, "a")
    assert same == (0.0, None, 1.0)


def test_alike_rows_are_drawn_as_often_as_rows_one_by_one() -> None:
    rng = np.random.default_rng(2)
    rows = rng.choice([0.0, 1.0], (500, 2))
    quick = stacked_sums(rows, seeded("q"), 20_000)
    slow = resampled_sums(rows.tolist(), "s", draws=20_000)
    assert quick.mean(axis=0) == pytest.approx(rows.sum(axis=0), rel=0.005)
    assert quick.std(axis=0) == pytest.approx(slow.std(axis=0), rel=0.03)
    assert np.cov(quick.T)[0, 1] == pytest.approx(np.cov(slow.T)[0, 1], abs=4)


@pytest.mark.parametrize("size", range(1, 21))
def test_holm_is_that_of_statsmodels(size: int) -> None:
    from statsmodels.stats.multitest import multipletests

    rng = np.random.default_rng(size)
    for p_values in (rng.random(size), rng.random(size).round(1), rng.random(size) ** 8):
        expected = multipletests(p_values, method="holm")[1]
        assert holm(p_values.tolist()) == pytest.approx(expected.tolist(), abs=1e-12)


def test_holm_of_nothing() -> None:
    assert holm([]) == []


def test_samples_needed_give_the_power_that_was_asked_for() -> None:
    difference, discordance = 0.05, 0.2
    size = needed(difference, discordance)
    assert size is not None
    rng = np.random.default_rng(4)
    counts = rng.multinomial(
        size, [(discordance - difference) / 2, (discordance + difference) / 2, 1 - discordance],
        size=4_000,
    )  # fmt: skip
    found = sum(mcnemar(int(lost), int(won)).mid_p < 0.05 for lost, won, _ in counts)
    assert found / 4_000 == pytest.approx(0.8, abs=0.03)


def test_the_least_difference_found_is_the_one_that_needs_so_many() -> None:
    least = detectable(0.25, 812)
    assert least is not None
    size = needed(least, 0.25)
    assert size in (812, 813)
    assert needed(least, 0.25, design=2) == pytest.approx(2 * 812, abs=2)
    assert (detectable(0.25, 1_000_000) or 1.0) < least / 20
    assert detectable(0.0, 100) is None
    assert detectable(0.01, 5) is None
    assert needed(0.0, 0.3) is None
    with pytest.raises(ValueError, match="discordance"):
        needed(0.1, 1.5)


def test_ranks_of_systems_far_apart_are_sure_and_of_twins_are_not() -> None:
    rng = np.random.default_rng(6)
    good = (rng.random(400) < 0.9).astype(float)
    twin, other = (rng.random((2, 400)) < 0.5).astype(float)
    found = standings(np.stack([twin, good, other], axis=1), "x")
    assert (found[1].rank, found[1].low, found[1].high, found[1].first) == (1, 1, 1, 1.0)
    assert {found[0].rank, found[2].rank} == {2, 3}
    assert (found[0].low, found[0].high) == (2, 3)
    assert ranks(np.array([[0.1 + 0.2, 0.3, 0.1]])).tolist() == [[1.0, 1.0, 3.0]]
    with pytest.raises(ValueError, match="shape"):
        standings(np.zeros((0, 2)), "x")


def test_rank_intervals_cover_the_true_rank() -> None:
    rng = np.random.default_rng(9)
    levels = np.array([0.5, 0.53, 0.56])
    hits = 0
    for at in range(600):
        scores = (rng.random((300, 3)) < levels).astype(float)
        found = standings(scores, str(at), draws=400)
        hits += sum(one.low <= rank <= one.high for one, rank in zip(found, (3, 2, 1), strict=True))
    # Ranks are whole numbers, so their intervals hold the true rank more often than they claim.
    assert hits / 1_800 >= 0.95
