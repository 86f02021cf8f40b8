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

from snellen.stats.resampling import seeded_generator

if TYPE_CHECKING:
    from numpy import float64, int64
    from numpy.random import Generator
    from numpy.typing import NDArray

SHARES = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5)
STRATA = 5
DRAWS = 200
FOLDS = 5
"""At most; each holds two systems or more, so that there is a pair to judge by."""
CHOICE_REPEATS = 2
"""How often the folds by which a size is chosen are dealt anew."""
JUDGEMENT_REPEATS = 4
"""How often those are by which that choice is judged: the systems of a fold make few pairs."""
MIN_SYSTEMS = 10
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


class SubsetChoice(NamedTuple):
    """The smallest subset that is good enough, or the largest one where none is (not `is_reached`).

    `units` are numbers, ascending. `agreement` and `error` are those of the procedure, choice of
    size included, on systems that had no part in it. A choice that is dropped where it is not good
    enough would make them those of the lucky ones.
    """

    sizes: list[Subset]
    share: float
    is_reached: bool
    units: NDArray[int64]
    agreement: float
    error: float


def choose_subset(
    sums: NDArray[float64], sizes: NDArray[float64], agreement: float, seed: str
) -> SubsetChoice:
    """Choose the smallest subset that orders the share `agreement` of pairs as the whole does.

    `sums` (units, systems) holds the scores that each system earned in each unit, `sizes` (units,)
    the samples of a unit.

    Raises:
        ValueError: fewer than ten systems.
    """
    import numpy as np

    units, systems = sums.shape
    if systems < MIN_SYSTEMS:
        raise ValueError(f"choosing a subset needs {MIN_SYSTEMS} systems, got {systems}")
    random = seeded_generator(seed)
    ties = random.random((units,))
    all_systems = np.arange(systems)
    outer = _folds(all_systems, JUDGEMENT_REPEATS, random)
    inner = [_folds(np.setdiff1d(all_systems, fold), CHOICE_REPEATS, random) for fold in outer]
    choosers = [np.setdiff1d(all_systems, fold) for fold in outer]

    # Every set of systems that subsets are chosen by, and those they are judged by.
    full = _FullBenchmark(sums, sizes)
    splits = list(zip(choosers, outer, strict=True))
    for choosing, folds in zip(choosers, inner, strict=True):
        splits += [(np.setdiff1d(choosing, fold), fold) for fold in folds]
    trials = [
        _Trial(_by_difficulty(sums[:, kept], sizes, ties), full.panel(kept), full.panel(judging))
        for kept, judging in splits
    ]
    draws = _StratifiedDraws(units, random)
    table = []
    for share in SHARES:
        picks = draws.select(share)
        table.append([_evaluate_trial(full, one, picks) for one in trials])
    # Chosen with all systems, by as many folds as within each outer fold.
    choice_trials = len(outer) * CHOICE_REPEATS // JUDGEMENT_REPEATS
    values = [_mean_subset(row[:choice_trials]) for row in table]
    # The choice of size within each outer fold, judged by the systems of that fold.
    judged = []
    first = len(outer)
    for at, folds in enumerate(inner):
        fold_agreements = [_mean_subset(row[first : first + len(folds)]).agreement for row in table]
        first += len(folds)
        judged.append(table[_smallest_size(fold_agreements, agreement)][at])
    worth = _mean_subset(judged)
    agreements = [one.agreement for one in values]
    share = SHARES[_smallest_size(agreements, agreement)]
    order = _by_difficulty(sums, sizes, ties)
    picks = draws.select(share)
    best = _best_draw(full.compare_draws(picks, order), full.panel(all_systems))
    selected = np.sort(order[np.flatnonzero(picks[best])])
    return SubsetChoice(
        values, share, agreements[-1] >= agreement, selected, worth.agreement, worth.error
    )


class _Panel(NamedTuple):
    """Some of the systems, by what each weighs in means over them: `systems` (systems,), and
    `pairs` (pairs,) of those that differ in the whole; zeros where there is no such pair."""

    indices: NDArray[int64]
    systems: NDArray[float64]
    pairs: NDArray[float64]

    @property
    def has_pairs(self) -> bool:
        """Whether there is a pair to order."""
        return bool(self.pairs.any())


class _Trial(NamedTuple):
    """Systems that choose a subset, and those that judge it; units in the order of their difficulty
    for the first."""

    order: NDArray[int64]
    choosing: _Panel
    judging: _Panel


class _DrawComparison(NamedTuple):
    """How near the whole each draw comes: `agree` (draws, pairs) is 1 where the pair is ordered as
    in the whole (one that is equal in the draw alone is not); `distances` (draws, systems) holds
    the distances of scores."""

    agree: NDArray[float64]
    distances: NDArray[float64]

    def agreement(self, panel: _Panel) -> NDArray[float64]:
        """Of each draw, over the pairs of the panel; NaN without a pair."""
        import numpy as np

        if not panel.has_pairs:
            return np.full(len(self.agree), np.nan)
        share: NDArray[float64] = self.agree @ panel.pairs
        return share


class _FullBenchmark:
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

    def panel(self, indices: NDArray[int64]) -> _Panel:
        import numpy as np

        member = np.zeros(len(self._scores))
        member[indices] = 1.0
        pairs = member[self._first] * member[self._second]
        return _Panel(indices, member / len(indices), pairs / max(1.0, pairs.sum()))

    def compare_draws(self, picks: NDArray[float64], order: NDArray[int64]) -> _DrawComparison:
        """By subsets `picks` (draws, places) of the units in this order."""
        scores = (picks @ self._sums[order]) / (picks @ self._sizes[order])[:, None]
        agree = (scores[:, self._first] - scores[:, self._second]) * self._order > _EQUAL
        return _DrawComparison(agree.astype(float), abs(scores - self._scores))


class _StratifiedDraws:
    """Random subsets of units that are sorted by difficulty: each stratum is a stretch of them.

    The draws are the same for all trials, because they are about places and not about systems.
    """

    def __init__(self, units: int, random: Generator) -> None:
        import numpy as np

        self._strata = np.array_split(np.arange(units), min(STRATA, units))
        self._units = units
        self._permutations = [
            random.random((DRAWS, len(part))).argsort(axis=1) for part in self._strata
        ]

    def select(self, share: float) -> NDArray[float64]:
        """Which places each draw takes at a share: 1 or 0, (draws, units)."""
        import numpy as np

        picks = np.zeros((DRAWS, self._units), dtype=np.float64)
        for part, permutation in zip(self._strata, self._permutations, strict=True):
            selected = part[permutation[:, : max(1, round(share * len(part)))]]
            np.put_along_axis(picks, selected, 1.0, axis=1)
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


def _best_draw(comparison: _DrawComparison, panel: _Panel) -> int:
    """The draw that orders most pairs as the whole does, and of these has the nearest scores."""
    import numpy as np

    agreement = (
        np.round(comparison.agreement(panel), 9)
        if panel.has_pairs
        else np.zeros(len(comparison.agree))
    )
    error = comparison.distances**2 @ panel.systems
    return int(np.lexsort((error, -agreement))[0])


def _evaluate_trial(full: _FullBenchmark, trial: _Trial, picks: NDArray[float64]) -> Subset:
    """What the subset that some systems choose is worth to those that are held out."""
    comparison = full.compare_draws(picks, trial.order)
    best = _best_draw(comparison, trial.choosing)
    agreement, errors = (
        comparison.agreement(trial.judging),
        comparison.distances[:, trial.judging.indices],
    )
    return Subset(
        int(picks[0].sum()),
        float(agreement[best]),
        float(errors[best].mean()),
        float(errors[best].max()),
        float(agreement.mean()),
        float(errors.mean()),
    )


def _mean_subset(subsets: Sequence[Subset]) -> Subset:
    import numpy as np

    table = np.array(subsets, dtype=np.float64)
    defined = table[~np.isnan(table[:, 1])]
    agreement, random = defined[:, [1, 4]].mean(axis=0) if len(defined) else (np.nan, np.nan)
    return Subset(
        subsets[0].units,
        float(agreement),
        float(table[:, 2].mean()),
        float(table[:, 3].max()),
        float(random),
        float(table[:, 5].mean()),
    )


def _smallest_size(agreements: Sequence[float], target: float) -> int:
    """The place of the smallest size from which on every larger one is good enough, too: one that
    passes by luck between two that do not is not taken. The largest, where that is not."""
    index = len(agreements) - 1
    while index and all(one >= target for one in agreements[index - 1 :]):
        index -= 1
    return index
