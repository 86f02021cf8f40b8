"""Against scipy, a published example, and McNemar's test."""

from __future__ import annotations

import random

import pytest
from scipy import stats

from snellen.stats.chi_square import pearson, stuart_maxwell, tail


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 7, 30, 161])
@pytest.mark.parametrize("statistic", [0.0, 0.01, 1.0, 3.84, 20.0, 300.0])
def test_tail_as_scipy(statistic: float, freedom: int) -> None:
    assert tail(statistic, freedom) == pytest.approx(stats.chi2.sf(statistic, freedom), abs=1e-14)


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


VISION = {
    "highest": (1520, 266, 124, 66),
    "second": (234, 1512, 432, 78),
    "third": (117, 362, 1772, 205),
    "lowest": (36, 82, 179, 492),
}
"""Unaided distance vision of 7,477 women, right eye by left eye: Stuart's own example (1955),
whose statistic is 11.96 with 3 degrees of freedom."""


def test_stuarts_example() -> None:
    table = {
        (one, other): count
        for one, row in VISION.items()
        for other, count in zip(VISION, row, strict=True)
    }
    found = stuart_maxwell(table)
    assert found is not None
    assert found.statistic == pytest.approx(11.96, abs=0.01)
    assert (found.freedom, found.p) == (3, pytest.approx(0.0075, abs=0.0001))


def test_two_categories_are_mcnemar() -> None:
    found = stuart_maxwell({("A", "B"): 12, ("B", "A"): 30, ("A", "A"): 99})
    assert found is not None
    assert found.statistic == pytest.approx((30 - 12) ** 2 / 42)
    assert found.freedom == 1
    assert stuart_maxwell({("A", "A"): 5, ("B", "B"): 7}) is None


def test_categories_that_are_never_confused_are_free_apart() -> None:
    found = stuart_maxwell({("A", "B"): 12, ("B", "A"): 30, ("C", "D"): 5, ("D", "C"): 9})
    assert found is not None
    assert found.freedom == 2
    assert found.statistic == pytest.approx(18**2 / 42 + 4**2 / 14)


def test_stuart_maxwell_keeps_its_level() -> None:
    rng = random.Random(1)
    rejected = 0
    for _ in range(2000):
        table: dict[tuple[str, str], int] = {}
        for _ in range(200):
            gold = rng.choices("ABCD", (4, 3, 2, 1))[0]
            said = gold if rng.random() < 0.4 else rng.choices("ABCD", (4, 3, 2, 1))[0]
            table[gold, said] = table.get((gold, said), 0) + 1
        found = stuart_maxwell(table)
        rejected += found is not None and found.p < 0.05
    assert 0.035 < rejected / 2000 < 0.065
