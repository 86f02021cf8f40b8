"""Ranks of comparable runs with what chance can make of them: intervals of ranks, and letters for
the runs that cannot be told apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from snellen.analysis.comparison.aligned import Aligned, aligned
from snellen.analysis.comparison.headlines import Headlines, headlines
from snellen.core.errors import UsageError
from snellen.core.run import Report
from snellen.core.summary import Metric
from snellen.stats.compact_letters import letter_groups
from snellen.stats.intervals import DEFAULT_LEVEL
from snellen.stats.paired import holm, paired_means
from snellen.stats.paired_statistics import cluster_sums
from snellen.stats.rank_intervals import Standing, standings
from snellen.store.runs import RunFolder

if TYPE_CHECKING:
    from numpy import float64, int64
    from numpy.typing import NDArray

_NEAR = 0.05
"""Points by which a number may differ from the mean of its samples, and still be that mean."""
_CELLS = 4_000_000
"""Differences that are tested at once: few enough for memory."""
GroupKey = tuple[str, str]
"""A column of groups and a label in it; empty for the headline."""
HEADLINE: GroupKey = ("", "")


class RankedRun(NamedTuple):
    """The middle `level` of a run's ranks over resampled benchmarks, and its letters: runs that
    share one cannot be told apart. `letters` is None where no test could be made."""

    low: int
    high: int
    letters: str | None


class Ranking(NamedTuple):
    """Of runs, by name, over the `n` samples that all of them scored; of none where these lie in
    too few clusters."""

    runs: Mapping[str, RankedRun]
    n: int
    pairs: int
    reason: str = ""
    """Why nothing is said of the ranks."""


class Rankings(NamedTuple):
    """Of the headline and of each group whose number is a mean over samples; of the others there is
    none. `notices` say why."""

    found: Mapping[GroupKey, Ranking]
    notices: tuple[str, ...] = ()


def rankings(
    runs: Sequence[RunFolder],
    reports: Sequence[Report],
    names: Sequence[str],
    level: float = DEFAULT_LEVEL,
) -> Rankings:
    """Ranks over the samples that all `runs` of a comparable set scored, samples of a cluster drawn
    together and for all runs alike; letters by paired tests of all pairs at `level`, adjusted by
    Holm within the number that is ranked."""
    if len(runs) < 2:
        return Rankings({})
    try:
        together = aligned(runs, common=True)
    except UsageError:
        return Rankings({}, ("no sample was scored in all runs, so that ranks have no interval",))
    notices = []
    if together.unscored or together.unlike:
        notices.append(
            f"intervals of ranks and letters are over the {len(together.samples):,} samples that "
            "all runs scored"
        )
    found: dict[GroupKey, Ranking] = {}
    measure = headlines(runs, together)
    metrics = [report.summary.headline for report in reports]
    everything = list(range(len(together.samples)))
    if measure is not None:
        found[HEADLINE] = _of_headlines(measure, names, len(everything), level)
    elif _are_means(together, everything, metrics):
        found[HEADLINE] = _of_means(together, everything, names, level)
    else:
        notices.append(
            f"{metrics[0].name} is no mean over these samples: its ranks have no interval here"
        )
    for key, rows in _rows_of_groups(together).items():
        column, label = key
        of_group = [report.summary.groups.get(column, {}).get(label) for report in reports]
        if all(of_group) and _are_means(together, rows, [one for one in of_group if one]):
            found[key] = _of_means(together, rows, names, level)
    return Rankings(found, tuple(notices))


def _rows_of_groups(together: Aligned) -> dict[GroupKey, list[int]]:
    found: dict[GroupKey, list[int]] = {}
    for at, sample in enumerate(together.samples):
        for key in sample.groups.items():
            found.setdefault(key, []).append(at)
    return found


def _are_means(together: Aligned, rows: Sequence[int], metrics: Sequence[Metric]) -> bool:
    """Whether these numbers are the means of the samples, as far as these samples tell: a number
    over more samples than these may be another mean."""
    means = 100 * together.scores[rows].mean(axis=0)
    return all(
        one.value is not None
        and one.unit == "percent"
        and (one.n != len(rows) or abs(one.value - mean) < _NEAR)
        for one, mean in zip(metrics, means.tolist(), strict=True)
    )


def _of_means(
    together: Aligned, rows: Sequence[int], names: Sequence[str], level: float
) -> Ranking:
    import numpy as np

    scores = together.scores[rows]
    clusters = np.unique(together.clusters[rows], return_inverse=True)[1]
    places = standings(cluster_sums(scores, clusters), "leaderboard", level=level)
    pairs = list(combinations(range(len(names)), 2))
    return _ranking(names, scores.mean(axis=0).tolist(), places, len(rows), pairs,
                    *_tested(scores, clusters, pairs, level), level)  # fmt: skip


def _tested(
    scores: NDArray[float64],
    clusters: NDArray[int64],
    pairs: Sequence[tuple[int, int]],
    level: float,
) -> tuple[list[float | None], str]:
    """p of each pair, and why there is none."""
    import numpy as np

    step = max(1, _CELLS // len(scores))
    p_values: list[float | None] = []
    reason = ""
    for start in range(0, len(pairs), step):
        first, second = np.array(pairs[start : start + step]).T
        for one in paired_means(scores[:, second] - scores[:, first], clusters, level):
            p_values.append(one.p)
            reason = reason or (one.reason if one.p is None else "")
    return p_values, reason


def _of_headlines(measure: Headlines, names: Sequence[str], n: int, level: float) -> Ranking:
    pairs = list(combinations(range(len(names)), 2))
    tested = measure.differences(pairs, level)
    reason = next((one.reason for one in tested if one.p is None), "")
    places = measure.standings("leaderboard", level)
    p_values = [one.p for one in tested]
    return _ranking(names, measure.values, places, n, pairs, p_values, reason, level)


def _ranking(
    names: Sequence[str],
    values: Sequence[float],
    places: Sequence[Standing],
    n: int,
    pairs: Sequence[tuple[int, int]],
    p_values: Sequence[float | None],
    reason: str,
    level: float,
) -> Ranking:
    adjusted = iter(holm([p for p in p_values if p is not None]))
    different = [
        pair
        for pair, p in zip(pairs, p_values, strict=True)
        if p is not None and next(adjusted) < 1 - level
    ]
    letters: Mapping[int, str] = {}
    if any(p is not None for p in p_values):
        order = sorted(range(len(names)), key=lambda at: (-round(values[at], 9), names[at]))
        place_of = {at: place for place, at in enumerate(order)}
        found = letter_groups(
            len(names), [(place_of[one], place_of[other]) for one, other in different]
        )
        letters = {at: found[place] for at, place in place_of.items()}
    elif reason:
        # Too few clusters: ranks over draws of them would claim what no test does.
        return Ranking({}, n, len(pairs), reason)
    return Ranking(
        {
            name: RankedRun(one.low, one.high, letters.get(at))
            for at, (name, one) in enumerate(zip(names, places, strict=True))
        },
        n,
        len(pairs),
        reason,
    )
