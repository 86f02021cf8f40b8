"""Runs of one benchmark, aligned sample by sample."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, structs

from snellen.analysis.comparison.data_differences import data_notices, describe_data
from snellen.analysis.comparison.served_models import served_notices
from snellen.analysis.comparison.stopped_early import stop_notices
from snellen.benchmarks.protocol.control import BLACK
from snellen.benchmarks.protocol.control import OPTION as CONTROL
from snellen.core.answer import RETRYABLE, Outcome
from snellen.core.errors import UsageError
from snellen.core.record import Record, Unscored
from snellen.core.run import RunInfo
from snellen.scoring.clusters import cluster_samples
from snellen.store.runs import RunFolder

if TYPE_CHECKING:
    from numpy import bool_, float64, int64
    from numpy.typing import NDArray

_MAX_LISTED = 3


class ComparableRecord(Struct, frozen=True, gc=False):
    """What a comparison needs of a record."""

    id: str
    question: str
    outcome: Outcome
    score: float | None = None
    unscored: Unscored | None = None
    gold: tuple[str, ...] = ()
    options: dict[str, str] = {}
    groups: dict[str, str] = {}
    media: tuple[str, ...] = ()
    unit: str = ""

    def counted_score(self, failures: str) -> float | None:
        """The score it counts with under a run's rule for failures, as in `scoring.accuracy`."""
        if self.unscored in RETRYABLE and failures == "count-wrong":
            return 0.0 if self.gold else None
        return self.score

    def is_same_question(self, other: ComparableRecord) -> bool:
        """Whether both are the same question with the same answers."""
        return (
            self.question == other.question
            and self.gold == other.gold
            and self.options == other.options
        )


class AlignedRuns(NamedTuple):
    """Samples that every run scored, in the order of the first.

    `scores` (samples, runs) holds scores in 0..1, `clusters` the number of each sample's
    cluster, as in `scoring.clusters`.
    """

    infos: tuple[RunInfo, ...]
    samples: tuple[ComparableRecord, ...]
    scores: NDArray[float64]
    clusters: NDArray[int64]
    notices: tuple[str, ...]
    shared_ids: tuple[str, ...]
    """Ids of the samples that are in all runs, and the same question there."""
    bounds: tuple[tuple[float, float] | None, ...]
    """For each run its mean score over those `shared_ids`, if every sample without a score because it
    failed or is missing were wrong, and if it were right; None where nothing is without one."""
    unmatched: int
    """Samples that are not in all runs, or not the same question there."""

    @property
    def unscored(self) -> int:
        """Samples of all runs that some run did not score."""
        return len(self.shared_ids) - len(self.samples)

    @property
    def is_clustered(self) -> bool:
        """Whether some samples belong together."""
        return len(self.samples) > int(self.clusters.max(initial=-1)) + 1


def align_runs(
    runs: Sequence[RunFolder],
    *,
    common: bool = False,
    same_question: Callable[
        [ComparableRecord, ComparableRecord], bool
    ] = ComparableRecord.is_same_question,
) -> AlignedRuns:
    """Align runs of one benchmark by sample id; `is_same_question` says which samples of one id in different
    data are the same question.

    Raises UsageError for runs on different data or different samples, unless only the `common`
    samples are asked for: those of the same id, question, options and gold answer. Also where
    nothing is left to compare.
    """
    import numpy as np

    infos = tuple(run.info for run in runs)
    tables = [{one.id: one for one in run.read_as(ComparableRecord)} for run in runs]
    shared, unlike = _shared_ids(runs, tables, common, same_question)
    columns = [
        [table[name].counted_score(info.failures) for name in shared]
        for table, info in zip(tables, infos, strict=True)
    ]
    retryable = [[table[name].unscored in RETRYABLE for name in shared] for table in tables]
    scores = np.array(columns, dtype=np.float64).T
    scored = np.flatnonzero(~np.isnan(scores).any(axis=1))  # None became NaN
    kept_records = [tables[0][shared[at]] for at in scored.tolist()]
    if not kept_records:
        raise UsageError(
            f"{', '.join(run.name for run in runs)}: no sample was scored in all of them, so there "
            "is nothing to compare"
        )
    return AlignedRuns(
        infos,
        tuple(kept_records),
        scores[scored],
        np.asarray(
            cluster_numbers(*_clustering_records(infos, tables, kept_records)), dtype=np.int64
        ),
        (*_exclusion_notices(runs, len(shared), unlike), *_difference_notices(infos)),
        tuple(shared),
        tuple(_bounds(scores, np.array(retryable, dtype=np.bool_).T)),
        unlike,
    )


def _bounds(
    scores: NDArray[float64], retryable: NDArray[bool_]
) -> Iterator[tuple[float, float] | None]:
    """Of scores (samples, runs) with NaN where there is none, of which some are `retryable`. A sample
    that some run can have no score in at all (no gold answer, nobody to grade it) is left out."""
    import numpy as np

    unknown = np.isnan(scores)
    complete = ~(unknown & ~retryable).any(axis=1)
    for column, missing in zip(scores[complete].T, unknown[complete].T, strict=True):
        if not unknown[complete].any():
            yield None
            continue
        yield (
            float(np.where(missing, 0.0, column).mean()),
            float(np.where(missing, 1.0, column).mean()),
        )


def _shared_ids(
    runs: Sequence[RunFolder],
    tables: Sequence[Mapping[str, ComparableRecord]],
    common: bool,
    same_question: Callable[[ComparableRecord, ComparableRecord], bool],
) -> tuple[list[str], int]:
    """Ids that all runs have, and how many were left out."""
    first, *others = tables
    everywhere = first.keys() & set.intersection(*map(set, others)) if others else first.keys()
    shared = [name for name in first if name in everywhere]
    same_data = _same_data(runs)
    if not same_data and not common:
        data_text = ", ".join(
            f"{run.name} on {describe_data(run.info)}" for run in runs[:_MAX_LISTED]
        )
        raise UsageError(
            f"the runs were made on different data ({data_text}); compare the samples they share with "
            "--common, or run one of them again"
        )
    everything = len(set().union(*tables))
    if len(shared) < everything and not common:
        sizes = ", ".join(
            f"{run.name} has {len(table)}" for run, table in zip(runs, tables, strict=True)
        )
        raise UsageError(
            f"the runs hold different samples ({sizes}; {len(shared)} are in all of them); compare "
            "those with --common, or finish the runs"
        )
    matching = shared
    if not same_data:
        matching = [
            name
            for name in shared
            if all(same_question(first[name], other[name]) for other in others)
        ]
    return matching, everything - len(matching)


def _same_data(runs: Sequence[RunFolder]) -> bool:
    return len({run.info.data.digest for run in runs}) == 1


def _exclusion_notices(runs: Sequence[RunFolder], matched: int, unmatched: int) -> list[str]:
    if not unmatched:
        return []
    question = "" if _same_data(runs) else ", or not the same question"
    return [
        f"{matched} of {matched + unmatched} samples are compared: the others are not in all runs"
        f"{question}"
    ]


def _difference_notices(infos: Sequence[RunInfo]) -> list[str]:
    """What, beside the model, was not the same: scores may not mean the same then."""
    notices = []
    versions = sorted({info.config.version for info in infos})
    if len(versions) > 1:
        notices.append(f"versions of the benchmark differ: {', '.join(versions)}")
    keys = sorted({key for info in infos for key in info.config.parameters})
    for key in keys:
        values = list(dict.fromkeys(info.config.parameters.get(key, "–") for info in infos))
        if len(values) > 1:
            notices.append(f"the runs were made with different {key}: {', '.join(values)}")
    if len({info.failures for info in infos}) > 1:
        notices.append("failures count differently in these runs")
    notices += stop_notices(infos)
    models = [info.model for info in infos]
    return [*data_notices(infos, models), *served_notices(infos, models), *notices]


def _clustering_records(
    infos: Sequence[RunInfo],
    tables: Sequence[Mapping[str, ComparableRecord]],
    kept: Sequence[ComparableRecord],
) -> tuple[RunInfo, list[ComparableRecord]]:
    """The first run under no control, whose pictures are the samples' own, else the first; and the
    samples there."""
    at = next((at for at, info in enumerate(infos) if CONTROL not in info.config.parameters), 0)
    return infos[at], [tables[at][one.id] for one in kept]


def cluster_numbers(
    info: RunInfo | None,
    samples: Sequence[ComparableRecord] | Sequence[Record],
    links: Sequence[str] = (),
) -> list[int]:
    """The number of each sample's cluster, as in `scoring.clusters`, in a run. Black pictures link
    no samples: all of a size are the same."""
    black = info is not None and info.config.parameters.get(CONTROL) == BLACK
    records = [structs.replace(one, media=()) for one in samples] if black else samples
    cluster_names = cluster_samples(records, links)
    numbers: dict[str, int] = {}
    return [
        numbers.setdefault(cluster or f"\0{place}", len(numbers))
        for place, cluster in enumerate(cluster_names)
    ]
