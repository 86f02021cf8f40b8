"""MMT-Bench's aggregates over tables of subtask accuracies (Ying et al. 2024, Sec. 4.2).

Meta-task = plain mean of its subtasks, never weighted by their sizes; Overall = plain mean over
all subtasks; Overall* = the same without visual recognition; average rank = mean over meta-tasks
of the competition rank among all rows, guessing baselines included, taken on the values as
printed with one decimal. Recomputed from the paper's Tables A18-A36 these rules give all 1,024
meta-task cells, all 32 values of Overall* and both average ranks of all 32 rows of Table 2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from snellen.scoring.ranks import average_ranks

VISUAL_RECOGNITION = "VR"
"""Abbreviation of the meta-task that Overall* and R* leave out."""

PRINTED_DIGITS = 1
"""Decimals of the paper's tables. Its ranks are taken after rounding as Python rounds floats."""

Accuracies = Mapping[str, float]
"""Accuracy by subtask, in percent."""
Members = Mapping[str, Sequence[str]]
"""Subtasks of each meta-task, image type or capability."""


class ModelRow(NamedTuple):
    """One row of Table 2; ranks are among all rows of the table."""

    overall: float
    average_rank: float
    overall_without_recognition: float
    average_rank_without_recognition: float
    meta_tasks: dict[str, float]


def plain_mean(values: Accuracies, members: Iterable[str]) -> float | None:
    """Mean over the subtasks, each weighing the same; None where one of them has no value."""
    found = [values.get(name) for name in members]
    present = [value for value in found if value is not None]
    if not present or len(present) < len(found):
        return None
    return sum(present) / len(present)


def group_means(values: Accuracies, members: Members) -> dict[str, float | None]:
    """Plain mean of each group: meta-tasks (Table 2), image types (Fig. A3), capabilities
    (Fig. A4). A subtask may stand in several groups."""
    return {group: plain_mean(values, names) for group, names in members.items()}


def leaderboard(table: Mapping[str, Accuracies], meta_tasks: Members) -> dict[str, ModelRow]:
    """Table 2 from the accuracies of every model in every subtask.

    Raises:
        ValueError: a model lacks a subtask; its averages and everybody's ranks would not compare.
    """
    subtasks = [name for names in meta_tasks.values() for name in names]
    for model, values in table.items():
        absent = [name for name in subtasks if name not in values]
        if absent:
            raise ValueError(f"{model} lacks {len(absent)} subtasks, the first being {absent[0]}")
    means = {
        model: {group: _mean(values, names) for group, names in meta_tasks.items()}
        for model, values in table.items()
    }
    rank = _ranks(means, list(meta_tasks))
    others = [group for group in meta_tasks if group != VISUAL_RECOGNITION]
    rank_others = _ranks(means, others)
    rest = [name for group in others for name in meta_tasks[group]]
    return {
        model: ModelRow(
            _mean(values, subtasks),
            rank[model],
            _mean(values, rest),
            rank_others[model],
            means[model],
        )
        for model, values in table.items()
    }


def _mean(values: Accuracies, names: Sequence[str]) -> float:
    found = plain_mean(values, names)
    if found is None:
        raise ValueError(f"no mean: one of the subtasks {', '.join(names[:3])} ... has no value")
    return found


def _ranks(means: Mapping[str, Mapping[str, float]], groups: Sequence[str]) -> dict[str, float]:
    return average_ranks(
        {
            group: {model: round(row[group], PRINTED_DIGITS) for model, row in means.items()}
            for group in groups
        }
    )
