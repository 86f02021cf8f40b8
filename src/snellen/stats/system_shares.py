"""Interval of a share that is counted over the replies of several systems.

Systems are the clusters: replies of one system are parsed similarly well or badly. The sums of
residuals are corrected for each system's part in the total (R. Bell and D. McCaffrey, Survey
Methodology 28, 2002); Student's t has one degree of freedom less than there are systems.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from snellen.core.summary import Interval
from snellen.stats.intervals import DEFAULT_LEVEL, wilson
from snellen.stats.paired import MIN_CLUSTERS
from snellen.stats.student_t import two_sided_quantile


def share_over_systems(
    parts: Sequence[int], totals: Sequence[int], level: float = DEFAULT_LEVEL
) -> Interval | None:
    """Interval in 0..1 of sum(parts) / sum(totals), for further systems of this kind.

    Never narrower than Wilson's interval of all replies, which ignores differences between systems.
    None for fewer than `MIN_CLUSTERS` systems with replies.
    """
    counted = [(part, total) for part, total in zip(parts, totals, strict=True) if total]
    if len(counted) < MIN_CLUSTERS:
        return None
    n = sum(total for _, total in counted)
    share = sum(part for part, _ in counted) / n
    squares = sum((part - total * share) ** 2 / (1 - total / n) for part, total in counted)
    half = two_sided_quantile(level, len(counted) - 1) * math.sqrt(squares) / n
    wilson_interval = wilson(share * n, n, level)
    low, high = min(wilson_interval.low, share - half), max(wilson_interval.high, share + half)
    return Interval(max(0.0, low), min(1.0, high), "clustered by system", level)
