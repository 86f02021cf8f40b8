"""From trained vectors to a map, and from scores to their agreement with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from snellen.core.arrays import Floats, np
from snellen.core.errors import UsageError
from snellen.taskmap.agreement import (
    THRESHOLDS,
    NearTau,
    Ties,
    add_p_values,
    cluster_agreement,
    kendall_taus,
    mean_tau,
    tau_by_distance,
    tau_by_share,
)
from snellen.taskmap.chance import mantel_test
from snellen.taskmap.clusters import build_tree, cut_names, map_correlation
from snellen.taskmap.findings import Halves, SeedMap, Stability, TaskMap, TaskScoreAgreement
from snellen.taskmap.prediction import predict
from snellen.taskmap.scores import TaskScores
from snellen.taskmap.training import StoredVector
from snellen.taskmap.vectors import cosine_distances, gram_matrix

DIGITS = 6
"""Decimals of a stored distance. Further ones depend on the machine."""


def vector_distances(vectors: Sequence[StoredVector]) -> Floats:
    """Cosine distances, shape (vectors, vectors). Raises UsageError for a vector of length zero."""
    try:
        distances = cosine_distances(gram_matrix([vector.path for vector in vectors]))
    except ValueError as error:
        raise UsageError(
            f"training changed nothing for some task ({error}); use more --tuning epochs or a larger learning_rate"
        ) from error
    rounded: Floats = np.round(distances, DIGITS)
    return rounded


def mean_distances(maps: Sequence[Floats]) -> Floats:
    """The mean of maps of the same tasks, rounded like each of them."""
    mean: Floats = np.round(np.stack(maps).mean(axis=0), DIGITS)
    return mean


def compare_halves(names: Sequence[str], distances: Floats) -> tuple[Halves, ...]:
    """Test each task of which both halves (`<task>/1`, `<task>/2`) are on the map."""
    tasks = [name.rsplit("/", 1)[0] for name in names]
    unrelated = np.array(
        [distances[row, column] for row in range(len(tasks)) for column in range(row) if tasks[row] != tasks[column]]
    )
    results = []
    for task in dict.fromkeys(tasks):
        pair = [index for index, name in enumerate(tasks) if name == task]
        others = [index for index, name in enumerate(tasks) if name != task]
        if len(pair) != 2 or not others:
            continue
        own = float(distances[pair[0], pair[1]])
        near = min(others, key=lambda index: distances[index, pair].min())
        smallest = float(distances[near, pair].min())
        farther = float((unrelated > own).mean())
        results.append(Halves(task, own, names[near], smallest, farther, smallest <= own))
    return tuple(results)


def compare_seeds(names: Sequence[str], seeds: Sequence[int], maps: Sequence[Floats]) -> tuple[Stability, ...]:
    """Compare the maps of every two seeds over the same tasks."""
    failing = [tuple(halves.task for halves in compare_halves(names, distances) if halves.apart) for distances in maps]
    return tuple(
        Stability(
            first=seeds[first],
            second=seeds[second],
            correlation=map_correlation(maps[first], maps[second]),
            failing=(failing[first], failing[second]),
        )
        for first, second in combinations(range(len(seeds)), 2)
    )


def map_seeds(names: Sequence[str], seeds: Sequence[int], maps: Sequence[Floats]) -> tuple[SeedMap, ...]:
    """The map of each seed, with the tasks whose halves it does not place together."""
    if len(seeds) < 2:
        return ()
    halves = [compare_halves(names, distances) for distances in maps]
    return tuple(
        SeedMap(
            seed=seed,
            distances=tuple(tuple(row) for row in distances.tolist()),
            failing=tuple(each.task for each in tested if each.apart),
            tested=len(tested),
        )
        for seed, distances, tested in zip(seeds, maps, halves, strict=True)
    )


def measure_agreement(
    scores: TaskScores,
    clusters: Mapping[str, Sequence[str]] | None = None,
    task_map: TaskMap | None = None,
    *,
    overall: Mapping[str, float] | None = None,
    thresholds: Sequence[float] = THRESHOLDS,
    ties: Ties = "zero",
    itself: bool = False,
    nearest: int = 3,
) -> TaskScoreAgreement:
    """Tables 3 and 4 and the prediction of scores, as far as the arguments allow.

    Without `task_map` there is neither tau by distance nor a prediction. Without `clusters`, those
    of the map are used. Tasks of the map without scores are predicted, and are not used otherwise.
    On a map of halves two tasks are as far apart as their halves are in the mean.

    Raises UsageError if the scores have no task in common with the clusters or the map.
    """
    by_distance: list[NearTau] = []
    by_share: list[NearTau] = []
    prediction, correlated, of_control = None, None, None
    if task_map is not None:
        names, apart = _whole_tasks(task_map, task_map.distances)
        near, between = _scored_tasks(scores, names, apart, ties)
        rows = tau_by_distance(near, between, thresholds, itself)
        by_distance = add_p_values(rows, near, between, itself)
        by_share = add_p_values(tau_by_share(near, between, itself=itself), near, between, itself)
        correlated = mantel_test(near, between)
        prediction = predict(scores, names, apart, nearest, ties)
        if task_map.control is not None:
            destroyed = _whole_tasks(task_map, task_map.control.distances)
            of_control = mantel_test(*_scored_tasks(scores, *destroyed, ties))
        if clusters is None and task_map.clusters:
            tree = build_tree(apart, task_map.tree.linkage)
            cut = cut_names(tree, names, len(task_map.clusters)) if task_map.halves else ()
            clusters = _clusters_with_scores(cut or task_map.clusters, scores)
    taus = kendall_taus(scores.values, ties)
    return TaskScoreAgreement(
        models=scores.models,
        tasks=len(scores.tasks),
        ties=ties,
        itself=itself,
        every_pair=mean_tau(taus, itself),
        clusters=tuple(cluster_agreement(scores, clusters, overall, ties) if clusters else ()),
        by_distance=tuple(by_distance),
        by_share=tuple(by_share),
        prediction=prediction,
        mantel=correlated[0] if correlated else None,
        mantel_p=correlated[1] if correlated else None,
        control_mantel=of_control[0] if of_control else None,
        control_mantel_p=of_control[1] if of_control else None,
    )


def _whole_tasks(task_map: TaskMap, rows: Sequence[Sequence[float]]) -> tuple[list[str], Floats]:
    """The tasks and the distances between them, two halves joined."""
    names, distances = [task.task for task in task_map.tasks], np.array(rows)
    if not task_map.halves:
        return names, distances
    members: dict[str, list[int]] = {}
    for index, name in enumerate(names):
        members.setdefault(name.rsplit("/", 1)[0], []).append(index)
    joined = [[float(distances[np.ix_(one, other)].mean()) for other in members.values()] for one in members.values()]
    square = np.round(np.array(joined), DIGITS)
    np.fill_diagonal(square, 0.0)
    return list(members), square


def _scored_tasks(scores: TaskScores, names: Sequence[str], distances: Floats, ties: Ties) -> tuple[Floats, Floats]:
    """The distances of the map's tasks that have scores, and the taus between them."""
    scored = set(scores.tasks)
    both = [index for index, name in enumerate(names) if name in scored]
    if len(both) < 2:
        raise UsageError(
            f"{len(both)} of the {len(names)} tasks on the map have scores, expected two or "
            f"more; the map's are called {names[0]!r} ..., the scores' {scores.tasks[0]!r} ..."
        )
    taus = kendall_taus(scores.select_tasks([names[index] for index in both]).values, ties)
    return distances[np.ix_(both, both)], taus


def _clusters_with_scores(clusters: Sequence[Sequence[str]], scores: TaskScores) -> dict[str, list[str]]:
    """The scored tasks of clusters, by the number of the cluster, from 1 as in the paper."""
    scored = set(scores.tasks)
    scored_clusters = {
        str(number): [task for task in tasks if task in scored] for number, tasks in enumerate(clusters, start=1)
    }
    return {name: tasks for name, tasks in scored_clusters.items() if tasks}
