"""Against scipy, by hand, and at the seam between the exact distribution and the approximation."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from snellen.stats import exact_counts
from snellen.stats.exact_counts import EventGroup, count_distribution, count_tails, exact_pearson


@pytest.mark.parametrize(("p", "n", "observed"), [(0.25, 40, 17), (0.5, 9, 0), (1 / 3, 1200, 440)])
def test_single_probability_is_the_binomial_test(p: float, n: int, observed: int) -> None:
    tails = count_tails([EventGroup(p, n)], observed)
    assert tails.upper == pytest.approx(stats.binom.sf(observed - 1, n, p), rel=1e-9)
    assert tails.lower == pytest.approx(stats.binom.cdf(observed, n, p), rel=1e-9)
    assert tails.two_sided == min(1.0, 2 * min(tails))


def test_every_outcome_of_unequal_events() -> None:
    """Two events of 1/4, one of 1/2, one of 1/3, and one that is certain: all 16 outcomes."""
    chances = [0.25, 0.25, 0.5, 1 / 3]
    by_count = np.zeros(5)
    for outcome in product((0, 1), repeat=4):
        weight = np.prod([p if hit else 1 - p for p, hit in zip(chances, outcome, strict=True)])
        by_count[sum(outcome)] += weight
    groups = [EventGroup(0.25, 2), EventGroup(0.5, 1), EventGroup(1 / 3, 1)]
    assert count_distribution(groups) == pytest.approx(by_count)
    tails = count_tails([*groups, EventGroup(1.0, 1), EventGroup(0.0, 3)], 4)
    assert tails.upper == pytest.approx(by_count[3:].sum())
    assert tails.lower == pytest.approx(by_count[:4].sum())


def test_tails_of_certain_events() -> None:
    assert count_tails([], 0) == (1.0, 1.0)
    assert count_tails([EventGroup(1.0, 7)], 7).two_sided == 1.0


@pytest.mark.parametrize("observed", [4_600, 4_850, 5_000, 5_100, 5_400])
def test_approximation_meets_the_exact_distribution(observed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    groups = [EventGroup(0.25, 8_000), EventGroup(1 / 3, 6_000), EventGroup(0.5, 2_000)]
    rough = count_tails(groups, observed)
    monkeypatch.setattr(exact_counts, "MAX_EXACT_EVENTS", 20_000)
    exact = count_tails(groups, observed)
    assert rough.upper == pytest.approx(exact.upper, rel=0.01, abs=1e-12)
    assert rough.lower == pytest.approx(exact.lower, rel=0.01, abs=1e-12)


@pytest.mark.parametrize(
    ("groups", "observed", "message"),
    [
        ([EventGroup(1.5, 2)], 1, "probability in 0..1"),
        ([EventGroup(0.5, -1)], 0, "events >= 0"),
        ([EventGroup(0.5, 3)], 4, "impossible: 0 to 3"),
        ([EventGroup(1.0, 3)], 2, "impossible: 3 to 3"),
    ],
)
def test_wrong_counts(groups: list[EventGroup], observed: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        count_tails(groups, observed)


def test_pearson_over_all_tables() -> None:
    """Four choices among three letters: 81 sequences, of which 3 name one letter alone."""
    result = exact_pearson((4, 0, 0), [1 / 3] * 3)
    assert result is not None
    assert (result.statistic, result.freedom, result.draws) == (pytest.approx(8), 2, 0)
    assert result.p == pytest.approx(3 / 81)
    even = exact_pearson((2, 1, 1), [1 / 3] * 3)
    assert even is not None
    assert even.p == pytest.approx(1)


def test_two_categories_are_a_binomial_test() -> None:
    result = exact_pearson((16, 4), (0.5, 0.5))
    assert result is not None
    assert result.p == pytest.approx(stats.binomtest(16, 20, 0.5).pvalue)


def test_pearson_of_unequal_shares_by_brute_force() -> None:
    shares, counts = (0.5, 0.3, 0.2), (2, 1, 4)
    law = stats.multinomial(7, shares)

    def statistic(table: tuple[int, ...]) -> float:
        return sum((k - 7 * p) ** 2 / (7 * p) for k, p in zip(table, shares, strict=True))

    tables = [(a, b, 7 - a - b) for a in range(8) for b in range(8 - a)]
    expected = sum(law.pmf(t) for t in tables if statistic(t) >= statistic(counts) - 1e-9)
    result = exact_pearson(counts, shares)
    assert result is not None
    assert result.p == pytest.approx(expected)


def test_many_tables_are_left_to_pearson() -> None:
    counts = (300, 240, 260, 250)
    result = exact_pearson(counts, [0.25] * 4)
    assert result is not None
    assert result.p == pytest.approx(stats.chisquare(counts).pvalue)
    assert exact_pearson((5,), (1.0,)) is None
    with pytest.raises(ValueError, match="sum to 1"):
        exact_pearson((1, 2), (0.5, 0.6))
