"""Which samples may err together, so that they tell less than as many samples would apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Protocol


class Clusterable(Protocol):
    """What tells whether a finished sample stands alone: a `Record`, or a part of one."""

    @property
    def unit(self) -> str: ...

    @property
    def media(self) -> Sequence[str]: ...


def cluster_samples(samples: Sequence[Clusterable], links: Sequence[str] = ()) -> list[str]:
    """A name for each sample, shared by those of one unit, by those that show the same media, and
    by those of one name among `links`, where these are given; empty for a sample that stands alone.

    What is linked through others is one cluster. The order of the media does not count.
    """
    parents = list(range(len(samples)))
    first: dict[Hashable, int] = {}
    for index, sample in enumerate(samples):
        named_links = [("link", links[index])] if links and links[index] else []
        for link in (*_links(sample), *named_links):
            own_root, other_root = (
                _root(parents, index),
                _root(parents, first.setdefault(link, index)),
            )
            parents[max(own_root, other_root)] = min(own_root, other_root)
    roots = [_root(parents, place) for place in parents]
    sizes = Counter(roots)
    return [f"cluster {root + 1}" if sizes[root] > 1 else "" for root in roots]


def _links(sample: Clusterable) -> Iterable[Hashable]:
    if sample.unit:
        yield sample.unit
    if sample.media:
        yield frozenset(sample.media)


def _root(parents: list[int], index: int) -> int:
    while parents[index] != index:
        parents[index] = index = parents[parents[index]]
    return index
