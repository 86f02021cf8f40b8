"""Is the map about tasks? Two halves of one task must be nearer than halves of two tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from snellen.taskmap.findings import Halves

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray


def compare_halves(names: Sequence[str], distances: NDArray[float64]) -> tuple[Halves, ...]:
    """For each task of which both halves (`<task>/1`, `<task>/2`) are on the map."""
    tasks = [name.rsplit("/", 1)[0] for name in names]
    unrelated = np.array(
        [
            distances[one, other]
            for one in range(len(tasks))
            for other in range(one)
            if tasks[one] != tasks[other]
        ]
    )
    found = []
    for task in dict.fromkeys(tasks):
        pair = [at for at, name in enumerate(tasks) if name == task]
        others = [at for at, name in enumerate(tasks) if name != task]
        if len(pair) != 2 or not others:
            continue
        own = float(distances[pair[0], pair[1]])
        near = min(others, key=lambda at: distances[at, pair].min())
        least = float(distances[near, pair].min())
        farther = float((unrelated > own).mean())
        found.append(Halves(task, own, names[near], least, farther, least <= own))
    return tuple(found)
