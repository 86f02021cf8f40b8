"""Bootstrap of sums over samples, with the same draws for all columns.

B. Efron and R. Tibshirani, "An Introduction to the Bootstrap" (1993), Ch. 6 and 8.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from snellen.core.arrays import Floats, np

if TYPE_CHECKING:
    from numpy.random import Generator

DEFAULT_DRAWS = 1000
_CELLS = 200_000
"""Row indices in memory at once: few enough for the processor's cache."""
_MAX_KINDS = 0.1
"""Distinct rows, as a fraction of all, up to which drawing their counts is faster."""


def bootstrap_sums(rows: Floats, random: Generator, draws: int) -> Floats:
    """Column sums over n of the `rows` (n, columns) drawn with replacement: (draws, columns).

    A row is a unit that must stay together, e.g. the sums over an image's questions. If many rows
    are equal, the counts of distinct rows are drawn from a multinomial distribution instead, which
    is faster. Raises ValueError for no rows, or draws < 1.
    """
    if not len(rows) or draws < 1:
        raise ValueError(f"a bootstrap needs rows and draws, got {len(rows)} and {draws}")
    kinds, counts = np.unique(rows, axis=0, return_counts=True)
    if len(kinds) > _MAX_KINDS * len(rows):
        return _picked_sums(rows, random, draws)
    drawn = random.multinomial(len(rows), counts / len(rows), size=draws)
    return np.asarray(drawn @ kinds, dtype=np.float64)


def seeded_generator(seed: str) -> Generator:
    """A random generator seeded by the SHA-256 of a text."""
    digest = hashlib.sha256(seed.encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:8]))


def _picked_sums(values: Floats, random: Generator, draws: int) -> Floats:
    """`bootstrap_sums` by drawing row indices, in blocks of draws."""
    size = len(values)
    step = max(1, _CELLS // size)
    parts = []
    for start in range(0, draws, step):
        count = min(step, draws - start)
        picked = random.integers(0, size, (count, size), dtype=np.int32)
        # Offset by draw, so that one `bincount` counts the rows of all draws of the block.
        picked += np.arange(0, count * size, size, dtype=np.int32)[:, None]
        times = np.bincount(picked.ravel(), minlength=count * size).reshape(count, size)
        parts.append(times @ values)
    return np.concatenate(parts)
