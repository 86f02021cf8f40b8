"""Several draws of each question: estimates against brute force, scipy and worked examples."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from statistics import fmean, variance

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from snellen.stats.draws import (
    agreement_of,
    best_of,
    draw_variance,
    draws_half_width,
    expected_error,
    majority_of,
    variance_components,
)

WORTH = {"a": 1.0, "b": 0.0, "c": 0.25}
ANSWERS = st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1, max_size=7)


@pytest.mark.parametrize(("n", "right", "k"), [(10, 3, 1), (10, 3, 5), (200, 7, 100), (5, 0, 3)])
def test_pass_at_k_is_that_of_its_authors(n: int, right: int, k: int) -> None:
    """The numerically stable form of Chen et al. (2021), Figure 3."""
    theirs = 1.0
    if n - right >= k:
        theirs = 1.0 - float(np.prod(1.0 - k / np.arange(n - right + 1, n + 1)))
    assert best_of([1.0] * right + [0.0] * (n - right), k) == pytest.approx(theirs)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=7))
def test_the_best_of_k_by_all_subsets(scores: list[float]) -> None:
    for k in range(1, len(scores) + 1):
        expected = fmean(max(subset) for subset in combinations(scores, k))
        assert best_of(scores, k) == pytest.approx(expected)


def majority_by_hand(subset: Sequence[str | None]) -> float:
    counts = Counter(answer for answer in subset if answer is not None)
    ahead = [answer for answer in counts if counts[answer] == max(counts.values())]
    return fmean(WORTH[answer] for answer in ahead) if ahead else 0.0


@given(ANSWERS)
def test_the_majority_of_k_by_all_subsets(answers: list[str | None]) -> None:
    for k in range(1, len(answers) + 1):
        expected = fmean(majority_by_hand(subset) for subset in combinations(answers, k))
        assert majority_of(answers, WORTH, k) == pytest.approx(expected)


def test_a_majority_of_many_draws() -> None:
    many = [f"{number}" for number in range(64)]
    assert majority_of(many, dict.fromkeys(many, 0.5), 32) == pytest.approx(0.5)
    assert majority_of(["a"] * 40 + ["b"] * 24, WORTH, 64) == 1.0


@pytest.mark.parametrize("k", [0, 4])
def test_k_lies_within_the_draws(k: int) -> None:
    with pytest.raises(ValueError, match=r"k must lie in 1\.\.3"):
        best_of([1.0, 0.0, 1.0], k)
    with pytest.raises(ValueError, match=r"k must lie in 1\.\.3"):
        majority_of(["a", "b", "a"], WORTH, k)


@pytest.mark.parametrize(
    ("answers", "share"), [("aab", 1 / 3), ("aaa", 1.0), ("abc", 0.0), ([None, None, "a"], 0.0), ("a", None)]
)
def test_agreement(answers: Sequence[str | None], share: float | None) -> None:
    assert agreement_of(list(answers)) == share


def test_components_of_equal_numbers_of_draws_by_scipys_f() -> None:
    random = np.random.default_rng(5)
    scores = random.random((12, 4)) + random.random((12, 1))
    found = variance_components(scores.tolist())
    assert found is not None
    within = scores.var(axis=1, ddof=1).mean()
    f = scipy_stats.f_oneway(*scores).statistic
    assert found.draws == pytest.approx(within)
    assert found.questions == pytest.approx((f - 1) * within / 4)


def test_components_of_unequal_numbers_by_hand() -> None:
    """Searle et al. (1992), Sec. 3.6: groups 1 3 | 2 | 6 8 10."""
    # Grand mean 5; SSB = 2 * 9 + 9 + 3 * 9 = 54, MSB 27; SSW = 2 + 8 = 10, MSW 10 / 3.
    found = variance_components([[1.0, 3.0], [2.0], [6.0, 8.0, 10.0]])
    size = (6 - (4 + 1 + 9) / 6) / 2
    assert found == pytest.approx(((27 - 10 / 3) / size, 10 / 3))


@pytest.mark.parametrize("scores", [[[1.0, 0.0]], [[1.0], [0.0]], [[], [1.0, 0.0]], []])
def test_no_variance_components_from_too_few_draws(scores: list[list[float]]) -> None:
    assert variance_components(scores) is None


def test_a_variance_below_zero_is_cut_off() -> None:
    found = variance_components([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    assert found is not None
    assert found.questions == 0.0


def test_the_variance_of_draws() -> None:
    scores = [[1.0, 0.0, 1.0], [1.0, 1.0, 1.0], [0.0, 0.5, 1.0]]
    by_hand = sum(variance(one) / 3 for one in scores) / 9
    assert draw_variance(scores) == pytest.approx(by_hand)
    # A single draw varies as those that are known do.
    assert draw_variance([[1.0, 0.0], [1.0]]) == pytest.approx((0.25 + 0.5) / 4)
    assert draw_variance([[1.0], [0.0]]) is None


def test_agreeing_draws_keep_a_positive_width() -> None:
    """As the upper end of Wilson's interval for none of many draws: z^2 / n."""
    half = draws_half_width([[1.0] * 4] * 25)
    assert half == pytest.approx(1.959964**2 / 100)
    wider = draws_half_width([[1.0, 0.0, 1.0, 0.0]] * 25)
    assert wider is not None
    assert wider > 1.96 * math.sqrt(1 / 3 / 100)


@pytest.mark.parametrize(("wanted", "error"), [(1, 0.5), (2, math.sqrt(0.17)), (8, math.sqrt(0.11)), (math.inf, 0.3)])
def test_the_error_that_other_numbers_of_draws_would_have(wanted: float, error: float) -> None:
    assert expected_error(0.17, 0.08, 2, wanted) == pytest.approx(error)
