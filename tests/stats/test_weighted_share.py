"""Shares of a stratified sample: unbiased, with intervals that hold the truth."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.stats.intervals import SampledStratum, weighted_share, wilson


@pytest.mark.parametrize("each", [5, 20])
def test_ten_and_a_thousand_errors(each: int) -> None:
    """Of ten errors nine have the type, of a thousand 200: unweighted it would be 55 %."""
    rng = np.random.default_rng(each)
    subtasks = [(10, 9), (1000, 200)]
    truth = sum(hits for _, hits in subtasks) / sum(size for size, _ in subtasks)
    shares, held = [], 0
    for _ in range(2000):
        strata = []
        for size, hits in subtasks:
            n = min(each, size)
            strata.append(SampledStratum(size, n, int(rng.hypergeometric(hits, size - hits, n))))
        found = weighted_share(strata)
        shares.append(found.share)
        held += found.interval.low <= truth <= found.interval.high
    error = np.std(shares) / np.sqrt(len(shares))
    assert abs(np.mean(shares) - truth) < 4 * error
    assert held / 2000 >= 0.94


def test_single_stratum_is_a_plain_share() -> None:
    found = weighted_share([SampledStratum(100, 20, 5), SampledStratum(50, 0, 0)])
    assert found.share == 0.25
    assert found.interval == wilson(5, 20)
    assert weighted_share([SampledStratum(100, 20, 20)]) == (1.0, wilson(20, 20))


def test_strata_with_one_sample_use_the_common_spread() -> None:
    found = weighted_share([SampledStratum(10, 1, at % 2) for at in range(30)])
    assert found.share == 0.5
    assert wilson(12, 24).low < found.interval.low < wilson(15, 30).low


@pytest.mark.parametrize("stratum", [SampledStratum(5, 6, 1), SampledStratum(5, 2, 3), SampledStratum(5, 2, -1)])
def test_impossible_counts_are_refused(stratum: SampledStratum) -> None:
    with pytest.raises(ValueError, match="hits <= sample_size <= size"):
        weighted_share([stratum])
    with pytest.raises(ValueError, match="at least one thing"):
        weighted_share([])
