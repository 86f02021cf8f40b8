"""Runs that a stop rule ended early (`engine.anytime`): notices, and the interval of a difference
that is valid at such a stop."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from snellen.core.arrays import Floats, Ints, np
from snellen.core.errors import UsageError
from snellen.core.grouping import group_by
from snellen.core.run import RunInfo
from snellen.core.summary import Interval
from snellen.engine.anytime.early_stop import ComparisonRule, parse_stop_rule
from snellen.stats.confidence_sequences import interval_of_differences
from snellen.stats.intervals import DEFAULT_LEVEL


def has_stopped_early(info: RunInfo | None) -> bool:
    """Whether a rule of `--until` ended the run before all samples were asked."""
    ended = info is not None and info.status not in ("running", "interrupted")
    return ended and info is not None and bool(info.config.until and info.stopped)


def stop_notices(infos: Sequence[RunInfo]) -> Iterator[str]:
    """A sentence for each rule that ended some of the runs early."""
    for rule, members in group_by(filter(has_stopped_early, infos), lambda info: info.config.until).items():
        names = " and ".join(dict.fromkeys(info.model for info in members))
        text = f"{names} stopped early by --until {rule}"
        if _is_comparison_rule(rule):
            text += (
                ", which looks at the difference: at such a stop it is too far from 0 on average, "
                "and the ordinary interval and p do not hold; the anytime interval does"
            )
        yield text


def interval_at_stop(
    infos: Sequence[RunInfo | None], differences: Floats, clusters: Ints, level: float = DEFAULT_LEVEL
) -> Interval | None:
    """The anytime interval of the mean of `differences` (n,), in points of 100; None if neither of
    the two runs stopped early.

    `clusters` (n,) are cluster numbers without gaps. The interval is valid whenever the runs
    stopped because of their scores so far, provided that samples are asked in random order.
    Differences lie in -1..1.
    """
    if not any(map(has_stopped_early, infos)):
        return None
    sizes = np.bincount(clusters).astype(np.float64)
    totals = np.bincount(clusters, weights=differences)
    # The confidence sequence is for sampling without replacement from a finite population: the
    # number of clusters among all samples is extrapolated from that among the samples asked.
    max_clusters = math.ceil(len(sizes) * max(1.0, _max_samples(infos) / len(differences)))
    interval = interval_of_differences(totals.tolist(), sizes.tolist(), max_clusters, level)
    return Interval(100 * interval.low, 100 * interval.high, interval.method, level)


def _max_samples(infos: Sequence[RunInfo | None]) -> int:
    """Number of samples that the runs would have asked without a stop."""
    return max(min(info.data.rows, info.config.limit or info.data.rows) for info in infos if info is not None)


def _is_comparison_rule(rule: str) -> bool:
    try:
        return isinstance(parse_stop_rule(rule), ComparisonRule)
    except UsageError:
        return False  # written by another version
