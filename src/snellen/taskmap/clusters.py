"""Hierarchical clusters of tasks, from their distances."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from snellen.core.arrays import Floats, np
from snellen.core.errors import MissingExtra

Linkage = Literal["average", "complete", "single", "weighted", "ward"]


class Merge(Struct, frozen=True):
    """The union of two nodes of the tree. Nodes below the number of tasks are tasks; merge k
    creates node (tasks + k)."""

    left: int
    right: int
    height: float


class Tree(Struct, frozen=True):
    """A dendrogram: all merges by ascending height, and the tasks from left to right."""

    linkage: Linkage
    merges: tuple[Merge, ...]
    order: tuple[int, ...]


def build_tree(distances: Floats, linkage: Linkage = "average") -> Tree:
    """Cluster at least two tasks hierarchically.

    `ward` minimises variance, which is meant for Euclidean distances; on cosine distances it is a
    heuristic. Raises MissingExtra without scipy.
    """
    if importlib.util.find_spec("scipy") is None:
        raise MissingExtra("snellen taskmap", "taskmap", "scipy")
    from scipy.cluster import hierarchy
    from scipy.spatial.distance import squareform

    condensed = squareform(distances, checks=False)
    merged = hierarchy.linkage(condensed, linkage, optimal_ordering=True)
    merges = tuple(Merge(int(left), int(right), float(height)) for left, right, height, _ in merged)
    return Tree(linkage, merges, tuple(int(leaf) for leaf in hierarchy.leaves_list(merged)))


def cut_tree(tree: Tree, count: int) -> list[list[int]]:
    """Split the tasks into `count` clusters, or one for each task if there are fewer tasks;
    clusters and their tasks are from left to right."""
    tasks = len(tree.order)
    members: dict[int, list[int]] = {task: [task] for task in range(tasks)}
    for number, merge in enumerate(tree.merges[: tasks - min(count, tasks)]):
        members[tasks + number] = members.pop(merge.left) + members.pop(merge.right)
    position = {task: index for index, task in enumerate(tree.order)}
    clusters = [sorted(tasks, key=position.__getitem__) for tasks in members.values()]
    return sorted(clusters, key=lambda tasks: position[tasks[0]])


def cut_names(tree: Tree, names: Sequence[str], count: int) -> tuple[tuple[str, ...], ...]:
    """`cut_tree` by the names of the tasks."""
    return tuple(tuple(names[index] for index in cluster) for cluster in cut_tree(tree, count))


def cophenetic_correlation(tree: Tree, distances: Floats) -> float | None:
    """Pearson's correlation of the tree's heights at which two tasks are merged with their
    distances (Sokal and Rohlf 1962). None if either does not vary."""
    tasks = len(tree.order)
    members: dict[int, list[int]] = {task: [task] for task in range(tasks)}
    heights = np.zeros_like(distances)
    for number, merge in enumerate(tree.merges):
        left, right = members.pop(merge.left), members.pop(merge.right)
        heights[np.ix_(left, right)] = heights[np.ix_(right, left)] = merge.height
        members[tasks + number] = left + right
    return _correlation(*(_upper_triangle(square) for square in (heights, distances)))


def map_correlation(first: Floats, second: Floats) -> float | None:
    """Pearson's correlation of two maps of the same tasks, over all pairs of tasks."""
    return _correlation(_upper_triangle(first), _upper_triangle(second))


def _upper_triangle(square: Floats) -> Sequence[float]:
    values: list[float] = square[np.triu_indices(len(square), 1)].tolist()
    return values


def _correlation(first: Sequence[float], second: Sequence[float]) -> float | None:
    if len(first) < 2 or np.ptp(first) == 0 or np.ptp(second) == 0:
        return None
    return float(np.corrcoef(first, second)[0, 1])
