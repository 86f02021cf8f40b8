"""A benchmark's samples as tasks in instruction form: what is asked, and the right reply."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from snellen.core.benchmark import Benchmark
from snellen.core.errors import UsageError
from snellen.core.model import Capabilities
from snellen.core.request import Generate, Rank, Request
from snellen.core.sample import Sample, sampling_key
from snellen.models.hf.lora import TrainingExample

MIN_SAMPLES = 8
"""Samples below which a task has no vector: it would show the samples, not the task."""


class Task(NamedTuple):
    """Samples of one kind of task, in the benchmark's order."""

    name: str
    examples: tuple[TrainingExample, ...]


class TooSmallTask(NamedTuple):
    """A task that was left out."""

    name: str
    samples: int


class TaskSet(NamedTuple):
    tasks: tuple[Task, ...]
    left_out: tuple[TooSmallTask, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSelection:
    """Which samples make which tasks."""

    group: str = "category"
    """Samples of one label of this group are a task."""
    kinds: Sequence[str] = ()
    """Only questions of these kinds; empty: of every kind."""
    only: Sequence[str] = ()
    """Only these tasks; empty: all."""
    halves: bool = False
    """Split each task into two, in which no picture is shared."""
    limit: int | None = None
    """Keep a random N samples of each task or half, the same for the same seed."""
    min_samples: int = MIN_SAMPLES
    """Leave out tasks with fewer samples."""


def load_tasks(
    benchmark: Benchmark,
    capabilities: Capabilities,
    selection: TaskSelection = TaskSelection(),
    seed: int = 0,
) -> TaskSet:
    """The tasks of a benchmark, named and sorted by their label.

    A sample is asked as the benchmark asks it first, and its reply is the gold one: the label of
    the right option, Yes or No, or the first accepted answer. Samples without a gold answer and
    samples that the model cannot take are left out.

    Raises UsageError when the benchmark has no such group or task, and when fewer than two tasks
    have enough samples.
    """
    taught = _examples_by_task(benchmark, capabilities, selection)
    _check_names(selection.only, taught)
    kept, left_out = [], []
    for name in sorted(selection.only or taught):
        for part, found in _split_task(name, taught[name], selection.halves, seed):
            chosen = _limit_examples(found, selection.limit, seed)
            if len(chosen) < selection.min_samples:
                left_out.append(TooSmallTask(part, len(chosen)))
            else:
                kept.append(Task(part, tuple(lesson for _, lesson in chosen)))
    if len(kept) < 2:
        most = max((one.samples for one in left_out), default=0)
        raise UsageError(
            f"{len(kept)} of {len(kept) + len(left_out)} tasks have at least {selection.min_samples} "
            "samples with a gold answer, expected two or more (the largest that was left out has "
            f"{most}); use another --group, a larger --limit, or lower --fewest"
        )
    return TaskSet(tuple(kept), tuple(left_out))


def _examples_by_task(
    benchmark: Benchmark, capabilities: Capabilities, selection: TaskSelection
) -> dict[str, list[tuple[Sample, TrainingExample]]]:
    """Samples with their lessons by task."""
    reason = benchmark.requires(capabilities)
    if reason is not None:
        raise UsageError(f"{benchmark.name} {reason}")
    samples = list(benchmark.samples(iter(benchmark.open())))
    known = {name for sample in samples for name in sample.groups}
    if selection.group not in known:
        raise UsageError(
            f"{benchmark.name} has no group {selection.group!r} to tell tasks by; "
            f"its groups: {', '.join(sorted(known)) or 'none'}"
        )
    taught: dict[str, list[tuple[Sample, TrainingExample]]] = defaultdict(list)
    for sample in samples:
        if selection.group not in sample.groups or (
            selection.kinds and sample.kind not in selection.kinds
        ):
            continue
        lesson = _training_example(benchmark, sample, capabilities)
        if lesson is not None:
            taught[sample.groups[selection.group]].append((sample, lesson))
    return taught


def _check_names(only: Sequence[str], existing: Iterable[str]) -> None:
    for name in only:
        if name not in existing:
            raise UsageError(f"there is no task {name!r}; known: {', '.join(sorted(existing))}")


def _training_example(
    benchmark: Benchmark, sample: Sample, capabilities: Capabilities
) -> TrainingExample | None:
    if not sample.gold:
        return None
    if (
        benchmark.unsupported_reason is not None
        and benchmark.unsupported_reason(sample, capabilities) is not None
    ):
        return None
    flow = benchmark.flow(benchmark.prepare(sample) if benchmark.prepare else sample)
    try:
        request: Request = next(flow)
    except StopIteration:
        return None
    finally:
        flow.close()
    gold = sample.gold[0]
    if isinstance(request, Rank):
        return TrainingExample(request, sample.options.get(gold, gold))
    return TrainingExample(request, gold) if isinstance(request, Generate) else None


def _split_task(
    name: str, examples: list[tuple[Sample, TrainingExample]], halves: bool, seed: int
) -> list[tuple[str, list[tuple[Sample, TrainingExample]]]]:
    """The task, or its two halves: samples about the same pictures stay together, and of each
    kind of question both halves get as many as can be."""
    if not halves:
        return [(name, examples)]
    units: dict[str, list[tuple[Sample, TrainingExample]]] = defaultdict(list)
    for sample, lesson in examples:
        pictures = " ".join(sorted(ref.digest for ref in sample.media))
        units[sample.unit or pictures or sample.id].append((sample, lesson))
    parts: list[list[tuple[Sample, TrainingExample]]] = [[], []]
    counts: list[dict[str, int]] = [defaultdict(int), defaultdict(int)]
    for unit in sorted(units, key=lambda unit: sampling_key(seed, unit)):
        kind = units[unit][0][0].kind
        smaller = min((0, 1), key=lambda half: (counts[half][kind], len(parts[half])))
        parts[smaller] += units[unit]
        for sample, _ in units[unit]:
            counts[smaller][sample.kind] += 1
    return [(f"{name}/{number}", part) for number, part in enumerate(parts, start=1)]


def _limit_examples(
    examples: list[tuple[Sample, TrainingExample]], limit: int | None, seed: int
) -> list[tuple[Sample, TrainingExample]]:
    if limit is None or len(examples) <= limit:
        return examples
    kept = sorted(examples, key=lambda one: sampling_key(seed, one[0].id))[:limit]
    ids = {sample.id for sample, _ in kept}
    return [one for one in examples if one[0].id in ids]
