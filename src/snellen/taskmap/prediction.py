"""What a model would score on a task, from its scores on the nearest tasks (MMT-Bench, Sec. 5.2:
"the performance of LVLMs on a new task can be predicted if it is close to one of the subtasks")."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from snellen.taskmap.agreement import Ties, kendall_tau
from snellen.taskmap.chance import permutation_p_value, task_orders
from snellen.taskmap.distances import nearest_tasks
from snellen.taskmap.scores import TaskScores

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray


class LeftOutTask(Struct, frozen=True):
    """A task predicted as if no model had been scored on it."""

    task: str
    neighbours: tuple[str, ...]
    error: float
    """Mean absolute error over models, in points, of the mean over the nearest tasks."""
    plain_error: float
    """The same of the mean over all other tasks: what the map has to beat."""
    tau: float | None
    """Between predicted and true scores of the models."""
    plain_tau: float | None


class PredictedTask(Struct, frozen=True):
    """Scores of models on a task that none was scored on."""

    task: str
    neighbours: tuple[str, ...]
    scores: dict[str, float]


class TaskPrediction(Struct, frozen=True):
    """Leave-one-out errors, and predictions for the tasks without scores."""

    nearest: int
    error: float | None
    plain_error: float | None
    """Means over the tasks left out; None when there are fewer than two."""
    left_out: tuple[LeftOutTask, ...]
    predicted: tuple[PredictedTask, ...]
    p: float | None = None
    """The chance of an `error` as small if the tasks of the map were permuted."""


def predict(
    scores: TaskScores,
    tasks: Sequence[str],
    distances: NDArray[float64],
    count: int = 3,
    ties: Ties = "zero",
) -> TaskPrediction:
    """Predict each of `tasks` from the `count` nearest others that every model was scored on.

    `distances` is (tasks, tasks). Tasks that only some models were scored on are predicted for
    none and used for none.
    """
    columns = {name: at for at, name in enumerate(scores.tasks)}
    complete = [
        at
        for at, name in enumerate(tasks)
        if name in columns and not np.isnan(scores.values[:, columns[name]]).any()
    ]
    values = {at: scores.values[:, columns[tasks[at]]] for at in complete}
    left_out = [
        _leave_one_out(at, tasks, values, nearest_tasks(distances, at, complete, count), ties)
        for at in complete
        if len(complete) > 1
    ]
    predicted = []
    for at, name in enumerate(tasks):
        if name in columns or not complete:
            continue
        near = nearest_tasks(distances, at, complete, count)
        means = np.mean([values[other] for other in near], axis=0)
        told = dict(zip(scores.models, means.tolist(), strict=True))
        predicted.append(PredictedTask(name, tuple(tasks[other] for other in near), told))
    return TaskPrediction(
        nearest=count,
        error=_mean([one.error for one in left_out]),
        plain_error=_mean([one.plain_error for one in left_out]),
        left_out=tuple(left_out),
        predicted=tuple(predicted),
        p=_prediction_p_value(values, distances, count),
    )


def _prediction_p_value(
    values: Mapping[int, NDArray[float64]], distances: NDArray[float64], count: int
) -> float | None:
    """Permuting the tasks of the map: neighbours stay, the scores they stand for change."""
    complete = list(values)
    if len(complete) < 2:
        return None
    places = {at: place for place, at in enumerate(complete)}
    near = [
        [places[one] for one in nearest_tasks(distances, at, complete, count)] for at in complete
    ]
    scores = np.stack([values[at] for at in complete], axis=1)
    errors = []
    for order in (np.arange(len(complete)), *task_orders(len(complete))):
        mixed = scores[:, order]
        errors.append(float(np.abs(mixed[:, near].mean(axis=2) - mixed).mean()))
    return permutation_p_value([-one for one in errors[1:]], -errors[0])


def _leave_one_out(
    index: int,
    tasks: Sequence[str],
    values: Mapping[int, NDArray[float64]],
    near: Sequence[int],
    ties: Ties,
) -> LeftOutTask:
    truth = values[index]
    ours = np.mean([values[other] for other in near], axis=0)
    plain = np.mean([values[other] for other in values if other != index], axis=0)
    return LeftOutTask(
        task=tasks[index],
        neighbours=tuple(tasks[other] for other in near),
        error=float(np.abs(ours - truth).mean()),
        plain_error=float(np.abs(plain - truth).mean()),
        tau=kendall_tau(ours.tolist(), truth.tolist(), ties),
        plain_tau=kendall_tau(plain.tolist(), truth.tolist(), ties),
    )


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
