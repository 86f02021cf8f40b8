"""Tail and quantile of Student's t against scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest

from snellen.stats.student_t import two_sided_quantile, two_sided_tail

FREEDOMS = (0.7, 1, 1.5, 2, 3.3, 5, 12.25, 30, 199, 200.5, 1000, 31_000.5, 1e6)
VALUES = np.array([0.0, 1e-6, 0.1, 0.7, 1.0, 1.96, 2.7, 5.0, 12.0, 40.0])


@pytest.mark.parametrize("freedom", FREEDOMS)
def test_the_tail_is_that_of_scipy(freedom: float) -> None:
    from scipy.stats import t

    expected = 2 * t.sf(VALUES, freedom)
    for sign in (1, -1):
        found = [two_sided_tail(sign * value, freedom) for value in VALUES.tolist()]
        assert found == pytest.approx(expected, rel=2e-8, abs=1e-300)


@pytest.mark.parametrize("freedom", FREEDOMS)
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.9999])
def test_the_quantile_is_the_root_of_the_tail(level: float, freedom: float) -> None:
    from scipy.stats import t

    found = two_sided_quantile(level, freedom)
    assert found == pytest.approx(t.ppf(0.5 + level / 2, freedom), rel=1e-8)
    assert two_sided_tail(found, freedom) == pytest.approx(1 - level, rel=1e-9)


def test_many_degrees_of_freedom_are_the_normal_distribution() -> None:
    assert two_sided_quantile(0.95, 1e9) == pytest.approx(1.959963984540054)
    assert two_sided_tail(1.959963984540054, 1e9) == pytest.approx(0.05)
    assert two_sided_tail(1e200, 3) == 0.0
    assert two_sided_tail(1e-200, 3) == 1.0
    assert two_sided_tail(1e-160, 1e6) == 1.0
    assert math.isnan(two_sided_tail(math.nan, 3))


def test_refuses_invalid_level_and_degrees_of_freedom() -> None:
    for level in (0.0, 1.0):
        with pytest.raises(ValueError, match="level"):
            two_sided_quantile(level, 5)
    with pytest.raises(ValueError, match="degrees of freedom"):
        two_sided_tail(1.0, 0)
