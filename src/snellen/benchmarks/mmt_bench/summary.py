"""MMT-Bench's numbers (Sec. 4.2): subtasks, meta-tasks, Overall, Overall*, and guessing.

A subtask's accuracy is over its questions; everything above is a plain mean of subtasks, as the
paper's tables are. That Overall is one too follows from Overall*, which is the plain mean of the
127 other subtasks in all 32 rows of Table 2 (Overall itself is reproduced in 7 rows by the plain
mean, in fewer by weighting questions). `overall_micro`, over questions, is what VLMEvalKit and
the authors' scripts call Overall; it stands beside the headline.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from snellen.benchmarks.mmt_bench.tasks import (
    by_capability,
    by_image_type,
    by_meta_task,
    by_study,
    meta_task_named,
    meta_tasks,
    subtask_named,
    subtasks,
)
from snellen.core.headline import HeadlineSums
from snellen.core.record import Record
from snellen.core.summary import Bounds, Metric, Summary
from snellen.scoring.accuracy import FailurePolicy, mean_metric, summarise
from snellen.scoring.clusters import clusters
from snellen.scoring.grouped import interval_of_mean, tiny_group
from snellen.scoring.guessing import chance_of
from snellen.scoring.headlines import mean_of_groups
from snellen.scoring.mmt_bench import VISUAL_RECOGNITION, plain_mean
from snellen.stats.stratified import Tally, tally

SUBTASK, META_TASK = "category", "l2-category"
OVERALL, MICRO, WITHOUT_RECOGNITION = "overall", "overall_micro", "overall_without_recognition"
CHANCE, RANDOM, FREQUENT = "chance", "random_guess", "frequent"
RANDOM_GUESS, FREQUENCY_GUESS = "random guess", "frequency guess"
"""Groups that hold what guessing scores in each meta-task."""
GUESS_SEED = 0

Members = Mapping[str, Sequence[str]]


class _Cells(NamedTuple):
    """Scores (0 or 1) by subtask, their sums by cluster, and the mean of each."""

    scores: dict[str, list[float]]
    tallies: dict[str, Tally]
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
        value = plain_mean({task: _mean(self.scores[task]) for task in present}, present)
        percent = None if value is None else 100 * value
        return Metric(name, percent, n, interval, note=f"{of}; {note}" if of else note)


def summarise_mmt(records: Sequence[Record], *, failures: FailurePolicy = "exclude") -> Summary:
    """Headline: the plain mean of all subtasks' accuracies."""
    linked = clusters(records)
    base = summarise(records, headline=MICRO, failures=failures, held=linked)
    lost = failures == "count-wrong"
    scored = {id(one): 0.0 if lost and one.owed else one.score for one in records}
    cells = _cells(records, linked, lambda one: scored[id(one)])
    members = _members(records)
    every = [task for names in members.values() for task in names]
    rest = [task for meta, names in members.items() if meta != VISUAL_RECOGNITION for task in names]
    headline = cells.mean(OVERALL, every)
    withheld = failures == "withhold" and base.bounds is not None
    if withheld:
        headline = Metric(OVERALL, None, headline.n, note=base.headline.note)
    kept = {name: metric for name, metric in base.metrics.items() if name not in (CHANCE, FREQUENT)}
    counted = [one for one in records if scored[id(one)] is not None]
    guessed = _guessed(counted)
    without = {} if withheld else {WITHOUT_RECOGNITION: cells.mean(WITHOUT_RECOGNITION, rest)}
    return msgspec.structs.replace(
        base,
        headline=headline,
        metrics={OVERALL: headline, **kept, **without, **dict(_guesses(counted, guessed, every))},
        groups={}
        if withheld
        else _groups(base, cells, members, _guess_groups(counted, guessed, members)),
        bounds=_bounds(records, every) if base.bounds else None,
        notices=(*base.notices, *_remarks(cells)),
        beside=(MICRO, WITHOUT_RECOGNITION),
    )


def overall_sums(failures: FailurePolicy, records: Sequence[Record]) -> HeadlineSums | None:
    """The headline as a function of sums."""
    return mean_of_groups(records, _subtask, failures)


def _subtask(record: Record) -> str:
    name = record.groups.get(SUBTASK, "")
    task = subtask_named(name)
    return task.name if task else name


def _cells(
    records: Sequence[Record], linked: Sequence[str], score: Callable[[Record], float | None]
) -> _Cells:
    found: dict[str, list[float]] = {}
    held: dict[str, list[str]] = {}
    for record, cluster in zip(records, linked, strict=True):
        value = score(record)
        if value is not None:
            found.setdefault(_subtask(record), []).append(value)
            held.setdefault(_subtask(record), []).append(cluster)
    order = {task.name: at for at, task in enumerate(subtasks())}
    names = sorted(found, key=lambda name: (order.get(name, len(order)), name))
    return _Cells(
        {name: found[name] for name in names},
        {name: tally(found[name], held[name]) for name in names},
        {name: mean_metric("accuracy", found[name], held[name]) for name in names},
    )


def _members(records: Sequence[Record]) -> dict[str, list[str]]:
    """Subtasks by meta-task: MMT-Bench's, then foreign ones as the data group them."""
    members = {meta: list(names) for meta, names in by_meta_task().items()}
    for record in records:
        name = _subtask(record)
        if subtask_named(name) is None:
            label = record.groups.get(META_TASK, "")
            meta = meta_task_named(label)
            names = members.setdefault(meta.abbreviation if meta else label or "other", [])
            if name not in names:
                names.append(name)
    return members


def _groups(
    base: Summary, cells: _Cells, members: Members, guesses: dict[str, dict[str, Metric]]
) -> dict[str, dict[str, Metric]]:
    titles = {meta.abbreviation: meta.title for meta in meta_tasks()}
    groups = {
        META_TASK: {
            meta: cells.mean("accuracy", names, titles.get(meta, ""))
            for meta, names in members.items()
        },
        SUBTASK: dict(cells.means),
        "image type": _means(cells, by_image_type()),
        "capability": _means(cells, by_capability()),
        "prompt study": _means(cells, by_study()),
        **guesses,
    }
    kept = {
        column: {label: one for label, one in labels.items() if one.value is not None}
        for column, labels in groups.items()
    }
    others = {name: labels for name, labels in base.groups.items() if name not in groups}
    return {column: labels for column, labels in (others | kept).items() if labels}


def _means(cells: _Cells, members: Members) -> dict[str, Metric]:
    return {label: cells.mean("accuracy", names) for label, names in members.items()}


class _Guesses(NamedTuple):
    """What guessing scores in each subtask, 0..1, over the same questions."""

    chance: dict[str, float]
    drawn: dict[str, float]
    frequent: dict[str, float]


def _guessed(counted: Sequence[Record]) -> _Guesses | None:
    """None where a question has no gold, or its options are not known."""
    if not counted or any(not one.gold or not one.options for one in counted):
        return None
    found: dict[str, list[Record]] = {}
    for record in counted:
        found.setdefault(_subtask(record), []).append(record)
    return _Guesses(
        {name: _mean([chance_of(one) for one in held]) for name, held in found.items()},
        {name: _mean([_drawn(one) for one in held]) for name, held in found.items()},
        {
            name: Counter(one.gold[0] for one in held).most_common(1)[0][1] / len(held)
            for name, held in found.items()
        },
    )


def _drawn(record: Record) -> float:
    drawn = random.Random(f"{GUESS_SEED}:{record.id}").choice(sorted(record.options))
    return float(drawn in record.gold)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _guesses(
    counted: Sequence[Record], guessed: _Guesses | None, every: Sequence[str]
) -> Iterator[tuple[str, Metric]]:
    """Random and Frequency Guess of Table 2 on these questions; nothing on a hidden split."""
    if guessed is None:
        return
    n = len(counted)
    notes = {
        CHANCE: "exact expectation of a uniform guess",
        RANDOM: f"one uniform guess per question, seed {GUESS_SEED}",
        FREQUENT: "the most frequent gold label of each subtask, on the same questions as in the "
        "paper: too high where a subtask has few",
    }
    circular = any("vanilla" in one.values for one in counted)
    for name, shares in zip(notes, guessed, strict=True):
        if circular and name != CHANCE:
            continue
        present = [shares[task] for task in every if task in shares]
        yield name, Metric(name, 100 * _mean(present), n, note=notes[name])


def _guess_groups(
    counted: Sequence[Record], guessed: _Guesses | None, members: Members
) -> dict[str, dict[str, Metric]]:
    if guessed is None or any("vanilla" in one.values for one in counted):
        return {}
    sizes = Counter(map(_subtask, counted))
    found: dict[str, dict[str, Metric]] = {}
    for name, shares in ((RANDOM_GUESS, guessed.chance), (FREQUENCY_GUESS, guessed.frequent)):
        for meta, names in members.items():
            present = [task for task in names if task in shares]
            if present:
                value = 100 * _mean([shares[task] for task in present])
                n = sum(sizes[task] for task in present)
                found.setdefault(name, {})[meta] = Metric(name, value, n)
    return found


def _bounds(records: Sequence[Record], every: Sequence[str]) -> Bounds | None:
    """The headline if every failed or missing sample were wrong, or right."""
    ends = []
    for owed in (0.0, 1.0):
        found: dict[str, list[float]] = {}
        for record in records:
            if record.score is not None or record.owed:
                value = owed if record.score is None else record.score
                found.setdefault(_subtask(record), []).append(value)
        present = [_mean(found[task]) for task in every if task in found]
        if not present:
            return None
        ends.append(100 * _mean(present))
    return Bounds(*ends)


def _remarks(cells: _Cells) -> Iterator[str]:
    yield from tiny_group(cells.tallies)
    known = len(subtasks())
    absent = known - sum(subtask_named(name) is not None for name in cells.scores)
    if cells.scores and absent:
        yield (
            f"{absent} of {known} subtasks have no scored question: means are over the others, "
            "and no published number is comparable"
        )
    strange = [name for name in cells.scores if subtask_named(name) is None]
    if strange:
        yield f"not subtasks of MMT-Bench: {', '.join(strange[:4])}"
