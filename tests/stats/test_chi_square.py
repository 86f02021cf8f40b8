"""Against scipy, by hand, and how often a true hypothesis is rejected."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from snellen.stats.chi_square import even_over_questions, pearson, upper_tail


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 7, 30, 161])
@pytest.mark.parametrize("statistic", [0.0, 0.01, 1.0, 3.84, 20.0, 300.0])
def test_tail_as_scipy(statistic: float, freedom: int) -> None:
    assert upper_tail(statistic, freedom) == pytest.approx(stats.chi2.sf(statistic, freedom), abs=1e-14)


def test_pearson_as_scipy_and_over_strata() -> None:
    counts = (30, 14, 34, 45, 57, 20)
    one = pearson([(counts, [1 / 6] * 6)])
    expected = stats.chisquare(counts)
    assert one is not None
    assert (one.statistic, one.p) == pytest.approx((expected.statistic, expected.pvalue))
    two = pearson([(counts, [1 / 6] * 6), ((10, 20), (0.5, 0.5)), ((5,), (1.0,))])
    assert two is not None
    assert two.statistic == pytest.approx(one.statistic + stats.chisquare((10, 20)).statistic)
    assert two.freedom == 6
    assert pearson([((5,), (1.0,))]) is None
    with pytest.raises(ValueError, match="sum to 1"):
        pearson([((1, 2), (0.5, 0.6))])


def test_few_expected_are_counted_among_drawn_tables() -> None:
    """Every table of 4 choices among 3 letters, with its exact probability."""
    found = pearson([((4, 0, 0), [1 / 3] * 3)])
    assert found is not None
    assert (found.statistic, found.freedom, found.draws) == (pytest.approx(8), 2, 19_999)
    assert found.p == pytest.approx(3 / 81, abs=0.006)
    # With a stratum of many beside it, as with chi-square of both: 8 of 2 and 0 of 1.
    both = pearson([((4, 0, 0), [1 / 3] * 3), ((50, 50), [0.5] * 2)])
    assert both is not None
    assert (both.freedom, both.p < 0.1) == (3, True)


def rejected(counts: np.ndarray) -> float:
    """Share of repeats, shape (repeats, questions, letters), that are told to be uneven."""
    found = [even_over_questions([one]) for one in counts]
    return float(np.mean([one is not None and one.p < 0.05 for one in found]))


def chosen(letters: np.ndarray) -> np.ndarray:
    """Counts of four letters, from letters chosen of shape (repeats, questions, passes)."""
    return np.stack([(letters == at).sum(axis=2) for at in range(4)], axis=2).astype(np.float64)


def test_passes_of_a_question_may_depend_on_each_other() -> None:
    rng = np.random.default_rng(4)
    repeated = np.repeat(rng.integers(0, 4, (1000, 300, 1)), 4, axis=2)
    assert 0.03 < rejected(chosen(repeated)) < 0.07
    followed = (repeated + np.arange(4)) % 4
    assert rejected(chosen(followed)) == 0
    anew = rng.integers(0, 4, (1000, 300, 4))
    assert 0.03 < rejected(chosen(anew)) < 0.07
    preferred = np.where(rng.random(anew.shape) < 0.1, 0, anew)[:200]
    assert rejected(chosen(preferred)) > 0.9


def test_few_questions_use_an_exact_test() -> None:
    rng = np.random.default_rng(6)
    repeated = np.repeat(rng.integers(0, 4, (40, 12, 1)), 4, axis=2)
    assert rejected(chosen(repeated)) < 0.15
    always = even_over_questions([np.tile([4.0, 0, 0, 0], (6, 1))])
    assert always is not None
    # All six on one letter, whichever it is: 4 of 4**6.
    assert always.p == pytest.approx(4**-5, abs=0.001)
    assert even_over_questions([]) is None
    assert even_over_questions([np.ones((5, 3))]) == (0.0, 2, 1.0, 0)
