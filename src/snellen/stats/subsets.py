"""The smallest part of a benchmark that ranks systems as the whole does.

Stratified random search: units (samples, or clusters of them) are put into strata of equal size by
difficulty; of many random subsets that take the same share of each stratum, the one is kept that
orders most pairs of systems as the whole benchmark does, and of these the one whose scores are
nearest. What a subset of a size is worth is measured on systems that had no part in choosing it
(cross-validation over systems), beside the mean of the subsets that were drawn at random.

The smallest size that is good enough is itself a choice among noisy values, so that the agreement
which made it pass is too high. What the whole procedure is worth is therefore measured by nested
cross-validation (M. Stone, "Cross-validatory choice and assessment of statistical predictions",
JRSS B 36 (1974); S. Varma and R. Simon, BMC Bioinformatics 7:91 (2006)): the size and the subset
are chosen again without each fold of systems, and judged by the pairs of systems within that fold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from snellen.stats.resampling import seeded

if TYPE_CHECKING:
    from numpy import float64, int64
    from numpy.random import Generator
    from numpy.typing import NDArray

SHARES = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5)
STRATA = 5
DRAWS = 200
FOLDS = 5
"""At most; each holds two systems or more, so that there is a pair to judge by."""
CHOOSING = 2
"""How often the folds by which a size is chosen are dealt anew."""
JUDGING = 4
"""How often those are by which that choice is judged: the systems of a fold make few pairs."""
FEWEST_SYSTEMS = 10
"""Below, there are too few pairs of systems to choose a size by and to judge it."""


_EQUAL = 1e-9
"""Mean scores nearer than this are equal."""


class Subset(NamedTuple):
    """A size, and what subsets of it are worth to systems that had no part in choosing them.

    `agreement` is the share of pairs of such systems that are ordered as in the whole; NaN where
    there are none. `error` and `largest` are the mean and largest distance of such a system's score
    from that of the whole, as shares; `random_agreement` and `random_error` are those of subsets
    drawn at random.
    """

    units: int
    agreement: float
    error: float
    largest: float
    random_agreement: float
    random_error: float


class Choice(NamedTuple):
    """The smallest subset that is good enough, or the largest one where none is (not `reached`).

    `units` are numbers, ascending. `agreement` and `error` are those of the procedure, choice of
    size included, on systems that had no part in it. A choice that is dropped where it is not good
    enough would make them those of the lucky ones.
    """

    sizes: list[Subset]
    share: float
    reached: bool
    units: NDArray[int64]
    agreement: float
    error: float


def choose_subset(
    sums: NDArray[float64], sizes: NDArray[float64], agreement: float, seed: str
) -> Choice:
    """Choose the smallest subset that orders the share `agreement` of pairs as the whole does.

    `sums` (units, systems) holds the scores that each system earned in each unit, `sizes` (units,)
    the samples of a unit.

    Raises:
        ValueError: fewer than ten systems.
    """
    import numpy as np

    units, systems = sums.shape
    if systems < FEWEST_SYSTEMS:
        raise ValueError(f"choosing a subset needs {FEWEST_SYSTEMS} systems, got {systems}")
    random = seeded(seed)
    ties = random.random((units,))
    everyone = np.arange(systems)
    outer = _folds(everyone, JUDGING, random)
    inner = [_folds(np.setdiff1d(everyone, fold), CHOOSING, random) for fold in outer]
    rest = [np.setdiff1d(everyone, fold) for fold in outer]

    # Every set of systems that subsets are chosen by, and those they are judged by.
    whole = _Whole(sums, sizes)
    splits = list(zip(rest, outer, strict=True))
    for kept, folds in zip(rest, inner, strict=True):
        splits += [(np.setdiff1d(kept, fold), fold) for fold in folds]
    trials = [
        _Trial(_by_difficulty(sums[:, kept], sizes, ties), whole.panel(kept), whole.panel(held))
        for kept, held in splits
    ]
    draws = _Draws(units, random)
    table = []
    for share in SHARES:
        picks = draws.at(share)
        table.append([_worth(whole, one, picks) for one in trials])
    # Chosen with all systems, by as many folds as within each outer fold.
    choosing = len(outer) * CHOOSING // JUDGING
    values = [_mean(row[:choosing]) for row in table]
    # The choice of size within each outer fold, judged by the systems of that fold.
    judged = []
    first = len(outer)
    for at, folds in enumerate(inner):
        seen = [_mean(row[first : first + len(folds)]).agreement for row in table]
        first += len(folds)
        judged.append(table[_smallest(seen, agreement)][at])
    worth = _mean(judged)
    told = [one.agreement for one in values]
    share = SHARES[_smallest(told, agreement)]
    order = _by_difficulty(sums, sizes, ties)
    picks = draws.at(share)
    best = _best(whole.seen_by(picks, order), whole.panel(everyone))
    found = np.sort(order[np.flatnonzero(picks[best])])
    return Choice(values, share, told[-1] >= agreement, found, worth.agreement, worth.error)


class _Panel(NamedTuple):
    """Some of the systems, by what each weighs in means over them: `systems` (systems,), and
    `pairs` (pairs,) of those that differ in the whole; zeros where there is no such pair."""

    numbers: NDArray[int64]
    systems: NDArray[float64]
    pairs: NDArray[float64]

    @property
    def paired(self) -> bool:
        """Whether there is a pair to order."""
        return bool(self.pairs.any())


class _Trial(NamedTuple):
    """Systems that choose a subset, and those that judge it; units in the order of their difficulty
    for the first."""

    order: NDArray[int64]
    kept: _Panel
    held: _Panel


class _Seen(NamedTuple):
    """How near the whole each draw comes: `agree` (draws, pairs) is 1 where the pair is ordered as
    in the whole (one that is equal in the draw alone is not); `apart` (draws, systems) holds the
    distances of scores."""

    agree: NDArray[float64]
    apart: NDArray[float64]

    def agreement(self, panel: _Panel) -> NDArray[float64]:
        """Of each draw, over the pairs of the panel; NaN without a pair."""
        import numpy as np

        if not panel.paired:
            return np.full(len(self.agree), np.nan)
        share: NDArray[float64] = self.agree @ panel.pairs
        return share


class _Whole:
    """The scores of all systems on all units."""

    def __init__(self, sums: NDArray[float64], sizes: NDArray[float64]) -> None:
        import numpy as np

        self._sums, self._sizes = sums, sizes
        self._scores = sums.sum(axis=0) / sizes.sum()
        first, second = np.triu_indices(len(self._scores), 1)
        order = np.sign(np.round(self._scores[first] - self._scores[second], 9))
        unequal = order != 0
        self._order = order[unequal]
        self._first, self._second = first[unequal], second[unequal]

    def panel(self, numbers: NDArray[int64]) -> _Panel:
        import numpy as np

        member = np.zeros(len(self._scores))
        member[numbers] = 1.0
        pairs = member[self._first] * member[self._second]
        return _Panel(numbers, member / len(numbers), pairs / max(1.0, pairs.sum()))

    def seen_by(self, picks: NDArray[float64], order: NDArray[int64]) -> _Seen:
        """By subsets `picks` (draws, places) of the units in this order."""
        scores = (picks @ self._sums[order]) / (picks @ self._sizes[order])[:, None]
        agree = (scores[:, self._first] - scores[:, self._second]) * self._order > _EQUAL
        return _Seen(agree.astype(float), abs(scores - self._scores))


class _Draws:
    """Random subsets of units that are sorted by difficulty: each stratum is a stretch of them.

    The draws are the same for all trials, because they are about places and not about systems.
    """

    def __init__(self, units: int, random: Generator) -> None:
        import numpy as np

        self._strata = np.array_split(np.arange(units), min(STRATA, units))
        self._units = units
        self._lots = [random.random((DRAWS, len(part))).argsort(axis=1) for part in self._strata]

    def at(self, share: float) -> NDArray[float64]:
        """Which places each draw takes at a share: 1 or 0, (draws, units)."""
        import numpy as np

        picks = np.zeros((DRAWS, self._units), dtype=np.float64)
        for part, lots in zip(self._strata, self._lots, strict=True):
            taken = part[lots[:, : max(1, round(share * len(part)))]]
            np.put_along_axis(picks, taken, 1.0, axis=1)
        return picks


def _folds(systems: NDArray[int64], times: int, random: Generator) -> list[NDArray[int64]]:
    import numpy as np

    count = min(FOLDS, len(systems) // 2)
    return [
        fold for _ in range(times) for fold in np.array_split(random.permutation(systems), count)
    ]


def _by_difficulty(
    sums: NDArray[float64], sizes: NDArray[float64], ties: NDArray[float64]
) -> NDArray[int64]:
    """Units in order of difficulty; equal ones by lot, so that strata are of equal size."""
    import numpy as np

    return np.lexsort((ties, sums.mean(axis=1) / sizes))


def _best(seen: _Seen, panel: _Panel) -> int:
    """The draw that orders most pairs as the whole does, and of these has the nearest scores."""
    import numpy as np

    agreement = np.round(seen.agreement(panel), 9) if panel.paired else np.zeros(len(seen.agree))
    error = seen.apart**2 @ panel.systems
    return int(np.lexsort((error, -agreement))[0])


def _worth(whole: _Whole, trial: _Trial, picks: NDArray[float64]) -> Subset:
    """What the subset that some systems choose is worth to those that are held out."""
    seen = whole.seen_by(picks, trial.order)
    best = _best(seen, trial.kept)
    agreement, errors = seen.agreement(trial.held), seen.apart[:, trial.held.numbers]
    return Subset(
        int(picks[0].sum()),
        float(agreement[best]),
        float(errors[best].mean()),
        float(errors[best].max()),
        float(agreement.mean()),
        float(errors.mean()),
    )


def _mean(found: Sequence[Subset]) -> Subset:
    import numpy as np

    table = np.array(found, dtype=np.float64)
    known = table[~np.isnan(table[:, 1])]
    agreement, random = known[:, [1, 4]].mean(axis=0) if len(known) else (np.nan, np.nan)
    return Subset(
        found[0].units,
        float(agreement),
        float(table[:, 2].mean()),
        float(table[:, 3].max()),
        float(random),
        float(table[:, 5].mean()),
    )


def _smallest(agreements: Sequence[float], asked: float) -> int:
    """The place of the smallest size from which on every larger one is good enough, too: one that
    passes by luck between two that do not is not taken. The largest, where that is not."""
    place = len(agreements) - 1
    while place and all(one >= asked for one in agreements[place - 1 :]):
        place -= 1
    return place
