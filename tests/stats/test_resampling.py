"""The bootstrap of sums beside scipy's and the truth."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from snellen.stats.resampling import bootstrap_sums, seeded_generator


def drawn(rows: Sequence[Sequence[float]], seed: str, draws: int = 1000) -> NDArray[np.float64]:
    return bootstrap_sums(np.asarray(rows, dtype=np.float64), seeded_generator(seed), draws)


def test_sums_of_resampled_rows_have_the_right_mean_and_spread() -> None:
    rows = [(float(value), 1.0) for value in range(50)]
    sums = drawn(rows, "seed", 4000)
    assert sums.shape == (4000, 2)
    assert set(sums[:, 1]) == {50.0}
    variance = sum((value - 24.5) ** 2 for value in range(50))
    assert sums[:, 0].mean() == pytest.approx(sum(range(50)), rel=0.01)
    assert sums[:, 0].std() == pytest.approx(math.sqrt(variance), rel=0.05)


def test_the_draws_are_those_of_scipys_bootstrap() -> None:
    from scipy.stats import bootstrap

    values = [float(value % 7) for value in range(80)]
    means = drawn([(value,) for value in values], "a", 20_000)[:, 0] / 80
    low, high = np.quantile(means, (0.025, 0.975))
    theirs = bootstrap((values,), np.mean, method="percentile", n_resamples=20_000, rng=1)
    # Both are of 20,000 draws: the ends differ by chance, by some hundredths of a width of 0.9.
    assert low == pytest.approx(theirs.confidence_interval.low, abs=0.03)
    assert high == pytest.approx(theirs.confidence_interval.high, abs=0.03)


def test_the_same_seed_gives_the_same_draws() -> None:
    rows = [(1.0,), (2.0,), (4.0,)]
    assert (drawn(rows, "a") == drawn(rows, "a")).all()
    assert (drawn(rows, "a") != drawn(rows, "b")).any()


def test_nothing_is_drawn_from_nothing() -> None:
    with pytest.raises(ValueError, match="needs rows"):
        bootstrap_sums(np.zeros((0, 1)), seeded_generator("a"), 10)
