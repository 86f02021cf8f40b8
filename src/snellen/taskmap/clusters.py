"""Hierarchical clusters of tasks, from their distances."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from msgspec import Struct

from snellen.core.errors import MissingExtra

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

Linkage = Literal["average", "complete", "single", "weighted", "ward"]


class Merge(Struct, frozen=True):
    """Two nodes of the tree become one. Nodes below the number of tasks are tasks; the node made
    by merge k is number (tasks + k)."""

    left: int
    right: int
    height: float


class Tree(Struct, frozen=True):
    """A dendrogram: every merge from the lowest up, and the tasks from left to right."""

    linkage: Linkage
    merges: tuple[Merge, ...]
    order: tuple[int, ...]


def build_tree(distances: NDArray[float64], linkage: Linkage = "average") -> Tree:
    """Hierarchical clustering of at least two tasks.

    `ward` minimises variance, which is meant for Euclidean distances; on cosine distances it is
    a heuristic. Raises MissingExtra.
    """
    if importlib.util.find_spec("scipy") is None:
        raise MissingExtra("snellen taskmap", "taskmap", "scipy")
    from scipy.cluster import hierarchy
    from scipy.spatial.distance import squareform

    condensed = squareform(distances, checks=False)
    merged = hierarchy.linkage(condensed, linkage, optimal_ordering=True)
    merges = tuple(Merge(int(left), int(right), float(at)) for left, right, at, _ in merged)
    return Tree(linkage, merges, tuple(int(leaf) for leaf in hierarchy.leaves_list(merged)))


def cut_tree(tree: Tree, count: int) -> list[list[int]]:
    """The tasks in `count` clusters (or as many as there are tasks), from left to right."""
    tasks = len(tree.order)
    members: dict[int, list[int]] = {task: [task] for task in range(tasks)}
    for number, merge in enumerate(tree.merges[: tasks - min(count, tasks)]):
        members[tasks + number] = members.pop(merge.left) + members.pop(merge.right)
    place = {task: at for at, task in enumerate(tree.order)}
    clusters = [sorted(found, key=place.__getitem__) for found in members.values()]
    return sorted(clusters, key=lambda found: place[found[0]])


def cophenetic_correlation(tree: Tree, distances: NDArray[float64]) -> float | None:
    """How well the tree keeps the distances: Pearson's correlation of the heights at which two
    tasks meet with their distance (Sokal and Rohlf 1962). None where either does not vary."""
    tasks = len(tree.order)
    members: dict[int, list[int]] = {task: [task] for task in range(tasks)}
    heights = np.zeros_like(distances)
    for number, merge in enumerate(tree.merges):
        left, right = members.pop(merge.left), members.pop(merge.right)
        heights[np.ix_(left, right)] = heights[np.ix_(right, left)] = merge.height
        members[tasks + number] = left + right
    return _correlation(*(_upper_triangle(one) for one in (heights, distances)))


def map_correlation(first: NDArray[float64], second: NDArray[float64]) -> float | None:
    """Pearson's correlation of two maps of the same tasks over every pair of them."""
    return _correlation(_upper_triangle(first), _upper_triangle(second))


def _upper_triangle(square: NDArray[float64]) -> Sequence[float]:
    found: list[float] = square[np.triu_indices(len(square), 1)].tolist()
    return found


def _correlation(first: Sequence[float], second: Sequence[float]) -> float | None:
    if len(first) < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    return float(np.corrcoef(first, second)[0, 1])
