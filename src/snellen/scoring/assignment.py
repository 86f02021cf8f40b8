"""The pairing of the rows and columns of a matrix with the least sum (Kuhn 1955; with potentials,
Jonker and Volgenant 1987)."""

from __future__ import annotations

import math
from collections.abc import Sequence


def least_sum_pairs(costs: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """(row, column) pairs, as many as the shorter side has; `costs` is by row, then column."""
    if not costs or not costs[0]:
        return []
    if len(costs) > len(costs[0]):
        return sorted((row, column) for column, row in least_sum_pairs(list(zip(*costs, strict=True))))
    width = len(costs[0])
    # Column 0 stands for no column; rows and columns count from 1.
    of_row, of_column = [0.0] * (len(costs) + 1), [0.0] * (width + 1)
    row_at = [0] * (width + 1)
    for row in range(1, len(costs) + 1):
        least, before = [math.inf] * (width + 1), [0] * (width + 1)
        done: set[int] = set()
        row_at[0], column = row, 0
        while row_at[column]:
            done.add(column)
            here = row_at[column]
            for other in range(1, width + 1):
                if other not in done:
                    cost = costs[here - 1][other - 1] - of_row[here] - of_column[other]
                    if cost < least[other]:
                        least[other], before[other] = cost, column
            column = min((one for one in range(1, width + 1) if one not in done), key=least.__getitem__)
            step = least[column]
            for other in done:
                of_row[row_at[other]] += step
                of_column[other] -= step
            least = [value - step if one not in done else value for one, value in enumerate(least)]
        while column:
            row_at[column], column = row_at[before[column]], before[column]
    return sorted((row_at[column] - 1, column - 1) for column in range(1, width + 1) if row_at[column])
