"""Compare runs on the same samples: differences, tests, ranks, and the number of samples needed to
detect a difference.

The tests of a margin, non-inferiority and equivalence, are two one-sided tests (D. J. Schuirmann, Journal of
Pharmacokinetics and Biopharmaceutics 15 (1987)), each by the method that tests the difference.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct, structs

from snellen.analysis.comparison.alignment import AlignedRuns, ComparableRecord, align_runs, is_sibling_question
from snellen.analysis.comparison.groups import (
    GroupDifference,
    Pairs,
    adjust_groups,
    group_differences,
    in_points,
    pair_means,
)
from snellen.analysis.comparison.headlines import Headlines, headlines
from snellen.analysis.comparison.stopped_early import interval_at_stop
from snellen.core.arrays import Floats
from snellen.core.errors import UsageError
from snellen.core.grouping import group_by
from snellen.core.summary import Interval
from snellen.stats.intervals import MIN_CLUSTERS
from snellen.stats.paired import (
    SCORE_TEST,
    PairedMean,
    design_effect,
    detectable_by_error,
    detectable_difference,
    holm_of_sides,
    holm_of_tested,
    mcnemar,
    required_samples,
)
from snellen.stats.paired_statistics import cluster_sums
from snellen.stats.rank_intervals import rank_intervals
from snellen.store.runs import RunFolder


class Margin(Struct, frozen=True):
    """One-sided p-values, small if the claim holds; the `_holm` ones are adjusted over all pairs of
    all benchmarks in the comparison."""

    points: float
    second_no_worse: float
    """For the claim that the second run is not worse than the first by more than the margin."""
    first_no_worse: float
    second_no_worse_holm: float = 1.0
    first_no_worse_holm: float = 1.0

    @property
    def equivalent_holm(self) -> float:
        """For the claim that neither run is worse than the other by more than the margin."""
        return max(self.second_no_worse_holm, self.first_no_worse_holm)


def margin_of(points: float, scaled: float, lower: PairedMean, upper: PairedMean) -> Margin | None:
    """Test a margin. `lower` and `upper` test the difference against the true values -`scaled` and
    +`scaled`, the margin on the scale of the difference. None if there is no test."""
    if lower.p is None or upper.p is None:
        return None
    return Margin(points, _one_sided(lower.p, lower.mean > -scaled), _one_sided(upper.p, upper.mean < scaled))


def _one_sided(p: float, claim_holds: bool) -> float:
    return p / 2 if claim_holds else 1 - p / 2


def adjust_margins(margins: Sequence[Margin | None]) -> list[Margin | None]:
    """Adjust by Holm's method; at most one of the two claims of a pair can be wrong, which it
    uses."""
    sides = [(margin.second_no_worse, margin.first_no_worse) for margin in margins if margin is not None]
    adjusted = iter(holm_of_sides(sides))
    return [None if margin is None else _with_holm(margin, *next(adjusted)) for margin in margins]


def _with_holm(margin: Margin, second: float, first: float) -> Margin:
    return msgspec.structs.replace(margin, second_no_worse_holm=second, first_no_worse_holm=first)


class PairDifference(Struct, frozen=True):
    """The second run minus the first, in points, over the samples both scored: of the headlines, or
    of the mean scores if the headline cannot be computed on these samples."""

    benchmark: str
    first: str
    second: str
    metric: str
    first_score: float
    second_score: float
    difference: float
    interval: Interval | None
    n: int
    clusters: int
    first_better: int
    """Samples on which the first run scored higher."""
    second_better: int
    p: float | None
    """Two-sided; below 1 - level exactly if `interval` excludes 0. None with too few clusters;
    `reason` says so."""
    test: str
    p_exact: float | None
    """McNemar's exact test; None if samples are clustered or have partial scores."""
    p_holm: float | None = None
    """Adjusted for every pair of every benchmark in the comparison."""
    reason: str = ""
    """Why there is no p or no interval."""
    anytime: Interval | None = None
    """Interval of the difference of the mean scores that stays valid if a stop rule ended one of
    the runs early; None otherwise."""
    bounds: tuple[float, float] | None = None
    """The difference over all samples if failed and missing samples all counted against the second
    run, and if all counted for it; None if nothing failed or the bounds are unknown."""
    detectable: float | None = None
    """The smallest true difference that this many samples detect with the power of the
    comparison."""
    needed: tuple[int, int] | None = None
    """Samples that detect the difference at the far and at the near end of its interval, with the
    power of the comparison; None if the interval includes 0."""
    margin: Margin | None = None
    groups: tuple[GroupDifference, ...] = ()


class RunRank(Struct, frozen=True):
    """A run's rank over the samples all runs scored, and the interval of that rank."""

    run: str
    score: float
    rank: int
    low: int | None
    high: int | None
    first: float | None
    """Fraction of the resampled benchmarks in which no run scores higher. None, like the interval,
    with too few clusters to resample."""


class BenchmarkComparison(Struct, frozen=True):
    """All runs of one benchmark."""

    benchmark: str
    metric: str
    unit: str
    runs: tuple[str, ...]
    folders: tuple[str, ...]
    n: int
    unscored: int
    places: tuple[RunRank, ...]
    notices: tuple[str, ...]


class RunComparison(Struct, frozen=True):
    """Comparison of runs, benchmark by benchmark and pair by pair."""

    level: float
    power: float
    benchmarks: tuple[BenchmarkComparison, ...]
    pairs: tuple[PairDifference, ...]
    notices: tuple[str, ...] = ()
    margin: float | None = None
    """Points within which runs count as equally good, if requested."""


def compare(
    runs: Sequence[RunFolder],
    names: Sequence[str],
    *,
    common: bool = False,
    baseline: bool = False,
    level: float = 0.95,
    power: float = 0.8,
    margin: float | None = None,
    siblings: bool = False,
) -> RunComparison:
    """Compare runs benchmark by benchmark: every pair, or with `baseline` every run with the first.

    `names` are the names of the runs. With `siblings` the runs are of one benchmark in several
    languages, under any names: samples of one id are one question. With a `margin`, in points,
    non-inferiority within it is tested too. p-values are adjusted by Holm over all pairs of all
    benchmarks, those of groups over all groups of all pairs.

    Raises UsageError if no benchmark has two runs, for a margin not above 0, and as `align_runs`
    does.
    """
    if margin is not None and not 0 < margin < math.inf:
        raise UsageError(f"the margin is {margin:g} points; expected a number above 0")
    by_benchmark, alone = _by_benchmark(runs, siblings)
    is_same = is_sibling_question if siblings else ComparableRecord.is_same_question
    benchmarks: list[BenchmarkComparison] = []
    pairs: list[PairDifference] = []
    for benchmark, members in by_benchmark.items():
        member_runs = [runs[index] for index in members]
        aligned_runs = align_runs(member_runs, common=common or siblings, same_question=is_same)
        compared = _ComparedRuns(
            benchmark,
            member_runs,
            [names[index] for index in members],
            aligned_runs,
            headlines(member_runs, aligned_runs),
            level,
        )
        benchmarks.append(_compare_benchmark(compared))
        chosen = [two for two in combinations(range(len(members)), 2) if not (baseline and two[0])]
        pairs += _pair_differences(compared, chosen, power, margin)
    only = tuple(f"{name}: only one run, not compared" for name in alone)
    return RunComparison(level, power, tuple(benchmarks), tuple(_adjust_p_values(pairs)), only, margin)


def _adjust_p_values(pairs: Sequence[PairDifference]) -> Iterator[PairDifference]:
    adjusted = holm_of_tested([pair.p for pair in pairs])
    margins = adjust_margins([pair.margin for pair in pairs])
    groups = adjust_groups([pair.groups for pair in pairs])
    for pair, p, margin, of_groups in zip(pairs, adjusted, margins, groups, strict=True):
        yield structs.replace(pair, p_holm=p, margin=margin, groups=of_groups)


def _by_benchmark(runs: Sequence[RunFolder], siblings: bool) -> tuple[dict[str, list[int]], list[str]]:
    """Indices of the runs of each benchmark with two or more runs, and the names of the other
    benchmarks. With `siblings` all runs are of one benchmark."""
    if len(runs) < 2:
        count = "one run is" if runs else "none is"
        raise UsageError(f"two runs of a benchmark are compared, or more; {count} given, each folder counted once")
    if siblings:
        name = " / ".join(dict.fromkeys(run.info.benchmark for run in runs))
        return {name: list(range(len(runs)))}, []
    indices = group_by(range(len(runs)), lambda index: runs[index].info.benchmark)
    single = [name for name, members in indices.items() if len(members) < 2]
    if len(single) == len(indices):
        raise UsageError(
            f"no two of the runs are of one benchmark (got {', '.join(single) or 'none'}); give "
            "two runs of the same benchmark"
        )
    return {name: members for name, members in indices.items() if len(members) > 1}, single


class _ComparedRuns(NamedTuple):
    """The runs of one benchmark over the samples that they share."""

    benchmark: str
    runs: Sequence[RunFolder]
    names: Sequence[str]
    aligned: AlignedRuns
    measure: Headlines | None
    """Their headline, if it can be computed on the aligned samples; else means of scores count."""
    level: float

    @property
    def metric(self) -> str:
        headlines = dict.fromkeys(info.headline for info in self.aligned.infos)
        return self.measure.name if self.measure else " / ".join(headlines)

    @property
    def scale(self) -> float:
        """Points of a difference of 1."""
        return 1.0 if self.measure else 100.0

    @property
    def values(self) -> list[float]:
        """The score of each run, in points."""
        if self.measure:
            return list(self.measure.values)
        means: list[float] = (100 * self.aligned.scores.mean(axis=0)).tolist()
        return means

    def paired_means(self, pairs: Pairs, null: float = 0.0) -> list[PairedMean]:
        """The mean difference of each pair with its test against `null`."""
        if self.measure:
            return self.measure.differences(pairs, self.level, null)
        return pair_means(self.aligned.scores, self.aligned.clusters, pairs, self.level, null)


def _compare_benchmark(compared: _ComparedRuns) -> BenchmarkComparison:
    """Ranks and notices of the runs of one benchmark."""
    aligned_runs, measure = compared.aligned, compared.measure
    notices = list(aligned_runs.notices)
    if measure is None:
        notices += _not_a_mean_notice(compared.runs, aligned_runs)
    elif measure.smallest_part < MIN_CLUSTERS:
        notices.append(
            f"a part of the headline {measure.name} is made of fewer than {MIN_CLUSTERS} "
            "clusters of samples; its spread is taken from the other parts"
        )
    return BenchmarkComparison(
        compared.benchmark,
        compared.metric,
        measure.unit if measure else "percent",
        tuple(compared.names),
        tuple(info.name for info in aligned_runs.infos),
        len(aligned_runs.samples),
        aligned_runs.unscored_count,
        tuple(_run_ranks(compared)),
        tuple(notices),
    )


def _not_a_mean_notice(runs: Sequence[RunFolder], aligned_runs: AlignedRuns) -> Iterator[str]:
    """A notice if a run's headline is not the mean of its samples' scores."""
    for index, run in enumerate(runs):
        if not run.has_report or run.info.status != "complete" or aligned_runs.unscored_count:
            continue
        headline = run.report().summary.headline
        mean = 100 * float(aligned_runs.scores[:, index].mean())
        if headline.value is not None and headline.n == len(aligned_runs.samples) and abs(headline.value - mean) > 0.05:
            yield (
                f"the headline {headline.name} is no mean over samples ({headline.value:.1f} for "
                f"{run.info.model}) and cannot be made of those compared; the means of the "
                "samples' scores are compared"
            )
            return


def _run_ranks(compared: _ComparedRuns) -> Iterator[RunRank]:
    """Rank and rank interval of each run; no interval with too few clusters."""
    seed, aligned_runs = f"ranks {compared.benchmark}", compared.aligned
    if compared.measure is None:
        sums = cluster_sums(aligned_runs.scores, aligned_runs.clusters)
        intervals = rank_intervals(sums, seed, level=compared.level)
    else:
        intervals = compared.measure.rank_intervals(seed, compared.level)
    few = 1 + int(aligned_runs.clusters.max()) < MIN_CLUSTERS
    for name, value, interval in zip(compared.names, compared.values, intervals, strict=True):
        sure = (None, None, None) if few else (interval.low, interval.high, interval.first)
        yield RunRank(name, value, interval.rank, *sure)


def _pair_differences(
    compared: _ComparedRuns, chosen: Pairs, power: float, margin: float | None
) -> Iterator[PairDifference]:
    """The difference of each chosen pair, second run minus first, with its tests."""
    if not chosen:
        return
    bounds = _bounds(compared.runs, compared.aligned, compared.measure)
    for two, mean, of_margin, of_groups in zip(
        chosen,
        compared.paired_means(chosen),
        _margins(compared, chosen, margin),
        group_differences(compared.aligned, chosen, compared.level),
        strict=True,
    ):
        yield structs.replace(
            _pair_difference(compared, two, mean, power),
            bounds=_difference_bounds(*(bounds[index] for index in two)),
            margin=of_margin,
            groups=tuple(of_groups),
        )


def _pair_difference(compared: _ComparedRuns, two: tuple[int, int], mean: PairedMean, power: float) -> PairDifference:
    aligned_runs, measure, level = compared.aligned, compared.measure, compared.level
    values = compared.values
    differences = aligned_runs.scores[:, two[1]] - aligned_runs.scores[:, two[0]]
    lost, won = int((differences < 0).sum()), int((differences > 0).sum())
    return PairDifference(
        benchmark=compared.benchmark,
        first=compared.names[two[0]],
        second=compared.names[two[1]],
        metric=compared.metric,
        first_score=values[two[0]],
        second_score=values[two[1]],
        difference=compared.scale * mean.mean,
        interval=mean.interval if measure else in_points(mean.interval),
        n=len(differences),
        clusters=mean.clusters,
        first_better=lost,
        second_better=won,
        p=mean.p,
        test=mean.test,
        p_exact=mcnemar(lost, won).exact if mean.test == SCORE_TEST else None,
        reason=mean.reason,
        anytime=interval_at_stop(
            [aligned_runs.infos[index] for index in two], differences, aligned_runs.clusters, level
        ),
        **(
            _detectable_and_needed_by_error(mean, len(differences), level, power)
            if measure
            else _detectable_and_needed(aligned_runs, differences, mean, level, power)
        ),
    )


def _margins(compared: _ComparedRuns, chosen: Pairs, margin: float | None) -> Sequence[Margin | None]:
    """The tests of each pair for non-inferiority within a margin, in points. Raises UsageError if
    no difference can be larger."""
    if margin is None:
        return [None] * len(chosen)
    scaled = margin / compared.scale
    if scaled >= (compared.measure.top if compared.measure else 1):
        raise UsageError(f"the margin is {margin:g} points; {compared.benchmark} has no larger differences than that")
    both = zip(compared.paired_means(chosen, -scaled), compared.paired_means(chosen, scaled), strict=True)
    return [margin_of(margin, scaled, *tests) for tests in both]


_ScoreBounds = tuple[float, float] | None


def _bounds(runs: Sequence[RunFolder], aligned_runs: AlignedRuns, measure: Headlines | None) -> list[_ScoreBounds]:
    """For each run its score over all samples if failed and missing samples were wrong, and if they
    were right; None if that is unknown, or there are no such samples."""
    if measure is None:
        return [ends and (100 * ends[0], 100 * ends[1]) for ends in aligned_runs.bounds]
    by_run: list[_ScoreBounds] = [None] * len(runs)
    if not any(aligned_runs.bounds) or aligned_runs.unmatched:
        return by_run
    for index, run in enumerate(runs):
        if run.has_report:
            summary = run.report().summary
            value = summary.headline.value
            if summary.bounds is not None:
                by_run[index] = summary.bounds.worst, summary.bounds.best
            elif value is not None:
                by_run[index] = value, value
    return by_run


def _difference_bounds(first: _ScoreBounds, second: _ScoreBounds) -> _ScoreBounds:
    """Smallest and largest difference of two scores within bounds."""
    if first is None or second is None:
        return None
    return second[0] - first[1], second[1] - first[0]


def _detectable_and_needed(
    aligned_runs: AlignedRuns, differences: Floats, mean: PairedMean, level: float, power: float
) -> dict[str, Any]:
    """The detectable difference, and the samples needed to detect the ends of the interval."""
    if mean.p is None:
        return {}
    square = float((differences**2).mean())
    design = design_effect(differences, aligned_runs.clusters, mean.error)
    min_detectable = detectable_difference(
        square, len(differences) / design, largest=float(abs(differences).mean()), level=level, power=power
    )
    result: dict[str, Any] = {"detectable": None if min_detectable is None else 100 * min_detectable}
    if (ends := _far_and_near(mean)) is not None:
        sample_counts = [required_samples(end, square, level=level, power=power, design=design) for end in ends]
        if None not in sample_counts:
            result["needed"] = tuple(sample_counts)
    return result


def _detectable_and_needed_by_error(mean: PairedMean, n: int, level: float, power: float) -> dict[str, Any]:
    """As `_detectable_and_needed`, for a headline that is not a mean over samples."""
    if mean.p is None or not mean.error:
        return {}
    min_detectable = detectable_by_error(mean.error, level=level, power=power)
    result: dict[str, Any] = {"detectable": min_detectable}
    if (ends := _far_and_near(mean)) is not None:
        result["needed"] = tuple(math.ceil(n * (min_detectable / end) ** 2) for end in ends)
    return result


def _far_and_near(mean: PairedMean) -> tuple[float, float] | None:
    """The ends of an interval by their distance from 0; None if it contains 0."""
    if mean.interval is None or mean.interval.low <= 0 <= mean.interval.high:
        return None
    near, far = sorted((abs(mean.interval.low), abs(mean.interval.high)))
    return far, near
