"""Which samples may err together, so that they tell less than as many samples would apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from typing import Protocol


class Shown(Protocol):
    """What tells whether a finished sample stands alone: a `Record`, or a part of one."""

    @property
    def unit(self) -> str: ...

    @property
    def media(self) -> Sequence[str]: ...


def clusters(samples: Sequence[Shown], links: Sequence[str] = ()) -> list[str]:
    """A name for each sample, shared by those of one unit, by those that show the same media, and
    by those of one name among `links`, where these are given; empty for a sample that stands alone.

    What is linked through others is one cluster. The order of the media does not count.
    """
    held = list(range(len(samples)))
    first: dict[Hashable, int] = {}
    for place, sample in enumerate(samples):
        named = [("link", links[place])] if links and links[place] else []
        for link in (*_links(sample), *named):
            one, other = _root(held, place), _root(held, first.setdefault(link, place))
            held[max(one, other)] = min(one, other)
    roots = [_root(held, place) for place in held]
    sizes = Counter(roots)
    return [f"cluster {root + 1}" if sizes[root] > 1 else "" for root in roots]


def _links(sample: Shown) -> Iterable[Hashable]:
    if sample.unit:
        yield sample.unit
    if sample.media:
        yield frozenset(sample.media)


def _root(held: list[int], place: int) -> int:
    while held[place] != place:
        held[place] = place = held[held[place]]
    return place
