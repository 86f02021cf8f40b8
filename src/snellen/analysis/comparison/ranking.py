"""Ranks of comparable runs with what chance can make of them: intervals of ranks, and letters for
the runs that cannot be told apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from snellen.analysis.comparison.aligned import AlignedRuns, align_runs
from snellen.analysis.comparison.headlines import Headlines, headlines
from snellen.core.errors import UsageError
from snellen.core.run import Report
from snellen.core.summary import Metric
from snellen.stats.compact_letters import letter_groups
from snellen.stats.intervals import DEFAULT_LEVEL
from snellen.stats.paired import holm, paired_means
from snellen.stats.paired_statistics import cluster_sums
from snellen.stats.rank_intervals import RankInterval, rank_intervals
from snellen.store.runs import RunFolder

if TYPE_CHECKING:
    from numpy import float64, int64
    from numpy.typing import NDArray

_TOLERANCE = 0.05
"""Points by which a number may differ from the mean of its samples, and still be that mean."""
_MAX_CELLS = 4_000_000
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


class RunRanking(NamedTuple):
    """Of runs, by name, over the `n` samples that all of them scored; of none where these lie in
    too few clusters."""

    runs: Mapping[str, RankedRun]
    n: int
    pairs: int
    reason: str = ""
    """Why nothing is said of the ranks."""


class RunRankings(NamedTuple):
    """Of the headline and of each group whose number is a mean over samples; of the others there is
    none. `notices` say why."""

    by_group: Mapping[GroupKey, RunRanking]
    notices: tuple[str, ...] = ()


def rank_runs(
    runs: Sequence[RunFolder],
    reports: Sequence[Report],
    names: Sequence[str],
    level: float = DEFAULT_LEVEL,
) -> RunRankings:
    """Ranks over the samples that all `runs` of a comparable set scored, samples of a cluster drawn
    together and for all runs alike; letters by paired tests of all pairs at `level`, adjusted by
    Holm within the number that is ranked."""
    if len(runs) < 2:
        return RunRankings({})
    try:
        aligned_runs = align_runs(runs, common=True)
    except UsageError:
        return RunRankings(
            {}, ("no sample was scored in all runs, so that ranks have no interval",)
        )
    notices = []
    if aligned_runs.unscored or aligned_runs.unmatched:
        notices.append(
            f"intervals of ranks and letters are over the {len(aligned_runs.samples):,} samples that "
            "all runs scored"
        )
    by_group: dict[GroupKey, RunRanking] = {}
    measure = headlines(runs, aligned_runs)
    metrics = [report.summary.headline for report in reports]
    everything = list(range(len(aligned_runs.samples)))
    if measure is not None:
        by_group[HEADLINE] = _rank_by_headlines(measure, names, len(everything), level)
    elif _are_means(aligned_runs, everything, metrics):
        by_group[HEADLINE] = _rank_by_means(aligned_runs, everything, names, level)
    else:
        notices.append(
            f"{metrics[0].name} is no mean over these samples: its ranks have no interval here"
        )
    for key, rows in _rows_of_groups(aligned_runs).items():
        column, label = key
        of_group = [report.summary.groups.get(column, {}).get(label) for report in reports]
        if all(of_group) and _are_means(aligned_runs, rows, [one for one in of_group if one]):
            by_group[key] = _rank_by_means(aligned_runs, rows, names, level)
    return RunRankings(by_group, tuple(notices))


def _rows_of_groups(aligned_runs: AlignedRuns) -> dict[GroupKey, list[int]]:
    rows: dict[GroupKey, list[int]] = {}
    for at, sample in enumerate(aligned_runs.samples):
        for key in sample.groups.items():
            rows.setdefault(key, []).append(at)
    return rows


def _are_means(aligned_runs: AlignedRuns, rows: Sequence[int], metrics: Sequence[Metric]) -> bool:
    """Whether these numbers are the means of the samples, as far as these samples tell: a number
    over more samples than these may be another mean."""
    means = 100 * aligned_runs.scores[rows].mean(axis=0)
    return all(
        one.value is not None
        and one.unit == "percent"
        and (one.n != len(rows) or abs(one.value - mean) < _TOLERANCE)
        for one, mean in zip(metrics, means.tolist(), strict=True)
    )


def _rank_by_means(
    aligned_runs: AlignedRuns, rows: Sequence[int], names: Sequence[str], level: float
) -> RunRanking:
    import numpy as np

    scores = aligned_runs.scores[rows]
    clusters = np.unique(aligned_runs.clusters[rows], return_inverse=True)[1]
    intervals = rank_intervals(cluster_sums(scores, clusters), "leaderboard", level=level)
    pairs = list(combinations(range(len(names)), 2))
    return _build_ranking(names, scores.mean(axis=0).tolist(), intervals, len(rows), pairs,
                    *_paired_p_values(scores, clusters, pairs, level), level)  # fmt: skip


def _paired_p_values(
    scores: NDArray[float64],
    clusters: NDArray[int64],
    pairs: Sequence[tuple[int, int]],
    level: float,
) -> tuple[list[float | None], str]:
    """p of each pair, and why there is none."""
    import numpy as np

    step = max(1, _MAX_CELLS // len(scores))
    p_values: list[float | None] = []
    reason = ""
    for start in range(0, len(pairs), step):
        first, second = np.array(pairs[start : start + step]).T
        for one in paired_means(scores[:, second] - scores[:, first], clusters, level):
            p_values.append(one.p)
            reason = reason or (one.reason if one.p is None else "")
    return p_values, reason


def _rank_by_headlines(
    measure: Headlines, names: Sequence[str], n: int, level: float
) -> RunRanking:
    pairs = list(combinations(range(len(names)), 2))
    tested = measure.differences(pairs, level)
    reason = next((one.reason for one in tested if one.p is None), "")
    intervals = measure.rank_intervals("leaderboard", level)
    p_values = [one.p for one in tested]
    return _build_ranking(names, measure.values, intervals, n, pairs, p_values, reason, level)


def _build_ranking(
    names: Sequence[str],
    values: Sequence[float],
    intervals: Sequence[RankInterval],
    n: int,
    pairs: Sequence[tuple[int, int]],
    p_values: Sequence[float | None],
    reason: str,
    level: float,
) -> RunRanking:
    adjusted = iter(holm([p for p in p_values if p is not None]))
    different = [
        pair
        for pair, p in zip(pairs, p_values, strict=True)
        if p is not None and next(adjusted) < 1 - level
    ]
    letters: Mapping[int, str] = {}
    if any(p is not None for p in p_values):
        order = sorted(range(len(names)), key=lambda at: (-round(values[at], 9), names[at]))
        rank_of = {at: place for place, at in enumerate(order)}
        letters_by_rank = letter_groups(
            len(names), [(rank_of[one], rank_of[other]) for one, other in different]
        )
        letters = {at: letters_by_rank[place] for at, place in rank_of.items()}
    elif reason:
        # Too few clusters: ranks over draws of them would claim what no test does.
        return RunRanking({}, n, len(pairs), reason)
    return RunRanking(
        {
            name: RankedRun(one.low, one.high, letters.get(at))
            for at, (name, one) in enumerate(zip(names, intervals, strict=True))
        },
        n,
        len(pairs),
        reason,
    )
