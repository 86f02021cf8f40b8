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
from snellen.stats.paired import FEWEST_CLUSTERS
from snellen.stats.student_t import two_sided_quantile


def share_over_systems(
    parts: Sequence[int], wholes: Sequence[int], level: float = DEFAULT_LEVEL
) -> Interval | None:
    """Interval of the sum of `parts` over the sum of `wholes`, in 0..1, for further systems of this
    kind. Never narrower than Wilson's interval of all replies together, which knows of no
    differences between systems. None for fewer than five systems, whose spread nobody can tell.
    """
    counted = [(part, whole) for part, whole in zip(parts, wholes, strict=True) if whole]
    if len(counted) < FEWEST_CLUSTERS:
        return None
    n = sum(whole for _, whole in counted)
    share = sum(part for part, _ in counted) / n
    squares = sum((part - whole * share) ** 2 / (1 - whole / n) for part, whole in counted)
    half = two_sided_quantile(level, len(counted) - 1) * math.sqrt(squares) / n
    alone = wilson(share * n, n, level)
    low, high = min(alone.low, share - half), max(alone.high, share + half)
    return Interval(max(0.0, low), min(1.0, high), "clustered by system", level)
