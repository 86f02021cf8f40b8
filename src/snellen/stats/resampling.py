"""Bootstrap of sums over samples, drawn once for all columns.

B. Efron and R. Tibshirani, "An Introduction to the Bootstrap" (1993), Ch. 6 and 8.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy import float64
    from numpy.random import Generator
    from numpy.typing import NDArray

DEFAULT_DRAWS = 1000
_CELLS = 200_000
"""Picked rows held at once: few enough for the processor's cache."""
_MAX_KINDS = 0.1
"""Kinds of rows, as a share of the rows, up to which counting them is quicker than picking."""


def bootstrap_sums(rows: NDArray[float64], random: Generator, draws: int) -> NDArray[float64]:
    """Column sums over as many of the `rows` (n, columns) as there are, drawn with replacement:
    shape (draws, columns). A row is whatever must stay together, e.g. an image with its questions.

    Quick where many rows are alike: how often each kind of row is drawn is then multinomial, and
    the rows themselves need not be picked.

    Raises:
        ValueError: no rows, or draws < 1.
    """
    import numpy as np

    if not len(rows) or draws < 1:
        raise ValueError(f"a bootstrap needs rows and draws, got {len(rows)} and {draws}")
    kinds, counts = np.unique(rows, axis=0, return_counts=True)
    if len(kinds) > _MAX_KINDS * len(rows):
        return _picked_sums(rows, random, draws)
    drawn = random.multinomial(len(rows), counts / len(rows), size=draws)
    return np.asarray(drawn @ kinds, dtype=np.float64)


def seeded_generator(seed: str) -> Generator:
    """A generator of its own for each text."""
    import numpy as np

    digest = hashlib.sha256(seed.encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:8]))


def _picked_sums(values: NDArray[float64], random: Generator, draws: int) -> NDArray[float64]:
    import numpy as np

    size = len(values)
    step = max(1, _CELLS // size)
    parts = []
    for start in range(0, draws, step):
        count = min(step, draws - start)
        picked = random.integers(0, size, (count, size), dtype=np.int32)
        picked += np.arange(0, count * size, size, dtype=np.int32)[:, None]
        times = np.bincount(picked.ravel(), minlength=count * size).reshape(count, size)
        parts.append(times @ values)
    return np.concatenate(parts)
