"""Clusters of correlated samples (same image or unit), for cluster-robust intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Protocol


class Clusterable(Protocol):
    """The part of a record that decides its cluster."""

    @property
    def unit(self) -> str: ...

    @property
    def media(self) -> Sequence[str]: ...


def cluster_samples(samples: Sequence[Clusterable], links: Sequence[str] = ()) -> list[str]:
    """A cluster id for each sample: equal for samples of one unit, with the same media, or with the
    same name in `links` (optional, one per sample). Empty for a sample that shares nothing.

    Links are transitive: connected samples form one cluster. The order of media does not matter.
    """
    # Union-find: each sample points to another of its cluster, roots point to themselves.
    parents = list(range(len(samples)))
    first: dict[Hashable, int] = {}
    for index, sample in enumerate(samples):
        named_links = [("link", links[index])] if links and links[index] else []
        for link in (*_links(sample), *named_links):
            own_root = _root(parents, index)
            other_root = _root(parents, first.setdefault(link, index))
            # The smaller index becomes the root, so that ids follow the order of the samples.
            parents[max(own_root, other_root)] = min(own_root, other_root)
    roots = [_root(parents, index) for index in parents]
    sizes = Counter(roots)
    return [f"cluster {root + 1}" if sizes[root] > 1 else "" for root in roots]


def _links(sample: Clusterable) -> Iterable[Hashable]:
    """Keys that a sample shares with the other samples of its cluster."""
    if sample.unit:
        yield sample.unit
    if sample.media:
        yield frozenset(sample.media)


def _root(parents: list[int], index: int) -> int:
    """The representative of a sample's cluster (union-find with path halving)."""
    while parents[index] != index:
        parents[index] = index = parents[parents[index]]
    return index
