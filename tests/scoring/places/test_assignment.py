"""The least-sum pairing beside SciPy's."""

from __future__ import annotations

from random import Random

import numpy as np
from scipy.optimize import linear_sum_assignment

from snellen.scoring.assignment import least_sum_pairs


def test_pairs_are_those_of_scipy() -> None:
    random = Random(3)
    for _ in range(300):
        height, width = random.randint(1, 7), random.randint(1, 7)
        costs = [[random.random() for _ in range(width)] for _ in range(height)]
        rows, columns = linear_sum_assignment(np.array(costs))
        assert least_sum_pairs(costs) == list(zip(rows.tolist(), columns.tolist(), strict=True))


def test_nothing_has_no_pairs() -> None:
    assert least_sum_pairs([]) == []
    assert least_sum_pairs([[], []]) == []
