"""Clusters and maps of tasks where scores are noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from simulations.study import Case, Share, Study
from snellen.taskmap import chance
from snellen.taskmap.agreement import add_p_values, kendall_taus, tau_by_distance
from snellen.taskmap.chance import ClusterChance, cluster_chance, mantel_test
from snellen.taskmap.prediction import predict
from snellen.taskmap.scores import TaskScores

_SIZES = (60, 15, 3)
_TASKS, _MODELS = 162, 20


@contextmanager
def few_draws() -> Iterator[None]:
    """Permutation tests are exact whatever the number of draws: 199 in place of 1,999."""
    before, chance.DRAWS = chance.DRAWS, 199
    try:
        yield
    finally:
        chance.DRAWS = before


def mean_of_clusters(size: int, value: Callable[[ClusterChance], float]) -> Share:
    """Of noise: no model is better than another."""

    def share(random: np.random.Generator, repeats: int) -> float:
        told = []
        with few_draws():
            for _ in range(repeats):
                found = cluster_chance(random.normal(50, 10, (_MODELS, _TASKS)), range(size))
                assert found is not None
                told.append(value(found))
        return float(np.mean(told))

    return share


def _in(found: ClusterChance, above: bool) -> float:
    """Whether a cluster is told to be on this side."""
    return float(found.above == above and found.p_domain <= 0.05)


def map_rejected(test: str) -> Share:
    """A map of 18 tasks in three groups; the scores of 12 models know nothing of it."""

    def share(random: np.random.Generator, repeats: int) -> float:
        with few_draws():
            return float(np.mean([_p(test, random) <= 0.05 for _ in range(repeats)]))

    return share


def _p(test: str, random: np.random.Generator) -> float:
    values, distances = random.normal(50, 10, (12, 18)), _distances(random)
    if test == "prediction":
        names = tuple(f"t{at}" for at in range(18))
        scores = TaskScores(tuple(f"m{at}" for at in range(12)), names, values)
        found = predict(scores, names, distances).p
    else:
        taus = kendall_taus(values)
        if test == "mantel":
            told = mantel_test(distances, taus)
            found = told and told[1]
        else:
            (near,) = add_p_values(tau_by_distance(distances, taus, (0.6,)), distances, taus)
            found = near.p
    assert found is not None
    return found


def _distances(random: np.random.Generator) -> NDArray[np.float64]:
    groups = np.repeat(np.arange(3), 6)
    found = 1.0 - 0.5 * (groups[:, None] == groups) + random.uniform(0, 0.1, (18, 18))
    found = (found + found.T) / 2
    np.fill_diagonal(found, 0.0)
    return np.asarray(found)


_CHANCE = "Models' scores elsewhere permuted, or as many tasks drawn at random; 199 draws in place of 1,999."

STUDIES = (
    Study(
        "taskmap-tau",
        "Tau of a cluster with the tasks of the others",
        "its mean where scores are noise, truly 0",
        "Kendall's tau between means over the cluster and over all other tasks.",
        "MMT-Bench (2024), Sec. 5.2, with the cluster left out of the Overall",
        tuple(
            Case(f"{size} of 162 tasks", mean_of_clusters(size, lambda one: one.tau), -0.02, 0.02) for size in _SIZES
        ),
    ),
    Study(
        "taskmap-alike",
        "Clusters that rank models as the others",
        "noise is told to rank alike (nominal 0.05)",
        _CHANCE,
        "E. Pitman, JRSS Supplement 4 (1937)",
        tuple(
            Case(f"{size} of 162 tasks", mean_of_clusters(size, lambda one: float(one.p <= 0.05)), 0.0, 0.06)
            for size in _SIZES
        ),
        repeats=5000,
    ),
    Study(
        "taskmap-in",
        "Clusters in domain",
        "noise is told to rank models more alike than random tasks (nominal 0.025)",
        _CHANCE,
        "as above",
        tuple(
            Case(f"{size} of 162 tasks", mean_of_clusters(size, lambda one: _in(one, True)), 0.0, 0.035)
            for size in _SIZES
        ),
    ),
    Study(
        "taskmap-out",
        "Clusters out of domain",
        "noise is told to rank models less alike than random tasks (nominal 0.025)",
        _CHANCE,
        "as above",
        tuple(
            Case(f"{size} of 162 tasks", mean_of_clusters(size, lambda one: _in(one, False)), 0.0, 0.035)
            for size in _SIZES
        ),
    ),
    Study(
        "taskmap-map",
        "Near tasks rank models alike",
        "scores that know nothing of the map are told to follow it (nominal 0.05)",
        "Tasks of the map permuted, 199 draws in place of 1,999.",
        "N. Mantel, Cancer Research 27 (1967)",
        tuple(
            Case(words, map_rejected(test), 0.0, 0.06)
            for test, words in (
                ("tau", "tau by distance"),
                ("mantel", "correlation of distance and tau"),
                ("prediction", "error of the prediction"),
            )
        ),
        repeats=5000,
    ),
)
