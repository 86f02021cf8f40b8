"""Intervals of a share over systems that differ."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.stats.intervals import share_over_systems, wilson


@pytest.mark.parametrize("spread", [0.0, 0.02, 0.05])
def test_the_interval_holds_the_mean_over_systems(spread: float) -> None:
    """Wilson's interval of all replies together holds it in 0.4 and 0.2 of the last two."""
    rng = np.random.default_rng(5)
    held = 0
    for shares in np.clip(rng.normal(0.9, spread, (2000, 11)), 0, 1):
        found = share_over_systems(rng.binomial(1817, shares).tolist(), [1817] * 11)
        assert found is not None
        held += found.low <= 0.9 <= found.high
    assert held / 2000 >= 0.94


def test_share_over_systems_by_hand() -> None:
    found = share_over_systems([9, 8, 10, 7, 6], [10] * 5)
    assert found is not None
    # Residuals 1, 0, 2, -1, -2 of 8, each over 1 - 1/5; t with four degrees of freedom.
    half = 2.7764451 * (10 / 0.8) ** 0.5 / 50
    assert (found.low, found.high) == pytest.approx((0.8 - half, 0.8 + half))


def test_few_systems_have_no_interval_and_none_is_narrower_than_wilsons() -> None:
    assert share_over_systems([9] * 4, [10] * 4) is None
    assert share_over_systems([9] * 4 + [0], [10] * 4 + [0]) is None
    found, alone = share_over_systems([10] * 6, [10] * 6), wilson(60, 60)
    assert found is not None
    assert (found.low, found.high) == (alone.low, 1.0)
