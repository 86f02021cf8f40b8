"""Permutation tests of the agreement of models over tasks.

Tau by distance and the prediction are compared with maps whose tasks are permuted (N. Mantel,
Cancer Research 27, 1967). A cluster is compared with random sets of as many tasks, and with models
whose scores on the other tasks are permuted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from snellen.core.arrays import Bools, Floats, Indices, np

DRAWS = 1999
SEED = 0
_TOLERANCE = 1e-9


class ClusterChance(NamedTuple):
    """How models rank on a cluster's tasks and on the other tasks. The p-values are not corrected
    for the number of clusters."""

    tau: float
    """Between the means over the cluster and the means over all other tasks."""
    p: float
    """The probability of a tau as far from 0 if models were permuted."""
    p_domain: float
    """The probability of a tau as extreme, on either side, among random sets of as many tasks."""
    above: bool
    """Whether tau is above the middle of those of the random sets."""


def cluster_chance(values: Floats, columns: Sequence[int], ties_count: bool = False) -> ClusterChance | None:
    """Test the tasks in `columns` of `values`, shape (models, tasks), NaN for a missing score.

    A pair of tied models counts 0, or 1 with `ties_count`. None if the cluster holds all tasks, or
    if fewer than two models have scores both on it and on the other tasks.
    """
    tasks = values.shape[1]
    mask: Floats = np.zeros((1, tasks))
    mask[0, list(columns)] = 1.0
    size = len(columns)
    if not 0 < size < tasks:
        return None
    own, others = _means(values, mask), _means(values, 1.0 - mask)
    tau = float(_taus(own, others, ties_count)[0])
    if np.isnan(tau):
        return None
    random = np.random.default_rng(SEED)
    # Sorting random numbers permutes each row: (draws, models). The means over the other tasks
    # change their models, those over the cluster do not.
    order = np.argsort(random.random((DRAWS, len(values))), axis=1)
    mixed = _taus(np.broadcast_to(own, order.shape), others[0][order], ties_count)
    # Random sets of as many tasks as the cluster: (draws, tasks), 1 for a task of the set.
    drawn_masks = (np.argsort(random.random((DRAWS, tasks)), axis=1) < size).astype(np.float64)
    sets = _taus(_means(values, drawn_masks), _means(values, 1.0 - drawn_masks), ties_count)
    # Two-sided: twice the smaller tail. The tolerance makes equal taus equal despite rounding.
    below, above = _p_value(sets <= tau + _TOLERANCE), _p_value(sets >= tau - _TOLERANCE)
    p = _p_value(np.abs(mixed) >= abs(tau) - _TOLERANCE)
    return ClusterChance(tau, p, min(1.0, 2 * min(below, above)), above < below)


def mantel_test(distances: Floats, taus: Floats) -> tuple[float, float] | None:
    """Mantel's test: do models rank more alike on nearer tasks?

    Returns Pearson's correlation of distance and tau over all pairs of tasks (both arrays have
    shape (tasks, tasks)), and the probability of a correlation as low if tasks were permuted. None
    if either does not vary, or with fewer than four tasks.
    """
    upper = np.triu_indices(len(taus), 1)
    # A pair of tasks without a tau gets the mean, which moves the correlation least.
    filled = np.nan_to_num(taus, nan=float(np.nanmean(taus[upper])) if len(upper[0]) else 0.0)
    if len(taus) < 4 or np.ptp(distances[upper]) == 0 or np.ptp(filled[upper]) == 0:
        return None
    centred_distances = distances[upper] - distances[upper].mean()
    centred_taus = filled[upper] - filled[upper].mean()
    # Permuting the tasks changes neither the means nor the spreads, so they are computed once, and
    # the permuted taus need no centring: the centred distances sum to 0.
    spread = float(np.sqrt((centred_distances**2).sum() * (centred_taus**2).sum()))
    observed = float(centred_distances @ centred_taus) / spread
    orders = task_orders(len(taus))
    permuted = [float(centred_distances @ filled[order[upper[0]], order[upper[1]]]) / spread for order in orders]
    return observed, _p_value(np.array(permuted) <= observed + _TOLERANCE)


def task_orders(tasks: int) -> Indices:
    """Permutations of tasks, shape (draws, tasks)."""
    return np.argsort(np.random.default_rng(SEED).random((DRAWS, tasks)), axis=1)


def permutation_p_value(draws: Sequence[float | None], value: float) -> float:
    """The probability of a value as large, among draws under the null hypothesis; draws of None are
    ignored."""
    values = np.array([draw for draw in draws if draw is not None], dtype=np.float64)
    return _p_value(values >= value - _TOLERANCE)


def _p_value(hits: Bools) -> float:
    """The observed value counts as one of the draws, so that no p-value is 0."""
    return (1 + int(hits.sum())) / (1 + len(hits))


def _means(values: Floats, masks: Floats) -> Floats:
    """Each model's mean over each set of tasks, shape (sets, models), rounded so that equal means
    are ties in spite of rounding errors."""
    # 0 / 0 is NaN: a model without a score in the set has no mean.
    has_score = (~np.isnan(values)).astype(np.float64)
    with np.errstate(invalid="ignore"):
        means = (masks @ np.nan_to_num(values).T) / (masks @ has_score.T)
    rounded: Floats = np.round(means, 9)
    return rounded


def _taus(row_scores: Floats, other_scores: Floats, ties_count: bool) -> Floats:
    """Kendall's tau between corresponding rows of two arrays of shape (rows, models): shape
    (rows,)."""
    first, second = np.triu_indices(row_scores.shape[1], 1)
    ours, theirs = (row_scores[:, first] - row_scores[:, second], other_scores[:, first] - other_scores[:, second])
    product = np.sign(ours) * np.sign(theirs)
    if ties_count:
        product = np.where(product == 0, 1.0, product)
    with np.errstate(invalid="ignore"):
        counts = (~np.isnan(product)).sum(axis=1)
        taus: Floats = np.nansum(product, axis=1) / np.where(counts, counts, np.nan)
    return taus
