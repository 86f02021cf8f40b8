"""How much of a difference goes to each of several causes.

Causes are switched one after the other from the first run to the second, and each is worth the mean
of what it moves over the orders (`snellen.stats.shapley`). What a combination scores is known
from the two runs, from their replies read again, and from further runs, such as the first model
under the second prompt. Samples differ in which causes can have moved them and in which
combinations are known, so each kind of sample is split on its own and the parts are summed. Causes
that no known order separates stay one part: none of them is given what may be the other's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, combinations
from typing import TYPE_CHECKING, Literal, NamedTuple

from snellen.analysis.causes.factors import ASKING, CROSSED, Cause, Differences, Side
from snellen.analysis.causes.stages import Change, change
from snellen.stats.shapley import Coalition, Order, Split, shapley_split

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

Method = Literal["alone", "read again", "measured", "joint"]
"""How a part was got: nothing else differs; replies that are there were read again; a further run
switches some of the causes; not at all, since the causes differ together."""
_BY_STRENGTH: tuple[Method, ...] = ("alone", "read again", "measured", "joint")
_READ_AGAIN: frozenset[Cause] = frozenset({"data", "extraction", "scoring"})
"""Causes that can be switched over replies that are there."""

Scores = Mapping[str, float]
ReadAgain = Callable[[Side, frozenset[Cause]], Scores]
"""Scores of a run's replies where these causes, of those that act on the reading, are as in the
second run and the others as in the first; without the samples of which that is not known."""


class Crossed(NamedTuple):
    """A further run, and the causes in which it is as the second."""

    side: Side
    switched: frozenset[Cause]
    scores: Scores


class Part(NamedTuple):
    """What some causes move, sample by sample (n,), as shares of 1.

    `least` and `most` are the means that they move over the known orders, of which there are
    `orders` of `possible`.
    """

    causes: frozenset[Cause]
    values: NDArray[float64]
    least: float
    most: float
    method: Method
    orders: int
    possible: int


class Attributed(NamedTuple):
    parts: list[Part]
    changes: dict[str, Change]
    """Of the samples that the two runs score differently."""


class _Pair(NamedTuple):
    """Two runs, and what is known besides."""

    first: Side
    second: Side
    differ: Differences
    scores: tuple[Scores, Scores]
    crossed: Sequence[Crossed]
    read_again: ReadAgain | None


def attribute(
    first: Side,
    second: Side,
    differ: Differences,
    both: Sequence[str],
    scores: tuple[Scores, Scores],
    crossed: Sequence[Crossed] = (),
    read_again: ReadAgain | None = None,
) -> Attributed:
    """Split the differences of the samples `both` runs scored; the parts sum to them."""
    pair = _Pair(first, second, differ, scores, crossed, read_again)
    changes: dict[str, Change] = {}
    kinds: dict[tuple[Coalition, frozenset[Coalition]], list[_Sample]] = defaultdict(list)
    reads_alike = not differ.causes - frozenset(CROSSED)
    for at, name in enumerate(both):
        moved = scores[0][name] != scores[1][name]
        if not moved and reads_alike and not crossed:
            # Without a combination between them, equal scores tell of no cause.
            continue
        what = change(first, second, differ, first.records[name], second.records[name])
        if moved:
            changes[name] = what
        sample = _cells(pair, name, at, what)
        if sample.players:
            kinds[sample.players, frozenset(sample.cells)].append(sample)
    return Attributed(_summed(list(kinds.values()), len(both)), changes)


class _Sample(NamedTuple):
    """The causes that may have moved a sample, and its score in the combinations that are known."""

    at: int
    players: Coalition
    cells: dict[Coalition, float]
    measured: bool
    """Whether a further run gives one."""


def _cells(pair: _Pair, name: str, at: int, what: Change) -> _Sample:
    before, after = pair.scores[0][name], pair.scores[1][name]
    runs = [one for one in pair.crossed if name in one.scores]
    asking = frozenset[Cause]() if what.blocked and not runs else what.asking
    reading = what.reading
    if before == after:
        # That the two read it otherwise, with the same score, is known of the runs alone.
        reading &= pair.differ.causes
    if runs and "failures" not in reading:
        # A further run may read its reply otherwise, also where the two runs read theirs alike.
        reading = (reading | (pair.differ.causes - ASKING)) - asking
    players = asking | reading
    if before == after and not (runs or (asking and reading)):
        players = frozenset()
    cells: dict[Coalition, float] = {}
    if what.blocked and asking and reading:
        cells[asking], cells[reading] = before, after
    for one in runs:
        cells[one.switched & players] = one.scores[name]
    measured = any(key not in (frozenset(), players) for key in cells) and bool(runs)
    if reading and len(players) > 1:
        cells = {**_reread(pair, name, asking, reading, runs), **cells}
    # What the two runs scored themselves wins over a further run that is like one of them here.
    cells[players], cells[frozenset()] = after, before
    return _Sample(at, players, cells, measured)


def _reread(
    pair: _Pair,
    name: str,
    asking: frozenset[Cause],
    reading: frozenset[Cause],
    runs: Sequence[Crossed],
) -> dict[Coalition, float]:
    """The replies of each run under the reading of the other."""
    if pair.read_again is None or not reading <= _READ_AGAIN:
        return {}
    replies = [
        (pair.first, frozenset[Cause]()),
        (pair.second, asking),
        *((one.side, one.switched & asking) for one in runs),
    ]
    found: dict[Coalition, float] = {}
    for side, switched in replies:
        for some in _subsets(sorted(reading)):
            score = pair.read_again(side, some).get(name)
            if score is not None:
                found.setdefault(switched | some, score)
    return found


def _subsets(causes: Sequence[Cause]) -> Iterator[frozenset[Cause]]:
    sizes = range(len(causes) + 1)
    return map(frozenset, chain.from_iterable(combinations(causes, size) for size in sizes))


def _summed(kinds: Sequence[Sequence[_Sample]], n: int) -> list[Part]:
    """The splits of all kinds of samples, put together over the n samples of the two runs."""
    import numpy as np

    values: dict[Coalition, NDArray[float64]] = {}
    methods: dict[Coalition, list[Method]] = defaultdict(list)
    orders: dict[Coalition, list[tuple[int, int]]] = defaultdict(list)
    # Kinds with the same known orders are switched together, so their moves add up order by order.
    moves: dict[frozenset[Order], dict[Order, dict[Coalition, float]]] = {}
    for samples in kinds:
        cells = {key: np.array([one.cells[key] for one in samples]) for key in samples[0].cells}
        split = shapley_split(cells)
        places = [one.at for one in samples]
        for block, shares in split.shares.items():
            values.setdefault(block, np.zeros(n))[places] += shares
            methods[block].append(_method(block, split, any(one.measured for one in samples)))
            orders[block].append((len(split.moves), split.possible))
        pooled = moves.setdefault(frozenset(split.moves), {})
        for order, moved in split.moves.items():
            mine = pooled.setdefault(order, {})
            for block, mean in moved.items():
                mine[block] = mine.get(block, 0.0) + mean * len(samples) / n
    parts = []
    for block, found in values.items():
        ranges = [
            [moved[block] for moved in pooled.values()]
            for pooled in moves.values()
            if block in next(iter(pooled.values()))
        ]
        known, possible = min(orders[block], key=lambda one: one[0] / one[1])
        method = max(methods[block], key=_BY_STRENGTH.index)
        least, most = sum(map(min, ranges)), sum(map(max, ranges))
        parts.append(Part(_causes(block), found, least, most, method, known, possible))
    return parts


def _method(block: Coalition, split: Split, measured: bool) -> Method:
    if len(block) > 1:
        return "joint"
    if len(split.shares) == 1:
        return "alone"
    return "measured" if measured else "read again"


def _causes(block: Coalition) -> frozenset[Cause]:
    return frozenset(block)  # type: ignore[arg-type]
