"""MMT-Bench's numbers (Sec. 4.2): subtasks, meta-tasks, Overall, Overall*, and guessing.

A subtask's accuracy is over its questions; everything above is a plain mean of subtasks, as the
paper's tables are. That Overall is one too follows from Overall*, which is the plain mean of the
127 other subtasks in all 32 rows of Table 2 (Overall itself is reproduced in 7 rows by the plain
mean, in fewer by weighting questions). `overall_micro`, over questions, is what VLMEvalKit and
the authors' scripts call Overall; it stands beside the headline.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from snellen.benchmarks.abilities.mmt_bench.tasks import (
    by_capability,
    by_image_type,
    by_meta_task,
    by_study,
    find_meta_task,
    find_subtask,
    meta_tasks,
    subtasks,
)
from snellen.benchmarks.declaration.hierarchy import Hierarchy
from snellen.core.record import Record
from snellen.core.summary import Bounds, FailurePolicy, HeadlineSums, Metric, Summary, SummaryContext
from snellen.scoring.accuracy import chance_of, cluster_samples, counts_wrong, mean_metric, summarise
from snellen.scoring.grouped import interval_of_mean, mean_of_all, small_group_notice
from snellen.scoring.headlines import mean_of_groups
from snellen.scoring.mmt_bench import VISUAL_RECOGNITION
from snellen.stats.stratified import GroupSums, group_sums

SUBTASK, META_TASK = "category", "l2-category"
OVERALL, MICRO, WITHOUT_RECOGNITION = "overall", "overall_micro", "overall_without_recognition"
CHANCE, FREQUENT = "chance", "frequent"
RANDOM_GUESS, FREQUENCY_GUESS = "random guess", "frequency guess"
"""Groups that hold what guessing scores in each meta-task."""

Members = Mapping[str, Sequence[str]]


class _SubtaskScores(NamedTuple):
    """Scores (0 or 1) by subtask, their sums by cluster, and the mean of each."""

    scores: dict[str, list[float]]
    tallies: dict[str, GroupSums]
    means: dict[str, Metric]

    def mean(self, name: str, members: Sequence[str], of: str = "") -> Metric:
        """Plain mean of those subtasks that have a score, in percent."""
        present = [task for task in members if task in self.scores]
        n = sum(len(self.scores[task]) for task in present)
        if not present:
            return Metric(name, None, 0, note="no subtask has a score")
        note = f"plain mean of {len(present)} subtask{'' if len(present) == 1 else 's'}"
        if len(present) < len(members):
            note = f"plain mean of {len(present)} of {len(members)} subtasks"
        interval = interval_of_mean([self.tallies[task] for task in present])
        value = mean_of_all({task: _mean(self.scores[task]) for task in present}, present)
        percent = None if value is None else 100 * value
        return Metric(name, percent, n, interval, note=f"{of}; {note}" if of else note)


def summarise_mmt(records: Sequence[Record], *, failures: FailurePolicy = "exclude") -> Summary:
    """Headline: the plain mean of all subtasks' accuracies."""
    cluster_ids = cluster_samples(records)
    base = summarise(records, headline=MICRO, failures=failures, cluster_ids=cluster_ids)
    scored = {id(record): 0.0 if counts_wrong(record.unscored, failures) else record.score for record in records}
    subtask_scores = _subtask_scores(records, cluster_ids, lambda one: scored[id(one)])
    members = _members(records)
    all_names = [task for names in members.values() for task in names]
    without_recognition = [task for meta, names in members.items() if meta != VISUAL_RECOGNITION for task in names]
    headline = subtask_scores.mean(OVERALL, all_names)
    withheld = failures == "withhold" and base.bounds is not None
    if withheld:
        headline = Metric(OVERALL, None, headline.n, note=base.headline.note)
    kept = {name: metric for name, metric in base.metrics.items() if name not in (CHANCE, FREQUENT)}
    counted = [record for record in records if scored[id(record)] is not None]
    guesses = _guess_scores(counted)
    without = {} if withheld else {WITHOUT_RECOGNITION: subtask_scores.mean(WITHOUT_RECOGNITION, without_recognition)}
    return msgspec.structs.replace(
        base,
        headline=headline,
        metrics={OVERALL: headline, **kept, **without, **dict(_guess_metrics(counted, guesses, all_names))},
        groups={}
        if withheld
        else _group_metrics(base, subtask_scores, members, _guess_groups(counted, guesses, members)),
        bounds=_bounds(records, all_names) if base.bounds else None,
        notices=(*base.notices, *_notices(subtask_scores)),
        beside=(MICRO, WITHOUT_RECOGNITION),
    )


def overall_sums(context: SummaryContext, records: Sequence[Record]) -> HeadlineSums | None:
    """The headline as a function of sums."""
    return mean_of_groups(records, _subtask_name, context.failures)


def _subtask_name(record: Record) -> str:
    return _canonical_name(record.groups.get(SUBTASK, ""))


def _canonical_name(name: str) -> str:
    task = find_subtask(name)
    return task.name if task else name


def _subtask_scores(
    records: Sequence[Record], cluster_ids: Sequence[str], score: Callable[[Record], float | None]
) -> _SubtaskScores:
    scores: dict[str, list[float]] = {}
    clusters_of_subtask: dict[str, list[str]] = {}
    for record, cluster in zip(records, cluster_ids, strict=True):
        value = score(record)
        if value is not None:
            scores.setdefault(_subtask_name(record), []).append(value)
            clusters_of_subtask.setdefault(_subtask_name(record), []).append(cluster)
    order = {task.name: index for index, task in enumerate(subtasks())}
    names = sorted(scores, key=lambda name: (order.get(name, len(order)), name))
    return _SubtaskScores(
        {name: scores[name] for name in names},
        {name: group_sums(scores[name], clusters_of_subtask[name]) for name in names},
        {name: mean_metric("accuracy", scores[name], clusters_of_subtask[name]) for name in names},
    )


def _members(records: Sequence[Record]) -> dict[str, list[str]]:
    """Subtasks by meta-task: MMT-Bench's, then foreign ones as the data group them."""
    members = {meta: list(names) for meta, names in by_meta_task().items()}
    for record in records:
        name = _subtask_name(record)
        if find_subtask(name) is None:
            label = record.groups.get(META_TASK, "")
            meta = find_meta_task(label)
            names = members.setdefault(meta.abbreviation if meta else label or "other", [])
            if name not in names:
                names.append(name)
    return members


def _group_metrics(
    base: Summary, subtask_scores: _SubtaskScores, members: Members, guesses: dict[str, dict[str, Metric]]
) -> dict[str, dict[str, Metric]]:
    """Scores by meta-task, subtask, image type, capability and prompt study, then the data's own
    groups."""
    titles = {meta.abbreviation: meta.title for meta in meta_tasks()}
    groups = {
        META_TASK: {
            meta: subtask_scores.mean("accuracy", names, titles.get(meta, "")) for meta, names in members.items()
        },
        SUBTASK: dict(subtask_scores.means),
        "image type": _mean_metrics(subtask_scores, by_image_type()),
        "capability": _mean_metrics(subtask_scores, by_capability()),
        "prompt study": _mean_metrics(subtask_scores, by_study()),
        **guesses,
    }
    kept = {
        column: {label: metric for label, metric in labels.items() if metric.value is not None}
        for column, labels in groups.items()
    }
    others = {name: labels for name, labels in base.groups.items() if name not in groups}
    return {column: labels for column, labels in (others | kept).items() if labels}


def _mean_metrics(subtask_scores: _SubtaskScores, members: Members) -> dict[str, Metric]:
    return {label: subtask_scores.mean("accuracy", names) for label, names in members.items()}


class _GuessScores(NamedTuple):
    """What guessing scores in each subtask, 0..1, over the same questions."""

    chance: dict[str, float]
    frequent: dict[str, float]


def _guess_scores(records: Sequence[Record]) -> _GuessScores | None:
    """What guessing scores, by subtask; None if a question has no gold answer or no options."""
    if not records or any(not record.gold or not record.options for record in records):
        return None
    by_subtask: dict[str, list[Record]] = {}
    for record in records:
        by_subtask.setdefault(_subtask_name(record), []).append(record)
    return _GuessScores(
        {name: _mean([chance_of(record) for record in members]) for name, members in by_subtask.items()},
        {
            name: Counter(record.gold[0] for record in members).most_common(1)[0][1] / len(members)
            for name, members in by_subtask.items()
        },
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _guess_metrics(
    records: Sequence[Record], guesses: _GuessScores | None, subtask_names: Sequence[str]
) -> Iterator[tuple[str, Metric]]:
    """Random and Frequency Guess of Table 2 on these questions; nothing on a hidden split."""
    if guesses is None:
        return
    n = len(records)
    notes = {
        CHANCE: "exact expectation of a uniform guess",
        FREQUENT: "the most frequent gold label of each subtask, on the same questions as in the "
        "paper: too high where a subtask has few",
    }
    circular = any("vanilla" in record.values for record in records)
    for name, shares in zip(notes, guesses, strict=True):
        if circular and name != CHANCE:
            continue
        present = [shares[task] for task in subtask_names if task in shares]
        yield name, Metric(name, 100 * _mean(present), n, note=notes[name])


def _guess_groups(
    records: Sequence[Record], guesses: _GuessScores | None, members: Members
) -> dict[str, dict[str, Metric]]:
    if guesses is None or any("vanilla" in record.values for record in records):
        return {}
    sizes = Counter(map(_subtask_name, records))
    groups: dict[str, dict[str, Metric]] = {}
    for name, shares in ((RANDOM_GUESS, guesses.chance), (FREQUENCY_GUESS, guesses.frequent)):
        for meta, names in members.items():
            present = [task for task in names if task in shares]
            if present:
                value = 100 * _mean([shares[task] for task in present])
                n = sum(sizes[task] for task in present)
                groups.setdefault(name, {})[meta] = Metric(name, value, n)
    return groups


class GuessTotals(NamedTuple):
    """What a guess scores over all subtasks, all questions, and without visual recognition, in
    percent."""

    overall: float
    questions: float
    without_recognition: float | None


def guess_totals(records: Iterable[Record]) -> dict[str, GuessTotals]:
    """The totals of `RANDOM_GUESS` and `FREQUENCY_GUESS` on the scored questions; empty on a hidden
    split."""
    counted = [record for record in records if record.score is not None]
    guesses = _guess_scores(counted)
    if guesses is None:
        return {}
    sizes = Counter(map(_subtask_name, counted))
    recognised = set(by_meta_task()[VISUAL_RECOGNITION])
    totals = {}
    for name, shares in ((RANDOM_GUESS, guesses.chance), (FREQUENCY_GUESS, guesses.frequent)):
        others = [share for task, share in shares.items() if task not in recognised]
        right = sum(share * sizes[task] for task, share in shares.items())
        totals[name] = GuessTotals(
            100 * _mean(list(shares.values())), 100 * right / len(counted), 100 * _mean(others) if others else None
        )
    return totals


def _bounds(records: Sequence[Record], subtask_names: Sequence[str]) -> Bounds | None:
    """The headline if every failed or missing sample were wrong, or right."""
    ends = []
    for owed in (0.0, 1.0):
        scores: dict[str, list[float]] = {}
        for record in records:
            if record.score is not None or record.is_retryable:
                value = owed if record.score is None else record.score
                scores.setdefault(_subtask_name(record), []).append(value)
        present = [_mean(scores[task]) for task in subtask_names if task in scores]
        if not present:
            return None
        ends.append(100 * _mean(present))
    return Bounds(*ends)


def _notices(subtask_scores: _SubtaskScores) -> Iterator[str]:
    yield from small_group_notice(subtask_scores.tallies)
    subtask_count = len(subtasks())
    absent = subtask_count - sum(find_subtask(name) is not None for name in subtask_scores.scores)
    if subtask_scores.scores and absent:
        yield (
            f"{absent} of {subtask_count} subtasks have no scored question: means are over "
            "the others, and no published number is comparable"
        )
    strange = [name for name in subtask_scores.scores if find_subtask(name) is None]
    if strange:
        yield f"not subtasks of MMT-Bench: {', '.join(strange[:4])}"


@functools.cache
def hierarchy() -> Hierarchy:
    """Meta-tasks are plain means of subtasks."""
    sizes = {task.name: task.samples for task in subtasks()}
    members = by_meta_task()
    ordered = {name: sizes[name] for names in members.values() for name in names}
    return Hierarchy(SUBTASK, ordered, {META_TASK: members}, _canonical_name)
