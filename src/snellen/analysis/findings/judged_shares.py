"""The share of samples with a property, from a judge's verdicts and people's labels of a part.

A judge errs, and what it errs by is measured: among the samples that it says have the property,
and among those that it says have not, the labelled ones show how many do. Both shares, weighted by
how often the judge says so, are the share of all (double sampling: A. Tenenbein, JASA 65, 1970). It
takes labels of a random part of either kind. If the judge saw only a sample of what the share is
of, each of its verdicts counts for as many as it was drawn from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from snellen.stats.intervals import SampledStratum, WeightedShare, weighted_share

Key = tuple[str, str]
"""Name of a run, and id of a sample."""
_NONE: Mapping[Key, float] = {}


class JudgedShare(NamedTuple):
    """A share by a judge's verdicts, and corrected for the judge's errors."""

    said: int
    """Samples that the judge says have the property, of `total`."""
    total: int
    confirmed: tuple[int, int]
    """Of those, how many labels say so too, of how many labels: the judge's precision."""
    missed: tuple[int, int]
    """The same for samples that the judge says do not have the property."""
    corrected: WeightedShare | None
    """The share of all samples; None if either kind has samples and no label."""


def judged_share(
    verdicts: Mapping[Key, bool], labels: Mapping[Key, bool], weights: Mapping[Key, float] = _NONE
) -> JudgedShare:
    """The share over all verdicts, corrected by the labels of some of the samples. With `weights`
    (at least 1, by default 1) it is that over all the samples for which the judged ones stand."""
    strata, counts = [], []
    for verdict in (True, False):
        members = [key for key, one in verdicts.items() if one is verdict]
        known = [key for key in members if key in labels]
        counts.append((sum(labels[key] for key in known), len(known)))
        size, total, effective = _weigh(members, weights)[0], *_weigh(known, weights)
        hits, _ = _weigh([key for key in known if labels[key]], weights)
        share = min(1.0, hits / total) if known else 0.0
        strata.append(SampledStratum(size, effective, effective * share))
    can_correct = bool(verdicts) and all(one.sample_size or not one.size for one in strata)
    return JudgedShare(
        sum(verdicts.values()), len(verdicts), counts[0], counts[1], weighted_share(strata) if can_correct else None
    )


def _weigh(keys: Iterable[Key], weights: Mapping[Key, float]) -> tuple[float, float]:
    """The sum of the samples' weights, and their effective number: L. Kish, "Survey Sampling"
    (1965), Sec. 11.7."""
    own = [weights.get(key, 1.0) for key in keys]
    return sum(own), sum(own) ** 2 / sum(one**2 for one in own) if own else 0.0
