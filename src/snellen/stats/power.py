"""Size of a study of two systems: to detect a difference, or to show that one is no worse.

Difference: `stats.paired.required_samples` (Connor 1987). No worse by a margin d: the test whether
Tango's interval of the difference lies above -d, with the standard error that is most likely where
the difference is -d (T. Tango, Statistics in Medicine 17 (1998)); samples by J.-P. Liu, H.-M.
Hsueh, E. Hsieh and J. J. Chen, "Tests for equivalence or non-inferiority for paired binary data",
Statistics in Medicine 21 (2002), for two systems that are equally good. Neither better nor worse
by d: the same on both sides, which must both succeed. Clusters: L. Kish, "Survey Sampling" (1965),
Sec. 5.4; for clusters of unequal size A. Donner and N. Klar, "Design and Analysis of Cluster
Randomization Trials in Health Research" (2000), Sec. 5.3.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

from snellen.stats.intervals import DEFAULT_LEVEL
from snellen.stats.paired import DEFAULT_POWER

_HALVINGS = 60


def required_samples_no_worse(
    margin: float,
    discordance: float,
    *,
    level: float = DEFAULT_LEVEL,
    power: float = DEFAULT_POWER,
    design: float = 1.0,
    both: bool = False,
) -> int:
    """Samples after which the interval of `level` lies above -`margin` with `power`, if the two
    systems are equally good; with `both`, between -`margin` and `margin`.

    `discordance` is the mean square of the differences, in 0..1; `design` the design effect. Raises
    ValueError for a margin or a level outside (0, 1), a discordance outside 0..1, a power outside
    [0.5, 1).
    """
    if not 0 < margin < 1 or not 0 <= discordance <= 1 or not 0 < level < 1 or not 0.5 <= power < 1:
        raise ValueError(
            f"expected a margin and a level in (0, 1), a discordance in 0..1 and a power in "
            f"[0.5, 1); got {margin}, {discordance}, {level} and {power}"
        )
    return math.ceil(design * _solve_samples(margin, discordance, level, power, both))


def min_margin(
    discordance: float, n: float, *, level: float = DEFAULT_LEVEL, power: float = DEFAULT_POWER
) -> float | None:
    """The smallest margin by which `n` independent samples show with `power` that one of two
    equally good systems is no worse; None if not even a margin of 1 suffices."""
    low, high = 0.0, 1.0
    if n <= 0 or _solve_samples(high - 1e-9, discordance, level, power, False) > n:
        return None
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        is_enough = _solve_samples(middle, discordance, level, power, False) <= n
        low, high = (low, middle) if is_enough else (middle, high)
    return high


def _solve_samples(margin: float, discordance: float, level: float, power: float, both: bool) -> float:
    normal = NormalDist()
    z_level = normal.inv_cdf(0.5 + level / 2)
    # With both sides, each may fail with half of the probability.
    z_power = normal.inv_cdf((1 + power) / 2 if both else power)
    # The share that only the other has right, most likely where the difference is -margin: the
    # larger root of 2 q^2 - b q - c.
    b, c = discordance - 2 * margin, discordance * margin * (1 - margin) / 2
    share = (b + math.sqrt(b * b + 8 * c)) / 4
    spread = math.sqrt(2 * share + margin - margin**2)
    return ((z_level * spread + z_power * math.sqrt(discordance)) / margin) ** 2


def design_effect_of_sizes(sizes: Sequence[int], correlation: float) -> float:
    """Design effect of clusters of these sizes with correlation r between samples of a cluster: 1 +
    (sum m^2 / sum m - 1) r, at least 1. Raises ValueError for no clusters.
    """
    if not sizes:
        raise ValueError("a design effect needs clusters, got none")
    weighted_size = sum(size * size for size in sizes) / sum(sizes)
    return 1 + (weighted_size - 1) * max(0.0, correlation)


def discordance_of_means(questions: float, draws: float, repeats: int) -> float:
    """Mean square of the differences of mean scores over `repeats` draws, at most 1.

    `questions` is the part between questions, `draws` the part of a single draw of both systems.
    """
    return min(1.0, questions + draws / repeats)
