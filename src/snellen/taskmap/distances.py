"""Distances between tasks: `1 - cos` of their vectors (MMT-Bench, Sec. 5.1)."""

from __future__ import annotations

from collections.abc import Sequence

from snellen.core.arrays import Floats, np


def gram_of_products(downs: Floats, ups: Floats) -> Floats:
    """Inner products of the matrices `up @ down` of several tasks, shape (tasks, tasks).

    The matrices themselves are never built: with `downs` of shape (tasks, rank, inputs) and `ups`
    of shape (tasks, outputs, rank), <B A, B' A'> = sum of (B^T B') * (A A'^T). A weight change of a
    billion numbers costs no more than its two factors.
    """
    tasks, rank, _ = downs.shape
    # Every factor row of every task against every other: (tasks * rank, tasks * rank).
    inputs = downs.reshape(tasks * rank, -1)
    outputs = ups.transpose(0, 2, 1).reshape(tasks * rank, -1)
    products = (inputs @ inputs.T) * (outputs @ outputs.T)
    # The sum over both ranks leaves one number for each pair of tasks.
    gram: Floats = products.reshape(tasks, rank, tasks, rank).sum(axis=(1, 3))
    return gram


def cosine_distances(gram: Floats) -> Floats:
    """Distances 0..2 from inner products, shape (tasks, tasks), symmetric with a zero diagonal.
    Raises ValueError for a vector of length zero, which has no direction.
    """
    norms = np.sqrt(np.diag(gram))
    if not np.all(norms > 0):
        raise ValueError(f"vector {int(np.argmin(norms))} has no length")
    cosines = gram / np.outer(norms, norms)
    distances: Floats = np.clip(1 - (cosines + cosines.T) / 2, 0.0, 2.0)
    np.fill_diagonal(distances, 0.0)
    return distances


def nearest_tasks(distances: Floats, task: int, candidates: Sequence[int], count: int) -> list[int]:
    """The `count` tasks of `candidates` that are nearest to `task`, without itself, the nearest
    first."""
    others = [other for other in candidates if other != task]
    return sorted(others, key=lambda other: (distances[task, other], other))[:count]
