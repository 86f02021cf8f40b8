"""Predict a model's score on a task from its scores on the nearest tasks.

MMT-Bench, Sec. 5.2: "the performance of LVLMs on a new task can be predicted if it is close to one
of the subtasks".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from snellen.core.arrays import Floats, np
from snellen.taskmap.agreement import Ties, kendall_tau
from snellen.taskmap.chance import permutation_p_value, task_orders
from snellen.taskmap.scores import TaskScores
from snellen.taskmap.vectors import nearest_tasks


class LeftOutTask(Struct, frozen=True):
    """A scored task, predicted without its own scores."""

    task: str
    neighbours: tuple[str, ...]
    error: float
    """Mean absolute error over models, in points, of predicting the mean over the nearest tasks."""
    plain_error: float
    """The same for predicting the mean over all other tasks: the baseline."""
    tau: float | None
    """Between predicted and true scores over the models."""
    plain_tau: float | None


class PredictedTask(Struct, frozen=True):
    """Predicted scores of models on a task without scores."""

    task: str
    neighbours: tuple[str, ...]
    scores: dict[str, float]


class TaskPrediction(Struct, frozen=True):
    """Leave-one-out errors, and predictions for the tasks without scores."""

    nearest: int
    error: float | None
    plain_error: float | None
    """Means over the predicted tasks; None with fewer than two."""
    left_out: tuple[LeftOutTask, ...]
    predicted: tuple[PredictedTask, ...]
    p: float | None = None
    """The probability of an `error` as small if the tasks of the map were permuted."""


def predict(
    scores: TaskScores, tasks: Sequence[str], distances: Floats, count: int = 3, ties: Ties = "zero"
) -> TaskPrediction:
    """Predict each of `tasks` from the `count` nearest other tasks that have scores of every model.

    `distances` has shape (tasks, tasks). Tasks with scores of only some models are neither
    predicted nor used.
    """
    columns = {name: index for index, name in enumerate(scores.tasks)}
    complete = [
        index
        for index, name in enumerate(tasks)
        if name in columns and not np.isnan(scores.values[:, columns[name]]).any()
    ]
    values = {index: scores.values[:, columns[tasks[index]]] for index in complete}
    left_out = [
        _leave_one_out(index, tasks, values, nearest_tasks(distances, index, complete, count), ties)
        for index in complete
        if len(complete) > 1
    ]
    predicted = []
    for index, name in enumerate(tasks):
        if name in columns or not complete:
            continue
        near = nearest_tasks(distances, index, complete, count)
        means = np.mean([values[other] for other in near], axis=0)
        scores_by_model = dict(zip(scores.models, means.tolist(), strict=True))
        predicted.append(PredictedTask(name, tuple(tasks[other] for other in near), scores_by_model))
    return TaskPrediction(
        nearest=count,
        error=_mean([task.error for task in left_out]),
        plain_error=_mean([task.plain_error for task in left_out]),
        left_out=tuple(left_out),
        predicted=tuple(predicted),
        p=_prediction_p_value(values, distances, count),
    )


def _prediction_p_value(values: Mapping[int, Floats], distances: Floats, count: int) -> float | None:
    """The p-value of the error: tasks keep their neighbours, but the scores are permuted among
    them."""
    complete = list(values)
    if len(complete) < 2:
        return None
    column_of = {index: column for column, index in enumerate(complete)}
    near = [[column_of[task] for task in nearest_tasks(distances, task, complete, count)] for task in complete]
    scores = np.stack([values[task] for task in complete], axis=1)
    errors = []
    for order in (np.arange(len(complete)), *task_orders(len(complete))):
        mixed = scores[:, order]
        errors.append(float(np.abs(mixed[:, near].mean(axis=2) - mixed).mean()))
    return permutation_p_value([-error for error in errors[1:]], -errors[0])


def _leave_one_out(
    index: int, tasks: Sequence[str], values: Mapping[int, Floats], near: Sequence[int], ties: Ties
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
