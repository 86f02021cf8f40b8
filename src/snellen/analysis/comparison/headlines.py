"""Compare runs of one benchmark by a headline that is not a mean over samples (an F1, a mean of
subtasks, MME's total): differences, ranks, and the possible effect of failures."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import msgspec

from snellen.analysis.comparison.alignment import AlignedRuns, ComparableRecord, cluster_numbers
from snellen.core.arrays import Ints, np
from snellen.core.errors import UsageError
from snellen.core.record import Record, draws_of
from snellen.core.summary import HeadlineSums, SumsOf, Unit
from snellen.scoring.headlines import mean_of_sums
from snellen.stats.paired import PairedMean
from snellen.stats.paired_statistics import LinearisedStatistic, linearise, min_clusters_in_stratum, paired_statistics
from snellen.stats.rank_intervals import RankInterval, rank_intervals_of_draws, ranks
from snellen.stats.resampling import DEFAULT_DRAWS, seeded_generator
from snellen.store.runs import RunFolder, compact_records

_MAX_CELLS = 8_000_000
"""Numbers in memory at once."""
_NOT_COUNTED = "no_gold"
"""Reason of a record that no headline counts, whatever the failure policy."""


class Headlines(NamedTuple):
    """The headline of each run over the samples that all runs scored, with the contributions of
    clusters."""

    name: str
    unit: Unit
    top: float
    """The highest possible value."""
    systems: tuple[LinearisedStatistic, ...]
    clusters: Ints
    """Cluster numbers of the samples that count, which may be fewer than were scored."""
    strata: Ints | None

    @property
    def values(self) -> list[float]:
        return [system.value for system in self.systems]

    @property
    def smallest_part(self) -> int:
        """The fewest clusters in any part of the headline."""
        return min_clusters_in_stratum(self.clusters, self.strata)

    def differences(self, pairs: Sequence[tuple[int, int]], level: float, null: float = 0.0) -> list[PairedMean]:
        """For each pair the second run minus the first, on the headline's scale."""
        means: list[PairedMean] = []
        step = max(1, _MAX_CELLS // len(self.clusters))
        for start in range(0, len(pairs), step):
            means += paired_statistics(
                self.systems,
                pairs[start : start + step],
                self.clusters,
                self.strata,
                level=level,
                null=null,
                top=self.top,
            )
        return means

    def rank_intervals(self, seed: str, level: float, draws: int = DEFAULT_DRAWS) -> list[RankInterval]:
        """Ranks over bootstrap draws of the clusters, stratified by the parts of the design."""
        # A bootstrap draw gives every cluster a multiplicity (draws, clusters); the sums of a
        # system over the draw are the product with its rows (clusters, columns). The same
        # multiplicities serve all systems, so that ranks are compared on the same resample.
        random, groups = seeded_generator(seed), int(self.clusters.max()) + 1
        parts = _independent_clusters(self.clusters, self.strata)
        step, values = max(1, _MAX_CELLS // groups), []
        for start in range(0, draws, step):
            count = min(step, draws - start)
            multiplicities = np.zeros((count, groups))
            for part in parts:
                even = np.full(len(part), 1 / len(part))
                multiplicities[:, part] = random.multinomial(len(part), even, count)
            values.append([system.statistic(multiplicities @ system.rows) for system in self.systems])
        drawn = np.concatenate(values, axis=1).T
        return rank_intervals_of_draws(ranks(np.array([self.values]))[0], ranks(drawn), level)


def headlines(runs: Sequence[RunFolder], aligned_runs: AlignedRuns) -> Headlines | None:
    """The headlines of aligned runs. None if the headline is the mean over samples, is not the same
    for all runs, or cannot be computed on the samples that all runs scored (a subtask is missing,
    or the benchmark is no longer available)."""
    if len({info.headline for info in aligned_runs.infos}) > 1:
        return None
    # Runs of different models mostly share their benchmark, which is opened once.
    keys = [_benchmark_key(run) for run in runs]
    functions = {key: _sums_function(run) for key, run in dict(zip(keys, runs, strict=True)).items()}
    sums_functions = [functions[key] for key in keys]
    if any(function is None for function in sums_functions):
        return None
    scored = {sample.id for sample in aligned_runs.samples}
    sums_by_run = []
    for run, sums_of in zip(runs, sums_functions, strict=True):
        sums = sums_of and _sums(sums_of, _records(run, aligned_runs.shared_ids, scored))
        if not sums:
            return None
        sums_by_run.append(sums)
    # Rows of zeros belong to samples outside every part of the headline (no group, or in no
    # counted unit). They are dropped if they are zero for all runs.
    counted = np.flatnonzero(np.any([sums.rows.any(axis=1) for sums in sums_by_run], axis=0))
    is_scored = np.array([name in scored for name in aligned_runs.shared_ids])
    counted = counted[is_scored[counted]]
    if not len(counted):
        return None
    clusters = _clusters(aligned_runs, sums_by_run[0], counted)
    strata = None
    if sums_by_run[0].strata:
        _, strata = np.unique([sums_by_run[0].strata[index] for index in counted], return_inverse=True)
    systems = tuple(
        linearise(sums.rows[counted], clusters, sums.value, None if sums.weights is None else sums.weights[counted])
        for sums in sums_by_run
    )
    unit, top = _scale(runs)
    return Headlines(aligned_runs.infos[0].headline, unit, top, systems, clusters, strata)


def _benchmark_key(run: RunFolder) -> bytes:
    """All that `benchmark_of` reads of a run."""
    info = run.info
    facts = (info.config.parameters, sorted(info.config.roles), info.failures, str(run.path.parent))
    return msgspec.json.encode((info.benchmark, info.data, *facts))


def _sums_function(run: RunFolder) -> SumsOf | None:
    from snellen.analysis.comparison.reopened_data import benchmark_of

    try:
        return benchmark_of(run).headline_sums
    except UsageError:
        return None


def _sums(sums_of: SumsOf, records: Sequence[Record]) -> HeadlineSums | None:
    """The sums of the records; with repeats, the headline is the mean over the draws."""
    repeats = max((len(record.repeats) for record in records), default=0)
    if not repeats:
        return sums_of(records)
    draws_by_record = [draws if len(draws := draws_of(record)) > 1 else draws * repeats for record in records]
    parts = [sums_of([draws[number] for draws in draws_by_record]) for number in range(repeats)]
    defined = [part for part in parts if part is not None]
    return mean_of_sums(defined) if len(defined) == repeats else None


def _records(run: RunFolder, sample_ids: Sequence[str], scored: set[str]) -> list[Record]:
    """The records of the given samples, in that order. A sample that some run did not score is
    emptied here as well, so that units that count as a whole are complete for all runs or for none.
    """
    records = {record.id: record for record in compact_records(chain(run.records(), run.failures()))}
    return [
        records[name]
        if name in scored
        else msgspec.structs.replace(records[name], score=None, unscored=_NOT_COUNTED, values={}, repeats=())
        for name in sample_ids
    ]


def _clusters(aligned_runs: AlignedRuns, sums: HeadlineSums, counted: Ints) -> Ints:
    """Cluster numbers, without gaps, of the samples that count."""
    row_of = {sample.id: index for index, sample in enumerate(aligned_runs.samples)}
    rows = [row_of[aligned_runs.shared_ids[index]] for index in counted.tolist()]
    clusters = aligned_runs.clusters
    if sums.links:
        # Samples that the headline links (such as the two questions of a pair) join the clusters
        # of shared images: the present cluster number serves as the unit, the link as a second key.
        link = dict(zip(aligned_runs.shared_ids, sums.links, strict=True))
        units = [
            ComparableRecord(sample.id, question="", unit=str(number))
            for sample, number in zip(aligned_runs.samples, clusters.tolist(), strict=True)
        ]
        clusters = np.asarray(cluster_numbers(None, units, [link[unit.id] for unit in units]))
    return np.unique(clusters[rows], return_inverse=True)[1]


def _scale(runs: Sequence[RunFolder]) -> tuple[Unit, float]:
    """Unit and highest value of the headline, from the report of a run that has one."""
    for run in runs:
        if run.has_report:
            headline = run.report().summary.headline
            return headline.unit, headline.top
    return "percent", 100.0


def _independent_clusters(clusters: Ints, strata: Ints | None) -> list[Ints]:
    """Sets of clusters that are resampled together: those of one stratum, and of strata that share
    clusters."""
    if strata is None:
        return [np.arange(int(clusters.max()) + 1)]
    parts: list[set[int]] = []
    for stratum in range(int(strata.max()) + 1):
        merged = set(clusters[strata == stratum].tolist())
        disjoint = []
        for part in parts:
            if merged.isdisjoint(part):
                disjoint.append(part)
            else:
                merged |= part
        parts = [*disjoint, merged]
    return [np.array(sorted(part)) for part in parts]
