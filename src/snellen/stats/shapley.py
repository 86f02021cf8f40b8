"""A difference shared among the things that make it, where only some combinations of them were
measured.

Things ("players") are switched one after the other from how they were to how they are; what a
player moves depends on which were switched before it. Its share is the mean of what it moves over
all orders (L. S. Shapley, "A value for n-person games", Contributions to the Theory of Games II,
1953; for decompositions of a statistic: A. F. Shorrocks, "Decomposition procedures for
distributional analysis: a unified framework based on the Shapley value", Journal of Economic
Inequality 11, 2013). The shares sum to the whole difference, and those of the way back are the
same with the other sign.

Where combinations are missing, the mean is over the orders that are known from end to end. Players
that no known order separates stay together as one.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

Coalition = frozenset[str]
"""The players that were switched."""
Order = tuple[Coalition, ...]
"""Blocks of players, in the order in which they are switched."""


class ShapleySplit(NamedTuple):
    """`shares` of each block, sample by sample (n,); they sum to the whole difference.

    `moves` holds, for each known order, the mean that each block moves in it. `possible_orders` is
    the number of orders of the blocks.
    """

    shares: dict[Coalition, NDArray[float64]]
    moves: dict[Order, dict[Coalition, float]]
    possible_orders: int


def shapley_split(cells: Mapping[Coalition, NDArray[float64]]) -> ShapleySplit:
    """Share the difference between the empty and the largest coalition.

    `cells` holds the values (n,) of the combinations that are known, by the players switched; the
    empty one and that of all players are among them.

    Raises:
        ValueError: one of these two is missing.
    """
    all_players = max(cells, key=len, default=frozenset())
    if frozenset() not in cells or any(one - all_players for one in cells) or not all_players:
        raise ValueError("expected the values of no player switched, and of all of them")
    blocks, orders = _finest(all_players, cells)
    sums: dict[Coalition, NDArray[float64]] = {}
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
    """The most blocks that a known order separates, and their known orders.

    Of several partitions into as many blocks none is favoured: what they disagree on is joined.
    """
    by_size: dict[int, list[Order]] = defaultdict(list)
    for partition in _partitions(sorted(all_players)):
        by_size[len(partition)].append(partition)
    for size in sorted(by_size, reverse=True):
        complete = [(one, orders) for one in by_size[size] if (orders := _orders(one, cells))]
        if complete:
            max_orders = max(len(orders) for _, orders in complete)
            best = [(one, orders) for one, orders in complete if len(orders) == max_orders]
            if len(best) == 1:
                return best[0]
            blocks = _merge_partitions([one for one, _ in best])
            return blocks, _orders(blocks, cells) or [(all_players,)]
    return (all_players,), [(all_players,)]


def _partitions(players: Sequence[str]) -> Iterator[Order]:
    if not players:
        yield ()
        return
    first, *rest = players
    for partition in _partitions(rest):
        yield (frozenset({first}), *partition)
        for at, block in enumerate(partition):
            yield (*partition[:at], block | {first}, *partition[at + 1 :])


def _orders(blocks: Order, cells: Mapping[Coalition, object]) -> list[Order]:
    """Those in which every combination on the way is known."""
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
    """The finest partition of which each of these is a refinement."""
    blocks = [block for one in partitions for block in one]
    merged: list[Coalition] = []
    for block in blocks:
        touched = [one for one in merged if one & block]
        merged = [one for one in merged if not one & block]
        merged.append(block.union(*touched))
    return tuple(sorted(merged, key=sorted))
