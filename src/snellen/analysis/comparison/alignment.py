"""Align runs of one benchmark sample by sample."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct, structs

from snellen.analysis.comparison.comparability import data_notices, describe_data, served_notices
from snellen.analysis.comparison.stopped_early import stop_notices
from snellen.benchmarks.protocol.control import BLACK
from snellen.benchmarks.protocol.control import OPTION as CONTROL
from snellen.core.arrays import Bools, Floats, Indices, Ints, np
from snellen.core.errors import UsageError
from snellen.core.output import RETRYABLE
from snellen.core.record import Record
from snellen.core.run import RunInfo
from snellen.scoring.accuracy import cluster_samples, counts_wrong
from snellen.store.run_scores import UNSCORED, RunScores, read_scores
from snellen.store.runs import RunFolder

_MAX_LISTED = 3


class ComparableRecord(Struct, frozen=True, gc=False):
    """The fields of a record that a comparison needs of one run of the same questions."""

    id: str
    question: str
    gold: tuple[str, ...] = ()
    options: dict[str, str] = {}
    groups: dict[str, str] = {}
    media: tuple[str, ...] = ()
    unit: str = ""

    def is_same_question(self, other: ComparableRecord) -> bool:
        """Whether both records have the same question, options and gold answers."""
        return self.question == other.question and self.gold == other.gold and self.options == other.options


def is_sibling_question(first: ComparableRecord, second: ComparableRecord) -> bool:
    """Whether records of one id may be one question in two languages: the texts differ, the labels
    of the options and the right one do not."""
    if list(first.options) != list(second.options):
        return False
    return first.gold == second.gold or not (first.options or {*first.gold} <= {"Yes", "No"})


class AlignedRuns(NamedTuple):
    """Samples that every run scored, in the order of the first run.

    `scores` (samples, runs) are in 0..1, `clusters` (samples,) are cluster numbers as in
    `cluster_samples`.
    """

    infos: tuple[RunInfo, ...]
    samples: tuple[ComparableRecord, ...]
    scores: Floats
    clusters: Ints
    notices: tuple[str, ...]
    shared_ids: tuple[str, ...]
    """Ids of the samples that are in all runs with the same question, scored or not."""
    bounds: tuple[tuple[float, float] | None, ...]
    """For each run its mean score over `shared_ids` if every failed or missing sample were wrong,
    and if it were right; None if no sample is without a score."""
    unmatched: int
    """Number of samples that are not in all runs, or have different questions there."""

    def part(self, rows: Sequence[int]) -> tuple[Floats, Ints]:
        """The scores of some of the samples, and their clusters, numbered without gaps."""
        return self.scores[rows], np.unique(self.clusters[rows], return_inverse=True)[1]

    @property
    def unscored_count(self) -> int:
        """Number of shared samples that some run did not score."""
        return len(self.shared_ids) - len(self.samples)

    @property
    def is_clustered(self) -> bool:
        """Whether some samples share a cluster."""
        return len(self.samples) > int(self.clusters.max(initial=-1)) + 1


def align_runs(
    runs: Sequence[RunFolder],
    *,
    common: bool = False,
    same_question: Callable[[ComparableRecord, ComparableRecord], bool] = ComparableRecord.is_same_question,
) -> AlignedRuns:
    """Align runs of one benchmark by sample id. `same_question` decides which samples of one id in
    different data are the same question.

    Raises UsageError for runs on different data or with different samples, unless `common`
    restricts the comparison to the samples they share (same id, question, options and gold answer),
    and if no sample was scored in all runs.
    """
    infos = tuple(run.info for run in runs)
    original = _run_of_original_images(infos)
    # Runs on the same data have the same questions: those are read once.
    described = {0, original} if _same_data(runs) else {*range(len(runs))}
    questions = {
        index: {record.id: record for record in runs[index].read_as(ComparableRecord)} for index in sorted(described)
    }
    tables = read_scores(runs)
    shared, unmatched = _shared_ids(runs, tables, questions, common, same_question)
    scores, retryable = _score_columns(infos, tables, [questions[0][name] for name in shared])
    scored = np.flatnonzero(~np.isnan(scores).any(axis=1))
    kept_records = [questions[0][shared[index]] for index in scored.tolist()]
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
            cluster_numbers(infos[original], [questions[original][record.id] for record in kept_records]),
            dtype=np.int64,
        ),
        (*_exclusion_notices(runs, len(shared), unmatched), *_difference_notices(infos)),
        tuple(shared),
        tuple(_bounds(scores, retryable)),
        unmatched,
    )


def _score_columns(
    infos: Sequence[RunInfo], tables: Sequence[RunScores], questions: Sequence[ComparableRecord]
) -> tuple[Floats, Bools]:
    """What each sample counts in each run under its failure policy, as in `scoring.accuracy`, NaN
    without a score; and which samples failed or are missing. Both (samples, runs)."""
    shape = len(questions), len(infos)
    scores, retryable = np.empty(shape), np.zeros(shape, dtype=np.bool_)
    if_wrong = np.array([0.0 if question.gold else np.nan for question in questions])
    places: dict[int, Indices] = {}
    for column, (table, info) in enumerate(zip(tables, infos, strict=True)):
        if id(table.ids) not in places:
            place = {name: index for index, name in enumerate(table.ids)}
            places[id(table.ids)] = np.array([place[question.id] for question in questions], dtype=np.intp)
        rows = places[id(table.ids)]
        scores[:, column] = table.scores[rows]
        codes = table.unscored[rows]
        for code in np.unique(codes).tolist():
            name, members = UNSCORED[code], codes == code
            if name in RETRYABLE:
                retryable[members, column] = True
            if counts_wrong(name, info.failures):
                scores[members, column] = if_wrong[members]
    return scores, retryable


def _bounds(scores: Floats, retryable: Bools) -> Iterator[tuple[float, float] | None]:
    """Bounds of the means of scores (samples, runs; NaN without a score); `retryable` marks failed
    and missing ones. Samples that can have no score in some run (no gold answer, no judge) are left
    out."""
    # Bounds are over the samples that every run scored or could still score, so that the bounds of
    # different runs have the same denominator and can be subtracted.
    unknown = np.isnan(scores)
    complete = ~(unknown & ~retryable).any(axis=1)
    for column, missing in zip(scores[complete].T, unknown[complete].T, strict=True):
        if not unknown[complete].any():
            yield None
            continue
        yield (float(np.where(missing, 0.0, column).mean()), float(np.where(missing, 1.0, column).mean()))


def _shared_ids(
    runs: Sequence[RunFolder],
    tables: Sequence[RunScores],
    questions: Mapping[int, Mapping[str, ComparableRecord]],
    common: bool,
    same_question: Callable[[ComparableRecord, ComparableRecord], bool],
) -> tuple[list[str], int]:
    """Ids that all runs have with the same question, and how many other samples there are."""
    distinct = [frozenset(ids) for ids in {table.ids: None for table in tables}]
    everywhere = frozenset.intersection(*distinct)
    shared = [name for name in questions[0] if name in everywhere]
    # On the same data an id is one question by definition; on different data (another language,
    # another revision) the id may have been reused.
    same_data = _same_data(runs)
    matching = shared
    if not same_data:
        matching = [
            name
            for name in shared
            if all(same_question(questions[0][name], questions[index][name]) for index in range(1, len(runs)))
        ]
    everything = len(frozenset().union(*distinct))
    if matching and (common or (same_data and len(shared) == everything)):
        return matching, everything - len(matching)
    if same_data:
        held = [f"{run.name} has {len(table.ids)}" for run, table in zip(runs, tables, strict=True)]
        what = f"hold different samples ({', '.join(held)}; {len(shared)} are in all of them)"
        remedy = "finish the runs"
    else:
        held = [f"{run.name} on {describe_data(run.info)}" for run in runs[:_MAX_LISTED]]
        what, remedy = f"were made on different data ({', '.join(held)})", "run one of them again"
    if matching:
        remedy = f"compare the samples they share with --common, or {remedy}"
    else:
        what += " and share no question, so that nothing can be compared"
        remedy += "" if same_data else " on the other's; a data set and its translation: --siblings"
    raise UsageError(f"the runs {what}; {remedy}")


def _same_data(runs: Sequence[RunFolder]) -> bool:
    return len({run.info.data.digest for run in runs}) == 1


def _exclusion_notices(runs: Sequence[RunFolder], matched: int, unmatched: int) -> list[str]:
    """A sentence about samples that are not compared, if there are any."""
    if not unmatched:
        return []
    question = "" if _same_data(runs) else ", or not the same question"
    return [f"{matched} of {matched + unmatched} samples are compared: the others are not in all runs{question}"]


def _difference_notices(infos: Sequence[RunInfo]) -> list[str]:
    """Settings other than the model that differ, so that scores may not be comparable."""
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


def _run_of_original_images(infos: Sequence[RunInfo]) -> int:
    """The first run without a control, whose images are the original ones, else the first run.

    Samples are clustered by shared images: a control that replaces images would link samples that
    are independent, or separate samples that are not.
    """
    return next((index for index, info in enumerate(infos) if CONTROL not in info.config.parameters), 0)


def cluster_numbers(
    info: RunInfo | None, samples: Sequence[ComparableRecord] | Sequence[Record], links: Sequence[str] = ()
) -> list[int]:
    """The cluster number of each sample of a run, as in `cluster_samples`. The black images of the
    `black` control do not link samples: all black images of one size have the same digest."""
    black = info is not None and info.config.parameters.get(CONTROL) == BLACK
    records = [structs.replace(record, media=()) for record in samples] if black else samples
    cluster_names = cluster_samples(records, links)
    numbers: dict[str, int] = {}
    return [numbers.setdefault(cluster or f"\0{index}", len(numbers)) for index, cluster in enumerate(cluster_names)]
