"""MMT-Bench's aggregates over tables of subtask accuracies (Ying et al. 2024, Sec. 4.2).

Meta-task = plain mean of its subtasks, never weighted by their sizes; Overall = plain mean over
all subtasks; Overall* = the same without visual recognition; average rank = mean over meta-tasks
of the competition rank among all rows, guessing baselines included, taken on the values as
printed with one decimal. Recomputed from the paper's Tables A18-A36 these rules give all 1,024
meta-task cells, all 32 values of Overall* and both average ranks of all 32 rows of Table 2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from snellen.scoring.ranks import average_ranks

VISUAL_RECOGNITION = "VR"
"""Abbreviation of the meta-task that Overall* and R* exclude."""

PRINTED_DIGITS = 1
"""Decimals of the paper's tables. Its ranks are computed after rounding as Python rounds floats."""


def average_meta_ranks(means: Mapping[str, Mapping[str, float]], metas: Sequence[str]) -> dict[str, float]:
    """Each row's mean over the meta-tasks of its rank among all rows, on the values as printed.

    Raises KeyError if a row has no value for a meta-task.
    """
    return average_ranks(
        {meta: {row: round(values[meta], PRINTED_DIGITS) for row, values in means.items()} for meta in metas}
    )
