"""A share among things of which some of each stratum were looked at.

W. G. Cochran, "Sampling Techniques" (1977), Secs. 5.3 to 5.5; the effective sample size in Wilson's
interval: E. L. Korn and B. I. Graubard, Survey Methodology 24 (1998); never more than the weights
allow: L. Kish, "Survey Sampling" (1965), Sec. 11.7.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

from snellen.core.summary import Interval
from snellen.stats.intervals import DEFAULT_LEVEL, wilson
from snellen.stats.student_t import two_sided_quantile


class SampledStratum(NamedTuple):
    """`hits` of the `sample_size` have the property; there are `size` things."""

    size: int
    sample_size: int
    hits: int


class WeightedShare(NamedTuple):
    """In 0..1. The interval is for things of this kind: those that were looked at count as drawn
    from many, also where they are all there are."""

    share: float
    interval: Interval


def weighted_share(strata: Sequence[SampledStratum], level: float = DEFAULT_LEVEL) -> WeightedShare:
    """The share of all things that have the property, each stratum with its size.

    Strata of which nothing was looked at are left out. Where one thing of a stratum was looked at,
    its spread is taken to be that of all strata together. A single stratum has Wilson's interval.

    Raises:
        ValueError: nothing was looked at, or more of a stratum than there is.
    """
    sampled = [one for one in strata if one.sample_size]
    if not sampled:
        raise ValueError("a share needs at least one thing that was looked at")
    for one in sampled:
        if not 0 <= one.hits <= one.sample_size <= one.size:
            raise ValueError(f"expected hits <= looked_at <= size, got {one}")
    if len(sampled) == 1:
        hits, n = sampled[0].hits, sampled[0].sample_size
        return WeightedShare(hits / n, wilson(hits, n, level))
    total = sum(one.size for one in sampled)
    share = sum(one.size * one.hits / one.sample_size for one in sampled) / total
    share = min(1.0, max(0.0, share))
    kish = 1 / sum((one.size / total) ** 2 / one.sample_size for one in sampled)
    variance = 0.0
    for one in sampled:
        own, n = one.hits / one.sample_size, one.sample_size
        spread = share * (1 - share) if n == 1 else own * (1 - own) * n / (n - 1)
        variance += (one.size / total) ** 2 * spread / n
    size = min(kish, share * (1 - share) / variance) if variance else kish
    # The variance is an estimate from as few: less by the ratio of the quantiles, squared.
    quantile = two_sided_quantile(level, max(1, round(kish) - 1))
    size = max(1.0, size * (NormalDist().inv_cdf(0.5 + level / 2) / quantile) ** 2)
    return WeightedShare(share, wilson(share * size, size, level))
