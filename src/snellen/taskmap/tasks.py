"""A benchmark's samples as tasks for instruction tuning: prompts and their gold replies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from snellen.benchmarks.protocol.control import apply_control
from snellen.core.benchmark import Benchmark
from snellen.core.errors import UsageError
from snellen.core.model import Capabilities
from snellen.core.request import Generate, Rank, Request
from snellen.core.sample import Sample, sampling_key
from snellen.models.hf.lora import TrainingExample

MIN_SAMPLES = 8
"""The default of `min_samples`: with fewer, a vector describes the samples rather than the task."""


MapControl = Literal["wrong-image", "shuffled-answers"]
"""What a control destroys: each question gets the images of another question of any task, or the
answer of another question of its task. What a map still shows is in the wording and the options."""
CONTROLS: tuple[MapControl, ...] = get_args(MapControl)


class Task(NamedTuple):
    """Training examples of one kind of task, in the benchmark's order."""

    name: str
    examples: tuple[TrainingExample, ...]


class TooSmallTask(NamedTuple):
    """A task that was left out, and its number of samples."""

    name: str
    samples: int


class TaskSet(NamedTuple):
    tasks: tuple[Task, ...]
    left_out: tuple[TooSmallTask, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSelection:
    """Which samples become which tasks."""

    group: str = "category"
    """The group whose labels are the tasks."""
    kinds: Sequence[str] = ()
    """Use questions of these kinds only; empty for every kind."""
    only: Sequence[str] = ()
    """Use these tasks only; empty for all."""
    halves: bool = False
    """Split each task into two halves that share no image."""
    limit: int | None = None
    """Keep a random N samples of each task or half, the same ones for the same seed."""
    min_samples: int = MIN_SAMPLES
    """Leave out tasks with fewer samples."""


def load_tasks(
    benchmark: Benchmark,
    capabilities: Capabilities,
    selection: TaskSelection = TaskSelection(),
    seed: int = 0,
    control: MapControl | None = None,
) -> TaskSet:
    """The tasks of a benchmark, sorted by name; with a control, named after it as well.

    The prompt of an example is the benchmark's first request for the sample. The reply is the gold
    answer: the label of the right option, Yes or No, or the first accepted answer. Samples without
    a gold answer and samples that the model cannot process are left out.

    Raises UsageError if the benchmark has no such group or task, and if fewer than two tasks have
    enough samples.
    """
    if control == "wrong-image":
        benchmark = apply_control(benchmark, f"{control}:{seed}")
    taught = _examples_by_task(benchmark, capabilities, selection)
    if control == "shuffled-answers":
        taught = {name: _shuffle_answers(examples, seed) for name, examples in taught.items()}
    _check_names(selection.only, taught)
    tasks, left_out = [], []
    for name in sorted(selection.only or taught):
        for part, examples in _split_task(name, taught[name], selection.halves, seed):
            selected = _limit_examples(examples, selection.limit, seed)
            if len(selected) < selection.min_samples:
                left_out.append(TooSmallTask(part, len(selected)))
            else:
                part = f"{control}: {part}" if control else part
                tasks.append(Task(part, tuple(lesson for _, lesson in selected)))
    if len(tasks) < 2:
        largest = max((task.samples for task in left_out), default=0)
        raise UsageError(
            f"{len(tasks)} of {len(tasks) + len(left_out)} tasks have at least "
            f"{selection.min_samples} samples with a gold answer, expected two or more "
            f"(the largest that was left out has {largest}); use another --group, a larger "
            "--tasks most, or lower fewest"
        )
    return TaskSet(tuple(tasks), tuple(left_out))


def _examples_by_task(
    benchmark: Benchmark, capabilities: Capabilities, selection: TaskSelection
) -> dict[str, list[tuple[Sample, TrainingExample]]]:
    """The samples of each task, with their training examples."""
    reason = benchmark.requires(capabilities)
    if reason is not None:
        raise UsageError(f"{benchmark.name} {reason}")
    samples = list(benchmark.samples(iter(benchmark.open())))
    groups = {name for sample in samples for name in sample.groups}
    if selection.group not in groups:
        raise UsageError(
            f"{benchmark.name} has no group {selection.group!r} to tell tasks by; "
            f"its groups: {', '.join(sorted(groups)) or 'none'}"
        )
    taught: dict[str, list[tuple[Sample, TrainingExample]]] = defaultdict(list)
    for sample in samples:
        if selection.group not in sample.groups or (selection.kinds and sample.kind not in selection.kinds):
            continue
        lesson = _training_example(benchmark, sample, capabilities)
        if lesson is not None:
            taught[sample.groups[selection.group]].append((sample, lesson))
    return taught


def _check_names(only: Sequence[str], existing: Iterable[str]) -> None:
    for name in only:
        if name not in existing:
            raise UsageError(f"there is no task {name!r}; known: {', '.join(sorted(existing))}")


def _training_example(benchmark: Benchmark, sample: Sample, capabilities: Capabilities) -> TrainingExample | None:
    """The benchmark's first request for the sample, with its gold reply; None if the sample has
    no gold answer, cannot be processed by the model, or asks for something else than text or
    a ranking."""
    if not sample.gold:
        return None
    if benchmark.unsupported_reason is not None and benchmark.unsupported_reason(sample, capabilities) is not None:
        return None
    flow = benchmark.flow(benchmark.prepare(sample) if benchmark.prepare else sample)
    try:
        request: Request = next(flow)
    except StopIteration:
        return None
    finally:
        flow.close()
    gold = sample.written_gold(sample.gold[0], exact=False)
    if isinstance(request, Rank):
        return TrainingExample(request, sample.options.get(gold, gold))
    return TrainingExample(request, gold) if isinstance(request, Generate) else None


def _shuffle_answers(examples: list[tuple[Sample, TrainingExample]], seed: int) -> list[tuple[Sample, TrainingExample]]:
    """The examples with the replies of others that have as many options."""
    places: dict[tuple[str, int], list[int]] = defaultdict(list)
    for place, (sample, _) in enumerate(examples):
        places[sample.kind, len(sample.options)].append(place)
    shuffled = list(examples)
    for alike in places.values():
        others = sorted(alike, key=lambda place: sampling_key(seed, examples[place][0].id))
        for place, other in zip(alike, others, strict=True):
            sample, lesson = examples[place]
            shuffled[place] = sample, lesson._replace(reply=examples[other][1].reply)
    return shuffled


def _split_task(
    name: str, examples: list[tuple[Sample, TrainingExample]], halves: bool, seed: int
) -> list[tuple[str, list[tuple[Sample, TrainingExample]]]]:
    """The task, or its two halves. Samples that share images are in the same half, and each half
    gets about as many questions of each kind."""
    if not halves:
        return [(name, examples)]
    units: dict[str, list[tuple[Sample, TrainingExample]]] = defaultdict(list)
    for sample, lesson in examples:
        images = " ".join(sorted(ref.digest for ref in sample.media))
        units[sample.unit or images or sample.id].append((sample, lesson))
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
    selected = sorted(examples, key=lambda pair: sampling_key(seed, pair[0].id))[:limit]
    ids = {sample.id for sample, _ in selected}
    return [pair for pair in examples if pair[0].id in ids]
