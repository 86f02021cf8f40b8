"""Ranks of systems on the same samples, with what another draw of the samples could make of them.

Bootstrap of ranks over samples: H. Goldstein and D. J. Spiegelhalter, "League tables and their
limitations", JRSS A 159 (1996).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from snellen.stats.intervals import DEFAULT_LEVEL
from snellen.stats.resampling import DEFAULT_DRAWS, seeded, stacked_sums

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray


class Standing(NamedTuple):
    """A system's rank (1 is best; equal ones share the smaller), the middle `level` of its ranks
    over the draws, and the share of the draws in which nobody is better."""

    rank: int
    low: int
    high: int
    first: float
    level: float


def standings(
    sums: NDArray[float64],
    seed: str,
    *,
    draws: int = DEFAULT_DRAWS,
    level: float = DEFAULT_LEVEL,
) -> list[Standing]:
    """Ranks by the sum of scores, higher is better. `sums` (clusters, systems) holds what each
    system earned in each cluster; clusters are drawn whole, for all systems alike.

    Raises:
        ValueError: no clusters, or no systems.
    """
    if sums.ndim != 2 or 0 in sums.shape:
        raise ValueError(f"expected clusters by systems, got the shape {sums.shape}")
    observed = ranks(sums.sum(axis=0, keepdims=True))[0]
    return standing_of(observed, ranks(stacked_sums(sums, seeded(seed), draws)), level)


def standing_of(
    observed: NDArray[float64], drawn: NDArray[float64], level: float = DEFAULT_LEVEL
) -> list[Standing]:
    """Standings from observed ranks (systems,) and those of the draws (draws, systems)."""
    import numpy as np

    tail = (1 - level) / 2
    low = np.quantile(drawn, tail, axis=0, method="lower")
    high = np.quantile(drawn, 1 - tail, axis=0, method="higher")
    first = (drawn == 1).mean(axis=0)
    return [
        Standing(int(observed[at]), int(low[at]), int(high[at]), float(first[at]), level)
        for at in range(len(observed))
    ]


def ranks(values: NDArray[float64]) -> NDArray[float64]:
    """Competition ranks along the last axis, 1 for the highest: 1 + how many are higher."""
    import numpy as np

    # Sums of scores such as 0.3 that are equal must not be told apart by their last bits.
    rounded = np.round(values, 9)
    higher: NDArray[float64] = (rounded[..., None, :] > rounded[..., :, None]).sum(axis=-1)
    return 1.0 + higher
