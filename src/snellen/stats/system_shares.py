"""The interval of a share that is counted over several systems, which differ from one another.

Systems are the clusters: replies of one system are read alike well or alike badly. Residual sums
corrected for each system's part of the whole (R. Bell and D. McCaffrey, Survey Methodology 28,
2002), Student's t with one degree of freedom less than there are systems.
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
    """Interval of the sum of `parts` over the sum of `totals`, in 0..1, for further systems of this
    kind. Never narrower than Wilson's interval of all replies together, which knows of no
    differences between systems. None for fewer than five systems, whose spread nobody can tell.
    """
    counted = [(part, whole) for part, whole in zip(parts, totals, strict=True) if whole]
    if len(counted) < MIN_CLUSTERS:
        return None
    n = sum(whole for _, whole in counted)
    share = sum(part for part, _ in counted) / n
    squares = sum((part - whole * share) ** 2 / (1 - whole / n) for part, whole in counted)
    half = two_sided_quantile(level, len(counted) - 1) * math.sqrt(squares) / n
    wilson_interval = wilson(share * n, n, level)
    low, high = min(wilson_interval.low, share - half), max(wilson_interval.high, share + half)
    return Interval(max(0.0, low), min(1.0, high), "clustered by system", level)
