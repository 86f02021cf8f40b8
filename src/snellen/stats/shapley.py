"""Shapley values of a difference between two settings, if only some combinations were measured.

The things that differ ("players") are switched from the first setting to the second one after the
other; how much a player changes the result depends on those switched before it. Its share is its
mean change over all orders (L. S. Shapley, "A value for n-person games", Contributions to the
Theory of Games II, 1953; for decompositions of a statistic: A. F. Shorrocks, "Decomposition
procedures for distributional analysis: a unified framework based on the Shapley value", Journal of
Economic Inequality 11, 2013). The shares sum to the total difference; in the reverse direction they
are the same with the opposite sign.

If combinations are missing, the mean is over the orders whose combinations are all measured.
Players that no such order separates are treated as one block.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from snellen.core.arrays import Floats

Coalition = frozenset[str]
"""A set of switched players."""
Order = tuple[Coalition, ...]
"""Blocks of players in the order in which they are switched."""


class ShapleySplit(NamedTuple):
    """The share of each block for each sample, (n,); shares sum to the total difference.

    `moves` has, for each measured order, the mean change by each of its blocks. `possible_orders`
    is the number of all orders of the blocks.
    """

    shares: dict[Coalition, Floats]
    moves: dict[Order, dict[Coalition, float]]
    possible_orders: int


def shapley_split(cells: Mapping[Coalition, Floats]) -> ShapleySplit:
    """Split the difference between the empty and the largest coalition into Shapley values.

    `cells` are the measured values (n,) by coalition, among them those of no player and of all.
    Raises ValueError if one of these two is missing.
    """
    all_players = max(cells, key=len, default=frozenset())
    has_others = any(coalition - all_players for coalition in cells)
    if frozenset() not in cells or has_others or not all_players:
        raise ValueError("expected the values of no player switched, and of all of them")
    blocks, orders = _finest(all_players, cells)
    sums: dict[Coalition, Floats] = {}
    moves: dict[Order, dict[Coalition, float]] = {}
    for order in orders:
        before: Coalition = frozenset()
        moves[order] = {}
        for block in order:
            moved = cells[before | block] - cells[before]
            sums[block] = sums[block] + moved if block in sums else moved
            moves[order][block] = float(moved.mean())
            before = before | block
    shares = {block: total / len(orders) for block, total in sums.items()}
    return ShapleySplit(shares, moves, math.factorial(len(blocks)))


def _finest(all_players: Coalition, cells: Mapping[Coalition, object]) -> tuple[Order, list[Order]]:
    """The finest partition of the players that has a measured order, and its measured orders.

    If several partitions have the same number of blocks and orders, none is preferred: blocks that
    they disagree on are merged.
    """
    by_size: dict[int, list[Order]] = defaultdict(list)
    for partition in _partitions(sorted(all_players)):
        by_size[len(partition)].append(partition)
    for size in sorted(by_size, reverse=True):
        measured = [(blocks, _orders(blocks, cells)) for blocks in by_size[size]]
        max_orders = max(len(orders) for _, orders in measured)
        if max_orders:
            best = [(blocks, orders) for blocks, orders in measured if len(orders) == max_orders]
            if len(best) == 1:
                return best[0]
            blocks = _merge_partitions([blocks for blocks, _ in best])
            return blocks, _orders(blocks, cells) or [(all_players,)]
    return (all_players,), [(all_players,)]


def _partitions(players: Sequence[str]) -> Iterator[Order]:
    """All partitions of the players into blocks."""
    if not players:
        yield ()
        return
    first, *rest = players
    for partition in _partitions(rest):
        yield (frozenset({first}), *partition)
        for index, block in enumerate(partition):
            yield (*partition[:index], block | {first}, *partition[index + 1 :])


def _orders(blocks: Order, cells: Mapping[Coalition, object]) -> list[Order]:
    """The orders of these blocks in which every intermediate coalition is measured."""
    orders: list[Order] = []

    def extend(order: Order, switched: Coalition) -> None:
        if len(order) == len(blocks):
            orders.append(order)
        for block in blocks:
            if not block <= switched and switched | block in cells:
                extend((*order, block), switched | block)

    extend((), frozenset())
    return orders


def _merge_partitions(partitions: Sequence[Order]) -> Order:
    """The finest partition that each of these refines."""
    merged: list[Coalition] = []
    for block in (block for partition in partitions for block in partition):
        overlapping = [other for other in merged if other & block]
        merged = [other for other in merged if not other & block]
        merged.append(block.union(*overlapping))
    return tuple(sorted(merged, key=sorted))
