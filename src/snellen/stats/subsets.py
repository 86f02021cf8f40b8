"""Select the smallest subset of a benchmark that ranks systems as the full benchmark does.

Stratified random search: units (samples, or clusters of samples) are divided into strata of equal
size by difficulty. Many random subsets take the same share of each stratum; the best one orders
most pairs of systems as the full benchmark does, and among equals has the closest scores. Subsets
of a size are evaluated on systems that were not used to choose them (cross-validation over
systems), and compared with the mean of the random subsets.

The smallest size that is good enough is itself chosen among noisy values, so that its measured
agreement is too high. The complete procedure is therefore evaluated by nested cross-validation (M.
Stone, "Cross-validatory choice and assessment of statistical predictions", JRSS B 36 (1974); S.
Varma and R. Simon, BMC Bioinformatics 7:91 (2006)): size and subset are chosen again without each
fold of systems, and judged by the pairs of systems within that fold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from snellen.core.arrays import Bools, Floats, Ints, np
from snellen.stats.resampling import seeded_generator

if TYPE_CHECKING:
    from numpy.random import Generator

SHARES = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5)
STRATA = 5
DRAWS = 200
FOLDS = 5
"""Maximum; each fold has at least two systems, so that there is a pair to judge by."""
CHOICE_REPEATS = 2
"""Random divisions into folds for choosing a size."""
JUDGEMENT_REPEATS = 4
"""Random divisions into folds for judging that choice: the systems of a fold form few pairs."""
MIN_SYSTEMS = 10
"""With fewer there are too few pairs of systems to choose a size and to judge it."""


_EQUAL = 1e-9
"""Mean scores nearer than this are equal."""


class Subset(NamedTuple):
    """A size in units, and how good subsets of this size are for systems not used to choose them.

    `agreement` is the fraction of pairs of such systems that are ordered as in the full benchmark;
    NaN without pairs. `error` and `largest` are the mean and the largest distance of their scores,
    in 0..1, from those in the full benchmark. `random_agreement` and `random_error` are the same
    for random subsets.
    """

    units: int
    agreement: float
    error: float
    largest: float
    random_agreement: float
    random_error: float


class SubsetChoice(NamedTuple):
    """The smallest subset that is good enough, or the largest one if none is (not `is_reached`).

    `units` are the indices of its units, ascending. `agreement` and `error` are those of the
    complete procedure, choice of size included, on systems that were not used in it. They include
    choices that are not good enough: without these, only lucky ones would count.
    """

    sizes: list[Subset]
    share: float
    is_reached: bool
    units: Ints
    agreement: float
    error: float


def choose_subset(sums: Floats, sizes: Floats, agreement: float, seed: str) -> SubsetChoice:
    """Choose the smallest subset that orders the fraction `agreement` of pairs of systems as the
    full benchmark does.

    `sums` (units, systems) are the sums of scores of each system in each unit, `sizes` (units,) the
    numbers of samples. `seed` decides folds, subsets and ties. Raises ValueError for fewer than
    `MIN_SYSTEMS` systems.
    """
    units, systems = sums.shape
    if systems < MIN_SYSTEMS:
        raise ValueError(f"choosing a subset needs {MIN_SYSTEMS} systems, got {systems}")
    random = seeded_generator(seed)
    ties = random.random((units,))
    all_systems = np.arange(systems)
    outer = _folds(all_systems, JUDGEMENT_REPEATS, random)
    inner = [_folds(np.setdiff1d(all_systems, fold), CHOICE_REPEATS, random) for fold in outer]
    choosers = [np.setdiff1d(all_systems, fold) for fold in outer]

    # All trials: the systems that choose a subset, and the systems that judge it. First the outer
    # folds, whose judges see the final choice; then, for each of them, the inner folds among its
    # choosers, by which the size is chosen. Their results are rows of `table` in this order.
    full = _FullBenchmark(sums, sizes)
    splits = list(zip(choosers, outer, strict=True))
    for choosing, folds in zip(choosers, inner, strict=True):
        splits += [(np.setdiff1d(choosing, fold), fold) for fold in folds]
    trials = [
        _Trial(_by_difficulty(sums[:, choosing], sizes, ties), full.panel(choosing), full.panel(judging))
        for choosing, judging in splits
    ]
    draws = _StratifiedDraws(units, random)
    table = []
    for share in SHARES:
        picks = draws.select(share)
        table.append([_evaluate_trial(full, trial, picks) for trial in trials])
    # The final size is chosen by the first CHOICE_REPEATS divisions of all systems: by as many as
    # the sizes within each outer fold.
    choice_trials = len(outer) * CHOICE_REPEATS // JUDGEMENT_REPEATS
    values = [_mean_subset(row[:choice_trials]) for row in table]
    expected = _judge_choices(table, inner, agreement)
    agreements = [subset.agreement for subset in values]
    share = SHARES[_smallest_size(agreements, agreement)]
    order = _by_difficulty(sums, sizes, ties)
    picks = draws.select(share)
    best = _best_draw(full.compare_draws(picks, order), full.panel(all_systems))
    selected = np.sort(order[np.flatnonzero(picks[best])])
    return SubsetChoice(values, share, agreements[-1] >= agreement, selected, expected.agreement, expected.error)


def _judge_choices(table: Sequence[Sequence[Subset]], inner: Sequence[Sequence[Ints]], agreement: float) -> Subset:
    """The choice of size within each outer fold, judged by the systems of that fold: their mean."""
    judged = []
    first = len(inner)
    for outer_fold, folds in enumerate(inner):
        fold_agreements = [_mean_subset(row[first : first + len(folds)]).agreement for row in table]
        first += len(folds)
        judged.append(table[_smallest_size(fold_agreements, agreement)][outer_fold])
    return _mean_subset(judged)


class _Panel(NamedTuple):
    """Some of the systems, as weights of means over them: `systems` (systems,), and `pairs`
    (pairs,) over the pairs that differ in the full benchmark, all 0 if there is none."""

    indices: Ints
    systems: Floats
    pairs: Floats

    @property
    def has_pairs(self) -> bool:
        """Whether there is a pair to order."""
        return bool(self.pairs.any())


class _Trial(NamedTuple):
    """Systems that choose a subset and systems that judge it; `order` (units,) sorts the units by
    difficulty for the choosing ones."""

    order: Ints
    choosing: _Panel
    judging: _Panel


class _DrawComparison(NamedTuple):
    """Comparison of each draw with the full benchmark: `agree` (draws, pairs) is 1 for pairs in the
    same order (a tie in the draw only is not), `distances` (draws, systems) are those of scores."""

    agree: Floats
    distances: Floats

    def agreement(self, panel: _Panel) -> Floats:
        """Fraction of the panel's pairs in the same order, (draws,); NaN without a pair."""
        if not panel.has_pairs:
            return np.full(len(self.agree), np.nan)
        share: Floats = self.agree @ panel.pairs
        return share


class _FullBenchmark:
    """The scores of all systems on all units."""

    def __init__(self, sums: Floats, sizes: Floats) -> None:
        self._sums, self._sizes = sums, sizes
        self._scores = sums.sum(axis=0) / sizes.sum()
        first, second = np.triu_indices(len(self._scores), 1)
        self._order = np.sign(np.round(self._scores[first] - self._scores[second], 9))
        self._unequal = np.flatnonzero(self._order)
        self._first, self._second = first[self._unequal], second[self._unequal]

    def panel(self, indices: Ints) -> _Panel:
        """The panel of the systems with these indices."""
        member = np.zeros(len(self._scores))
        member[indices] = 1.0
        pairs = member[self._first] * member[self._second]
        return _Panel(indices, member / len(indices), pairs / max(1.0, pairs.sum()))

    def compare_draws(self, picks: Floats, order: Ints) -> _DrawComparison:
        """Compare subsets with the full benchmark; `picks` (draws, units) is 1 for the selected
        units, in the given order of units."""
        scores = (picks @ self._sums[order]) / (picks @ self._sizes[order])[:, None]
        agree = self._same_order(np.ascontiguousarray(scores.T))[self._unequal]
        return _DrawComparison(agree.T.astype(float), abs(scores - self._scores))

    def _same_order(self, scores: Floats) -> Bools:
        """Whether pairs of systems are in the same order, (pairs, draws), from their scores (systems, draws). A
        system is compared with all later ones at once: all differences would leave the processor's cache."""
        last = np.cumsum(np.arange(len(scores) - 1, 1, -1))
        return np.concatenate(
            [
                (scores[first] - scores[first + 1 :]) * order[:, None] > _EQUAL
                for first, order in enumerate(np.split(self._order, last))
            ]
        )


class _StratifiedDraws:
    """Random subsets of units sorted by difficulty, in which each stratum is a contiguous range.

    The draws are the same for all trials: they select ranks of difficulty, whatever unit has them.
    """

    def __init__(self, units: int, random: Generator) -> None:
        self._strata = np.array_split(np.arange(units), min(STRATA, units))
        self._units = units
        self._permutations = [random.random((DRAWS, len(part))).argsort(axis=1) for part in self._strata]

    def select(self, share: float) -> Floats:
        """The subsets with this share of each stratum, as 1 or 0: (draws, units)."""
        picks = np.zeros((DRAWS, self._units), dtype=np.float64)
        for part, permutation in zip(self._strata, self._permutations, strict=True):
            selected = part[permutation[:, : max(1, round(share * len(part)))]]
            np.put_along_axis(picks, selected, 1.0, axis=1)
        return picks


def _folds(systems: Ints, times: int, random: Generator) -> list[Ints]:
    """Random divisions of systems into folds, `times` times."""
    count = min(FOLDS, len(systems) // 2)
    return [fold for _ in range(times) for fold in np.array_split(random.permutation(systems), count)]


def _by_difficulty(sums: Floats, sizes: Floats, ties: Floats) -> Ints:
    """Indices of units from hard to easy; ties at random, so that strata have equal sizes."""
    return np.lexsort((ties, sums.mean(axis=1) / sizes))


def _best_draw(comparison: _DrawComparison, panel: _Panel) -> int:
    """Index of the draw that orders most pairs of the panel as the full benchmark does, and among
    equals has the closest scores."""
    agreement = np.round(comparison.agreement(panel), 9) if panel.has_pairs else np.zeros(len(comparison.agree))
    error = comparison.distances**2 @ panel.systems
    return int(np.lexsort((error, -agreement))[0])


def _evaluate_trial(full: _FullBenchmark, trial: _Trial, picks: Floats) -> Subset:
    """Choose the best subset by some systems, and evaluate it by the others."""
    comparison = full.compare_draws(picks, trial.order)
    best = _best_draw(comparison, trial.choosing)
    agreement = comparison.agreement(trial.judging)
    errors = comparison.distances[:, trial.judging.indices]
    return Subset(
        int(picks[0].sum()),
        float(agreement[best]),
        float(errors[best].mean()),
        float(errors[best].max()),
        float(agreement.mean()),
        float(errors.mean()),
    )


def _mean_subset(subsets: Sequence[Subset]) -> Subset:
    """Mean over trials, but the maximum of `largest`; agreement over trials with pairs."""
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
    """Index of the smallest size from which on all larger ones are good enough too, so that a size
    that passes by luck between two that fail is not chosen; the last index if none is."""
    index = len(agreements) - 1
    while index and all(agreement >= target for agreement in agreements[index - 1 :]):
        index -= 1
    return index
