"""Whether models rank alike on two tasks, and on a task and overall (MMT-Bench, Sec. 5.1 and 5.2).

Kendall's tau is the fraction of pairs of models that two sequences order alike, minus the fraction
that they order differently. If two models are tied in a sequence, their pair counts 0 (`zero`,
tau-a, which reproduces the paper's Table 4) or 1 (`one`, the formula as Sec. 5.1 prints it).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

from msgspec import Struct, structs

from snellen.core.arrays import Floats, np
from snellen.core.errors import UsageError
from snellen.stats.paired import holm
from snellen.taskmap.chance import cluster_chance, permutation_p_value, task_orders
from snellen.taskmap.scores import TaskScores

Ties = Literal["zero", "one"]
THRESHOLDS = (1.0, 1 / 2, 1 / 4, 1 / 6, 1 / 8)
"""Distances of Table 3, as fractions of the largest distance."""
SIGNIFICANCE_LEVEL = 0.05
"""The level of the tests of domains."""


def kendall_taus(values: Floats, ties: Ties = "zero") -> Floats:
    """Tau between every two columns of `values`, shape (models, tasks). Returns shape (tasks,
    tasks).

    A pair of models counts if all four of its scores are present; NaN if no pair counts.
    """
    first, second = np.triu_indices(len(values), 1)
    differences = values[first] - values[second]
    has_scores = (~np.isnan(differences)).astype(np.float64)
    signs = np.sign(np.nan_to_num(differences))
    pairs = has_scores.T @ has_scores
    ordered = np.abs(signs)
    total = signs.T @ signs
    if ties == "one":
        total = total + pairs - ordered.T @ ordered
    with np.errstate(invalid="ignore"):
        taus: Floats = total / pairs
    return taus


def kendall_tau(first: Sequence[float], second: Sequence[float], ties: Ties = "zero") -> float | None:
    """Tau between two sequences of the same models; None for fewer than two models."""
    return _tau(np.array([first, second], dtype=np.float64).T, ties)


def _tau(columns: Floats, ties: Ties) -> float | None:
    tau = float(kendall_taus(columns, ties)[0, 1])
    return None if np.isnan(tau) else tau


class NearTau(Struct, frozen=True):
    """How alike models rank on tasks no farther apart than a threshold."""

    threshold: float
    """As a fraction of the largest distance."""
    tau: float | None
    """Mean over the tasks that have such a neighbour, of the mean tau to those neighbours."""
    tasks: int
    """The number of such tasks."""
    pairs: int
    """Pairs of tasks within the threshold, each counted once."""
    p: float | None = None
    """The probability of a tau as large if the tasks of the map were permuted, corrected by Holm
    over the thresholds; None if all pairs are within the threshold."""
    share: float | None = None
    """The share of all pairs of tasks that the threshold was chosen for; None if it was given."""


def tau_by_distance(
    distances: Floats, taus: Floats, thresholds: Sequence[float] = THRESHOLDS, itself: bool = False
) -> list[NearTau]:
    """Tau among near tasks, for each threshold (Table 3). Both arrays have shape (tasks, tasks).

    The paper's formula, taken literally, counts every task among its own neighbours, with a tau of
    1; `itself` does so. By default a task is not its own neighbour.
    """
    largest = float(distances.max()) if distances.size else 0.0
    others = ~np.eye(len(distances), dtype=bool)
    rows = []
    for threshold in thresholds:
        near = (distances <= threshold * largest) & ~np.isnan(taus)
        neighbours = near & others
        # (tasks, tasks): whose tau counts for the task of a row; with itself it is 1.
        used = near | ~others if itself else neighbours
        counts = used.sum(axis=1)
        all_taus = np.where(others, taus, 1.0)
        sums = np.where(used, all_taus, 0.0).sum(axis=1)
        # First the mean over a task's neighbours, then over the tasks that have any.
        means = sums[counts > 0] / counts[counts > 0]
        tau = float(means.mean()) if len(means) else None
        rows.append(NearTau(threshold, tau, len(means), int(neighbours.sum()) // 2))
    return rows


def tau_by_share(
    distances: Floats, taus: Floats, shares: Sequence[float] = THRESHOLDS, itself: bool = False
) -> list[NearTau]:
    """Tau among the nearest pairs of tasks, for each share of all pairs.

    The paper's thresholds are fractions of the largest distance. Where all tasks are about as far
    apart, as directions in many dimensions are, no pair is within half of it, and all rows but the
    first are empty. Shares of the pairs fill every row, whatever the distances are.
    """
    pairs = np.sort(distances[np.triu_indices(len(distances), 1)])
    largest = float(pairs[-1]) if pairs.size else 0.0
    if not largest:
        return []
    counts = [max(1, math.ceil(share * len(pairs))) for share in shares]
    # A pair at the limit must not be lost to a rounding error.
    limits = [float(pairs[count - 1]) / largest * (1 + 1e-12) for count in counts]
    rows = tau_by_distance(distances, taus, limits, itself)
    return [structs.replace(row, share=share) for row, share in zip(rows, shares, strict=True)]


def add_p_values(rows: Sequence[NearTau], distances: Floats, taus: Floats, itself: bool = False) -> list[NearTau]:
    """Add to each row of `tau_by_distance` the probability of a tau as large by chance."""
    pairs = len(distances) * (len(distances) - 1) // 2
    testable = [row for row in rows if row.tau is not None and row.pairs < pairs]
    thresholds = [row.threshold for row in testable]
    drawn_taus = [
        [row.tau for row in tau_by_distance(distances, taus[np.ix_(order, order)], thresholds, itself)]
        for order in (task_orders(len(distances)) if testable else ())
    ]
    p_values = [
        permutation_p_value([row[index] for row in drawn_taus], near.tau or 0.0) for index, near in enumerate(testable)
    ]
    adjusted = dict(zip(thresholds, holm(p_values), strict=True))
    return [structs.replace(row, p=adjusted.get(row.threshold)) for row in rows]


def mean_tau(taus: Floats, itself: bool = False) -> float | None:
    """The mean of tau over every pair of tasks: the first row of Table 3, which needs no
    distances."""
    return tau_by_distance(np.zeros_like(taus), taus, (1.0,), itself)[0].tau


class ClusterAgreement(Struct, frozen=True):
    """How models do on the tasks of a cluster (Table 4)."""

    name: str
    tasks: tuple[str, ...]
    accuracy: float
    """Mean over models of the plain mean over the cluster's tasks, in percent."""
    tau: float | None
    """Between models' means over the cluster and their overall scores."""
    domain: Literal["in", "out", ""]
    """The paper's rule: "in" (in-domain) if accuracy and tau are high, "out" if both are low. The
    rule favours large clusters, since their tasks are a large part of the overall score."""
    tau_others: float | None = None
    """Between models' means over the cluster and their means over the tasks of all other
    clusters."""
    p: float | None = None
    """The probability of a `tau_others` as far from 0 if models were permuted, corrected by Holm
    over the clusters."""
    p_domain: float | None = None
    """The probability of a `tau_others` as high, or as low, for a random set of as many tasks,
    corrected by Holm."""
    domain_tested: Literal["in", "out", ""] = ""
    """Like `domain`, but by `tau_others`, and only if `p_domain` is at most 0.05."""


def cluster_agreement(
    scores: TaskScores,
    clusters: Mapping[str, Sequence[str]],
    overall: Mapping[str, float] | None = None,
    ties: Ties = "zero",
) -> list[ClusterAgreement]:
    """Accuracy and tau of each cluster (Table 4). `overall` holds a score for each model; by
    default the plain mean over all tasks.

    The paper calls a cluster out-of-domain if both its accuracy and its tau are low and in-domain
    if both are high, but does not define low and high. Here accuracy is compared with the mean over
    all tasks, and tau with the mean over the clusters, which reproduces the paper's six domains.
    Tau with the tasks outside of the cluster is tested against chance too (`cluster_chance`).

    Raises UsageError for a task without scores, and for a model without an overall score.
    """
    everything = scores.select_tasks([task for tasks in clusters.values() for task in tasks])
    if overall is None:
        totals = np.nanmean(everything.values, axis=1)
    else:
        missing = [model for model in scores.models if model not in overall]
        if missing:
            raise UsageError(f"{missing[0]!r} has scores on tasks, but no overall score")
        totals = np.array([overall[model] for model in scores.models])
    means_and_taus = []
    for name, tasks in clusters.items():
        means = np.nanmean(scores.select_tasks(tasks).values, axis=1)
        # Rounded: means that are equal on paper are ties, in spite of rounding errors.
        tau = _tau(np.round(np.stack([means, totals], axis=1), 9), ties)
        means_and_taus.append((name, tuple(tasks), float(np.nanmean(means)), tau))
    mean_accuracy = float(np.nanmean(np.nanmean(everything.values, axis=1)))
    all_taus = [tau for *_, tau in means_and_taus if tau is not None]
    average_tau = sum(all_taus) / len(all_taus) if all_taus else 0.0
    agreements = [
        ClusterAgreement(name, tasks, accuracy, tau, _domain(accuracy - mean_accuracy, tau, average_tau))
        for name, tasks, accuracy, tau in means_and_taus
    ]
    return _add_p_values(agreements, everything, mean_accuracy, ties)


def _add_p_values(
    agreements: Sequence[ClusterAgreement], scores: TaskScores, mean_accuracy: float, ties: Ties
) -> list[ClusterAgreement]:
    """Add the permutation tests of each cluster, corrected by Holm over the clusters."""
    columns = {task: index for index, task in enumerate(scores.tasks)}
    chances = {
        agreement.name: chance
        for agreement in agreements
        if (chance := cluster_chance(scores.values, [columns[task] for task in agreement.tasks], ties == "one"))
    }
    adjusted_p = dict(zip(chances, holm([chance.p for chance in chances.values()]), strict=True))
    adjusted_p_domain = dict(zip(chances, holm([chance.p_domain for chance in chances.values()]), strict=True))
    tested = []
    for agreement in agreements:
        chance = chances.get(agreement.name)
        if chance is None:
            tested.append(agreement)
            continue
        domain: Literal["in", "out", ""] = ""
        if adjusted_p_domain[agreement.name] <= SIGNIFICANCE_LEVEL and chance.above == (
            agreement.accuracy > mean_accuracy
        ):
            domain = "in" if chance.above else "out"
        tested.append(
            structs.replace(
                agreement,
                tau_others=chance.tau,
                p=adjusted_p[agreement.name],
                p_domain=adjusted_p_domain[agreement.name],
                domain_tested=domain,
            )
        )
    return tested


def _domain(accuracy_difference: float, tau: float | None, average_tau: float) -> Literal["in", "out", ""]:
    if tau is None or accuracy_difference == 0 or tau == average_tau:
        return ""
    if accuracy_difference > 0:
        return "in" if tau > average_tau else ""
    return "out" if tau < average_tau else ""
