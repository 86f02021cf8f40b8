"""What the agreement of models over tasks would be by chance: models or tasks permuted.

Tau by distance and the prediction are held against maps whose tasks are permuted (N. Mantel, Cancer
Research 27, 1967); a cluster against as many tasks drawn at random, and against models whose
scores elsewhere are permuted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

DRAWS = 1999
SEED = 0
_TOLERANCE = 1e-9


class ClusterChance(NamedTuple):
    """How models rank on a cluster's tasks and on the other tasks. Not adjusted for the number of
    clusters."""

    tau: float
    """Between the means over the cluster and over all other tasks."""
    p: float
    """Of a tau as far from 0 if models were permuted: do they rank alike at all?"""
    p_domain: float
    """Of a tau as far from the middle of those of as many random tasks, on either side."""
    above: bool
    """Whether it is on the upper side."""


def cluster_chance(
    values: NDArray[float64], columns: Sequence[int], ties_count: bool = False
) -> ClusterChance | None:
    """Of the tasks in `columns` of `values`, shape (models, tasks), NaN where a model has no score;
    a pair of tied models counts 0, or 1 if `ties_count`. None where the cluster holds all tasks,
    or no two models are scored on it and elsewhere."""
    tasks = values.shape[1]
    chosen: NDArray[np.float64] = np.zeros((1, tasks))
    chosen[0, list(columns)] = 1.0
    size = len(columns)
    if not 0 < size < tasks:
        return None
    own, others = _means(values, chosen), _means(values, 1.0 - chosen)
    tau = float(_taus(own, others, ties_count)[0])
    if np.isnan(tau):
        return None
    random = np.random.default_rng(SEED)
    order = np.argsort(random.random((DRAWS, len(values))), axis=1)
    mixed = _taus(np.broadcast_to(own, order.shape), others[0][order], ties_count)
    drawn = (np.argsort(random.random((DRAWS, tasks)), axis=1) < size).astype(np.float64)
    sets = _taus(_means(values, drawn), _means(values, 1.0 - drawn), ties_count)
    below, above = _p_value(sets <= tau + _TOLERANCE), _p_value(sets >= tau - _TOLERANCE)
    p = _p_value(np.abs(mixed) >= abs(tau) - _TOLERANCE)
    return ClusterChance(tau, p, min(1.0, 2 * min(below, above)), above < below)


def mantel_test(distances: NDArray[float64], taus: NDArray[float64]) -> tuple[float, float] | None:
    """Pearson's correlation of distance and tau over all pairs of tasks, shapes (tasks, tasks),
    and the chance of one as low, if tasks were permuted: below 0, nearer tasks rank models more
    alike. None where either does not vary, or there are fewer than four tasks."""
    upper = np.triu_indices(len(taus), 1)
    held = np.nan_to_num(taus, nan=float(np.nanmean(taus[upper])) if len(upper[0]) else 0.0)
    if len(taus) < 4 or np.ptp(distances[upper]) == 0 or np.ptp(held[upper]) == 0:
        return None
    apart, alike = distances[upper] - distances[upper].mean(), held[upper] - held[upper].mean()
    # The means and spreads are those of any order.
    spread = float(np.sqrt((apart**2).sum() * (alike**2).sum()))
    found = float(apart @ alike) / spread
    orders = task_orders(len(taus))
    drawn = [float(apart @ held[order[upper[0]], order[upper[1]]]) / spread for order in orders]
    return found, _p_value(np.array(drawn) <= found + _TOLERANCE)


def task_orders(tasks: int) -> NDArray[np.intp]:
    """Permutations of tasks, shape (draws, tasks)."""
    return np.argsort(np.random.default_rng(SEED).random((DRAWS, tasks)), axis=1)


def permutation_p_value(draws: Sequence[float | None], value: float) -> float:
    """The chance of a value as large, among draws under the hypothesis; None is left out."""
    known = np.array([one for one in draws if one is not None], dtype=np.float64)
    return _p_value(known >= value - _TOLERANCE)


def _p_value(hits: NDArray[np.bool_]) -> float:
    """The observed value counts as one of the draws, so that no chance is 0."""
    return (1 + int(hits.sum())) / (1 + len(hits))


def _means(values: NDArray[float64], masks: NDArray[float64]) -> NDArray[float64]:
    """Each model's mean over each set of tasks, shape (sets, models); rounded, so that means that
    are equal on paper are tied here too."""
    known = (~np.isnan(values)).astype(np.float64)
    with np.errstate(invalid="ignore"):
        means = (masks @ np.nan_to_num(values).T) / (masks @ known.T)
    rounded: NDArray[float64] = np.round(means, 9)
    return rounded


def _taus(
    row_scores: NDArray[float64], other_scores: NDArray[float64], ties_count: bool
) -> NDArray[float64]:
    """Kendall's tau of each row of both, shape (rows, models): (rows,)."""
    first, second = np.triu_indices(row_scores.shape[1], 1)
    ours, theirs = (
        row_scores[:, first] - row_scores[:, second],
        other_scores[:, first] - other_scores[:, second],
    )
    product = np.sign(ours) * np.sign(theirs)
    if ties_count:
        product = np.where(product == 0, 1.0, product)
    with np.errstate(invalid="ignore"):
        known = (~np.isnan(product)).sum(axis=1)
        taus: NDArray[float64] = np.nansum(product, axis=1) / np.where(known, known, np.nan)
    return taus
