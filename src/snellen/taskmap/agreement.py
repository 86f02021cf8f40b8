"""Whether models rank alike on two tasks, and on tasks and overall (MMT-Bench, Sec. 5.1 and 5.2).

Kendall's tau is the share of pairs of models that two sequences order alike, less the share that
they order differently. Where a sequence has two models tied, their pair counts 0 (`zero`, tau-a;
what reproduces the paper's Table 4) or 1 (`first`, the formula as Sec. 5.1 words it).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from msgspec import Struct, structs

from snellen.core.errors import UsageError
from snellen.stats.paired import holm
from snellen.taskmap.chance import cluster_chance, permutation_p_value, task_orders
from snellen.taskmap.scores import TaskScores

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

Ties = Literal["zero", "one"]
THRESHOLDS = (1.0, 1 / 2, 1 / 4, 1 / 6, 1 / 8)
"""Distances of Table 3, as fractions of the largest one."""
SIGNIFICANCE_LEVEL = 0.05
"""Of the tests of domains."""


def kendall_taus(values: NDArray[float64], ties: Ties = "zero") -> NDArray[float64]:
    """Tau between every two columns of `values`, shape (models, tasks): shape (tasks, tasks).

    A pair of models counts where all four scores are known; NaN where no pair does.
    """
    first, second = np.triu_indices(len(values), 1)
    differences = values[first] - values[second]
    known = (~np.isnan(differences)).astype(np.float64)
    signs = np.sign(np.nan_to_num(differences))
    pairs = known.T @ known
    ordered = np.abs(signs)
    total = signs.T @ signs
    if ties == "one":
        total = total + pairs - ordered.T @ ordered
    with np.errstate(invalid="ignore"):
        taus: NDArray[float64] = total / pairs
    return taus


def kendall_tau(
    first: Sequence[float], second: Sequence[float], ties: Ties = "zero"
) -> float | None:
    """Tau between two sequences of the same models; None for fewer than two models."""
    return _tau(np.array([first, second], dtype=np.float64).T, ties)


def _tau(columns: NDArray[float64], ties: Ties) -> float | None:
    tau = float(kendall_taus(columns, ties)[0, 1])
    return None if np.isnan(tau) else tau


class NearTau(Struct, frozen=True):
    """How alike models rank on tasks no farther apart than a threshold."""

    threshold: float
    """As a fraction of the largest distance."""
    tau: float | None
    """Mean over the tasks that have such a neighbour, of the mean tau to those neighbours."""
    tasks: int
    """How many have."""
    pairs: int
    """Pairs of tasks that near, each counted once."""
    p: float | None = None
    """The chance of a tau as large if the tasks of the map were permuted, by Holm over the
    thresholds; None where all pairs are that near."""


def tau_by_distance(
    distances: NDArray[float64],
    taus: NDArray[float64],
    thresholds: Sequence[float] = THRESHOLDS,
    itself: bool = False,
) -> list[NearTau]:
    """Tau among near tasks, for each threshold (Table 3). Both arrays are (tasks, tasks).

    The paper's formula, read to the letter, counts every task (`itself`) among its own
    neighbours, with a tau of 1; we leave it out unless asked.
    """
    largest = float(distances.max()) if distances.size else 0.0
    others = ~np.eye(len(distances), dtype=bool)
    rows = []
    for threshold in thresholds:
        near = (distances <= threshold * largest) & ~np.isnan(taus)
        unshared = near & others
        used = near | ~others if itself else unshared
        counts = used.sum(axis=1)
        held = np.where(others, taus, 1.0)
        sums = np.where(used, held, 0.0).sum(axis=1)
        means = sums[counts > 0] / counts[counts > 0]
        tau = float(means.mean()) if len(means) else None
        rows.append(NearTau(threshold, tau, len(means), int(unshared.sum()) // 2))
    return rows


def add_p_values(
    rows: Sequence[NearTau],
    distances: NDArray[float64],
    taus: NDArray[float64],
    itself: bool = False,
) -> list[NearTau]:
    """The rows of `tau_by_distance`, each with the chance of a tau as large."""
    pairs = len(distances) * (len(distances) - 1) // 2
    telling = [one for one in rows if one.tau is not None and one.pairs < pairs]
    thresholds = [one.threshold for one in telling]
    drawn = [
        [
            one.tau
            for one in tau_by_distance(distances, taus[np.ix_(order, order)], thresholds, itself)
        ]
        for order in (task_orders(len(distances)) if telling else ())
    ]
    told = [
        permutation_p_value([row[at] for row in drawn], one.tau or 0.0)
        for at, one in enumerate(telling)
    ]
    adjusted = dict(zip(thresholds, holm(told), strict=True))
    return [structs.replace(one, p=adjusted.get(one.threshold)) for one in rows]


def mean_tau(taus: NDArray[float64], itself: bool = False) -> float | None:
    """The first row of Table 3, for which no distances are needed: every pair of tasks."""
    return tau_by_distance(np.zeros_like(taus), taus, (1.0,), itself)[0].tau


class ClusterAgreement(Struct, frozen=True):
    """How models do on the tasks of a cluster (Table 4)."""

    name: str
    tasks: tuple[str, ...]
    accuracy: float
    """Mean over models of the plain mean over the cluster's tasks, in percent."""
    tau: float | None
    """Between models' means over the cluster and what they score overall."""
    domain: Literal["in", "out", ""]
    """The paper's rule. In-domain: accurate, and ranked as overall; out-of-domain: neither. It
    favours large clusters, which are much of the Overall that they are held against."""
    tau_others: float | None = None
    """Between models' means over the cluster and over the tasks of all other clusters."""
    p: float | None = None
    """The chance of a `tau_others` as far from 0 if models were permuted, by Holm over clusters."""
    p_domain: float | None = None
    """The chance of a `tau_others` as high, or as low, for as many random tasks, by Holm."""
    domain_tested: Literal["in", "out", ""] = ""
    """As `domain`, by `tau_others`, and only where `p_domain` is at most 0.05."""


def cluster_agreement(
    scores: TaskScores,
    clusters: Mapping[str, Sequence[str]],
    overall: Mapping[str, float] | None = None,
    ties: Ties = "zero",
) -> list[ClusterAgreement]:
    """Table 4. `overall` holds a score for each model, the plain mean over all tasks if None.

    The paper calls a cluster out-of-domain when both its accuracy and its tau are low, in-domain
    when both are high, without saying what low and high are. Here accuracy is held against the
    mean over all tasks and tau against the mean over clusters, which gives the paper's six. Beside
    it stands tau with the other tasks alone, held against chance (`cluster_chance`).
    Raises UsageError for a task without scores and a model without an overall score.
    """
    everything = scores.select_tasks([task for tasks in clusters.values() for task in tasks])
    if overall is None:
        totals = np.nanmean(everything.values, axis=1)
    else:
        lacking = [model for model in scores.models if model not in overall]
        if lacking:
            raise UsageError(f"{lacking[0]!r} has scores on tasks, but no overall score")
        totals = np.array([overall[model] for model in scores.models])
    measured = []
    for name, tasks in clusters.items():
        means = np.nanmean(scores.select_tasks(tasks).values, axis=1)
        # Rounded, so that means that are equal on paper are tied here too.
        tau = _tau(np.round(np.stack([means, totals], axis=1), 9), ties)
        measured.append((name, tuple(tasks), float(np.nanmean(means)), tau))
    middle = float(np.nanmean(np.nanmean(everything.values, axis=1)))
    told = [tau for *_, tau in measured if tau is not None]
    usual = sum(told) / len(told) if told else 0.0
    found = [
        ClusterAgreement(name, tasks, accuracy, tau, _domain(accuracy - middle, tau, usual))
        for name, tasks, accuracy, tau in measured
    ]
    return _add_p_values(found, everything, middle, ties)


def _add_p_values(
    agreements: Sequence[ClusterAgreement], scores: TaskScores, mean_accuracy: float, ties: Ties
) -> list[ClusterAgreement]:
    columns = {task: at for at, task in enumerate(scores.tasks)}
    chances = {
        one.name: chance
        for one in agreements
        if (chance := cluster_chance(
            scores.values, [columns[task] for task in one.tasks], ties == "one"
        ))
    }  # fmt: skip
    alike = dict(zip(chances, holm([one.p for one in chances.values()]), strict=True))
    apart = dict(zip(chances, holm([one.p_domain for one in chances.values()]), strict=True))
    told = []
    for one in agreements:
        chance = chances.get(one.name)
        if chance is None:
            told.append(one)
            continue
        domain: Literal["in", "out", ""] = ""
        if apart[one.name] <= SIGNIFICANCE_LEVEL and chance.above == (one.accuracy > mean_accuracy):
            domain = "in" if chance.above else "out"
        told.append(
            structs.replace(one, tau_others=chance.tau, p=alike[one.name], p_domain=apart[one.name],
                            domain_tested=domain)
        )  # fmt: skip
    return told


def _domain(
    accuracy_difference: float, tau: float | None, average_tau: float
) -> Literal["in", "out", ""]:
    if tau is None or accuracy_difference == 0 or tau == average_tau:
        return ""
    if accuracy_difference > 0:
        return "in" if tau > average_tau else ""
    return "out" if tau < average_tau else ""
