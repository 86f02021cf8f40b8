"""Runs against each other on the same samples: differences, tests, ranks, and what it would take
to tell them apart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from snellen.analysis.aligned import Aligned, aligned
from snellen.analysis.composite import Composite, composite
from snellen.analysis.groups import GroupDifference, group_differences, in_points
from snellen.analysis.stopped import interval_at_stop
from snellen.core.errors import UsageError
from snellen.core.summary import Interval
from snellen.stats.paired import (
    SCORE_TEST,
    PairedMean,
    detectable,
    holm,
    mcnemar,
    needed,
    paired_mean,
)
from snellen.stats.standing import standings
from snellen.store.runs import RunFolder

if TYPE_CHECKING:
    from numpy import float64, int64
    from numpy.typing import NDArray


class Pair(Struct, frozen=True):
    """The second run less the first, in points of 100, over the samples both scored."""

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
    """None where too few clusters tell nothing; `reason` says so."""
    test: str
    p_exact: float | None
    """McNemar's exact test; None where samples belong together or earn parts of a point."""
    p_holm: float | None
    """Adjusted for every pair of every benchmark that was compared."""
    reason: str = ""
    """Why there is no p or no interval."""
    anytime: Interval | None = None
    """Of the difference of the mean scores, valid where a rule ended one of the runs early; None
    where none did."""
    detectable: float | None = None
    """The least true difference that so many samples find with the power of the comparison."""
    needed: int | None = None
    """Samples that would find a true difference as large as the observed one."""
    groups: tuple[GroupDifference, ...] = ()


class Place(Struct, frozen=True):
    """A run's rank over the samples all runs scored, and the interval of that rank."""

    run: str
    score: float
    rank: int
    low: int
    high: int
    first: float
    """Share of the resampled benchmarks in which nobody scores higher."""


class Compared(Struct, frozen=True):
    """All runs of one benchmark."""

    benchmark: str
    metric: str
    unit: str
    runs: tuple[str, ...]
    folders: tuple[str, ...]
    n: int
    unscored: int
    places: tuple[Place, ...]
    notices: tuple[str, ...]


class Comparison(Struct, frozen=True):
    level: float
    power: float
    benchmarks: tuple[Compared, ...]
    pairs: tuple[Pair, ...]
    notices: tuple[str, ...] = ()


def compare(
    runs: Sequence[RunFolder],
    names: Sequence[str],
    *,
    common: bool = False,
    baseline: bool = False,
    level: float = 0.95,
    power: float = 0.8,
) -> Comparison:
    """Compare runs benchmark by benchmark: every pair, or with `baseline` every run with the first.

    `names` are what the runs are called. p-values are adjusted by Holm over everything compared.
    Raises UsageError where no benchmark has two runs, and as `aligned` does.
    """
    by_benchmark, alone = _by_benchmark(runs)
    benchmarks, pairs = [], []
    for benchmark, members in by_benchmark.items():
        mine, called = [runs[at] for at in members], [names[at] for at in members]
        together = aligned(mine, common=common)
        measure = composite(together)
        benchmarks.append(_compared(benchmark, mine, called, together, measure, level))
        chosen = combinations(range(len(members)), 2)
        pairs += [
            _pair(benchmark, called, together, measure, two, level, power)
            for two in chosen
            if not (baseline and two[0])
        ]
    told = tuple(f"{name}: only one run, not compared" for name in alone)
    return Comparison(level, power, tuple(benchmarks), tuple(_adjusted(pairs)), told)


def _adjusted(pairs: Sequence[Pair]) -> Iterator[Pair]:
    tested = iter(holm([pair.p for pair in pairs if pair.p is not None]))
    for pair in pairs:
        p = None if pair.p is None else next(tested)
        yield msgspec.structs.replace(pair, p_holm=p)


def _by_benchmark(runs: Sequence[RunFolder]) -> tuple[dict[str, list[int]], list[str]]:
    """Places of the runs of each benchmark that has two or more, and the other benchmarks."""
    found: dict[str, list[int]] = defaultdict(list)
    for at, run in enumerate(runs):
        found[run.info.benchmark].append(at)
    alone = [name for name, members in found.items() if len(members) < 2]
    if len(alone) == len(found):
        raise UsageError(
            f"no two of the runs are of one benchmark (got {', '.join(alone) or 'none'}); give two "
            "runs of the same benchmark"
        )
    return {name: members for name, members in found.items() if len(members) > 1}, alone


def _compared(
    benchmark: str,
    runs: Sequence[RunFolder],
    names: Sequence[str],
    together: Aligned,
    measure: Composite | None,
    level: float,
) -> Compared:
    infos = together.infos
    metric = measure.name if measure else _metric(together)
    notices = list(together.notices)
    if measure is None:
        notices += _no_mean(runs, together)
    return Compared(
        benchmark,
        metric,
        measure.unit if measure else "percent",
        tuple(names),
        tuple(info.name for info in infos),
        len(together.samples),
        together.unscored,
        tuple(_places(benchmark, names, together, measure, level)),
        tuple(notices),
    )


def _metric(together: Aligned) -> str:
    return " / ".join(dict.fromkeys(info.headline for info in together.infos))


def _no_mean(runs: Sequence[RunFolder], together: Aligned) -> Iterator[str]:
    """Says so where a run's headline is something else than the mean of its samples."""
    for at, run in enumerate(runs):
        if not run.has_report or run.info.status != "complete" or together.unscored:
            continue
        headline = run.report().summary.headline
        mean = 100 * float(together.scores[:, at].mean())
        if (
            headline.value is not None
            and headline.n == len(together.samples)
            and abs(headline.value - mean) > 0.05
        ):
            yield (
                f"the headline {headline.name} is no mean over samples ({headline.value:.1f} for "
                f"{run.info.model}); compared are the means of the samples' scores"
            )
            return


def _places(
    benchmark: str,
    names: Sequence[str],
    together: Aligned,
    measure: Composite | None,
    level: float,
) -> Iterator[Place]:
    seed = f"ranks {benchmark}"
    if measure is None:
        found = standings(cluster_sums(together.scores, together.clusters), seed, level=level)
        values = (100 * together.scores.mean(axis=0)).tolist()
    else:
        found, values = measure.standings(seed, level), measure.values()
    for name, value, one in zip(names, values, found, strict=True):
        yield Place(name, value, one.rank, one.low, one.high, one.first)


def cluster_sums(values: NDArray[float64], clusters: NDArray[int64]) -> NDArray[float64]:
    """Sums of `values` (n, columns) within each cluster: (clusters, columns)."""
    import numpy as np

    sums = np.zeros((int(clusters.max()) + 1, values.shape[1]))
    np.add.at(sums, clusters, values)
    return sums


def _pair(
    benchmark: str,
    names: Sequence[str],
    together: Aligned,
    measure: Composite | None,
    two: tuple[int, int],
    level: float,
    power: float,
) -> Pair:
    one, other = two
    scores = together.scores[:, [one, other]]
    differences = scores[:, 1] - scores[:, 0]
    mean = paired_mean(differences, together.clusters, level)
    lost, won = int((differences < 0).sum()), int((differences > 0).sum())
    p: float | None
    if measure is None:
        values = (100 * scores.mean(axis=0)).tolist()
        difference, interval = 100 * mean.mean, in_points(mean.interval)
        p, test, reason = mean.p, mean.test, mean.reason
    else:
        drawn = measure.difference(one, other, f"compare {benchmark}", level)
        values = [measure.values()[at] for at in two]
        difference, interval = drawn.value, drawn.interval
        p, test, reason = drawn.p, "paired bootstrap", ""
    return Pair(
        benchmark=benchmark,
        first=names[one],
        second=names[other],
        metric=measure.name if measure else _metric(together),
        first_score=values[0],
        second_score=values[1],
        difference=difference,
        interval=interval,
        n=len(differences),
        clusters=mean.clusters,
        first_better=lost,
        second_better=won,
        p=p,
        test=test,
        p_exact=mcnemar(lost, won).exact if test == SCORE_TEST else None,
        p_holm=None,
        reason=reason,
        anytime=interval_at_stop(
            [together.infos[at] for at in two], differences, together.clusters, level
        ),
        groups=tuple(group_differences(together, differences, level)),
        **({} if measure else _reach(differences, mean, level, power)),
    )


def _reach(
    differences: NDArray[float64], mean: PairedMean, level: float, power: float
) -> dict[str, Any]:
    """What difference so many samples find, and how many would find this one."""
    square = float((differences**2).mean())
    design = _design(differences, mean.error)
    least = detectable(
        square,
        len(differences) / design,
        largest=float(abs(differences).mean()),
        level=level,
        power=power,
    )
    return {
        "detectable": None if least is None else 100 * least,
        "needed": needed(mean.mean, square, level=level, power=power, design=design),
    }


def _design(differences: NDArray[float64], error: float | None) -> float:
    """The design effect of the clusters on the mean difference (L. Kish, "Survey Sampling",
    1965), at least a hundredth."""
    variance = float(differences.var(ddof=1)) / len(differences) if len(differences) > 1 else 0.0
    return max(0.01, error**2 / variance) if error is not None and variance else 1.0
