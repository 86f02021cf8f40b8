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
from snellen.core.sample import Sample, lot
from snellen.models.hf.lora import Lesson

FEWEST = 8
"""Samples below which a task has no vector: it would show the samples, not the task."""


class Task(NamedTuple):
    """Samples of one kind of task, in the benchmark's order."""

    name: str
    lessons: tuple[Lesson, ...]


class TooFew(NamedTuple):
    """A task that was left out."""

    name: str
    samples: int


class Tasks(NamedTuple):
    kept: tuple[Task, ...]
    left_out: tuple[TooFew, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
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
    fewest: int = FEWEST
    """Leave out tasks with fewer samples."""


def tasks_of(
    benchmark: Benchmark,
    capabilities: Capabilities,
    choice: Choice = Choice(),
    seed: int = 0,
) -> Tasks:
    """The tasks of a benchmark, named and sorted by their label.

    A sample is asked as the benchmark asks it first, and its reply is the gold one: the label of
    the right option, Yes or No, or the first accepted answer. Samples without a gold answer and
    samples that the model cannot take are left out.

    Raises UsageError when the benchmark has no such group or task, and when fewer than two tasks
    have enough samples.
    """
    taught = _taught(benchmark, capabilities, choice)
    _check_names(choice.only, taught)
    kept, left_out = [], []
    for name in sorted(choice.only or taught):
        for part, found in _parts(name, taught[name], choice.halves, seed):
            chosen = _drawn(found, choice.limit, seed)
            if len(chosen) < choice.fewest:
                left_out.append(TooFew(part, len(chosen)))
            else:
                kept.append(Task(part, tuple(lesson for _, lesson in chosen)))
    if len(kept) < 2:
        most = max((one.samples for one in left_out), default=0)
        raise UsageError(
            f"{len(kept)} of {len(kept) + len(left_out)} tasks have at least {choice.fewest} "
            "samples with a gold answer, expected two or more (the largest that was left out has "
            f"{most}); use another --group, a larger --limit, or lower --fewest"
        )
    return Tasks(tuple(kept), tuple(left_out))


def _taught(
    benchmark: Benchmark, capabilities: Capabilities, choice: Choice
) -> dict[str, list[tuple[Sample, Lesson]]]:
    """Samples with their lessons by task."""
    reason = benchmark.needs(capabilities)
    if reason is not None:
        raise UsageError(f"{benchmark.name} {reason}")
    samples = list(benchmark.samples(iter(benchmark.open())))
    known = {name for sample in samples for name in sample.groups}
    if choice.group not in known:
        raise UsageError(
            f"{benchmark.name} has no group {choice.group!r} to tell tasks by; "
            f"its groups: {', '.join(sorted(known)) or 'none'}"
        )
    taught: dict[str, list[tuple[Sample, Lesson]]] = defaultdict(list)
    for sample in samples:
        if choice.group not in sample.groups or (choice.kinds and sample.kind not in choice.kinds):
            continue
        lesson = _lesson(benchmark, sample, capabilities)
        if lesson is not None:
            taught[sample.groups[choice.group]].append((sample, lesson))
    return taught


def _check_names(only: Sequence[str], known: Iterable[str]) -> None:
    for name in only:
        if name not in known:
            raise UsageError(f"there is no task {name!r}; known: {', '.join(sorted(known))}")


def _lesson(benchmark: Benchmark, sample: Sample, capabilities: Capabilities) -> Lesson | None:
    if not sample.gold:
        return None
    if benchmark.beyond is not None and benchmark.beyond(sample, capabilities) is not None:
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
        return Lesson(request, sample.options.get(gold, gold))
    return Lesson(request, gold) if isinstance(request, Generate) else None


def _parts(
    name: str, found: list[tuple[Sample, Lesson]], halves: bool, seed: int
) -> list[tuple[str, list[tuple[Sample, Lesson]]]]:
    """The task, or its two halves: samples about the same pictures stay together, and of each
    kind of question both halves get as many as can be."""
    if not halves:
        return [(name, found)]
    units: dict[str, list[tuple[Sample, Lesson]]] = defaultdict(list)
    for sample, lesson in found:
        pictures = " ".join(sorted(ref.digest for ref in sample.media))
        units[sample.unit or pictures or sample.id].append((sample, lesson))
    parts: list[list[tuple[Sample, Lesson]]] = [[], []]
    counts: list[dict[str, int]] = [defaultdict(int), defaultdict(int)]
    for unit in sorted(units, key=lambda unit: lot(seed, unit)):
        kind = units[unit][0][0].kind
        smaller = min((0, 1), key=lambda half: (counts[half][kind], len(parts[half])))
        parts[smaller] += units[unit]
        for sample, _ in units[unit]:
            counts[smaller][sample.kind] += 1
    return [(f"{name}/{number}", part) for number, part in enumerate(parts, start=1)]


def _drawn(
    found: list[tuple[Sample, Lesson]], limit: int | None, seed: int
) -> list[tuple[Sample, Lesson]]:
    if limit is None or len(found) <= limit:
        return found
    kept = sorted(found, key=lambda one: lot(seed, one[0].id))[:limit]
    ids = {sample.id for sample, _ in kept}
    return [one for one in found if one[0].id in ids]
