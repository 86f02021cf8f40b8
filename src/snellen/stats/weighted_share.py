"""A share estimated from a stratified sample.

W. G. Cochran, "Sampling Techniques" (1977), Secs. 5.3 to 5.5. The effective sample size in Wilson's
interval: E. L. Korn and B. I. Graubard, Survey Methodology 24 (1998), at most what the weights
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
    """A stratum of `size` items; of `sample_size` examined ones `hits` have the property."""

    size: int
    sample_size: int
    hits: int


class WeightedShare(NamedTuple):
    """A share in 0..1. The interval is for a population of such items: the examined ones count as
    drawn from many, even if they are all there are."""

    share: float
    interval: Interval


def weighted_share(strata: Sequence[SampledStratum], level: float = DEFAULT_LEVEL) -> WeightedShare:
    """The share of all items that have the property, strata weighted by size.

    Strata without examined items are ignored. A stratum with one examined item is assumed to have
    the spread of all strata. A single stratum has Wilson's interval.

    Raises:
        ValueError: no examined items, or more than the stratum has.
    """
    sampled = [stratum for stratum in strata if stratum.sample_size]
    if not sampled:
        raise ValueError("a share needs at least one thing that was looked at")
    for stratum in sampled:
        if not 0 <= stratum.hits <= stratum.sample_size <= stratum.size:
            raise ValueError(f"expected hits <= sample_size <= size, got {stratum}")
    if len(sampled) == 1:
        hits, n = sampled[0].hits, sampled[0].sample_size
        return WeightedShare(hits / n, wilson(hits, n, level))
    total = sum(stratum.size for stratum in sampled)
    share = sum(stratum.size * stratum.hits / stratum.sample_size for stratum in sampled) / total
    share = min(1.0, max(0.0, share))
    kish = 1 / sum((stratum.size / total) ** 2 / stratum.sample_size for stratum in sampled)
    variance = 0.0
    for stratum in sampled:
        own, n = stratum.hits / stratum.sample_size, stratum.sample_size
        spread = share * (1 - share) if n == 1 else own * (1 - own) * n / (n - 1)
        variance += (stratum.size / total) ** 2 * spread / n
    size = min(kish, share * (1 - share) / variance) if variance else kish
    # The variance is estimated from few items: Student's t for the normal quantile reduces the
    # effective sample size by the squared ratio of the two.
    quantile = two_sided_quantile(level, max(1, round(kish) - 1))
    size = max(1.0, size * (NormalDist().inv_cdf(0.5 + level / 2) / quantile) ** 2)
    return WeightedShare(share, wilson(share * size, size, level))
