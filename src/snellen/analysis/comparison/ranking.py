"""Ranks of comparable runs with their uncertainty: intervals of ranks, and letters for runs that do
not differ significantly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from snellen.analysis.comparison.alignment import AlignedRuns, align_runs
from snellen.analysis.comparison.headlines import Headlines, headlines
from snellen.core.arrays import Floats, Ints, np
from snellen.core.errors import UsageError
from snellen.core.run import Report
from snellen.core.summary import Metric
from snellen.stats.compact_letters import letter_groups
from snellen.stats.intervals import DEFAULT_LEVEL
from snellen.stats.paired import binary_p_values, holm, paired_means
from snellen.stats.paired_statistics import cluster_sums
from snellen.stats.rank_intervals import RankInterval, rank_intervals
from snellen.store.runs import RunFolder

_TOLERANCE = 0.05
"""Points by which a number may differ from the mean of its samples and still count as that mean."""
_MAX_CELLS = 4_000_000
"""Differences tested at once, to bound memory."""
GroupKey = tuple[str, str]
"""A grouping and a label in it; both empty for the headline."""
HEADLINE: GroupKey = ("", "")


class RankedRun(NamedTuple):
    """The middle `level` of a run's ranks over resampled benchmarks, and its letters: runs that
    share a letter do not differ significantly. `letters` is None if no test could be made.
    `p_best` is the p-value of the test against the best run, adjusted by Holm for all pairs; None
    for the best run itself."""

    low: int
    high: int
    letters: str | None
    p_best: float | None = None


class RunRanking(NamedTuple):
    """Ranks of runs, by name, over the `n` samples that all of them scored; empty if these form too
    few clusters."""

    runs: Mapping[str, RankedRun]
    n: int
    pairs: int
    reason: str = ""
    """Why there are no ranks."""


class RunRankings(NamedTuple):
    """Rankings by the headline and by each group whose number is a mean over samples. `notices` say
    why others are missing."""

    by_group: Mapping[GroupKey, RunRanking]
    notices: tuple[str, ...] = ()


def rank_runs(runs: Sequence[RunFolder], reports: Sequence[Report], names: Sequence[str]) -> RunRankings:
    """Rank runs of a comparable set over the samples that all of them scored. Intervals by
    resampling clusters, identically for all runs; letters by paired tests of all pairs at
    `DEFAULT_LEVEL`, adjusted by Holm within the ranked number."""
    if len(runs) < 2:
        return RunRankings({})
    try:
        aligned_runs = align_runs(runs, common=True)
    except UsageError:
        return RunRankings({}, ("no sample was scored in all runs, so that ranks have no interval",))
    notices = []
    if aligned_runs.unscored_count or aligned_runs.unmatched:
        notices.append(
            f"intervals of ranks and letters are over the {len(aligned_runs.samples):,} samples that all runs scored"
        )
    by_group: dict[GroupKey, RunRanking] = {}
    measure = headlines(runs, aligned_runs)
    metrics = [report.summary.headline for report in reports]
    everything = list(range(len(aligned_runs.samples)))
    if measure is not None:
        by_group[HEADLINE] = _rank_by_headlines(measure, names, len(everything))
    elif _are_means(aligned_runs, everything, metrics):
        by_group[HEADLINE] = _rank_by_means(aligned_runs, everything, names)
    else:
        notices.append(f"{metrics[0].name} is no mean over these samples: its ranks have no interval here")
    for key, rows in _rows_of_groups(aligned_runs).items():
        column, label = key
        of_group = [report.summary.groups.get(column, {}).get(label) for report in reports]
        if all(of_group) and _are_means(aligned_runs, rows, [metric for metric in of_group if metric]):
            by_group[key] = _rank_by_means(aligned_runs, rows, names)
    return RunRankings(by_group, tuple(notices))


def _rows_of_groups(aligned_runs: AlignedRuns) -> dict[GroupKey, list[int]]:
    rows: dict[GroupKey, list[int]] = {}
    for index, sample in enumerate(aligned_runs.samples):
        for key in sample.groups.items():
            rows.setdefault(key, []).append(index)
    return rows


def _are_means(aligned_runs: AlignedRuns, rows: Sequence[int], metrics: Sequence[Metric]) -> bool:
    """Whether these numbers are means of the samples' scores, as far as can be seen: a number over
    other samples than these may be another mean."""
    means = 100 * aligned_runs.scores[rows].mean(axis=0)
    return all(
        metric.value is not None
        and metric.unit == "percent"
        and (metric.n != len(rows) or abs(metric.value - mean) < _TOLERANCE)
        for metric, mean in zip(metrics, means.tolist(), strict=True)
    )


def _rank_by_means(aligned_runs: AlignedRuns, rows: Sequence[int], names: Sequence[str]) -> RunRanking:
    """Rank runs by their mean scores over these rows of the aligned samples."""
    scores, clusters = aligned_runs.part(rows)
    intervals = rank_intervals(cluster_sums(scores, clusters), "leaderboard", level=DEFAULT_LEVEL)
    pairs = list(combinations(range(len(names)), 2))
    p_values, reason = _paired_p_values(scores, clusters, pairs)
    return _build_ranking(names, scores.mean(axis=0).tolist(), intervals, len(rows), pairs, p_values, reason)


def _paired_p_values(
    scores: Floats, clusters: Ints, pairs: Sequence[tuple[int, int]]
) -> tuple[list[float | None], str]:
    """p of each pair, and the reason if there is none."""
    if len(scores) == int(clusters.max()) + 1:
        values = binary_p_values(scores, np.array(pairs))
        if values is not None:
            return values.tolist(), ""
    step = max(1, _MAX_CELLS // len(scores))
    p_values: list[float | None] = []
    reason = ""
    for start in range(0, len(pairs), step):
        first, second = np.array(pairs[start : start + step]).T
        for test in paired_means(scores[:, second] - scores[:, first], clusters, DEFAULT_LEVEL):
            p_values.append(test.p)
            reason = reason or (test.reason if test.p is None else "")
    return p_values, reason


def _rank_by_headlines(measure: Headlines, names: Sequence[str], n: int) -> RunRanking:
    """Rank runs by a headline that is not a mean over samples."""
    pairs = list(combinations(range(len(names)), 2))
    tested = measure.differences(pairs, DEFAULT_LEVEL)
    reason = next((test.reason for test in tested if test.p is None), "")
    intervals = measure.rank_intervals("leaderboard", DEFAULT_LEVEL)
    return _build_ranking(names, measure.values, intervals, n, pairs, [test.p for test in tested], reason)


def _build_ranking(
    names: Sequence[str],
    values: Sequence[float],
    intervals: Sequence[RankInterval],
    n: int,
    pairs: Sequence[tuple[int, int]],
    p_values: Sequence[float | None],
    reason: str,
) -> RunRanking:
    """Rank intervals and letters from the p-values of all pairs, adjusted by Holm."""
    tested = [pair for pair, p in zip(pairs, p_values, strict=True) if p is not None]
    adjusted = dict(zip(tested, holm([p for p in p_values if p is not None]), strict=True))
    different = [pair for pair, p in adjusted.items() if p < 1 - DEFAULT_LEVEL]
    letters: Mapping[int, str] = {}
    against_best: Mapping[int, float] = {}
    if tested:
        order = sorted(range(len(names)), key=lambda index: (-round(values[index], 9), names[index]))
        rank_of = {index: rank for rank, index in enumerate(order)}
        letters_by_rank = letter_groups(len(names), [(rank_of[first], rank_of[second]) for first, second in different])
        letters = {index: letters_by_rank[rank] for index, rank in rank_of.items()}
        best = order[0]
        against_best = {
            second if first == best else first: p for (first, second), p in adjusted.items() if best in (first, second)
        }
    elif reason:
        # Too few clusters for a test, so a bootstrap over them would be too certain as well.
        return RunRanking({}, n, len(pairs), reason)
    return RunRanking(
        {
            name: RankedRun(interval.low, interval.high, letters.get(index), against_best.get(index))
            for index, (name, interval) in enumerate(zip(names, intervals, strict=True))
        },
        n,
        len(pairs),
        reason,
    )
