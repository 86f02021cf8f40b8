"""The smallest part of a benchmark that ranks systems as the whole does.

Stratified random search: samples are put into strata of equal size by difficulty; of many random
subsets that take the same share of each stratum, the one is kept that orders most pairs of systems
as the whole benchmark does, and of these the one whose scores are nearest. What a subset is worth
is told by systems that had no part in choosing it (cross-validation over systems), beside the mean
of subsets that nobody chose.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from snellen.stats.resampling import seeded

if TYPE_CHECKING:
    from numpy import bool_, float64, int64
    from numpy.random import Generator
    from numpy.typing import NDArray

SHARES = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5)
STRATA = 5
DRAWS = 200
FOLDS = 5
FEWEST_SYSTEMS = 4


class Subset(NamedTuple):
    """A size, and what subsets of it are worth on systems that did not choose them.

    `agreement` is the share of pairs with such a system that are ordered as in the whole, `error`
    and `largest` the mean and largest distance of such a system's score from that of the whole, as
    shares; `random_agreement` and `random_error` are those of subsets drawn at random.
    """

    units: int
    agreement: float
    error: float
    largest: float
    random_agreement: float
    random_error: float


class Drawn(NamedTuple):
    """Subsets drawn from each stratum: orders of its units, (draws, units of the stratum)."""

    strata: Sequence[NDArray[int64]]

    def picked(self, share: float) -> NDArray[int64]:
        """The units of every draw at a share: (draws, units)."""
        import numpy as np

        parts = [order[:, : max(1, round(share * order.shape[1]))] for order in self.strata]
        return np.concatenate(parts, axis=1)


def subsets(sums: NDArray[float64], sizes: NDArray[float64], seed: str) -> list[Subset]:
    """What subsets of growing size are worth. `sums` (units, systems) holds the scores that each
    system earned in each unit, `sizes` (units,) the samples of a unit.

    Raises:
        ValueError: fewer than four systems.
    """
    import numpy as np

    systems = sums.shape[1]
    if systems < FEWEST_SYSTEMS:
        raise ValueError(f"choosing a subset needs {FEWEST_SYSTEMS} systems, got {systems}")
    whole = sums.sum(axis=0) / sizes.sum()
    random = seeded(seed)
    folds = np.array_split(random.permutation(systems), min(FOLDS, systems))
    found: list[list[Subset]] = [[] for _ in SHARES]
    for held in folds:
        out = np.isin(np.arange(systems), held)
        drawn = _drawn(sums[:, ~out], sizes, random)
        for at, share in enumerate(SHARES):
            scores = _scores(drawn.picked(share), sums, sizes)
            found[at].append(_worth(scores, whole, out, drawn.picked(share).shape[1]))
    return [_mean(one) for one in found]


def chosen(
    sums: NDArray[float64], sizes: NDArray[float64], share: float, seed: str
) -> NDArray[int64]:
    """The units of the best subset of a share, chosen with all systems."""
    import numpy as np

    drawn = _drawn(sums, sizes, seeded(f"{seed} chosen"))
    picked = drawn.picked(share)
    whole = sums.sum(axis=0) / sizes.sum()
    best = _best(_scores(picked, sums, sizes), whole)
    return np.sort(picked[best])


def _drawn(sums: NDArray[float64], sizes: NDArray[float64], random: Generator) -> Drawn:
    import numpy as np

    units = len(sizes)
    hard = sums.mean(axis=1) / sizes
    # Equal difficulty is broken by lot, so that strata are of equal size.
    order = np.lexsort((random.random(units), hard))
    strata = np.array_split(order, min(STRATA, units))
    return Drawn([part[random.random((DRAWS, len(part))).argsort(axis=1)] for part in strata])


def _scores(
    picked: NDArray[int64], sums: NDArray[float64], sizes: NDArray[float64]
) -> NDArray[float64]:
    """Mean scores over each subset: (draws, systems)."""
    import numpy as np

    earned = np.stack([sums[:, at][picked].sum(axis=1) for at in range(sums.shape[1])], axis=1)
    of: NDArray[float64] = earned / sizes[picked].sum(axis=1)[:, None]
    return of


def _best(scores: NDArray[float64], whole: NDArray[float64]) -> int:
    import numpy as np

    everyone = np.ones(len(whole), dtype=bool)
    agreement = _agreement(scores, whole, everyone)
    error = ((scores - whole) ** 2).mean(axis=1)
    return int(np.lexsort((error, -np.nan_to_num(agreement, nan=1.0)))[0])


def _agreement(
    scores: NDArray[float64], whole: NDArray[float64], out: NDArray[bool_]
) -> NDArray[float64]:
    """Share of the pairs with a system of `out` that each draw (draws, systems) orders as the whole
    does; pairs that are equal in the whole are left out, pairs that are equal in the draw count as
    not agreeing. NaN without a pair."""
    import numpy as np

    first, second = np.triu_indices(len(whole), 1)
    truth = np.sign(np.round(whole[first] - whole[second], 12))
    used = (truth != 0) & (out[first] | out[second])
    if not used.any():
        return np.full(len(scores), np.nan)
    order = np.sign(np.round(scores[:, first[used]] - scores[:, second[used]], 12))
    agree: NDArray[float64] = (order == truth[used]).mean(axis=1)
    return agree


def _worth(
    scores: NDArray[float64], whole: NDArray[float64], out: NDArray[bool_], units: int
) -> Subset:
    import numpy as np

    best = _best(scores[:, ~out], whole[~out])
    agreement = _agreement(scores, whole, out)
    errors = np.abs(scores[:, out] - whole[out])
    return Subset(
        units,
        float(agreement[best]),
        float(errors[best].mean()),
        float(errors[best].max()),
        float(agreement.mean()),
        float(errors.mean()),
    )


def _mean(folds: Sequence[Subset]) -> Subset:
    import numpy as np

    table = np.array(folds, dtype=float)
    known = [row for row in table if not np.isnan(row[1])]
    agreement = float(np.mean([row[1] for row in known])) if known else float("nan")
    random = float(np.mean([row[4] for row in known])) if known else float("nan")
    return Subset(
        folds[0].units,
        agreement,
        float(table[:, 2].mean()),
        float(table[:, 3].max()),
        random,
        float(table[:, 5].mean()),
    )
