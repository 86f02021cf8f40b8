"""Which rows of a batch begin alike, and how far."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

from snellen.models.hf_rows import Row, common

WORTH = 16
"""Tokens two prompts must share beyond their heads before it pays to compute them apart."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Rows of a batch that share their first `length` tokens and pictures."""

    places: tuple[int, ...]
    length: int


def clusters(rows: Sequence[Row]) -> Iterator[Cluster]:
    """Rows that share enough beyond their heads, next to each other in the order of their ids."""
    by_head: dict[Hashable, list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        by_head[row.head_key()].append(place)
    for places in by_head.values():
        places.sort(key=lambda place: rows[place].ids)
        together: list[int] = []
        length = 0
        for place in places:
            row = rows[place]
            shared = min(length or limit_of(row), limit_of(row))
            if together:
                shared = min(shared, common(rows[together[0]].ids, row.ids))
            if together and shared < row.head + WORTH:
                yield from _worthwhile(together, length)
                together, shared = [], limit_of(row)
            together.append(place)
            length = shared
        yield from _worthwhile(together, length)


def _worthwhile(together: Sequence[int], length: int) -> Iterator[Cluster]:
    if len(together) > 1:
        yield Cluster(tuple(together), length)


def shared_length(one: Row, other: Row) -> int:
    """Tokens that can be computed once for two rows."""
    return min(common(one.ids, other.ids), limit_of(one), limit_of(other))


def limit_of(row: Row) -> int:
    """Tokens that may be computed before: the rest must hold one whose logits are asked for."""
    return len(row.ids) - row.scored - 1
