"""Agreement of annotators: against hand-computed values, statsmodels, and recorded values of the
packages krippendorff 0.9.0 and scikit-learn 1.9.1; intervals by their coverage."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats.inter_rater import cohens_kappa

from snellen.stats.agreement import cohen_kappa, estimate_alpha, estimate_kappa, estimate_raw_agreement
from snellen.stats.intervals import wilson

HAYES = [
    "1 1 . 1",
    "2 2 3 2",
    "3 3 3 3",
    "3 3 3 3",
    "2 2 2 2",
    "1 2 3 4",
    "4 4 4 4",
    "1 1 2 1",
    "2 2 2 2",
    ". 5 5 5",
    ". . 1 1",
    ". . 3 .",
]
"""Four observers, twelve units, with missing values: the example of Krippendorff (2013), Ch. 12,
whose nominal alpha he gives as 0.743."""


def rows(lines: list[str]) -> list[list[str | None]]:
    return [[None if value == "." else value for value in line.split()] for line in lines]


def drawn(seed: int, items: int, annotators: int, agree: float) -> list[list[int]]:
    """Annotators who give the true one of three classes with the chance `agree`, else any."""
    generator = np.random.default_rng(seed)
    truth = generator.integers(0, 3, (items, 1))
    guesses = generator.integers(0, 3, (items, annotators))
    return np.where(generator.random((items, annotators)) < agree, truth, guesses).tolist()


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (HAYES, 0.743421052631579),
        # By hand: 10 binary units of two observers, 4 disagree; 14 zeros and 6 ones.
        # D_o = 8 / 20, D_e = 2 * 14 * 6 / (20 * 19), so 1 - 0.4 / (168 / 380).
        (["0 1", "1 1", "0 1", *["0 0"] * 5, "1 0", "1 0"], 1 - 0.4 * 380 / 168),
        (["a a", "b b"], 1.0),
        # Every unit disagrees: D_o = 1, D_e = 2 * 2 * 2 / (4 * 3).
        (["a b", "b a"], -0.5),
        (["a a", "a a"], None),
        (["a .", ". b"], None),
        ([], None),
    ],
)
def test_krippendorffs_alpha(lines, expected):
    found = estimate_alpha(rows(lines)).value
    assert found == (None if expected is None else pytest.approx(expected, abs=1e-12))


@pytest.mark.parametrize(
    ("seed", "items", "alpha", "kappa"),
    [
        # krippendorff.alpha(level_of_measurement="nominal") and sklearn's cohen_kappa_score.
        (1, 40, 0.38007918316315903, 0.2592592592592593),
        (2, 200, 0.3402423150095124, 0.36948770876337034),
    ],
)
def test_values_of_other_packages(seed, items, alpha, kappa):
    values = drawn(seed, items, 4, 0.6)
    missing = [[v if (i + j) % 4 else None for j, v in enumerate(row)] for i, row in enumerate(values)]
    assert estimate_alpha(missing).value == pytest.approx(alpha, abs=1e-12)
    first, second = [row[0] for row in values], [row[1] for row in values]
    assert cohen_kappa(first, second) == pytest.approx(kappa, abs=1e-12)
    table = np.zeros((3, 3))
    np.add.at(table, (first, second), 1)
    assert cohen_kappa(first, second) == pytest.approx(cohens_kappa(table).kappa, abs=1e-12)


def test_the_interval_of_many_items_is_that_of_the_standard_error():
    values = drawn(3, 2000, 2, 0.7)
    first, second = [row[0] for row in values], [row[1] for row in values]
    table = np.zeros((3, 3))
    np.add.at(table, (first, second), 1)
    other = cohens_kappa(table)
    ours = estimate_kappa(first, second)
    assert (ours.interval.low, ours.interval.high) == pytest.approx((other.kappa_low, other.kappa_upp), abs=0.003)
    alpha = estimate_alpha(values)
    assert alpha.interval.low == pytest.approx(ours.interval.low, abs=0.003)


def test_perfect_agreement_on_few_items_is_not_certain():
    values = [["keep", "keep"]] * 6 + [["drop", "drop"]] * 6
    for found in (estimate_kappa(*zip(*values, strict=True)), estimate_alpha(values)):
        assert found.value == found.interval.high == 1.0
        assert 0.3 < found.interval.low < 0.6
    raw = estimate_raw_agreement(values)
    assert (raw.value, raw.interval, raw.items) == (1.0, wilson(12, 12), 12)


def test_raw_agreement_is_the_share_of_agreeing_pairs():
    found = estimate_raw_agreement([["a", "a", "b"], ["a", None, "a"], ["c", None, None]])
    assert (found.value, found.items) == (pytest.approx((1 / 3 + 1) / 2), 2)


@pytest.mark.parametrize(("items", "agree"), [(20, 0.5), (20, 0.9), (80, 0.9)])
def test_intervals_hold_what_they_promise(items, agree):
    """The true kappa of `drawn` is `agree` squared: classes are equally frequent, and two
    annotators agree beyond chance where both give the true class."""
    held = [0, 0]
    for seed in range(300):
        values = drawn(seed, items, 2, agree)
        kappa = estimate_kappa(*zip(*values, strict=True)).interval
        alpha = estimate_alpha(values).interval
        held = [n + (one.low <= agree**2 <= one.high) for n, one in zip(held, (kappa, alpha), strict=True)]
    assert min(held) >= 0.92 * 300
