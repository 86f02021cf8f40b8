"""From trained vectors to a map, and from scores to what they say about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from snellen.analysis.taskmap.agreement import (
    THRESHOLDS,
    Ties,
    cluster_agreement,
    kendall_taus,
    mean_tau,
    tau_by_distance,
)
from snellen.analysis.taskmap.clusters import Tree, map_correlation
from snellen.analysis.taskmap.distances import cosine_distances
from snellen.analysis.taskmap.findings import Agreement, Stability, TaskMap
from snellen.analysis.taskmap.halves import halves_of
from snellen.analysis.taskmap.prediction import predict
from snellen.analysis.taskmap.scores import Scores
from snellen.analysis.taskmap.training import Vector
from snellen.analysis.taskmap.vectors import gram_of
from snellen.core.errors import UsageError

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

DIGITS = 6
"""Decimals of a stored distance: the last ones depend on the machine."""


def distances_of(vectors: Sequence[Vector]) -> NDArray[float64]:
    """Cosine distances, shape (vectors, vectors). Raises UsageError for a vector of length zero."""
    try:
        found = cosine_distances(gram_of([vector.path for vector in vectors]))
    except ValueError as error:
        raise UsageError(
            f"training changed nothing for some task ({error}); use more --epochs or a larger "
            "--learning-rate"
        ) from error
    rounded: NDArray[float64] = np.round(found, DIGITS)
    return rounded


def mean_of(maps: Sequence[NDArray[float64]]) -> NDArray[float64]:
    """The mean of maps of the same tasks, rounded as each of them is."""
    whole: NDArray[float64] = np.round(np.stack(maps).mean(axis=0), DIGITS)
    return whole


def stability_of(
    names: Sequence[str], seeds: Sequence[int], maps: Sequence[NDArray[float64]]
) -> tuple[Stability, ...]:
    """Every two seeds of the same tasks, compared."""
    failing = [
        tuple(one.task for one in halves_of(names, distances) if one.apart) for distances in maps
    ]
    return tuple(
        Stability(
            first=seeds[one],
            second=seeds[other],
            correlation=map_correlation(maps[one], maps[other]),
            failing=(failing[one], failing[other]),
        )
        for one, other in combinations(range(len(seeds)), 2)
    )


def named_clusters(found: TaskMap) -> dict[str, tuple[str, ...]]:
    """Clusters by their number, from 1, as the paper counts them."""
    return {str(number): tasks for number, tasks in enumerate(found.clusters, start=1)}


def agreement_of(
    scores: Scores,
    clusters: Mapping[str, Sequence[str]] | None = None,
    found: TaskMap | None = None,
    *,
    overall: Mapping[str, float] | None = None,
    thresholds: Sequence[float] = THRESHOLDS,
    ties: Ties = "zero",
    itself: bool = False,
    nearest: int = 3,
) -> Agreement:
    """Tables 3 and 4 and the prediction of scores, as far as they can be had: by distance and
    predicted only where there is a map. Without `clusters`, those of the map are used; tasks of
    the map that no model was scored on are predicted and count for nothing else.

    Raises UsageError where the scores and the clusters or the map have no task in common.
    """
    scored = set(scores.tasks)
    if clusters is None and found is not None:
        kept = {name: [one for one in tasks if one in scored] for name, tasks in _items(found)}
        clusters = {name: tasks for name, tasks in kept.items() if tasks}
    taus = kendall_taus(scores.values, ties)
    by_distance = prediction = None
    if found is not None:
        names = [task.task for task in found.tasks]
        both = [at for at, name in enumerate(names) if name in scored]
        if len(both) < 2:
            raise UsageError(
                f"{len(both)} of the {len(names)} tasks on the map have scores, expected two or "
                f"more; the map's are called {names[0]!r} ..., the scores' {scores.tasks[0]!r} ..."
            )
        whole = np.array(found.distances)
        shared = scores.of_tasks([names[at] for at in both])
        by_distance = tau_by_distance(
            whole[np.ix_(both, both)], kendall_taus(shared.values, ties), thresholds, itself
        )
        prediction = predict(scores, names, whole, nearest, ties)
    return Agreement(
        models=scores.models,
        tasks=len(scores.tasks),
        ties=ties,
        itself=itself,
        every_pair=mean_tau(taus, itself),
        clusters=tuple(cluster_agreement(scores, clusters, overall, ties) if clusters else ()),
        by_distance=tuple(by_distance or ()),
        prediction=prediction,
    )


def _items(found: TaskMap) -> list[tuple[str, tuple[str, ...]]]:
    return list(named_clusters(found).items())


def tree_names(tree: Tree, names: Sequence[str]) -> list[str]:
    """The tasks from left to right."""
    return [names[leaf] for leaf in tree.order]
