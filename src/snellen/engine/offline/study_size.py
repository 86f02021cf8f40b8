"""How many samples a run is about, and how many of them lie together."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from snellen.engine.loop.plan import RunPlan, select_ids
from snellen.scoring.clusters import cluster_samples


class _ClusterKey(NamedTuple):
    unit: str
    media: tuple[str, ...]


def cluster_sizes(plan: RunPlan) -> list[int]:
    """The sizes of the clusters (`scoring.clusters`) of the samples that a run asks, in their
    order. Raises as `run` does for data that cannot be opened."""
    table = plan.benchmark.open()
    chosen = select_ids(plan, table)
    shown = [
        _ClusterKey(sample.unit, tuple(ref.digest for ref in sample.media))
        for sample in plan.benchmark.samples(table)
        if sample.id in chosen
    ]
    counts = Counter(name or f"\0{at}" for at, name in enumerate(cluster_samples(shown)))
    return list(counts.values())
