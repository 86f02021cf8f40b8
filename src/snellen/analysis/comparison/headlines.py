"""Runs of one benchmark by its headline where that is no mean over samples (an F1, a mean of
subtasks, MME's total): differences, ranks, and what failures could do to them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from snellen.analysis.comparison.aligned import Aligned, Seen, numbered
from snellen.analysis.comparison.reopened_data import benchmark_of
from snellen.core.errors import UsageError
from snellen.core.headline import HeadlineSums, SumsOf
from snellen.core.record import Record
from snellen.core.repeats import draws_of
from snellen.core.summary import Unit
from snellen.scoring.headlines import mean_of_sums
from snellen.stats.paired import PairedMean
from snellen.stats.paired_statistics import (
    Linearised,
    linearised,
    paired_statistics,
    smallest_part,
)
from snellen.stats.rank_intervals import Standing, ranks, standing_of
from snellen.stats.resampling import DEFAULT_DRAWS, seeded
from snellen.store.runs import RunFolder, slim

if TYPE_CHECKING:
    from numpy import int64
    from numpy.typing import NDArray

_CELLS = 8_000_000
"""Numbers held at once."""
_BLANK = "no_gold"
"""Counts in no headline, whatever is done with failures."""


class Headlines(NamedTuple):
    """The headline of each run over the samples that all runs scored, and what clusters add."""

    name: str
    unit: Unit
    top: float
    """The highest value there can be."""
    systems: tuple[Linearised, ...]
    clusters: NDArray[int64]
    """Of the samples that count, which may be fewer than were scored."""
    strata: NDArray[int64] | None

    @property
    def values(self) -> list[float]:
        return [one.value for one in self.systems]

    @property
    def smallest_part(self) -> int:
        """The fewest clusters that a part of the headline is made of."""
        return smallest_part(self.clusters, self.strata)

    def differences(
        self, pairs: Sequence[tuple[int, int]], level: float, null: float = 0.0
    ) -> list[PairedMean]:
        """The second run less the first of each of the pairs, on the headline's scale."""
        found: list[PairedMean] = []
        step = max(1, _CELLS // len(self.clusters))
        for start in range(0, len(pairs), step):
            found += paired_statistics(
                self.systems, pairs[start : start + step], self.clusters, self.strata,
                level=level, null=null, top=self.top,
            )  # fmt: skip
        return found

    def standings(self, seed: str, level: float, draws: int = DEFAULT_DRAWS) -> list[Standing]:
        """Ranks over bootstrap draws of the clusters, within each part of the design."""
        import numpy as np

        random, groups = seeded(seed), int(self.clusters.max()) + 1
        parts = _drawn_apart(self.clusters, self.strata)
        step, values = max(1, _CELLS // groups), []
        for start in range(0, draws, step):
            many = min(step, draws - start)
            times = np.zeros((many, groups))
            for part in parts:
                even = np.full(len(part), 1 / len(part))
                times[:, part] = random.multinomial(len(part), even, many)
            values.append([one.statistic(times @ one.rows) for one in self.systems])
        drawn = np.concatenate(values, axis=1).T
        return standing_of(ranks(np.array([self.values]))[0], ranks(drawn), level)


def headlines(runs: Sequence[RunFolder], together: Aligned) -> Headlines | None:
    """The headlines of aligned runs; None where the headline is the mean over samples, differs in
    kind between the runs, or cannot be made of the samples that all of them scored (a subtask is
    missing, the benchmark is not known here any more)."""
    import numpy as np

    if len({info.headline for info in together.infos}) > 1:
        return None
    every = [_sums_of(run) for run in runs]
    if any(one is None for one in every):
        return None
    scored = {sample.id for sample in together.samples}
    found = []
    for run, sums_of in zip(runs, every, strict=True):
        sums = sums_of and _sums(sums_of, _records(run, together.asked, scored))
        if not sums:
            return None
        found.append(sums)
    counted = np.flatnonzero(np.any([one.rows.any(axis=1) for one in found], axis=0))
    kept = np.array([name in scored for name in together.asked])
    counted = counted[kept[counted]]
    if not len(counted):
        return None
    clusters = _clusters(together, found[0], counted)
    strata = None
    if found[0].strata:
        _, strata = np.unique([found[0].strata[at] for at in counted], return_inverse=True)
    systems = tuple(
        linearised(
            one.rows[counted],
            clusters,
            one.value,
            None if one.weights is None else one.weights[counted],
        )
        for one in found
    )
    unit, top = _scale(runs)
    return Headlines(together.infos[0].headline, unit, top, systems, clusters, strata)


def _sums_of(run: RunFolder) -> SumsOf | None:
    try:
        return benchmark_of(run).headline_sums
    except UsageError:
        return None


def _sums(sums_of: SumsOf, records: Sequence[Record]) -> HeadlineSums | None:
    """The sums of the records; where questions were asked several times, the headline is the mean
    over the draws."""
    repeats = max((len(one.repeats) for one in records), default=0)
    if not repeats:
        return sums_of(records)
    every = [draws if len(draws := draws_of(one)) > 1 else draws * repeats for one in records]
    parts = [sums_of([draws[number] for draws in every]) for number in range(repeats)]
    known = [one for one in parts if one is not None]
    return mean_of_sums(known) if len(known) == repeats else None


def _records(run: RunFolder, asked: Sequence[str], scored: set[str]) -> list[Record]:
    """The records of the samples asked, in their order; one that some run did not score has none
    here either, so that what counts only as a whole is whole for all runs or for none."""
    records = {one.id: one for one in slim(chain(run.records(), run.failures()))}
    return [
        records[name]
        if name in scored
        else msgspec.structs.replace(
            records[name], score=None, unscored=_BLANK, values={}, repeats=()
        )
        for name in asked
    ]


def _clusters(together: Aligned, sums: HeadlineSums, counted: NDArray[int64]) -> NDArray[int64]:
    """Clusters of the samples that count, numbered without gaps."""
    import numpy as np

    place = {sample.id: at for at, sample in enumerate(together.samples)}
    rows = [place[together.asked[at]] for at in counted.tolist()]
    held = together.clusters
    if sums.links:
        link = dict(zip(together.asked, sums.links, strict=True))
        units = [
            Seen(one.id, "", "answered", unit=str(number))
            for one, number in zip(together.samples, held.tolist(), strict=True)
        ]
        held = np.asarray(numbered(None, units, [link[one.id] for one in units]))
    return np.unique(held[rows], return_inverse=True)[1]


def _scale(runs: Sequence[RunFolder]) -> tuple[Unit, float]:
    """Unit and highest value of the headline, by the report of a run that has one."""
    for run in runs:
        if run.has_report:
            headline = run.report().summary.headline
            return headline.unit, headline.top
    return "percent", 100.0


def _drawn_apart(clusters: NDArray[int64], strata: NDArray[int64] | None) -> list[NDArray[int64]]:
    """Clusters that are drawn together: those of one stratum, and of strata that they share."""
    import numpy as np

    if strata is None:
        return [np.arange(int(clusters.max()) + 1)]
    parts: list[set[int]] = []
    for stratum in range(int(strata.max()) + 1):
        joined = set(clusters[strata == stratum].tolist())
        apart = []
        for part in parts:
            if joined.isdisjoint(part):
                apart.append(part)
            else:
                joined |= part
        parts = [*apart, joined]
    return [np.array(sorted(part)) for part in parts]
